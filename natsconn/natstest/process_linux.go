package natstest

import "syscall"

// attributes lets a server end with this process, also if a test panics.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
