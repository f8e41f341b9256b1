package filelog_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// FuzzSegment opens a segment of arbitrary bytes. Listed runs must be readable or reported as damaged, and the log must accept new events.
func FuzzSegment(f *testing.F) {
	dir := f.TempDir()
	fill(f, dir, filelog.Options{Sync: filelog.SyncNever}, 3)
	seg := read(f, files(f, dir, "*.log")[0])
	f.Add([]byte{})
	f.Add(seg)
	f.Add(seg[:len(seg)-7])
	f.Add(seg[9:])
	f.Add(append(seg[:len(seg):len(seg)], seg...))
	for i := 0; i < len(seg); i += 97 {
		hit := append([]byte{}, seg...)
		hit[i] ^= 0x41
		f.Add(hit)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "0000000000000001.log"), data, 0o600))
		opts := filelog.Options{Sync: filelog.SyncNever}
		l, err := filelog.Open(dir, opts)
		require.NoError(t, err)
		for _, s := range summaries(t, l) {
			es, err := l.Load(ctx, s.Start.Run, 0)
			if err != nil && !errors.Is(err, filelog.ErrDamaged) || err == nil && event.Seq(len(es)) != s.Last {
				t.Fatalf("load: %d events of %d, error %v", len(es), s.Last, err)
			}
		}
		es := short("fresh", 4, at(1))
		if _, err := l.Summary(ctx, "fresh"); !errors.Is(err, eventlog.ErrNotFound) {
			t.Skip("the fuzzer knows the name")
		}
		put(t, l, es)
		require.NoError(t, l.Close())
		l = open(t, dir, opts)
		eventlogtest.WantLog(t, l, "fresh", 0, es)
	})
}
