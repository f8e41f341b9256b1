package filelog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice-rag/sluice/disk/disktest"
	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

var ctx = context.Background()

func at(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC) }

// short returns the log of an ended run with n events, all at time t.
func short(id event.RunID, n int, t time.Time) []event.Event {
	es := []event.Event{{Seq: 1, At: t, Body: event.RunStarted{Run: id, Question: event.Question{Query: "why?"}}}}
	for i := 2; i < n; i++ {
		es = append(es, event.Event{Seq: event.Seq(i), At: t, Body: event.Token{Text: fmt.Sprintf(" word %d of %s", i, id)}})
	}
	return append(es, event.Event{Seq: event.Seq(n), At: t, Body: event.RunFinished{}})
}

func put(t testing.TB, l *filelog.Log, es []event.Event) {
	t.Helper()
	require.NoError(t, l.Append(ctx, eventlogtest.ID(es), es...))
}

// fill creates a log in dir with the ended runs r000, r001 … and closes it.
func fill(t testing.TB, dir string, opts filelog.Options, runs int) [][]event.Event {
	t.Helper()
	l, err := filelog.Open(dir, opts)
	require.NoError(t, err)
	var all [][]event.Event
	for i := range runs {
		all = append(all, short(event.RunID(fmt.Sprintf("r%03d", i)), 10, at(i)))
		put(t, l, all[i])
	}
	require.NoError(t, l.Close())
	return all
}

func files(t testing.TB, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	slices.Sort(names)
	return names
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// copyTo copies the files of a log. A copy of an open log is what a crash would leave.
func copyTo(t testing.TB, from, to string) {
	t.Helper()
	for _, f := range append(files(t, from, "*.log"), files(t, from, "*.idx")...) {
		write(t, filepath.Join(to, filepath.Base(f)), read(t, f))
	}
}

func summaries(t testing.TB, a eventlog.Archive) []eventlog.Summary {
	t.Helper()
	page, err := a.Runs(ctx, "", 1_000_000)
	require.NoError(t, err)
	return page
}

// TestAgainstMemory appends random events to this store and to one in memory, sometimes opens it again, and compares both. It also opens
// copies, as a crash would leave them, which must contain a prefix of each run and all ended runs.
func TestAgainstMemory(t *testing.T) {
	type todo struct {
		id event.RunID
		es []event.Event
	}
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		opts := filelog.Options{SegmentBytes: 1 << (12 + rng.IntN(6)), CacheBytes: 1 << rng.IntN(20), Sync: filelog.SyncNever}
		dir := t.TempDir()
		l, err := filelog.Open(dir, opts)
		require.NoError(t, err)
		mem := eventlog.NewMemory()
		var open []todo
		for range 100 {
			if len(open) < 4 {
				es := eventlogtest.RandomLog(rng, rng.IntN(40))
				open = append(open, todo{eventlogtest.ID(es), es})
			}
			i := rng.IntN(len(open))
			n := 1 + rng.IntN(len(open[i].es))
			require.NoError(t, errors.Join(l.Append(ctx, open[i].id, open[i].es[:n]...), mem.Append(ctx, open[i].id, open[i].es[:n]...)))
			if open[i].es = open[i].es[n:]; len(open[i].es) == 0 {
				open = slices.Delete(open, i, i+1)
			}
			switch rng.IntN(25) {
			case 0:
				require.NoError(t, l.Close())
				if l, err = filelog.Open(dir, opts); err != nil {
					t.Fatal(err)
				}
				compare(t, mem, l, true)
			case 1:
				compare(t, mem, l, true)
			case 2:
				crashed := t.TempDir()
				seen := visible(t, l)
				copyTo(t, dir, crashed)
				c, err := filelog.Open(crashed, opts)
				require.NoError(t, err)
				compare(t, mem, c, false)
				for id, es := range seen {
					eventlogtest.WantLog(t, c, id, 0, append(es, mustLoad(t, c, id, event.Seq(len(es)))...))
				}
				require.NoError(t, c.Close())
			}
		}
		compare(t, mem, l, true)
		require.NoError(t, l.Close())
	}
}

