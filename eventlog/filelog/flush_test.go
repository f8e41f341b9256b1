package filelog_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog/filelog"
)

// TestFlushEvery appends to running runs, round after round, and looks at the file just before and just after the longest time
// that an event may wait.
func TestFlushEvery(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const every = 10 * time.Millisecond
		l := open(t, dir, filelog.Options{FlushEvery: every})
		written := func(text string, n int) bool {
			synctest.Wait()
			return bytes.Count(read(t, files(t, dir, "*.log")[0]), []byte(text)) == n
		}
		const runs, rounds = 5, 4
		all := make([][]event.Event, runs)
		for i := range all {
			all[i] = short(event.RunID(fmt.Sprintf("r%d", i)), rounds+2, at(i))
		}
		for round := range rounds {
			text := fmt.Sprintf(`"seq":%d,`, round+1)
			for i, es := range all[:runs-round] { // fewer each time
				if err := l.Append(ctx, event.RunID(fmt.Sprintf("r%d", i)), es[round]); err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					time.Sleep(every / 2)
				}
			}
			if time.Sleep(every/2 - 1); !written(text, 0) {
				t.Errorf("round %d is written early", round)
			}
			if time.Sleep(time.Nanosecond); !written(text, runs-round) {
				t.Errorf("round %d is not written in time", round)
			}
		}
		// What ends a run is not waited for, and takes the rest along.
		if err := l.Append(ctx, "r1", all[1][rounds]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(every - 1)
		before := time.Now()
		if err := l.Append(ctx, "r0", all[0][rounds:]...); err != nil || !time.Now().Equal(before) {
			t.Errorf("the end waited %v, error %v", time.Since(before), err)
		}
		if !written(`"seq":5,`, 2) {
			t.Error("the end did not take the rest along")
		}
		if err := l.Append(ctx, "r1", all[1][rounds+1]); err != nil { // its end
			t.Fatal(err)
		}
	})
}
