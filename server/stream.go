package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// gather bounds the bytes of frames that are due together and go out in one write: about a packet.
const gather = 1400

// maxKept is how many frames a waiting reader keeps room for.
const maxKept = 16

// stream writes one run's frames to one reader. Frames and signs of life come from two goroutines, so writing is locked.
type stream struct {
	s    *Server
	w    http.ResponseWriter
	rc   *http.ResponseController
	conn *gatherConn // nil behind a server that is not ours
	enc  *encoding
	zip  compressor
	to   io.Writer

	mu       sync.Mutex
	err      error // the first of writing; nothing is written after it
	wrote    time.Time
	deadline time.Time
	idle     *time.Timer
	ended    bool
}

// serveRun streams a run in a protocol from after the cursor until it ends or the reader leaves. Nothing was written yet.
func (s *Server) serveRun(w http.ResponseWriter, r *http.Request, id event.RunID, p wire.Protocol, after wire.Cursor) {
	h := w.Header()
	h.Set("Content-Type", p.ContentType())
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Sluice-Run-Id", string(id))
	st := &stream{s: s, w: w, rc: http.NewResponseController(w), to: w}
	st.conn, _ = r.Context().Value(connKey{}).(*gatherConn)
	if st.enc = negotiate(r.Header.Get("Accept-Encoding")); st.enc != nil {
		h.Set("Content-Encoding", st.enc.name)
		st.zip = st.enc.open(w)
		st.to = st.zip
	}
	s.metrics.readers.Inc()
	defer s.metrics.readers.Dec()
	w.WriteHeader(http.StatusOK)
	if st.flushHead() == nil {
		st.idle = time.AfterFunc(s.o.Heartbeat, func() { st.beat(p) })
		st.copy(r.Context(), id, p, after)
	}
	st.close()
}

// copy writes the frames as they come.
func (st *stream) copy(ctx context.Context, id event.RunID, p wire.Protocol, after wire.Cursor) {
	proj := wire.Resume(p.New(), after)
	var frames []wire.Frame
	for batch, err := range st.s.engine.Events(ctx, id, 0) {
		if err != nil {
			if ctx.Err() == nil {
				st.s.o.Logger.Error("stream broke off", "run", id, "error", err)
			}
			return
		}
		frames = proj.Project(frames[:0], batch)
		if st.write(p, frames) != nil {
			return
		}
		if cap(frames) > maxKept {
			frames = nil // a reader that waits holds little
		}
	}
}

// write sends frames: each in a chunk of its own, several that are due together in one write to the network.
func (st *stream) write(p wire.Protocol, frames []wire.Frame) error {
	if len(frames) == 0 {
		return nil
	}
	buf := gatherBufs.Get().(*[]byte)
	defer putBuf(buf)
	st.mu.Lock()
	defer st.mu.Unlock()
	for len(frames) > 0 && st.err == nil {
		st.begin()
		for n := 0; len(frames) > 0 && st.err == nil; frames = frames[1:] {
			*buf = p.AppendFrame((*buf)[:0], frames[0])
			if n > 0 && (st.conn == nil || n+len(*buf) > gather) {
				break
			}
			n += len(*buf)
			st.put(*buf)
			st.s.metrics.frames.Inc()
		}
		st.commit()
	}
	return st.err
}

// begin prepares for a write to the network. A reader that takes nothing for the write timeout is left.
func (st *stream) begin() {
	now := time.Now()
	st.wrote = now
	if timeout := st.s.o.WriteTimeout; st.deadline.Sub(now) < timeout/2 {
		st.deadline = now.Add(timeout)
		_ = st.rc.SetWriteDeadline(st.deadline) // a server without deadlines has none to set
	}
	if st.conn != nil {
		st.conn.hold()
	}
}

// put writes one frame and flushes it.
func (st *stream) put(b []byte) {
	_, err := st.to.Write(b)
	if err == nil && st.zip != nil {
		err = st.zip.Flush()
	}
	if err == nil {
		err = st.rc.Flush()
	}
	st.fail(err)
}

func (st *stream) commit() {
	if st.conn != nil {
		st.fail(st.conn.release())
	}
}

func (st *stream) fail(err error) {
	if st.err == nil && err != nil {
		st.err = err
	}
}

func (st *stream) flushHead() error {
	st.begin()
	if err := st.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		st.fail(err)
	}
	st.commit()
	return st.err
}

// beat sends a sign of life after a time of silence, and looks again later.
func (st *stream) beat(p wire.Protocol) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended || st.err != nil {
		return
	}
	wait := st.s.o.Heartbeat - time.Since(st.wrote)
	if wait <= 0 {
		st.begin()
		st.put(p.AppendIdle(nil))
		st.commit()
		wait = st.s.o.Heartbeat
	}
	st.idle.Reset(wait)
}

// close ends the stream. No sign of life is written after it.
func (st *stream) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended = true
	if st.idle != nil {
		st.idle.Stop()
	}
	if st.zip != nil {
		if err := st.zip.Close(); st.err == nil {
			st.fail(err)
		}
		st.enc.put(st.zip)
	}
	if st.deadline != (time.Time{}) {
		_ = st.rc.SetWriteDeadline(time.Time{}) // the connection may serve another request
	}
}
