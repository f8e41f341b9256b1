package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// executable returns the path of this program, which also works if its file was replaced.
func executable() (string, error) { return "/proc/self/exe", nil }

// attributes returns attributes that make the kernel kill a child when its parent ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

func systemEnv() []string { return nil }

// resident returns the anonymous resident memory of a process in bytes, without the pages of files.
func resident(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	f := bytes.Fields(raw)
	if err != nil || len(f) < 3 {
		return 0
	}
	total, _ := strconv.ParseInt(string(f[1]), 10, 64)
	file, _ := strconv.ParseInt(string(f[2]), 10, 64)
	return (total - file) * int64(os.Getpagesize())
}

// noNewPrivileges is PR_SET_NO_NEW_PRIVS of prctl(2).
const noNewPrivileges = 38

// restrict drops rights that parsing does not need: new privileges, files, and core dumps.
func restrict() {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0)
	_ = os.Chdir("/")
	for resource, limit := range map[int]uint64{syscall.RLIMIT_CORE: 0, syscall.RLIMIT_FSIZE: 0, syscall.RLIMIT_NOFILE: 32} {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit})
	}
}

// mappingMargin is how much a child may map beyond its memory limit, for stacks of threads and unused mappings.
const mappingMargin = 256 << 20

// limitData limits the writable mappings of the process, in case its memory grows faster than it is checked. RLIMIT_AS would count address
// space that Go only reserves.
func limitData(memory int64) {
	raw, err := os.ReadFile("/proc/self/statm")
	f := bytes.Fields(raw)
	if err != nil || len(f) < 6 {
		return
	}
	mapped, err := strconv.ParseInt(string(f[5]), 10, 64)
	if err != nil {
		return
	}
	limit := uint64(mapped*int64(os.Getpagesize()) + memory + mappingMargin)
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit})
}

// cpuTime returns the processor time of the process.
func cpuTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // cannot fail
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// limitCPU limits the processor time from now on.
func limitCPU(d time.Duration) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CPU, &limit) != nil {
		return
	}
	limit.Cur = min(limit.Max, uint64((cpuTime()+d+grace)/time.Second)+2)
	_ = syscall.Setrlimit(syscall.RLIMIT_CPU, &limit)
}

// exceededCPU reports whether the process was killed by limitCPU.
func exceededCPU(s *os.ProcessState) bool {
	ws, ok := s.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGXCPU
}
