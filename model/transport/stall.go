package transport

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrStalled reports that a server sent no byte within the idle timeout.
var ErrStalled = errors.New("no byte for too long")

// StallTimer cancels a request whose server sends no byte for too long. Time that the consumer takes does not count. It is not
// safe for concurrent use.
type StallTimer struct {
	stall  time.Duration
	timer  *time.Timer
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// NewStallTimer returns a context for the request and a timer that cancels it. The timer is stopped at first.
func NewStallTimer(ctx context.Context, stall time.Duration) (context.Context, *StallTimer) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &StallTimer{stall: stall, ctx: ctx, cancel: cancel}
	w.timer = time.AfterFunc(stall, func() { cancel(ErrStalled) })
	w.timer.Stop()
	return ctx, w
}

// Start restarts the timer.
func (w *StallTimer) Start() { w.timer.Reset(w.stall) }

// Stop stops the timer.
func (w *StallTimer) Stop() { w.timer.Stop() }

// End cancels the context, to free its resources.
func (w *StallTimer) End() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// Shorten reduces the timeout of later reads to d.
func (w *StallTimer) Shorten(d time.Duration) { w.stall = min(w.stall, d) }

// Cause returns [ErrStalled] if the timer has cancelled the request, and otherwise err.
func (w *StallTimer) Cause(err error) error {
	if errors.Is(context.Cause(w.ctx), ErrStalled) {
		return ErrStalled
	}
	return err
}

// Reader returns a reader whose reads are timed.
func (w *StallTimer) Reader(r io.Reader) io.Reader { return &timedReader{timer: w, r: r} }

type timedReader struct {
	timer *StallTimer
	r     io.Reader
}

// Read implements [io.Reader].
func (r *timedReader) Read(p []byte) (int, error) {
	r.timer.Start()
	n, err := r.r.Read(p)
	r.timer.Stop()
	return n, err
}

// Drain reads a few bytes after the end of a stream, so that the connection can be reused.
func (w *StallTimer) Drain(body io.Reader) {
	w.timer.Reset(100 * time.Millisecond)
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	w.Stop()
}
