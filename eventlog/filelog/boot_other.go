//go:build !darwin

package filelog

import (
	"os"
	"strings"
)

// bootID identifies the time since the machine was started; empty if it is unknown.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
