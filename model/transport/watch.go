package transport

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrStalled says that a server sent no byte for too long.
var ErrStalled = errors.New("no byte for too long")

// Watch ends a request whose server says nothing for too long. The time that the reader of an answer takes does not count.
// It is for one goroutine.
type StallTimer struct {
	stall  time.Duration
	timer  *time.Timer
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// NewWatch gives the context for a request and what ends it. The clock stands still at first.
func NewStallTimer(ctx context.Context, stall time.Duration) (context.Context, *StallTimer) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &StallTimer{stall: stall, ctx: ctx, cancel: cancel}
	w.timer = time.AfterFunc(stall, func() { cancel(ErrStalled) })
	w.timer.Stop()
	return ctx, w
}

// Start sets the clock going, from the beginning.
func (w *StallTimer) Start() { w.timer.Reset(w.stall) }

// Stop lets it stand still.
func (w *StallTimer) Stop() { w.timer.Stop() }

// End frees the request.
func (w *StallTimer) End() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// Hurry says that from the next read on no byte is to take longer than d.
func (w *StallTimer) Shorten(d time.Duration) { w.stall = min(w.stall, d) }

// Cause gives why the request failed: [ErrStalled] where the watch ended it, and else err.
func (w *StallTimer) Cause(err error) error {
	if errors.Is(context.Cause(w.ctx), ErrStalled) {
		return ErrStalled
	}
	return err
}

// Reader gives a reader whose every read is watched.
func (w *StallTimer) Reader(r io.Reader) io.Reader { return &watched{w: w, r: r} }

type watched struct {
	w *StallTimer
	r io.Reader
}

// Read reads within the watch's time.
func (r *watched) Read(p []byte) (int, error) {
	r.w.Start()
	n, err := r.r.Read(p)
	r.w.Stop()
	return n, err
}

// Drain reads what follows the end of a stream, so that the connection can serve again: a few bytes that have mostly come by
// then.
func (w *StallTimer) Drain(body io.Reader) {
	w.timer.Reset(100 * time.Millisecond)
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	w.Stop()
}