// settle waits until all appended events are visible.
func settle(t testing.TB, l *filelog.Log) {
	t.Helper()
	require.NoError(t, l.Retain(ctx))
}

// visible returns the visible events of each run.
func visible(t *testing.T, l *filelog.Log) map[event.RunID][]event.Event {
	t.Helper()
	seen := map[event.RunID][]event.Event{}
	for _, s := range summaries(t, l) {
		seen[s.Start.Run] = mustLoad(t, l, s.Start.Run, 0)
	}
	return seen
}

func mustLoad(t *testing.T, l *filelog.Log, id event.RunID, after event.Seq) []event.Event {
	t.Helper()
	es, err := l.Load(ctx, id, after)
	if err != nil && !errors.Is(err, eventlog.ErrEnd) {
		t.Fatalf("load %s after %d: %v", id, after, err)
	}
	return slices.Clip(es)
}

// compare compares the runs of two stores. Unless all is set, live runs may lack their last events.
func compare(t *testing.T, want *eventlog.Memory, got *filelog.Log, all bool) {
	t.Helper()
	if all {
		settle(t, got)
		if diff := cmp.Diff(summaries(t, want), summaries(t, got)); diff != "" {
			t.Fatalf("summaries (-want +got):\n%s", diff)
		}
	}
	for _, s := range summaries(t, want) {
		es, err := want.Load(ctx, s.Start.Run, 0)
		require.NoError(t, err)
		if !all && !s.Ended {
			sum, err := got.Summary(ctx, s.Start.Run)
			if err != nil && !errors.Is(err, eventlog.ErrNotFound) {
				t.Fatal(err)
			}
			if es = es[:sum.Last]; len(es) == 0 {
				continue
			}
		}
		eventlogtest.WantLog(t, got, s.Start.Run, 0, es)
		eventlogtest.WantLog(t, got, s.Start.Run, event.Seq(len(es)/2), es[len(es)/2:])
	}
}

// TestTornEnd cuts a log at every byte of its last record.
func TestTornEnd(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, filelog.Options{Sync: filelog.SyncNever})
	a, b := short("a", 4, at(1)), short("b", 5, at(2))
	put(t, l, a)
	require.NoError(t, l.Append(ctx, "b", b[:3]...))
	if err := l.Retain(ctx); err != nil { // writes pending events
		t.Fatal(err)
	}
	seg := files(t, dir, "*.log")[0]
	start := len(read(t, seg))
	require.NoError(t, l.Append(ctx, "b", b[3:]...))
	data := read(t, seg)
	for cut := start; cut <= len(data); cut++ {
		crashed := t.TempDir()
		write(t, filepath.Join(crashed, filepath.Base(seg)), data[:cut])
		c, err := filelog.Open(crashed, filelog.Options{Sync: filelog.SyncNever})
		require.NoError(t, err)
		eventlogtest.WantLog(t, c, "a", 0, a)
		if cut == len(data) {
			eventlogtest.WantLog(t, c, "b", 0, b)
		} else {
			if s, err := c.Summary(ctx, "b"); err != nil || s.Ended || s.Last != 3 {
				t.Fatalf("cut at %d: summary %+v, error %v", cut, s, err)
			}
			if err := c.Append(ctx, "b", b[3:]...); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			eventlogtest.WantLog(t, c, "b", 0, b)
		}
		require.NoError(t, c.Close())
	}
}

