package server

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// setDeadlines limits the time for reading the request and writing the reply. Handlers that wait for a run call
// [Server.clearDeadlines].
//
// net/http waits for the rest of the body before it writes a reply. So the time for writing begins when the time for reading ends.
func (s *Server) setDeadlines(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	read := time.Now().Add(s.o.BodyTimeout)
	_ = rc.SetReadDeadline(read) // not supported by the recorders of tests
	if r.Body == nil || r.Body == http.NoBody {
		s.limitWrite(w)
		return
	}
	_ = rc.SetWriteDeadline(read.Add(s.o.WriteTimeout))
}

// limitWrite limits the time for writing the reply to a request whose body was read.
func (s *Server) limitWrite(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)) // as above
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
	reply   *replyWriter
	max     int64
	idle    time.Duration // 0: the deadline is not extended
	left    int           // bytes until it is extended
	ended   bool
	timeout time.Duration
	expire  func() // called when the timeout is over
	timer   *time.Timer
}

func newBody(w *replyWriter, r *http.Request, rt Route, bodyTimeout time.Duration, expire func()) *body {
	b := &body{ReadCloser: http.MaxBytesReader(w.ResponseWriter, r.Body, rt.MaxBody), reply: w, max: rt.MaxBody, idle: rt.BodyIdle, left: minProgress,
		timeout: rt.Timeout, expire: expire}
	if b.idle > 0 {
		w.unread = b.idle
		_ = w.rc.SetReadDeadline(time.Now().Add(b.idle)) // not supported by the recorders of tests
	} else {
		w.unread = bodyTimeout
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
		_ = b.reply.rc.SetReadDeadline(time.Now().Add(b.idle))
	}
	switch {
	case errors.Is(err, io.EOF):
		b.end()
	case err != nil: // the read deadline remains, because net/http reads the rest of the body
		b.startTimer()
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
	b.reply.unread = 0
	_ = b.reply.rc.SetReadDeadline(time.Time{})
	b.startTimer()
}

func (b *body) startTimer() {
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
	unread  time.Duration // how long net/http may wait for the rest of the body before it writes
	wrote   bool
	gone    bool // a write failed: the client has disconnected, or is too slow
	until   time.Time
}

func (w *replyWriter) extend() {
	w.wrote = true
	if now := time.Now(); w.until.Sub(now) < w.timeout/2 {
		w.until = now.Add(w.unread + w.timeout)
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
