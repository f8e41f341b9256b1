package external

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attributes returns attributes that give a program a process group of its own, and make the kernel kill it when this process ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// maxFile is the longest file that a program may write: the picture of a page.
const maxFile = 256 << 20

// limitProcess limits the address space, the processor time and the files of a process and of those that it starts.
func limitProcess(pid int, memory int64, limit time.Duration) {
	seconds := uint64(limit/time.Second) + 1                                                                                                                //nolint:gosec // positive
	for resource, most := range map[int]uint64{unix.RLIMIT_AS: uint64(memory), unix.RLIMIT_CPU: seconds, unix.RLIMIT_FSIZE: maxFile, unix.RLIMIT_CORE: 0} { //nolint:gosec // positive
		_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil) // it may have ended
	}
}
