package server

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// packet bounds the bytes of frames that are due together and go out in one write.
const packet = 1400

// maxKept is how many frames a waiting reader keeps room for.
const maxKept = 16

// stream writes one run's frames to one reader. Frames and signs of life may come from two goroutines, so writing is locked.
type stream struct {
	s    *Server
	p    wire.Protocol
	w    http.ResponseWriter
	rc   *http.ResponseController
	conn net.Conn // nil: see rawConn

	mu       sync.Mutex
	err      error // the first of writing; nothing is written after it
	wrote    time.Time
	deadline time.Time
	idle     *time.Timer
	answers  bool // the first token was read; used by beat
	ended    bool
}

// serveRun streams a run in a protocol from after the cursor until it ends or the reader leaves. Nothing was written yet.
// A stream that breaks off for another reason is aborted, so that the reader does not take it for a whole one.
func (s *Server) serveRun(w http.ResponseWriter, r *http.Request, id event.RunID, p wire.Protocol, after wire.Cursor) {
	h := w.Header()
	h.Set("Content-Type", p.ContentType())
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Sluice-Run-Id", string(id))
	if r.Method == http.MethodHead {
		return // what is written past net/http, it could not leave out
	}
	st := &stream{s: s, p: p, w: w, rc: http.NewResponseController(w), conn: rawConn(r)}
	coding := negotiate(strings.Join(r.Header.Values("Accept-Encoding"), ","))
	if coding != nil {
		h.Set("Content-Encoding", coding.name)
	}
	s.metrics.readers.Inc()
	defer s.metrics.readers.Dec()
	defer func() {
		if st.close() != nil {
			panic(http.ErrAbortHandler)
		}
	}()
	w.WriteHeader(http.StatusOK)
	var err error
	switch paced, waits := p.(wire.Throttled); {
	case coding == nil && (!waits || paced.MinInterval() == 0):
		if st.start(st.beat) == nil {
			err = st.copy(r.Context(), id, after)
		}
	case st.start(nil) == nil:
		err = st.follow(r.Context(), form{run: id, protocol: p, coding: coding}, after)
	}
	if err != nil && r.Context().Err() == nil && st.failure() == nil {
		s.o.Logger.Error("stream broke off", "run", id, "error", err)
	}
	if err != nil {
		st.mu.Lock()
		st.fail(err)
		st.mu.Unlock()
	}
}

// start sends the header. Where beat is given, it is called after a time of silence.
func (st *stream) start(beat func()) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.extend(time.Now())
	if st.err = st.rc.Flush(); st.err == nil && beat != nil {
		st.idle = time.AfterFunc(time.Hour, beat) // set before it can be called
		st.idle.Reset(st.s.heartbeat(false))
	}
	return st.err
}

// copy writes the frames as they come, without compression.
func (st *stream) copy(ctx context.Context, id event.RunID, after wire.Cursor) error {
	proj := wire.Resume(st.p.New(), after)
	var frames []wire.Frame
	for batch, err := range st.s.engine.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		frames = proj.Project(frames[:0], batch)
		if answering(batch) {
			st.mu.Lock()
			st.answers = true
			st.mu.Unlock()
		}
		if err := st.write(frames); err != nil {
			return err
		}
		if cap(frames) > maxKept {
			frames = nil // a reader that waits holds little
		}
	}
	return nil
}

// write sends frames: each in a chunk of its own, several that are due together in one write to the network.
func (st *stream) write(frames []wire.Frame) error {
	if len(frames) == 0 {
		return nil
	}
	frame, out := buffers.Get().(*[]byte), buffers.Get().(*[]byte)
	defer putBuffer(frame)
	defer putBuffer(out)
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, f := range frames {
		*frame = st.p.AppendFrame((*frame)[:0], f)
		st.s.metrics.frames.Inc()
		if st.conn == nil || len(*out) > 0 && len(*out)+len(*frame) > packet {
			st.send(out)
		}
		*out = st.add(*out, *frame)
	}
	st.send(out)
	return st.err
}

// put writes chunks of the body as write writes frames, behind its head.
func (st *stream) put(head []byte, chunks []chunk) error {
	out := buffers.Get().(*[]byte)
	defer putBuffer(out)
	st.mu.Lock()
	defer st.mu.Unlock()
	*out = st.add(*out, head)
	for _, c := range chunks {
		if c.frame {
			st.s.metrics.frames.Inc()
		}
		if st.conn == nil || len(*out) > 0 && len(*out)+len(c.b) > packet {
			st.send(out)
		}
		*out = st.add(*out, c.b)
	}
	st.send(out)
	return st.err
}

// silence gives the time at which a heartbeat is due.
func (st *stream) silence(answers bool) time.Time {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.wrote.Add(st.s.heartbeat(answers))
}

func (st *stream) failure() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.err
}

// add puts bytes of the body behind others that go out with them.
func (st *stream) add(out, body []byte) []byte {
	if st.conn != nil {
		return appendChunk(out, body)
	}
	return append(out, body...)
}

// send writes what has been gathered to the network, in one write where the connection is at hand.
func (st *stream) send(out *[]byte) {
	if len(*out) == 0 || st.err != nil {
		return
	}
	now := time.Now()
	st.wrote = now
	if st.deadline.Sub(now) < st.s.o.WriteTimeout/2 {
		st.extend(now)
	}
	if st.conn != nil {
		_, err := st.conn.Write(*out)
		st.fail(err)
	} else {
		_, err := st.w.Write(*out)
		st.fail(err)
		st.fail(st.rc.Flush())
	}
	*out = (*out)[:0]
}

// extend gives the reader the write timeout from now on to take something.
func (st *stream) extend(now time.Time) {
	st.wrote, st.deadline = now, now.Add(st.s.o.WriteTimeout)
	_ = st.rc.SetWriteDeadline(st.deadline) // a server without deadlines has none to set
}

func (st *stream) fail(err error) {
	if st.err == nil {
		st.err = err
	}
}

// beat sends a heartbeat if one is due, and sets the timer for the next.
func (st *stream) beat() {
	if !st.mu.TryLock() { // frames are being written, maybe to a slow reader
		st.idle.Reset(st.s.heartbeat(false))
		return
	}
	defer st.mu.Unlock()
	if st.ended || st.err != nil {
		return
	}
	every := st.s.heartbeat(st.answers)
	wait := every - time.Since(st.wrote)
	if wait <= 0 {
		out := st.add(nil, st.p.AppendIdle(nil))
		st.send(&out)
		wait = every
	}
	st.idle.Reset(wait)
}

// close ends the stream and gives what broke it, if anything did. No sign of life is written after it.
func (st *stream) close() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended = true
	if st.idle != nil {
		st.idle.Stop()
	}
	return st.err
}
