package filelog

import "syscall"

// bootID identifies the time since the machine was started; empty if it is unknown.
func bootID() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
