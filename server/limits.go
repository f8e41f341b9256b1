package server

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// setDeadlines limits the time for reading the request and writing the reply. Handlers that wait for a run call
// [Server.clearDeadlines].
func (s *Server) setDeadlines(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	now := time.Now()
	_ = rc.SetReadDeadline(now.Add(s.o.BodyTimeout)) // not supported by the recorders of tests
	_ = rc.SetWriteDeadline(now.Add(s.o.WriteTimeout))
}

// clearDeadlines reads the rest of the body, which net/http would wait for, and removes the deadlines.
func (s *Server) clearDeadlines(w http.ResponseWriter, r *http.Request) error {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, s.o.MaxBody)); err != nil {
		return bodyFault(err, s.o.MaxBody)
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{})
	_ = rc.SetWriteDeadline(time.Time{})
	return nil
}

// minProgress is the number of bytes of a body that must arrive in each [Route.BodyIdle], so that clients cannot hold
// connections without sending data.
const minProgress = 16 << 10

// body limits the body of a request. Its errors have codes.
type body struct {
	io.ReadCloser
	rc      *http.ResponseController
	max     int64
	idle    time.Duration // 0: the deadline is not extended
	left    int           // bytes until it is extended
	ended   bool
	timeout time.Duration
	expire  func() // called when the timeout is over
	timer   *time.Timer
}

func newBody(w *replyWriter, r *http.Request, rt Route, expire func()) *body {
	b := &body{ReadCloser: http.MaxBytesReader(w.ResponseWriter, r.Body, rt.MaxBody), rc: w.rc, max: rt.MaxBody, idle: rt.BodyIdle, left: minProgress,
		timeout: rt.Timeout, expire: expire}
	if b.idle > 0 {
		_ = b.rc.SetReadDeadline(time.Now().Add(b.idle)) // not supported by the recorders of tests
	} else {
		b.timer = time.AfterFunc(b.timeout, expire)
	}
	if r.Body == http.NoBody {
		b.end()
	}
	return b
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left <= 0 && b.idle > 0 && err == nil {
		b.left = minProgress
		_ = b.rc.SetReadDeadline(time.Now().Add(b.idle))
	}
	if err != nil {
		b.end()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = bodyFault(err, b.max)
	}
	return n, err
}

// end is called at the end of the body. A read deadline would later cancel the context of the request.
func (b *body) end() {
	if b.ended {
		return
	}
	b.ended = true
	_ = b.rc.SetReadDeadline(time.Time{})
	if b.timer == nil {
		b.timer = time.AfterFunc(b.timeout, b.expire)
	}
}

func (b *body) stop() {
	if b.timer != nil {
		b.timer.Stop()
	}
}

// replyWriter sets the write deadline anew for each part of a reply.
type replyWriter struct {
	http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	wrote   bool
	gone    bool // a write failed: the client has disconnected, or is too slow
	until   time.Time
}

func (w *replyWriter) extend() {
	w.wrote = true
	if now := time.Now(); w.until.Sub(now) < w.timeout/2 {
		w.until = now.Add(w.timeout)
		_ = w.rc.SetWriteDeadline(w.until)
	}
}

// WriteHeader implements [http.ResponseWriter].
func (w *replyWriter) WriteHeader(status int) {
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *replyWriter) Write(b []byte) (int, error) {
	w.extend()
	n, err := w.ResponseWriter.Write(b)
	w.gone = w.gone || err != nil
	return n, err
}

// Unwrap implements the interface of [http.ResponseController].
func (w *replyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
