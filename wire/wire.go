// Package wire says what a protocol is: a pure projection of a run's events to frames. Live, resumed and replayed streams
// are one code path, and a run started in one protocol can be read in any other.
package wire

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/event"
)

// Cursor is a place in a run's stream: behind the frame that carries it. An event may make several frames: the last of
// them carries the event's sequence number alone, the ones before it "seq.1", "seq.2" ….
type Cursor struct {
	Seq   event.Seq
	Frame int // from 1; 0: everything of the event
}

// ParseCursor reads a cursor as [Cursor.Append] writes it. The empty string is the start.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	seq, frame, dotted := strings.Cut(s, ".")
	n, err := strconv.ParseUint(seq, 10, 63)
	if err != nil || len(s) > 32 {
		return Cursor{}, fmt.Errorf("parse cursor %.32q: not a number or number.number", s)
	}
	c := Cursor{Seq: event.Seq(n)}
	if dotted {
		if c.Frame, err = strconv.Atoi(frame); err != nil || c.Frame < 1 || n == 0 {
			return Cursor{}, fmt.Errorf("parse cursor %.32q: not a number or number.number", s)
		}
	}
	if c.String() != s {
		return Cursor{}, fmt.Errorf("parse cursor %.32q: not a number or number.number", s)
	}
	return c, nil
}

// Append appends the cursor's text.
func (c Cursor) Append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(c.Seq), 10)
	if c.Frame > 0 {
		dst = append(dst, '.')
		dst = strconv.AppendInt(dst, int64(c.Frame), 10)
	}
	return dst
}

// String is the cursor's text.
func (c Cursor) String() string { return string(c.Append(nil)) }

// Compare orders cursors as the frames that carry them follow each other.
func (c Cursor) Compare(d Cursor) int {
	if n := cmp.Compare(c.Seq, d.Seq); n != 0 || c.Frame == d.Frame {
		return n
	}
	switch {
	case c.Frame == 0:
		return 1
	case d.Frame == 0:
		return -1
	}
	return cmp.Compare(c.Frame, d.Frame)
}

// Frame is the unit that a protocol sends: an SSE event, a line. Data has no line break.
type Frame struct {
	ID    Cursor
	Event string // empty where the protocol has no names
	Data  []byte
}

// Projection turns one run's events into frames. It may hold state, and it speaks of state and not of batches: however
// the log is cut, the text adds up to the same and every frame's cursor resumes. It is for one goroutine.
type Projection interface {
	// Project appends the frames of the next events to dst. Their Data is valid until the next call.
	Project(dst []Frame, batch []event.Event) []Frame
}

// Protocol makes projections and bytes. Its methods may be called at once.
type Protocol interface {
	Name() string
	// ContentType is that of a stream.
	ContentType() string
	// New gives a projection that stands before a run's first event.
	New() Projection
	// AppendFrame appends the frame as it goes over the wire.
	AppendFrame(dst []byte, f Frame) []byte
	// AppendIdle appends what is sent after a time of silence.
	AppendIdle(dst []byte) []byte
}

// Resume gives a projection of the whole log that shows only the frames behind the cursor.
func Resume(p Projection, after Cursor) Projection {
	if after == (Cursor{}) {
		return p
	}
	return &resumed{p: p, after: after}
}

type resumed struct {
	p     Projection
	after Cursor
}

// Project folds the events up to the cursor apart from the others, so that no frame straddles it.
func (r *resumed) Project(dst []Frame, batch []event.Event) []Frame {
	n := 0
	for n < len(batch) && batch[n].Seq <= r.after.Seq {
		n++
	}
	if n > 0 {
		from := len(dst)
		dst = r.p.Project(dst, batch[:n])
		keep := from
		for _, f := range dst[from:] {
			if f.ID.Compare(r.after) > 0 {
				dst[keep] = f
				keep++
			}
		}
		dst = dst[:keep]
		if batch = batch[n:]; len(batch) == 0 {
			return dst
		}
		if keep > from { // frames of the first part still need their data
			for i := range dst[from:] {
				dst[from+i].Data = append([]byte(nil), dst[from+i].Data...)
			}
		}
	}
	return r.p.Project(dst, batch)
}
