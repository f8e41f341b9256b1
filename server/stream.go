package server

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// packet bounds the bytes of frames that are due together and go out in one write.
const packet = 1400

// maxKept is how many frames a waiting reader keeps room for.
const maxKept = 16

// stream writes one run's frames to one reader. Frames and signs of life come from two goroutines, so writing is locked.
type stream struct {
	s    *Server
	p    wire.Protocol
	w    http.ResponseWriter
	rc   *http.ResponseController
	conn net.Conn // nil: see rawConn
	zip  *zipped  // nil: identity

	mu       sync.Mutex
	err      error // the first of writing; nothing is written after it
	wrote    time.Time
	deadline time.Time
	idle     *time.Timer
	ended    bool
}

// zipped is a stream's compressor with what it has put out.
type zipped struct {
	*encoding
	compressor
	out   bytes.Buffer
	plain int  // bytes written so far, before compression
	pads  bool // the protocol has bytes that readers ignore
}

// decoded is how many bytes the decoders of gzip in use put out at once, or a multiple of it. A client that takes each of
// their pieces for whole lines, as the samples of the protocols do, loses a frame that lies across such a boundary.
const decoded = 16 << 10

// align fills up to the next boundary where a frame of n bytes would lie across it.
func (z *zipped) align(n int) error {
	if room := decoded - z.plain%decoded; z.pads && n > room && n <= decoded {
		z.plain += room
		_, err := z.Write(sse.AppendPadding(nil, room))
		return err
	}
	return nil
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
	if e := negotiate(strings.Join(r.Header.Values("Accept-Encoding"), ",")); e != nil {
		h.Set("Content-Encoding", e.name)
		st.zip = &zipped{encoding: e, pads: p.ContentType() == sse.ContentType}
		st.zip.compressor = e.open(&st.zip.out)
	}
	s.metrics.readers.Inc()
	defer s.metrics.readers.Dec()
	defer func() {
		if st.close() != nil {
			panic(http.ErrAbortHandler)
		}
	}()
	w.WriteHeader(http.StatusOK)
	if st.start() == nil {
		st.copy(r.Context(), id, after)
	}
}

// start sends the header.
func (st *stream) start() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.extend(time.Now())
	if st.err = st.rc.Flush(); st.err == nil {
		st.idle = time.AfterFunc(st.s.o.Heartbeat, st.beat)
	}
	return st.err
}

// copy writes the frames as they come.
func (st *stream) copy(ctx context.Context, id event.RunID, after wire.Cursor) {
	proj := wire.Resume(st.p.New(), after)
	var frames []wire.Frame
	for batch, err := range st.s.engine.Events(ctx, id, 0) {
		if err != nil {
			if ctx.Err() == nil {
				st.s.o.Logger.Error("stream broke off", "run", id, "error", err)
			}
			st.mu.Lock()
			st.fail(err)
			st.mu.Unlock()
			return
		}
		frames = proj.Project(frames[:0], batch)
		if st.write(frames) != nil {
			return
		}
		if cap(frames) > maxKept {
			frames = nil // a reader that waits holds little
		}
	}
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
		body, err := st.encode(*frame)
		st.fail(err)
		if st.conn == nil || len(*out) > 0 && len(*out)+len(body) > packet {
			st.send(out)
		}
		*out = st.add(*out, body)
	}
	st.send(out)
	return st.err
}

// encode compresses a frame, if the stream is compressed. The result is valid until the next call.
func (st *stream) encode(frame []byte) ([]byte, error) {
	if st.zip == nil {
		return frame, nil
	}
	st.zip.out.Reset()
	if err := st.zip.align(len(frame)); err != nil {
		return nil, err
	}
	st.zip.plain += len(frame)
	if _, err := st.zip.Write(frame); err != nil {
		return nil, err
	}
	err := st.zip.Flush()
	return st.zip.out.Bytes(), err
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

// beat sends a sign of life after a time of silence, and looks again later.
func (st *stream) beat() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended || st.err != nil {
		return
	}
	wait := st.s.o.Heartbeat - time.Since(st.wrote)
	if wait <= 0 {
		body, err := st.encode(st.p.AppendIdle(nil))
		st.fail(err)
		out := st.add(nil, body)
		st.send(&out)
		wait = st.s.o.Heartbeat
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
	if st.zip != nil {
		st.zip.out.Reset()
		err := st.zip.Close()
		out := st.add(nil, st.zip.out.Bytes())
		if st.fail(err); st.zip.out.Len() > 0 {
			st.send(&out)
		}
		st.zip.put(st.zip.compressor)
	}
	return st.err
}
