package filelog_test

import (
	"testing"

	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func open(t testing.TB, dir string, opts filelog.Options) *filelog.Log {
	t.Helper()
	l, err := filelog.Open(dir, opts)
	require.NoError(t, err)
	require.CloseAfter(t, l)
	return l
}

func TestStore(t *testing.T) {
	for name, opts := range map[string]filelog.Options{
		"default":             {},
		"everything is small": {SegmentBytes: 2000, CacheBytes: 1, PendingBytes: 100, Sync: filelog.SyncNever},
		"synced all the time": {Sync: filelog.SyncWrite},
	} {
		t.Run(name, func(t *testing.T) {
			eventlogtest.TestStore(t, func(t *testing.T) eventlog.Store { return open(t, t.TempDir(), opts) })
		})
	}
}

func TestWait(t *testing.T) {
	eventlogtest.TestWait(t, func(t *testing.T) eventlog.Store { return open(t, t.TempDir(), filelog.Options{}) })
}
