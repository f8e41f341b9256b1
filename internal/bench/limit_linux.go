package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// limitPeriod is the period in which a limited process gets its share. It is short, so that a process is never stopped for long.
const limitPeriod = 10 * time.Millisecond

// limitCPU limits the processor time of a process to a share of one processor, which it gets before other programs, with a control group of its own: version 2, or version 1. It needs
// the rights of root. Call unlimit when the process has ended.
func limitCPU(pid int, share float64) (unlimit func() error, err error) {
	root, period := "/sys/fs/cgroup", limitPeriod.Microseconds()
	quota := int64(share * float64(period))
	files := map[string]string{"cpu.max": fmt.Sprint(quota, " ", period), "cpu.weight": "10000"}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); errors.Is(err, fs.ErrNotExist) {
		root = filepath.Join(root, "cpu")
		files = map[string]string{"cpu.cfs_period_us": fmt.Sprint(period), "cpu.cfs_quota_us": fmt.Sprint(quota), "cpu.shares": "262144"}
	}
	dir := filepath.Join(root, fmt.Sprint("sluice-bench-", pid))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	for name, value := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	return func() error { return os.Remove(dir) }, nil
}

// idleTimeOfMachine returns how long the processors have been idle since the start of the machine: the mean of them. Its resolution is 10 ms.
func idleTimeOfMachine() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(stat)
	if len(fields) < 5 {
		return 0, errors.New("read /proc/stat: too short")
	}
	ticks, err := strconv.ParseInt(string(fields[4]), 10, 64)
	return time.Duration(ticks) * 10 * time.Millisecond / time.Duration(runtime.NumCPU()), err
}
