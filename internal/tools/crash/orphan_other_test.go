//go:build !linux

package crash_test

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
