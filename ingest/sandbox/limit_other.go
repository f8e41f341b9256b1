//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// On systems other than Linux, the child checks its own memory, the parent checks the elapsed time, and nothing else is limited.

func executable() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return nil }

// systemEnv returns the environment that a process needs to start: on Windows, the system folder.
func systemEnv() []string {
	if root := os.Getenv("SystemRoot"); root != "" {
		return []string{"SystemRoot=" + root}
	}
	return nil
}

func resident(int) int64 { return 0 }

func restrict() {}

func limitData(int64) {}

// cpuTime returns 0, so the parent includes the processor time of a child's earlier documents.
func cpuTime() time.Duration { return 0 }

func limitCPU(time.Duration) {}

func exceededCPU(*os.ProcessState) bool { return false }

// cgroup exists on Linux only.
type cgroup struct{ dir string }

func findCgroup() (*cgroup, error) { return nil, errors.ErrUnsupported }

func (*cgroup) place(int, int64) *cgroup { return nil }

func (*cgroup) exceeded() bool { return false }

func (*cgroup) remove() error { return nil }
