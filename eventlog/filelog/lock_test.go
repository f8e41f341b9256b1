package filelog_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestBriefLock opens a log while another process looks whether it is in use. That holds the lock for a moment.
func TestBriefLock(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		lock, err := filelog.Lock(dir)
		require.NoError(t, err)
		if _, err := filelog.Open(dir, filelog.Options{}); !errors.Is(err, filelog.ErrLocked) {
			t.Errorf("open while the lock is held: %v", err)
		}
		time.AfterFunc(time.Millisecond, func() {
			if err := lock.Unlock(); err != nil {
				t.Error(err)
			}
		})
		l, err := filelog.Open(dir, filelog.Options{})
		if err != nil {
			t.Fatalf("open while the lock is released: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
