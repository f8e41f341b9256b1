//go:build !linux

package natstest

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
