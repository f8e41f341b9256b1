//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// On systems other than Linux the child watches its own memory, the parent watches the clock, and nothing else is restricted.

func executable() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return nil }

// systemEnv is what a process needs of the environment to start: on Windows, the folder of the system.
func systemEnv() []string {
	if root := os.Getenv("SystemRoot"); root != "" {
		return []string{"SystemRoot=" + root}
	}
	return nil
}

func resident(int) int64 { return 0 }

func restrict() {}

func limitData(int64) {}

// cpuTime is unknown: the parent counts the processor time of a child's earlier documents too.
func cpuTime() time.Duration { return 0 }

func limitCPU(time.Duration) {}

func overTime(*os.ProcessState) bool { return false }

// cgroup exists on Linux only.
type cgroup struct{ dir string }

func findCgroup() (*cgroup, error) { return nil, errors.ErrUnsupported }

func (*cgroup) place(int, int64) *cgroup { return nil }

func (*cgroup) exceeded() bool { return false }

func (*cgroup) remove() error { return nil }
