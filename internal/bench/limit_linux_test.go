package bench

import (
	"errors"
	"io/fs"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestLimitCPU limits a process that computes. Others may have the processors, so that it gets even less.
func TestLimitCPU(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	require.NoError(t, cmd.Start())
	unlimit, err := limitCPU(cmd.Process.Pid, 0.2)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EROFS) {
		_, _ = cmd.Process.Kill(), cmd.Wait()
		t.Skip("no right to make a control group: ", err)
	}
	began := time.Now()
	if err == nil {
		<-time.After(time.Second)
	}
	if kerr := cmd.Process.Kill(); kerr != nil {
		t.Error(kerr)
	}
	elapsed := time.Since(began)
	_ = cmd.Wait() // it was killed
	require.NoError(t, err)
	if err := unlimit(); err != nil {
		t.Error(err)
	}
	if used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); used > elapsed*3/10 || used < elapsed/20 {
		t.Errorf("the process used %v in %v", used, elapsed)
	}
}
