//go:build unix

package sandbox

import (
	"os"
	"syscall"
	"testing"
)

// stop suspends a process, which then neither runs nor ends by itself.
func stop(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}
