package filelog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/filelog"
)

// TestAppendsThatWaitForRoom lets many runs append to a log in which only a few events may be pending. Every second run is given up while it may wait, and must
// not keep the turn of the others.
func TestAppendsThatWaitForRoom(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir(), filelog.Options{PendingBytes: 300, Sync: filelog.SyncNever})
	ctx := t.Context()
	var writers sync.WaitGroup
	for i := range 100 {
		writers.Go(func() {
			id := event.RunID(fmt.Sprintf("r%d", i))
			own, cancel := context.WithCancel(ctx)
			defer cancel()
			es := short(id, 30, at(1))
			n := 0
			for ; n < len(es); n++ {
				if n == 10 && i%2 == 0 {
					cancel()
				}
				if err := l.Append(own, id, es[n]); errors.Is(err, context.Canceled) {
					break
				} else if err != nil {
					t.Error(err)
					return
				}
			}
			if i%2 == 1 && n < len(es) {
				t.Errorf("%s: %d events were appended", id, n)
			}
			if err := l.Sync(ctx, id); err != nil {
				t.Error(err)
			}
			eventlogtest.WantLog(t, l, id, 0, es[:n])
		})
	}
	writers.Wait()
}
