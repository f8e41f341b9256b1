// Package forge implements the Forge streaming protocol: server-sent events of fourteen types. The field type of each
// payload repeats the name of its event. [Grammar] defines the order of the events.
package forge

import (
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Name is the name of the protocol in URLs and flags.
const Name = "forge"

// A token event holds at most maxTokens tokens and maxTokenBytes bytes of text.
const (
	maxTokens     = 5
	maxTokenBytes = 512
)

// maxSourceText limits the text of a source, in bytes.
const maxSourceText = 1500

// maxReason limits the reason of a tool call and each name of a source's path, in bytes. maxPath limits the number of
// names.
const (
	maxReason = 300
	maxPath   = 8
)

// maxData is the preferred limit on the data of an event, in bytes: simple clients read a stream in chunks of 16 KiB and
// lose events that do not fit into one chunk. Texts are shortened to meet it, but not below minText bytes each.
const (
	maxData = 16<<10 - 128
	minText = 20
)

// Protocol implements [wire.Protocol]. The zero value is ready to use.
type Protocol struct{ sse.Encoding }

// Name implements [wire.Protocol].
func (Protocol) Name() string { return Name }

// New implements [wire.Protocol].
func (Protocol) New() wire.Projection { return new(projection) }

// projection folds the run without the text of the answer, which no event of the protocol needs.
type projection struct {
	state event.State
	buf   []byte // backs the data of the frames of one call
}

// Project implements [wire.Projection]. A token event needs no allocation once the buffers have grown.
func (p *projection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	p.buf = wire.Reuse(p.buf)
	for len(batch) > 0 {
		if _, thought := batch[0].Body.(event.Reasoned); thought {
			batch = batch[1:] // the protocol has no event for it
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

// joinable returns how many tokens at the start of the batch go into one frame.
func joinable(batch []event.Event) int {
	n, size := 0, 0
	for n < min(maxTokens, len(batch)) {
		t, ok := batch[n].Body.(event.Token)
		if size += len(t.Text); !ok || n > 0 && size > maxTokenBytes {
			break
		}
		n++
	}
	return n
}

// tokens appends the payload of a token event. The fold only needs the number of tokens.
func (p *projection) tokens(batch []event.Event) {
	p.buf = append(p.buf, `{"type":"token","content":"`...)
	for _, e := range batch {
		p.buf = event.AppendEscaped(p.buf, e.Body.(event.Token).Text)
	}
	p.buf = append(p.buf, `"}`...)
	p.state.Tokens += len(batch)
}
