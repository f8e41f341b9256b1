package client

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// errSilent ends a connection that brings nothing any more: what is between may have forgotten it without a word.
var errSilent = errors.New("the connection fell silent")

// watched is the body of a stream that ends when nothing comes for a time.
type watched struct {
	io.ReadCloser
	most   time.Duration
	timer  *time.Timer
	silent atomic.Bool
	cancel context.CancelFunc // of the request
}

func watch(body io.ReadCloser, most time.Duration, cancel context.CancelFunc) *watched {
	w := &watched{ReadCloser: body, most: most, cancel: cancel}
	w.timer = time.AfterFunc(most, func() {
		w.silent.Store(true)
		cancel()
	})
	return w
}

// Read implements [io.Reader].
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.timer.Reset(w.most)
	}
	if err != nil && w.silent.Load() {
		err = errSilent
	}
	return n, err
}

// Close implements [io.Closer].
func (w *watched) Close() error {
	w.timer.Stop()
	defer w.cancel()
	return w.ReadCloser.Close()
}
