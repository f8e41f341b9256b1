package filelog

import "syscall"

// bootID identifies the time since the machine was started; empty where it cannot be told.
func bootID() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
