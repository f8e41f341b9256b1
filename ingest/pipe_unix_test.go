//go:build unix

package ingest_test

import "syscall"

func makePipe(path string) error { return syscall.Mkfifo(path, 0o644) }
