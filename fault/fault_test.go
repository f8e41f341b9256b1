package fault_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/sluice-rag/sluice/fault"
)

func TestPublicReportsFullDisk(t *testing.T) {
	t.Parallel()
	full := &os.PathError{Op: "write", Path: "/secret/place", Err: syscall.ENOSPC}
	for name, c := range map[string]struct {
		err  error
		want fault.Code
	}{
		"plain":             {full, fault.NoSpace},
		"quota":             {&os.PathError{Op: "write", Err: syscall.EDQUOT}, fault.NoSpace},
		"with another code": {fault.Wrap(fault.Index, full, "the index failed"), fault.NoSpace},
		"joined":            {errors.Join(errors.New("first"), fmt.Errorf("second: %w", full)), fault.NoSpace},
		"coded before":      {fmt.Errorf("x: %w", fault.New(fault.NoSpace, "no room")), fault.NoSpace},
		"another error":     {&os.PathError{Op: "write", Err: syscall.EIO}, fault.Internal},
	} {
		got := fault.Public(c.err)
		if got.Code != c.want {
			t.Errorf("%s: code %s, want %s", name, got.Code, c.want)
		}
		if c.want == fault.NoSpace && got.Message != "the disk of the server is full" {
			t.Errorf("%s: message %q", name, got.Message)
		}
	}
}
