package filelog

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// maxAppend bounds the encoded size of one append, so that every record can be read back.
const maxAppend = 64 << 20

// Append implements [eventlog.Store]. With the first event it returns when the event is written, with the terminal event when
// the run is written and, by Options.Sync, durable; ctx does not cut that short. While too much is pending it waits for room,
// which ctx does cut short. While the disk fails, every Append waits for its write and gives the error if that fails; see
// [Log.Err]. Its events are then not part of the run, except for a terminal event, which is written when the disk works again. What
// readers saw before can still be read.
// Events read back equal if their times are UTC to the microsecond, their raw JSON compact and their text valid UTF-8.
func (l *Log) Append(ctx context.Context, id event.RunID, es ...event.Event) error {
	if len(es) == 0 {
		return nil
	}
	if l.closed.Load() {
		return eventlog.ErrClosed
	}
	if err := l.failed(); err != nil {
		return err
	}
	if es[0].Seq == 1 {
		if err := l.opts.Reserve.Check(); err != nil {
			return err
		}
	}
	done, err := l.accept(ctx, id, es)
	if err != nil || done == nil {
		return err
	}
	return l.await(done)
}

// accept adds es to the unwritten events of a run, when there is room. If Append must wait for their write, done is not nil.
func (l *Log) accept(ctx context.Context, id event.RunID, es []event.Event) (done *outcome, err error) {
	if !event.Terminal(es[len(es)-1].Body) {
		turn, err := l.waitRoom(ctx)
		if turn {
			defer l.wakeNext()
		}
		if err != nil {
			return nil, err
		}
	}
	for {
		r := l.find(id)
		if r == nil {
			if !id.Valid() {
				return nil, fmt.Errorf("append: %.80q is not the id of a run", id)
			}
			if err := eventlog.CheckAppend(0, false, es); err != nil {
				return nil, err
			}
			r = l.create(id)
		}
		if done, err = l.appendTo(r, es); !errors.Is(err, errGone) {
			return done, err
		}
	}
}

var errGone = errors.New("the run was deleted meanwhile")

// appendTo adds es to the unwritten events of a run. If Append must wait for their write, done is not nil.
func (l *Log) appendTo(r *run, es []event.Event) (done *outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return nil, errGone
	}
	if r.damage != nil {
		return nil, r.damage
	}
	if err := eventlog.CheckAppend(r.last, r.ended, es); err != nil {
		return nil, err
	}
	last := es[len(es)-1]
	if last.Seq != r.last+event.Seq(len(es)) {
		return nil, eventlog.ErrConflict // only Open may leave a gap
	}
	mark := len(r.pend)
	defer func() {
		if err != nil {
			r.pend = r.pend[:mark]
			if r.last == 0 { // its first append failed, so the run does not exist
				r.gone = true
				l.remove(r.id)
			}
		}
	}()
	if err := l.load(r); err != nil {
		return nil, err
	}
	for _, e := range es {
		if r.pend, err = event.AppendJSON(r.pend, e); err != nil {
			return nil, fmt.Errorf("append to %s: %w", r.id, err)
		}
		r.pend = append(r.pend, '\n')
	}
	n := len(r.pend) - mark
	if n > maxAppend {
		return nil, fmt.Errorf("append to %s: %d bytes at once are more than %d", r.id, n, maxAppend)
	}
	if !r.queued && !l.enqueue(r) {
		return nil, eventlog.ErrClosed
	}
	r.queued = true
	accepted := len(r.news)
	r.news = append(r.news, es...)
	r.bytes += int64(n)
	r.last, r.ended = last.Seq, event.Terminal(last.Body)
	pending := l.pending.Add(int64(n))
	if es[0].Seq == 1 || r.ended || r.done != nil || l.blocked.Load() != nil {
		if r.done == nil {
			r.done = &outcome{known: make(chan struct{})}
			r.accepted, r.acceptedBytes = accepted, mark
		}
		done = r.done
	}
	if done != nil || pending > l.opts.PendingBytes/2 {
		signal(l.queued)
	}
	return done, nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// enqueue passes a run with pending events to the writer goroutine. It returns false if the store is closed.
func (l *Log) enqueue(r *run) bool {
	l.qmu.Lock()
	defer l.qmu.Unlock()
	if l.closing {
		return false
	}
	l.queue = append(l.queue, r)
	if len(l.queue) == 1 {
		signal(l.queued)
	}
	return true
}

// waitRoom waits until the unwritten events are small enough. A flush wakes the one that has waited longest, which wakes the next after its append (turn) if there is
// still room. If all woke at once, most would only wait again, and the writer goroutine would wait for a processor behind them.
func (l *Log) waitRoom(ctx context.Context) (turn bool, err error) {
	if l.pending.Load() <= l.opts.PendingBytes {
		return false, l.failed()
	}
	l.waiting.Add(1)
	for ; ; turn = true { // its turn comes once: it must not wait behind those that came later
		err, full := l.failed(), l.pending.Load() > l.opts.PendingBytes
		if blocked := l.blocked.Load(); err == nil && full && blocked != nil {
			err = *blocked
		}
		if err != nil || !full || turn {
			l.waiting.Add(-1)
			return turn, err
		}
		signal(l.queued)
		select {
		case <-l.room:
		case <-ctx.Done():
			l.waiting.Add(-1)
			return turn, ctx.Err()
		case <-l.stopped:
			return turn, eventlog.ErrClosed
		}
	}
}

// wakeNext wakes the next of those that wait, if there is room for it or if it has to learn of a failure.
func (l *Log) wakeNext() {
	if l.pending.Load() <= l.opts.PendingBytes || l.failed() != nil || l.blocked.Load() != nil {
		l.wakeOne()
	}
}

// wakeOne wakes one of those that wait for room.
func (l *Log) wakeOne() {
	if l.waiting.Load() > 0 {
		signal(l.room)
	}
}

// outcome is the result of a write.
type outcome struct {
	known chan struct{} // closed when err is set
	err   error
}

func (l *Log) await(o *outcome) error {
	select {
	case <-o.known:
		return o.err
	case <-l.stopped:
		select {
		case <-o.known:
			return o.err
		default:
			return eventlog.ErrClosed
		}
	}
}
