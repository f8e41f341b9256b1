package bench

import (
	"fmt"
	"os"
	"runtime/pprof"
)

// profileEnv is the environment variable that names the file for the CPU profile of a process of the command sluice.
const profileEnv = "BENCH_PROFILE"

// startProfile writes the CPU profile of this process to a file until stop is called. It does nothing if file is empty.
func startProfile(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}
