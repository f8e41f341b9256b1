package filelog_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// secretRun returns a run with the word in each event.
func secretRun(id event.RunID, word string, n int) []event.Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	es := []event.Event{{Seq: 1, At: at, Body: event.RunStarted{Run: id, Question: event.Question{Query: "the " + word, Mode: event.Direct,
		History: []event.Message{{Role: event.RoleUser, Text: "earlier " + word}}}}}}
	for len(es) < n {
		es = append(es, event.Event{Seq: event.Seq(len(es) + 1), At: at, Body: event.Token{Text: fmt.Sprint(word, len(es))}})
	}
	return append(es, event.Event{Seq: event.Seq(len(es) + 1), At: at, Body: event.RunFailed{Code: "INTERNAL", Message: word}})
}

// scatter appends runs to several small segments, one event per append, and returns them.
func scatter(t *testing.T, l *filelog.Log, n int) map[event.RunID][]event.Event {
	t.Helper()
	all := map[event.RunID][]event.Event{}
	for i := range n {
		id := event.RunID(fmt.Sprintf("run-%03d", i))
		all[id] = secretRun(id, fmt.Sprintf("word%03dx", i), 30)
	}
	for k := range 31 { // the records of the runs alternate
		for i := range n {
			id := event.RunID(fmt.Sprintf("run-%03d", i))
			require.NoError(t, l.Append(ctx, id, all[id][k]))
		}
	}
	return all
}

// holds reports whether a file of the log contains the word.
func holds(t *testing.T, dir, word string) bool {
	t.Helper()
	for _, f := range files(t, dir, "*.*") {
		if bytes.Contains(read(t, f), []byte(word)) {
			return true
		}
	}
	return false
}

func TestDeletedRunIsInNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := filelog.Options{SegmentBytes: 8 << 10}
	l, err := filelog.Open(dir, opts)
	require.NoError(t, err)
	all := scatter(t, l, 12)
	if !holds(t, dir, "word004x") || len(files(t, dir, "*.log")) < 3 {
		t.Fatal("the runs are not spread over segments")
	}
	check := func(l *filelog.Log, gone ...event.RunID) {
		t.Helper()
		for id, es := range all {
			wanted := true
			for _, g := range gone {
				wanted = wanted && id != g
			}
			if wanted {
				eventlogtest.WantLog(t, l, id, 0, es)
			} else if _, err := l.Load(ctx, id, 0); !errors.Is(err, eventlog.ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
			if got := holds(t, dir, fmt.Sprintf("word%sx", id[4:])); got != wanted {
				t.Errorf("%s is in a file: %v", id, got)
			}
		}
	}
	require.NoError(t, l.Delete(ctx, "run-004"))
	check(l, "run-004")
	for range 2 { // first without indexes of the segments, then with them
		require.NoError(t, l.Close())
		if l, err = filelog.Open(dir, opts); err != nil {
			t.Fatal(err)
		}
		check(l, "run-004")
	}
	require.NoError(t, l.Delete(ctx, "run-009"))
	if err := l.Delete(ctx, "run-004"); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("a second time: %v", err)
	}
	check(l, "run-004", "run-009")
	if n := len(summaries(t, l)); n != 10 {
		t.Errorf("%d runs are listed", n)
	}
	require.NoError(t, l.Close())
}

// TestInterruptedDelete checks that Open completes a deletion that a crash interrupted at any point.
func TestInterruptedDelete(t *testing.T) {
	t.Parallel()
	before, dir := t.TempDir(), t.TempDir()
	opts := filelog.Options{SegmentBytes: 8 << 10}
	l, err := filelog.Open(dir, opts)
	require.NoError(t, err)
	all := scatter(t, l, 12)
	copyTo(t, dir, before)
	require.NoError(t, l.Delete(ctx, "run-004"))
	logs := files(t, dir, "*.log")
	for k := range len(logs) + 2 { // the first k segments are as they were, of the last one the part before the deletion's record
		crashed := t.TempDir()
		copyTo(t, dir, crashed)
		for i, name := range logs {
			old := read(t, filepath.Join(before, filepath.Base(name)))
			switch now := read(t, name); {
			case i < k && len(now) > len(old):
				write(t, filepath.Join(crashed, filepath.Base(name)), append(old, now[len(old):]...))
			case i < k:
				write(t, filepath.Join(crashed, filepath.Base(name)), old)
			}
		}
		if k == len(logs)+1 { // and a record in the middle of the run is damaged besides
			for _, name := range files(t, crashed, "*.log")[1:] {
				data := read(t, name)
				if at := bytes.Index(data, []byte("word004x")); at >= 0 {
					data[at] ^= 1
					write(t, name, data)
					break
				}
			}
		}
		c, err := filelog.Open(crashed, opts)
		require.NoError(t, err)
		if _, err := c.Load(ctx, "run-004", 0); !errors.Is(err, eventlog.ErrNotFound) {
			t.Errorf("%d segments unwiped: %v", k, err)
		}
		if k <= len(logs) && holds(t, crashed, "word004x") {
			t.Errorf("%d segments unwiped: some of it is left", k)
		}
		for id, es := range all {
			if id != "run-004" {
				eventlogtest.WantLog(t, c, id, 0, es)
			}
		}
		require.NoError(t, c.Close())
	}
	require.NoError(t, l.Close())
}

// TestSummariesAreSmall checks that summaries in memory do not contain long texts.
func TestSummariesAreSmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := filelog.Open(dir, filelog.Options{})
	require.NoError(t, err)
	es := secretRun("r", "earlier", 2)
	require.NoError(t, l.Append(ctx, "r", es...))
	require.NoError(t, l.Close())
	if l, err = filelog.Open(dir, filelog.Options{}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := l.Summary(ctx, "r")
	if err != nil || s.Start.Query != "the earlier" || s.Start.History != nil {
		t.Errorf("%+v, %v", s, err)
	}
	eventlogtest.WantLog(t, l, "r", 0, es)
	for _, f := range files(t, dir, "*.idx") {
		if bytes.Contains(read(t, f), []byte(`"history"`)) {
			t.Error("an index has the history")
		}
	}
}

// BenchmarkDelete deletes runs of 60 events from a log of b.N runs.
func BenchmarkDelete(b *testing.B) {
	l, err := filelog.Open(b.TempDir(), filelog.Options{})
	require.NoError(b, err)
	defer l.Close()
	for i := range b.N {
		id := event.RunID(fmt.Sprintf("run-%09d", i))
		require.NoError(b, l.Append(ctx, id, secretRun(id, "some words of an answer ", 60)...))
	}
	b.ResetTimer()
	for i := range b.N {
		require.NoError(b, l.Delete(ctx, event.RunID(fmt.Sprintf("run-%09d", i))))
	}
}
