package filelog_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestMachineStopped opens copies of an open log, as a crash leaves them: with the same boot id after a kill, and with another one after a loss
// of power.
func TestMachineStopped(t *testing.T) {
	for _, c := range []struct {
		name, boot string
		cut        bool
	}{{"the process was killed", "", false}, {"the machine went down", "another boot", true}} {
		t.Run(c.name, func(t *testing.T) {
			dir, crashed := t.TempDir(), t.TempDir()
			l := open(t, dir, filelog.Options{Sync: filelog.SyncNever})
			ended, live := short("ended", 4, at(1)), short("live", 9, at(2))
			put(t, l, ended)
			require.NoError(t, l.Append(ctx, "live", live[:5]...))
			settle(t, l)
			copyTo(t, dir, crashed)
			boot := read(t, filepath.Join(dir, "boot"))
			if c.cut {
				boot = []byte(c.boot)
			}
			write(t, filepath.Join(crashed, "boot"), boot)
			end := event.Seq(5 + event.Gap + 1)
			for range 2 { // the second time after a kill in the boot of the first
				l, err := filelog.Open(crashed, filelog.Options{SegmentBytes: 300})
				require.NoError(t, err)
				eventlogtest.WantLog(t, l, "ended", 0, ended)
				s, err := l.Summary(ctx, "live")
				if err != nil || s.Ended != c.cut {
					t.Fatalf("summary %+v, error %v", s, err)
				}
				if c.cut {
					if s.Last != end || s.Last.Count() != 6 || s.Code != fault.Internal || s.Status() != event.Failed {
						t.Errorf("the cut run is listed as %+v", s)
					}
					for after := range event.Seq(9) { // readers may have seen up to 8
						es, err := l.Load(ctx, "live", after)
						if err != nil || len(es) != max(5-int(after), 0)+1 || es[len(es)-1].Seq != end {
							t.Errorf("load after %d: %v, error %v", after, es, err)
						}
					}
					if _, err := l.Load(ctx, "live", end); !errors.Is(err, eventlog.ErrEnd) {
						t.Errorf("load after the end: %v", err)
					}
					es, err := eventlog.Read(ctx, l, "live", 0, end)
					if err != nil || event.CheckLog(es[:1], false) != nil || len(es) != 6 {
						t.Errorf("read: %d events, error %v", len(es), err)
					}
				}
				put(t, l, short(event.RunID("r"+s.UpdatedAt.Format("150405")+string(rune('a'+len(summaries(t, l))))), 5, at(3)))
				copied := t.TempDir()
				copyTo(t, crashed, copied)
				write(t, filepath.Join(copied, "boot"), read(t, filepath.Join(crashed, "boot")))
				require.NoError(t, l.Close())
				if len(files(t, crashed, "boot")) != 0 {
					t.Error("closing leaves the note of the boot")
				}
				crashed = copied
			}
			if !c.cut {
				l := open(t, crashed, filelog.Options{})
				require.NoError(t, l.Append(ctx, "live", live[5:]...))
				eventlogtest.WantLog(t, l, "live", 0, live)
			}
		})
	}
}
