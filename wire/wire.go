// Package wire defines what a streaming protocol is: a pure projection of a run's events to frames. Live, resumed and
// replayed streams use the same code, and a run that was started in one protocol can be read in any other.
package wire

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// Cursor is a position in a run's stream: directly after the frame that carries it. One event may produce several frames.
// The cursor of the last of them is the event's sequence number; the cursors of the earlier ones are "seq.1", "seq.2" and
// so on.
type Cursor struct {
	Seq   event.Seq
	Frame int // from 1; 0: after the last frame of the event
}

// ParseCursor parses a cursor in the form that [Cursor.Append] writes. The empty string is the start of the stream.
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

// Append appends the text form of the cursor to dst.
func (c Cursor) Append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(c.Seq), 10)
	if c.Frame > 0 {
		dst = append(dst, '.')
		dst = strconv.AppendInt(dst, int64(c.Frame), 10)
	}
	return dst
}

// String returns the text form of the cursor.
func (c Cursor) String() string { return string(c.Append(nil)) }

// Compare compares the positions of two cursors, as [cmp.Compare] does.
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

// Frame is the unit that a protocol sends, such as a server-sent event. Data has no line breaks, except for a [ByteStream], whose streams are
// the data of the frames.
type Frame struct {
	ID    Cursor
	Event string // empty if the protocol has no event names
	Data  []byte
}

// NumberFrames sets the cursors of the frames of one event.
func NumberFrames(frames []Frame, seq event.Seq) {
	for i := range frames {
		if frames[i].ID.Seq = seq; i < len(frames)-1 {
			frames[i].ID.Frame = i + 1
		}
	}
}

// Reuse returns an empty buffer for the data of the next frames: the one of the last call, unless it has grown beyond 4 KiB.
func Reuse(buf []byte) []byte {
	if cap(buf) > 4<<10 {
		return nil
	}
	return buf[:0]
}

// Projection converts the events of one run to frames. It may be stateful. Its result must not depend on how the log is cut
// into batches: the frames of any cut give a client the same state, and a stream can be resumed after each frame. It is not
// safe for concurrent use.
type Projection interface {
	// Project appends the frames of the next events to dst. Their Data is valid until the next call.
	Project(dst []Frame, batch []event.Event) []Frame
}

// Protocol creates projections and encodes frames. Its methods are safe for concurrent use. Implementations are comparable; equal
// protocols produce the same frames, so their streams share encoded frames.
type Protocol interface {
	Name() string
	// ContentType returns the media type of a stream.
	ContentType() string
	// New returns a projection that starts at the first event of a run.
	New() Projection
	// AppendFrame appends the encoded frame to dst.
	AppendFrame(dst []byte, f Frame) []byte
}

// Heartbeater is also implemented by protocols that have a heartbeat of their own, which is sent when there was no frame for some
// time. The heartbeat of other protocols of server-sent events is a comment. Other protocols have none.
type Heartbeater interface {
	// AppendHeartbeat appends the heartbeat of a time to dst. A heartbeat is not an event of the run, so the server passes its clock;
	// all other times in a protocol are those of events.
	AppendHeartbeat(dst []byte, at time.Time) []byte
}

// Replier is also implemented by protocols whose variants have different replies without a stream.
type Replier interface {
	// Reply replaces [API.Reply].
	Reply(log []event.Event) any
}

// Linked is also implemented by protocols whose clients show the URLs of sources.
type Linked interface {
	// LinkTo returns the protocol with links to pages of the server at an origin for the sources that have no URL of their own; see [LinkOf].
	LinkTo(origin string) Protocol
}

// HeaderField is also implemented by protocols whose streams have a header field of their own.
type HeaderField interface {
	// HeaderField returns the name and the value of the field.
	HeaderField() (name, value string)
}

// ByteStream is also implemented by protocols whose streams have the same bytes for every reader: the bytes depend only on the log of the run.
// Time and batches of events have no effect, so there are no heartbeats. A client resumes such a stream by the number of bytes that it has
// received.
type ByteStream interface {
	Protocol
	// From returns a protocol whose streams begin at the byte with the offset, which is at least 0. Its frames have the same cursors.
	From(offset int64) Protocol
}

// Resume returns a projection that reads the whole log and drops the frames up to the cursor.
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

// Project projects the events up to the cursor separately, so that no frame combines events from before and after it.
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
		if keep > from { // the next call of Project would overwrite the data of these frames
			for i := range dst[from:] {
				dst[from+i].Data = append([]byte(nil), dst[from+i].Data...)
			}
		}
	}
	return r.p.Project(dst, batch)
}