// TestDamagedByte changes random bytes of a log, with and without its indexes. A byte may damage at most one run, which must be reported,
// and the other runs must be correct.
func TestDamagedByte(t *testing.T) {
	dir := t.TempDir()
	opts := filelog.Options{SegmentBytes: 3000, Sync: filelog.SyncNever}
	all := fill(t, dir, opts, 8)
	segs := files(t, dir, "*.log")
	if len(segs) < 3 {
		t.Fatalf("%d segments", len(segs))
	}
	rng := rand.New(rand.NewPCG(9, 9))
	for round := range 150 {
		hit := t.TempDir()
		copyTo(t, dir, hit)
		if round%2 == 0 {
			for _, f := range files(t, hit, "*.idx") {
				require.NoError(t, os.Remove(f))
			}
		}
		seg := files(t, hit, "*.log")[rng.IntN(len(segs))]
		data := read(t, seg)
		data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		write(t, seg, data)
		var logs bytes.Buffer
		opts.Log = slog.New(slog.NewTextHandler(&logs, nil))
		l, err := filelog.Open(hit, opts)
		require.NoError(t, err)
		lost := 0
		for _, es := range all {
			got, err := l.Load(ctx, eventlogtest.ID(es), 0)
			switch {
			case err == nil && cmp.Equal(es, got):
			case errors.Is(err, filelog.ErrDamaged):
				s, err := l.Summary(ctx, eventlogtest.ID(es))
				if err != nil || !s.Ended || s.Code != fault.Internal {
					t.Errorf("summary of a damaged run: %+v, error %v", s, err)
				}
				lost++
			case errors.Is(err, eventlog.ErrNotFound):
				lost++
			default:
				t.Fatalf("load: %d events, error %v", len(got), err)
			}
		}
		if lost != 1 || !strings.Contains(logs.String(), "damaged") && !strings.Contains(logs.String(), "cut off") {
			t.Fatalf("%d runs are lost; log lines:\n%s", lost, logs.String())
		}
		put(t, l, short("new", 5, at(100)))
		require.NoError(t, l.Close())
	}
}

// TestDamagedMiddle damages a record in the middle of a run.
func TestDamagedMiddle(t *testing.T) {
	dir := t.TempDir()
	l, err := filelog.Open(dir, filelog.Options{})
	require.NoError(t, err)
	a, b := short("a", 6, at(1)), short("b", 6, at(1))
	for i := range a {
		require.NoError(t, errors.Join(l.Append(ctx, "a", a[i]), l.Append(ctx, "b", b[i]), l.Retain(ctx)))
	}
	require.NoError(t, l.Close())
	seg, idx := files(t, dir, "*.log")[0], files(t, dir, "*.idx")[0]
	data := read(t, seg)
	data[bytes.Index(data, []byte("word 3 of a"))] = 'W'
	write(t, seg, data)
	for _, name := range []string{"with its index", "without"} {
		l, err := filelog.Open(dir, filelog.Options{})
		require.NoError(t, err)
		if _, err := l.Load(ctx, "a", 0); !errors.Is(err, filelog.ErrDamaged) {
			t.Errorf("%s: load: %v", name, err)
		}
		if err := l.Wait(ctx, "a", 0); !errors.Is(err, filelog.ErrDamaged) {
			t.Errorf("%s: wait: %v", name, err)
		}
		if err := l.Append(ctx, "a", event.Event{Seq: 7, At: at(2), Body: event.RunFinished{}}); !errors.Is(err, filelog.ErrDamaged) {
			t.Errorf("%s: append: %v", name, err)
		}
		eventlogtest.WantLog(t, l, "b", 0, b)
		require.NoError(t, l.Close())
		require.NoError(t, os.Remove(idx))
	}
}

// TestIndexDamaged damages each index in different ways. Open must rebuild it from its segment.
func TestIndexDamaged(t *testing.T) {
	dir := t.TempDir()
	opts := filelog.Options{SegmentBytes: 3000, Sync: filelog.SyncNever}
	all := fill(t, dir, opts, 10)
	for i, f := range files(t, dir, "*.idx") {
		data := read(t, f)
		switch i % 4 {
		case 0:
			data = nil
		case 1:
			data = data[:len(data)/2]
		case 2:
			data[len(data)/2] ^= 4
		case 3:
			data = []byte("00000000\n{}")
		}
		write(t, f, data)
	}
	l := open(t, dir, opts)
	for _, es := range all {
		eventlogtest.WantLog(t, l, eventlogtest.ID(es), 0, es)
	}
	if n := len(summaries(t, l)); n != 10 {
		t.Errorf("%d runs of 10", n)
	}
}

