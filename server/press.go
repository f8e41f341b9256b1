package server

import (
	"bytes"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// decoded is how many bytes the decoders of gzip in use put out at once, or a multiple of it. A client that takes each of
// their pieces for whole lines, as the samples of the protocols do, loses a frame that lies across such a boundary.
const decoded = 16 << 10

// chunk is what is sent for one frame, or for what stands between frames. It is never changed.
type chunk struct {
	b     []byte
	at    wire.Cursor // behind it
	told  sum         // by the body up to here
	frame bool
}

// press makes chunks of a run's events: it projects, encodes and compresses them. It is for one goroutine at a time.
type press struct {
	p      wire.Protocol
	proj   wire.Projection
	coding *coding // nil: identity
	comp   compressor
	out    bytes.Buffer
	head   bool // the compressor's own head is still to come
	pads   bool // frames do not lie across boundaries of decoders

	folded  event.Seq   // of the last event projected
	answers bool        // the first token was projected
	at      wire.Cursor // everything up to it is told
	shown   time.Time   // when the last frame was made
	told    sum         // by the body that it makes, with what others made in front of it
	frames  []wire.Frame
	buf     []byte
	closed  func() // counts a compressor that is given back; nil: nobody counts
}

// press is newPress, counted.
func (s *Server) press(p wire.Protocol, c *coding, after wire.Cursor, told sum) *press {
	pr := newPress(p, c, after, told)
	if c != nil {
		s.metrics.presses.Inc()
		pr.closed = s.metrics.presses.Dec
	}
	return pr
}

// newPress gives a press that goes on behind a place in a run, in a body that has told so much. One that goes on in a body
// that others began begins with a cut.
func newPress(p wire.Protocol, c *coding, after wire.Cursor, told sum) *press {
	pr := &press{p: p, proj: wire.Resume(p.New(), after), coding: c, at: after, told: told, pads: aligns(p)}
	if c != nil {
		pr.comp, pr.head = c.open(&pr.out), true
	}
	return pr
}

// comments tells whether a protocol has bytes that readers ignore.
func comments(p wire.Protocol) bool { return p.ContentType() == sse.ContentType }

// aligns tells whether frames are kept from boundaries of decoders. Where each tells the whole state, they are too large for
// a client that takes pieces for lines, and what pads them would cost as much as they do.
func aligns(p wire.Protocol) bool {
	_, paced := p.(wire.Throttled)
	return !paced && comments(p)
}

// close gives the compressor back. Nothing is made after it.
func (pr *press) close() {
	if pr.comp != nil {
		pr.coding.put(pr.comp)
		pr.comp = nil
		if pr.closed != nil {
			pr.closed()
		}
	}
}

// cut makes what comes next independent of what was compressed before, and gives the chunk that stands in between, which may
// be empty.
func (pr *press) cut() chunk {
	if pr.coding == nil {
		return chunk{at: pr.at, told: pr.told}
	}
	pr.comp.Reset(&pr.out)
	pr.head = true
	pr.told.add(pr.coding.filler)
	return chunk{b: pr.coding.bridge, at: pr.at, told: pr.told}
}

// make appends the chunks of the next events, of which there are some.
func (pr *press) make(dst []chunk, batch []event.Event) ([]chunk, error) {
	pr.frames = pr.proj.Project(pr.frames[:0], batch)
	last := batch[len(batch)-1].Seq
	for i, f := range pr.frames {
		at := f.ID
		if i == len(pr.frames)-1 && at.Seq < last {
			at = wire.Cursor{Seq: last} // what is behind the frame has none
		}
		b, err := pr.frame(f)
		if err != nil {
			return dst, err
		}
		pr.at = at
		dst = append(dst, chunk{b: b, at: at, told: pr.told, frame: true})
	}
	if len(pr.frames) > 0 {
		pr.shown = time.Now()
	}
	if at := (wire.Cursor{Seq: last}); at.Compare(pr.at) > 0 {
		pr.at = at
	}
	pr.folded, pr.answers = last, pr.answers || answering(batch)
	if cap(pr.frames) > maxKept {
		pr.frames = nil // one that waits holds little
	}
	if cap(pr.buf) > maxPooled {
		pr.buf = nil
	}
	return dst, nil
}

// around is what a frame has around its data in most protocols, and some more.
const around = 96

func (pr *press) frame(f wire.Frame) ([]byte, error) {
	if pr.coding == nil {
		b := pr.p.AppendFrame(make([]byte, 0, len(f.Data)+around), f)
		pr.told.n += uint64(len(b))
		return b, nil
	}
	pr.buf = pr.p.AppendFrame(pr.buf[:0], f)
	return pr.encode(pr.buf)
}

// idle makes a sign of life.
func (pr *press) idle() (chunk, error) {
	if pr.coding == nil {
		return chunk{b: pr.p.AppendIdle(nil), at: pr.at, told: pr.told}, nil
	}
	b, err := pr.encode(pr.p.AppendIdle(nil))
	return chunk{b: b, at: pr.at, told: pr.told}, err
}

// level makes padding, so that what comes next stands as far behind one of the boundaries of decoders as n does.
func (pr *press) level(n uint64) (chunk, error) {
	c := chunk{at: pr.at, told: pr.told}
	gap := int((n - pr.told.n) % decoded) //nolint:gosec // it is below 16 Ki
	if pr.coding == nil || !pr.pads || gap == 0 {
		return c, nil
	}
	var err error
	c.b, err = pr.write(sse.AppendPadding(nil, gap), nil)
	c.told = pr.told
	return c, err
}

// encode compresses bytes, with padding in front of it where it would lie across a boundary of decoders. The result is
// the caller's.
func (pr *press) encode(b []byte) ([]byte, error) {
	var padding []byte
	room := decoded - int(pr.told.n%decoded) //nolint:gosec // it is below 16 Ki
	if n := len(b); pr.pads && n > room && n <= decoded {
		padding = sse.AppendPadding(nil, room)
	}
	return pr.write(padding, b)
}

func (pr *press) write(parts ...[]byte) ([]byte, error) {
	pr.out.Reset()
	for _, b := range parts {
		if pr.coding.sums {
			pr.told.add(b)
		} else {
			pr.told.n += uint64(len(b))
		}
		if _, err := pr.comp.Write(b); err != nil {
			return nil, err
		}
	}
	if err := pr.comp.Flush(); err != nil {
		return nil, err
	}
	b := pr.out.Bytes()
	if pr.head {
		var err error
		if b, err = pr.coding.beheaded(b); err != nil {
			return nil, err
		}
		pr.head = false
	}
	return bytes.Clone(b), nil
}
