// Package forge is the Forge streaming protocol: server-sent events of fourteen types, each payload repeating its name as
// type. [Grammar] holds the order in which they may come.
package forge

import (
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Name is the protocol's name in addresses and flags.
const Name = "forge"

// joined is how many tokens that are due together share an event, and joinedBytes the most text that they do.
const (
	joined      = 5
	joinedBytes = 512
)

// maxSourceText bounds a source's text in bytes, so that a frame stays small whatever the sections are.
const maxSourceText = 1500

// maxReason bounds why a tool was chosen, and a name of a source's path, in bytes; maxPath is how many names are shown.
const (
	maxReason = 300
	maxPath   = 8
)

// maxData bounds an event's data in bytes where that can be had by showing less of each text: readers take a stream in
// pieces of 16 KiB, and simple ones lose what does not fit into one. minText is what is shown of a text at least.
const (
	maxData = 16<<10 - 128
	minText = 20
)

// maxKept bounds what a projection that waits holds on to, in bytes.
const maxKept = 4 << 10

// Protocol is the protocol. The zero value is ready.
type Protocol struct{}

// Name implements [wire.Protocol].
func (Protocol) Name() string { return Name }

// ContentType implements [wire.Protocol].
func (Protocol) ContentType() string { return sse.ContentType }

// New implements [wire.Protocol].
func (Protocol) New() wire.Projection { return new(projection) }

// AppendFrame implements [wire.Protocol].
func (Protocol) AppendFrame(dst []byte, f wire.Frame) []byte { return sse.AppendFrame(dst, f) }

// AppendIdle implements [wire.Protocol].
func (Protocol) AppendIdle(dst []byte) []byte { return sse.AppendComment(dst, "keep-alive") }

// projection folds the run without its text, which no event of the protocol needs.
type projection struct {
	state event.State
	buf   []byte // what the frames of one call point into
}

// Project implements [wire.Projection]. A token event costs no allocation once the buffers have grown.
func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	if p.buf = p.buf[:0]; cap(p.buf) > maxKept {
		p.buf = nil
	}
	for len(batch) > 0 {
		if _, thought := batch[0].Body.(event.Reasoned); thought {
			batch = batch[1:] // no event of the protocol shows it
			continue
		}
		n := joinable(batch)
		start := len(p.buf)
		name := "token"
		if n > 0 {
			p.tokens(batch[:n])
		} else {
			n = 1
			p.state.Apply(batch[0])
			name = p.step(batch[0])
		}
		if name != "" {
			id := wire.Cursor{Seq: batch[n-1].Seq}
			dst = append(dst, wire.Frame{ID: id, Event: name, Data: p.buf[start:len(p.buf):len(p.buf)]})
		}
		batch = batch[n:]
	}
	return dst
}

// joinable counts the tokens at the head of the batch that make one frame.
func joinable(batch []event.Event) int {
	n, size := 0, 0
	for n < min(joined, len(batch)) {
		t, ok := batch[n].Body.(event.Token)
		if size += len(t.Text); !ok || n > 0 && size > joinedBytes {
			break
		}
		n++
	}
	return n
}

// tokens writes the event of the tokens. The fold keeps their number and not their text, which no event needs.
func (p *projection) tokens(batch []event.Event) {
	p.buf = append(p.buf, `{"type":"token","content":"`...)
	for _, e := range batch {
		p.buf = event.AppendEscaped(p.buf, e.Body.(event.Token).Text)
	}
	p.buf = append(p.buf, `"}`...)
	p.state.Tokens += len(batch)
}
