package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// executable is this program, also when its file was replaced since it started.
func executable() (string, error) { return "/proc/self/exe", nil }

// attributes have the kernel end a child whose parent has ended.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

func systemEnv() []string { return nil }

// resident is the memory of a process that is its own, in bytes: anonymous pages, and not those of the program's file.
func resident(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	f := bytes.Fields(raw)
	if err != nil || len(f) < 3 {
		return 0
	}
	all, _ := strconv.ParseInt(string(f[1]), 10, 64)
	file, _ := strconv.ParseInt(string(f[2]), 10, 64)
	return (all - file) * int64(os.Getpagesize())
}

// noNewPrivileges is PR_SET_NO_NEW_PRIVS of prctl(2).
const noNewPrivileges = 38

// restrict gives up what parsing does not need: new privileges, files, and core dumps.
func restrict() {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0)
	_ = os.Chdir("/")
	for limit, most := range map[int]uint64{syscall.RLIMIT_CORE: 0, syscall.RLIMIT_FSIZE: 0, syscall.RLIMIT_NOFILE: 32} {
		_ = syscall.Setrlimit(limit, &syscall.Rlimit{Cur: most, Max: most})
	}
}

// dataRoom is what a child may map beyond its limit of memory: stacks of threads, and what is mapped and not used.
const dataRoom = 256 << 20

// limitData bounds what the process maps, so that it cannot outrun those who watch its memory. RLIMIT_AS would count address space that Go
// only reserves.
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
	most := uint64(mapped*int64(os.Getpagesize()) + memory + dataRoom)
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
}

// cpuTime is the processor time that the process has used.
func cpuTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // cannot fail
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// limitCPU bounds the processor time from now on.
func limitCPU(d time.Duration) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CPU, &limit) != nil {
		return
	}
	limit.Cur = min(limit.Max, uint64((cpuTime()+d+grace)/time.Second)+2)
	_ = syscall.Setrlimit(syscall.RLIMIT_CPU, &limit)
}

func overTime(s *os.ProcessState) bool {
	ws, ok := s.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGXCPU
}
