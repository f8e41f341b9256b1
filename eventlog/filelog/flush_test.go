package filelog_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/filelog"
)

// TestFlushEvery appends repeatedly to live runs. The first event after a pause is written at once, the following events together after
// FlushEvery. Each event is visible as soon as it is written and not before.
func TestFlushEvery(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const every = 10 * time.Millisecond
		l := open(t, dir, filelog.Options{FlushEvery: every})
		const runs, rounds = 5, 4
		id := func(i int) event.RunID { return event.RunID(fmt.Sprintf("r%d", i)) }
		all := make([][]event.Event, runs)
		for i := range all {
			all[i] = short(id(i), rounds+3, at(i))
			before := time.Now()
			if err := l.Append(ctx, id(i), all[i][0]); err != nil || !time.Now().Equal(before) {
				t.Errorf("the begin waited %v, error %v", time.Since(before), err)
			}
		}
		time.Sleep(every)
		want := func(seq event.Seq, n int) {
			t.Helper()
			synctest.Wait()
			if got := bytes.Count(read(t, files(t, dir, "*.log")[0]), fmt.Appendf(nil, `"seq":%d,`, seq)); got != n {
				t.Errorf("event %d of %d runs is written, want %d", seq, got, n)
			}
			seen := 0
			for i := range runs {
				es, err := l.Load(ctx, id(i), seq-1)
				if err == nil && len(es) == 1 {
					seen++
				}
			}
			if seen != n {
				t.Errorf("event %d of %d runs is visible, want %d", seq, seen, n)
			}
		}
		for round := range rounds {
			seq := event.Seq(round + 2)
			for i, es := range all {
				if err := l.Append(ctx, id(i), es[seq-1]); err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					want(seq, 1)
				}
			}
			time.Sleep(every - 1)
			want(seq, 1)
			time.Sleep(time.Nanosecond)
			want(seq, runs)
			time.Sleep(every)
		}
		// A terminal event is written at once, with all pending events.
		for _, i := range []int{0, 1} {
			if err := l.Append(ctx, id(i), all[i][rounds+1]); err != nil {
				t.Fatal(err)
			}
			want(rounds+2, 1)
		}
		before := time.Now()
		if err := l.Append(ctx, id(0), all[0][rounds+2]); err != nil || !time.Now().Equal(before) {
			t.Errorf("the end waited %v, error %v", time.Since(before), err)
		}
		es, err := l.Load(ctx, id(1), rounds+1)
		if err != nil || len(es) != 1 {
			t.Errorf("the end did not take the rest along: %d events, error %v", len(es), err)
		}
		if s, err := l.Summary(ctx, id(0)); err != nil || s.Status() != event.Finished {
			t.Errorf("after the append of the end: %+v, error %v", s, err)
		}
		if _, err := eventlog.Read(ctx, l, id(0), 0, rounds+3); err != nil {
			t.Error(err)
		}
	})
}
