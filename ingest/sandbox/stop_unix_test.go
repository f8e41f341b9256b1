//go:build unix

package sandbox

import (
	"os"
	"syscall"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// stop suspends a process, which then neither runs nor ends by itself.
func stop(t *testing.T, p *os.Process) {
	t.Helper()
	require.NoError(t, p.Signal(syscall.SIGSTOP))
}
