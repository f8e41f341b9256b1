package crash_test

import "syscall"

// attributes returns attributes that make the kernel kill a server when the test process ends, even if that was killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