func TestRestartContinues(t *testing.T) {
	dir := t.TempDir()
	es := short("a", 9, at(1))
	for i := range es { // opened again for each event
		l, err := filelog.Open(dir, filelog.Options{SegmentBytes: 400})
		require.NoError(t, err)
		if s := summaries(t, l); i > 0 && (len(s) != 1 || s[0].Ended || s[0].Last != event.Seq(i) || s[0].Start.Query != "why?") {
			t.Fatalf("before event %d: %+v", i+1, s)
		}
		if i%2 == 0 && i > 0 {
			if err := l.Append(ctx, "a", es[i-1]); !errors.Is(err, eventlog.ErrConflict) {
				t.Errorf("an event again: %v", err)
			}
			eventlogtest.WantLog(t, l, "a", 0, es[:i])
		}
		require.NoError(t, errors.Join(l.Append(ctx, "a", es[i]), l.Close()))
	}
	if n := len(files(t, dir, "*.log")); n < 3 {
		t.Errorf("%d segments", n)
	}
	eventlogtest.WantLog(t, open(t, dir, filelog.Options{}), "a", 0, es)
}

func TestSecondOpenIsRefused(t *testing.T) {
	dir := t.TempDir()
	l, err := filelog.Open(dir, filelog.Options{})
	require.NoError(t, err)
	if _, err := filelog.Open(dir, filelog.Options{}); !errors.Is(err, filelog.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second open: %v", err)
	}
	require.NoError(t, l.Close())
	if err := l.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	open(t, dir, filelog.Options{})
}

func TestOptionsValidate(t *testing.T) {
	err := filelog.Options{CacheBytes: -1, MaxBytes: -1, Sync: 9}.Validate()
	for _, name := range []string{"CacheBytes", "MaxBytes", "Sync"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
	if _, err := filelog.Open(t.TempDir(), filelog.Options{MaxAge: -1}); err == nil {
		t.Error("a negative age was taken")
	}
}

func TestClosed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, err := filelog.Open(dir, filelog.Options{})
		require.NoError(t, err)
		es := short("a", 5, at(1))
		require.NoError(t, l.Append(ctx, "a", es[:2]...))
		done := make(chan error, 1)
		go func() { done <- l.Wait(ctx, "a", 2) }()
		synctest.Wait()
		require.NoError(t, l.Close())
		errs := map[string]error{"wait": <-done, "append": l.Append(ctx, "a", es[2]), "begin": l.Append(ctx, "b", short("b", 3, at(1))...)}
		_, errs["load"] = l.Load(ctx, "a", 0)
		_, errs["runs"] = l.Runs(ctx, "", 1)
		_, errs["summary"] = l.Summary(ctx, "a")
		errs["wait after it"], errs["retain"] = l.Wait(ctx, "a", 0), l.Retain(ctx)
		for what, err := range errs {
			if !errors.Is(err, eventlog.ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
		eventlogtest.WantLog(t, open(t, dir, filelog.Options{}), "a", 0, es[:2])
	})
}

