package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// errSilent is the error of a connection on which nothing has arrived for too long. A firewall or proxy may have dropped it
// silently.
var errSilent = errors.New("nothing was received for too long")

// watched is a response body that fails if nothing arrives for some time. The time before the response counts too.
type watched struct {
	io.ReadCloser
	limit  time.Duration
	timer  *time.Timer
	silent atomic.Bool
	cancel context.CancelFunc // cancels the request
}

// watch starts the timeout. The caller sends the request with the returned context and passes the result to
// [watched.answered].
func watch(ctx context.Context, limit time.Duration) (context.Context, *watched) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watched{limit: limit, cancel: cancel}
	w.timer = time.AfterFunc(limit, func() {
		w.silent.Store(true)
		cancel()
	})
	return ctx, w
}

// answered replaces the body of the response by the watched one.
func (w *watched) answered(res *http.Response, err error) (*http.Response, error) {
	if err != nil {
		w.timer.Stop()
		w.cancel()
		if w.silent.Load() {
			err = errSilent
		}
		return nil, err
	}
	w.timer.Reset(w.limit)
	w.ReadCloser, res.Body = res.Body, w
	return res, nil
}

// Read implements [io.Reader].
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.timer.Reset(w.limit)
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
