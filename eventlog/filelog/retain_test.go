package filelog_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func wantGone(t *testing.T, l *filelog.Log, id event.RunID) {
	t.Helper()
	if _, err := l.Load(ctx, id, 0); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("%s: %v", id, err)
	}
}

func TestMaxAge(t *testing.T) {
	dir := t.TempDir()
	var now atomic.Int64 // seconds
	opts := filelog.Options{MaxAge: 100 * time.Second, Now: func() time.Time { return at(int(now.Load())) }}
	l, err := filelog.Open(dir, opts)
	require.NoError(t, err)
	step := func(second int) {
		t.Helper()
		now.Store(int64(second))
		require.NoError(t, l.Retain(ctx))
	}
	old, live, young := short("old", 5, at(0)), short("live", 5, at(40)), short("young", 5, at(80))
	put(t, l, old)
	step(30) // a quarter of the age has passed: the segment is full
	require.NoError(t, l.Append(ctx, "live", live[:3]...))
	step(70)
	put(t, l, young)
	step(100)
	eventlogtest.WantLog(t, l, "old", 0, old)
	step(101)
	wantGone(t, l, "old")
	if n := len(summaries(t, l)); n != 2 {
		t.Errorf("%d runs of 2", n)
	}
	put(t, l, short("old", 3, at(101))) // the id can be used again
	step(300)
	eventlogtest.WantLog(t, l, "live", 0, live[:3]) // and all later segments are kept
	eventlogtest.WantLog(t, l, "young", 0, young)
	require.NoError(t, l.Close())
	l = open(t, dir, opts)
	eventlogtest.WantLog(t, l, "old", 0, short("old", 3, at(101)))
	for i := 3; i < 5; i++ {
		live[i].At = at(300)
	}
	require.NoError(t, l.Append(ctx, "live", live[3:]...))
	step(390)
	wantGone(t, l, "live") // it is deleted with its first record
	wantGone(t, l, "young")
	wantGone(t, l, "old")
	if n := len(files(t, dir, "*.log")); n != 2 { // live's end is not old yet
		t.Errorf("%d segments", n)
	}
	require.NoError(t, l.Close())
	if s := summaries(t, open(t, dir, opts)); len(s) != 0 {
		t.Errorf("after opening anew: %v", s)
	}
}

func TestMaxBytes(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, filelog.Options{SegmentBytes: 2000, MaxBytes: 9000, CacheBytes: 1})
	for i := range 30 {
		put(t, l, short(event.RunID(fmt.Sprintf("r%02d", i)), 8, at(i)))
	}
	require.NoError(t, l.Retain(ctx))
	size := 0
	for _, f := range files(t, dir, "*.log") {
		size += len(read(t, f))
	}
	kept := summaries(t, l)
	if size > 9000 || size < 6000 || len(kept) < 5 || len(kept) > 15 {
		t.Errorf("%d bytes and %d runs are left", size, len(kept))
	}
	for i := range 30 {
		id := event.RunID(fmt.Sprintf("r%02d", i))
		if i < 30-len(kept) {
			wantGone(t, l, id)
			continue
		}
		eventlogtest.WantLog(t, l, id, 0, short(id, 8, at(i)))
	}
}

func TestRetainsByItself(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := open(t, dir, filelog.Options{MaxAge: time.Hour})
		put(t, l, short("a", 3, time.Now().UTC()))
		time.Sleep(59 * time.Minute) // in the bubble
		eventlogtest.WantLog(t, l, "a", 1, short("a", 3, time.Now().Add(-59*time.Minute).UTC())[1:])
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		wantGone(t, l, "a")
	})
}

// TestPendingIsBounded blocks the writer goroutine when it reads the clock. Unwritten events must not be visible.
func TestPendingIsBounded(t *testing.T) {
	asked, resume := make(chan struct{}), make(chan struct{})
	l := open(t, t.TempDir(), filelog.Options{PendingBytes: 300, Now: func() time.Time {
		asked <- struct{}{}
		<-resume
		return at(0)
	}})
	es := short("a", 20, at(1))
	require.NoError(t, l.Append(ctx, "a", es[0]))
	retained := make(chan error, 1)
	go func() { retained <- l.Retain(ctx) }()
	<-asked
	dead, cancel := context.WithCancel(ctx)
	cancel()
	n := 1
	for ; n < len(es); n++ {
		if err := l.Append(dead, "a", es[n]); errors.Is(err, context.Canceled) { // it would wait for room
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if n < 2 || n > 5 {
		t.Errorf("%d events were taken", n)
	}
	eventlogtest.WantLog(t, l, "a", 0, es[:1])
	if s, err := l.Summary(ctx, "a"); err != nil || s.Last != 1 {
		t.Errorf("the summary tells of event %d before it is written, error %v", s.Last, err)
	}
	done := make(chan error, 1)
	go func() { done <- l.Append(ctx, "a", es[n:]...) }()
	close(resume)
	require.NoError(t, errors.Join(<-retained, <-done))
	eventlogtest.WantLog(t, l, "a", 0, es)
}