// TestDiskFails makes it impossible to create the next segment for a while.
func TestDiskFails(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, filelog.Options{SegmentBytes: 1000})
	a, b, c := short("a", 5, at(1)), short("b", 30, at(1)), short("c", 30, at(2))
	put(t, l, a)
	put(t, l, b[:1]) // it is written, and goes on
	next := strings.Replace(files(t, dir, "*.log")[0], "1.log", "2.log", 1)
	require.NoError(t, os.Mkdir(next, 0o700))
	for range 2 {
		if err := l.Append(ctx, "c", c...); err == nil || !strings.Contains(err.Error(), next) {
			t.Errorf("append: %v", err)
		}
	}
	if err := l.Append(ctx, "b", b[1:]...); err == nil {
		t.Error("the end of a run that could not be written was confirmed")
	}
	if l.Err() == nil {
		t.Error("the log does not report that it fails")
	}
	eventlogtest.WantLog(t, l, "a", 0, a)
	if _, err := l.Load(ctx, "c", 0); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("run c, whose write failed, is visible: %v", err)
	}
	if n := len(summaries(t, l)); n != 2 {
		t.Errorf("%d runs are listed, want 2", n)
	}
	require.NoError(t, os.Remove(next))
	put(t, l, c)
	eventlogtest.WantLog(t, l, "b", 0, b) // its end was kept until it could be written
	if err := l.Err(); err != nil {
		t.Errorf("the log still reports %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	l = open(t, dir, filelog.Options{})
	for _, es := range [][]event.Event{a, b, c} {
		eventlogtest.WantLog(t, l, eventlogtest.ID(es), 0, es)
	}
}

func TestFullDisk(t *testing.T) {
	dir := disktest.Small(t, "4m")
	space := reserve.New(filepath.Join(dir, "reserve"), 512<<10)
	require.NoError(t, space.Refill())
	opts := filelog.Options{Reserve: space, PendingBytes: 32 << 10}
	runs := filepath.Join(dir, "runs")
	l := open(t, runs, opts)
	a, b, long := short("a", 5, at(1)), short("b", 5, at(2)), short("live", 20000, at(3))
	put(t, l, a)
	put(t, l, b)
	put(t, l, long[:10])
	free := disktest.Fill(t, dir, 0)

	var refused error
	n := 10
	for ; n < 19000 && refused == nil; n++ {
		refused = l.Append(ctx, "live", long[n])
	}
	if fault.Public(refused).Code != fault.NoSpace {
		t.Fatalf("appended %d events on a full disk: %v", n, refused)
	}
	n-- // this one is not in the log
	if err := l.Append(ctx, "new", short("new", 3, at(4))[0]); fault.Public(err).Code != fault.NoSpace {
		t.Errorf("a new run on a full disk: %v", err)
	}
	if fault.Public(l.Err()).Code != fault.NoSpace {
		t.Errorf("the log reports %v", l.Err())
	}
	end := event.Event{Seq: event.Seq(n + 1), At: at(5), Body: event.RunFailed{Code: fault.NoSpace, Message: "full"}}
	if err := l.Append(ctx, "live", end); err != nil {
		t.Fatalf("the end of a run on a full disk: %v", err)
	}
	want := append(slices.Clone(long[:n]), end)
	eventlogtest.WantLog(t, l, "live", 0, want)
	if err := l.Append(ctx, "new", short("new", 3, at(4))[0]); fault.Public(err).Code != fault.NoSpace {
		t.Errorf("a new run while the reserve is used: %v", err)
	}
	if err := l.Delete(ctx, "a"); err != nil {
		t.Errorf("delete: %v", err)
	}
	free()
	c := short("c", 50, at(6))
	put(t, l, c)
	if err := l.Err(); err != nil {
		t.Errorf("with room again the log reports %v", err)
	}
	require.NoError(t, l.Close())
	l = open(t, runs, opts)
	eventlogtest.WantLog(t, l, "live", 0, want)
	eventlogtest.WantLog(t, l, "b", 0, b)
	eventlogtest.WantLog(t, l, "c", 0, c)
	if _, err := l.Load(ctx, "a", 0); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("the deleted run: %v", err)
	}
}

func TestDeleteOnAFullDisk(t *testing.T) {
	dir := disktest.Small(t, "2m")
	space := reserve.New(filepath.Join(dir, "reserve"), 128<<10)
	require.NoError(t, space.Refill())
	l := open(t, filepath.Join(dir, "runs"), filelog.Options{Reserve: space})
	put(t, l, short("a", 50, at(1)))
	disktest.Fill(t, dir, 0)
	for i := range 100 { // the last page of the segment has room for some
		id := event.RunID(fmt.Sprintf("b%d", i))
		if l.Append(ctx, id, short(id, 5, at(2))[0]) != nil {
			break
		}
	}
	if err := l.Delete(ctx, "a"); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := l.Load(ctx, "a", 0); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("the deleted run: %v", err)
	}
}

func TestRefusedAppendLeavesNoRun(t *testing.T) {
	l := open(t, t.TempDir(), filelog.Options{})
	es := short("a", 4, at(1))
	bad := slices.Clone(es)
	bad[1].At = time.Time{}
	if err := l.Append(ctx, "a", bad...); err == nil {
		t.Error("an event without a time was taken")
	}
	if err := l.Append(ctx, "no/id", short("x", 3, at(1))...); err == nil {
		t.Error("an id that is none was taken")
	}
	if s := summaries(t, l); len(s) != 0 {
		t.Errorf("runs: %v", s)
	}
	put(t, l, es)
	eventlogtest.WantLog(t, l, "a", 0, es)
}
