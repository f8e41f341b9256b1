package reserve_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestUseGivesUpTheReserve(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reserve")
	f := reserve.New(path, 1<<16)
	require.NoError(t, f.Refill())
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			return -1
		}
		return info.Size()
	}
	if size() != 1<<16 || f.Check() != nil {
		t.Fatalf("reserve of %d bytes, %v", size(), f.Check())
	}
	full := &os.PathError{Op: "write", Err: syscall.ENOSPC}
	calls := 0
	err := f.Use(func() error {
		if calls++; size() >= 0 {
			return full
		}
		return nil
	})
	if err != nil || calls != 2 || size() != 1<<16 || f.Check() != nil {
		t.Errorf("after %d calls: %v; reserve of %d bytes, %v", calls, err, size(), f.Check())
	}
	other := errors.New("another failure")
	if err := f.Use(func() error { calls++; return other }); !errors.Is(err, other) || calls != 3 {
		t.Errorf("another failure: %v after %d calls", err, calls)
	}
	if err := f.Use(func() error { return full }); !errors.Is(err, full) {
		t.Errorf("an operation for which the reserve is too small: %v", err)
	}
	if err := reserve.New(path, 1<<16).Check(); err != nil {
		t.Errorf("opened again: %v", err)
	}
}

func TestCheckWithoutRoom(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reserve")
	err := reserve.New(path, 1<<60).Check()
	if fault.Public(err).Code != fault.NoSpace {
		t.Errorf("a reserve larger than the disk: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("space was used up although there was not enough: %v", err)
	}
}

func TestWithoutReserve(t *testing.T) {
	t.Parallel()
	var f *reserve.File
	calls := 0
	err := f.Use(func() error { calls++; return syscall.ENOSPC })
	if !errors.Is(err, syscall.ENOSPC) || calls != 1 || f.Check() != nil || f.Refill() != nil {
		t.Errorf("%v after %d calls", err, calls)
	}
}
