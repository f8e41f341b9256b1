package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// errSilent ends a connection that brings nothing any more: what is between may have forgotten it without a word.
var errSilent = errors.New("the connection fell silent")

// watched is a stream that ends when nothing comes for a time: first its answer, then its body.
type watched struct {
	io.ReadCloser
	most   time.Duration
	timer  *time.Timer
	silent atomic.Bool
	cancel context.CancelFunc // of the request
}

// watch begins to wait. The request is to be made with the context, and [watched.answered] told what came of it.
func watch(ctx context.Context, most time.Duration) (context.Context, *watched) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watched{most: most, cancel: cancel}
	w.timer = time.AfterFunc(most, func() {
		w.silent.Store(true)
		cancel()
	})
	return ctx, w
}

// answered gives the response with the watched body in the place of its own.
func (w *watched) answered(res *http.Response, err error) (*http.Response, error) {
	if err != nil {
		w.timer.Stop()
		w.cancel()
		if w.silent.Load() {
			err = errSilent
		}
		return nil, err
	}
	w.timer.Reset(w.most)
	w.ReadCloser, res.Body = res.Body, w
	return res, nil
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
