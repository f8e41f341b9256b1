package filelog

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestFailedSync(t *testing.T) {
	for name, damage := range map[string]bool{"records can be read back": false, "records are damaged": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l, err := Open(dir, Options{})
			require.NoError(t, err)
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			es := []event.Event{{Seq: 1, At: at, Body: event.RunStarted{Run: "r", Question: event.Question{Query: "why?"}}}, {Seq: 2, At: at, Body: event.RunFinished{}}}
			require.NoError(t, l.Append(context.Background(), "r", es[0]))
			if damage {
				f, err := os.OpenFile(segmentPath(dir, 1), os.O_WRONLY, 0)
				require.NoError(t, err)
				if _, err := f.WriteAt([]byte("x"), headBytes+3); err != nil {
					t.Fatal(err)
				}
				_ = f.Close()
			}
			done := make(chan struct{})
			l.tasks <- func() {
				l.finishSync(errors.New("input/output error"))
				close(done)
			}
			<-done
			err = l.Append(context.Background(), "r", es[1])
			if damage != (err != nil) || damage != (l.Err() != nil) {
				t.Errorf("append after a failed sync: %v; the log reports %v", err, l.Err())
			}
			if cerr := l.Close(); damage != (cerr != nil) {
				t.Errorf("close: %v", cerr)
			}
		})
	}
}

// TestSyncIsRetried fails a sync and the first attempt to write its records again. Another run writes before the second attempt, which works.
func TestSyncIsRetried(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	start := func(id event.RunID) event.Event {
		return event.Event{Seq: 1, At: at, Body: event.RunStarted{Run: id, Question: event.Question{Query: "why?"}}}
	}
	end := event.Event{Seq: 2, At: at, Body: event.RunFinished{}}
	for name, c := range map[string]struct {
		segment int64
		fail    func(t *testing.T, l *Log) // runs on the writer goroutine
	}{
		"end of a run": {fail: func(_ *testing.T, l *Log) { l.finishSync(errors.New("input/output error")) }},
		"deletion": {fail: func(t *testing.T, l *Log) {
			if failSync(t, l, func() error { return l.delete("old") }) == 0 {
				t.Error("the deletion was not written")
			}
		}},
		"deletion that needs the next segment": {segment: 500, fail: func(t *testing.T, l *Log) {
			if failSync(t, l, func() error { return l.delete("old") }) > 0 {
				t.Error("the deletion was written to the full segment")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				l, err := Open(dir, Options{SegmentBytes: c.segment})
				require.NoError(t, err)
				ctx := t.Context()
				require.NoError(t, errors.Join(l.Append(ctx, "old", start("old"), end), l.Append(ctx, "r", start("r"))))
				onWriter := func(do func()) {
					done := make(chan struct{})
					l.tasks <- func() { do(); close(done) }
					<-done
				}
				path := segmentPath(dir, 1)
				if err := os.Rename(path, path+".hidden"); err != nil { // so the log cannot read its records back
					t.Fatal(err)
				}
				onWriter(func() { c.fail(t, l) })
				if err := l.Append(ctx, "other", start("other")); err != nil && c.segment == 0 {
					t.Errorf("append of another run: %v", err)
				}
				if l.Err() == nil {
					t.Error("the log does not report that it has records that are not synced")
				}
				if err := l.Delete(ctx, "old"); err == nil {
					t.Error("a deletion succeeded although its sync cannot cover the records before it")
				}
				onWriter(func() {
					if err := l.nextSegment(); err == nil || len(l.w.segs) != 1 {
						t.Errorf("the next segment began before the records were synced: %v", err)
					}
				})
				ended := make(chan error, 1)
				go func() { ended <- l.Append(ctx, "r", end) }()
				synctest.Wait()
				time.Sleep(retryEvery)
				synctest.Wait()
				select {
				case err := <-ended:
					if err == nil {
						t.Error("an end that is not synced was confirmed")
					}
				default:
					t.Error("an append waits although a retry has failed")
				}
				require.NoError(t, os.Rename(path+".hidden", path))
				time.Sleep(2 * retryEvery)
				synctest.Wait()
				if s, err := l.Summary(ctx, "r"); err != nil || !s.Ended || l.Err() != nil {
					t.Errorf("after the retry: summary %+v, error %v; the log reports %v", s, err, l.Err())
					_ = l.Close()
					return
				}
				if err := errors.Join(l.Delete(ctx, "old"), l.Append(ctx, "new", start("new"), end), l.Close()); err != nil {
					t.Errorf("after the retry: %v", err)
				}
			})
		})
	}
}

// failSync runs do with a file that can be written and not synced, and returns how many bytes were written.
func failSync(t *testing.T, l *Log, do func() error) int64 {
	r, w, err := os.Pipe()
	if err != nil {
		t.Error(err)
		return 0
	}
	file := l.w.file
	l.w.file = w
	if do() == nil {
		t.Error("no error although neither the sync nor the retry worked")
	}
	l.w.file = file
	_ = w.Close()
	n, err := io.Copy(file, r)
	if errors.Join(err, r.Close()) != nil {
		t.Error(err)
	}
	return n
}

// TestSyncWithoutTerminalEvent appends more than syncBytes to a live run: the segment is synced before it is full.
func TestSyncWithoutTerminalEvent(t *testing.T) {
	l, err := Open(t.TempDir(), Options{})
	require.NoError(t, err)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := l.Append(t.Context(), "r",
		event.Event{Seq: 1, At: at, Body: event.RunStarted{Run: "r", Question: event.Question{Query: "why?"}}},
		event.Event{Seq: 2, At: at, Body: event.Token{Text: strings.Repeat("x", syncBytes)}}); err != nil {
		t.Fatal(err)
	}
	durable := make(chan int64)
	l.tasks <- func() {
		l.waitSync()
		durable <- l.w.durable
	}
	if n := <-durable; n < syncBytes {
		t.Errorf("%d bytes are durable, want at least %d", n, syncBytes)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
