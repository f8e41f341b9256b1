package delivery

import (
	"bytes"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// decoderBlock is the number of bytes that common gzip decoders return at once, or a multiple of it. Clients that split each
// read into lines and keep no remainder, as the sample clients of the forge protocol do, lose a frame that crosses such a
// boundary. So the encoder pads compressed text in front of such a frame. In plain streams each frame is one write.
const decoderBlock = 16 << 10

// What an encoder keeps for the next batch is bounded, so that a stream without events holds little.
const (
	maxKeptFrames = 16
	maxKeptBytes  = 16 << 10
)

// frameOverhead is an estimate of the bytes that a protocol adds to the data of a frame.
const frameOverhead = 48

// packet holds the encoded bytes of a frame, a heartbeat or a sync point. The packets of a shared broadcast are immutable.
type packet struct {
	data   []byte
	cursor wire.Cursor // after the packet; includes later events without frames
	sum    checksum    // of the encoder's text up to the end of the packet
	frame  bool        // the packet is a frame
}

// encoder turns the events of a run into packets of one variant. It is for one goroutine at a time.
type encoder struct {
	protocol    wire.Protocol
	projection  wire.Projection
	compression *compression     // nil: none
	compressor  compressor       // nil: none, or closed
	out         bytes.Buffer     // of the compressor
	header      bool             // the compressor's header comes next in out
	pads        bool             // no frame crosses a boundary of decoderBlock
	heartbeater wire.Heartbeater // nil: heartbeats are comments
	metrics     *metrics

	last      event.Seq   // of the last event encoded
	answering bool        // the answer's text has begun
	cursor    wire.Cursor // everything up to here is encoded
	sum       checksum    // of the uncompressed text
	frames    []wire.Frame
	text      []byte
}

// newEncoder returns an encoder of the frames after a cursor. Its text begins at a position, in bytes, of an uncompressed body.
func newEncoder(v variant, after wire.Cursor, position uint64, m *metrics) *encoder {
	// Padding a snapshot would cost as much as the snapshot, which is too large for such clients anyway.
	_, throttled := v.protocol.(wire.Throttled)
	e := &encoder{protocol: v.protocol, projection: wire.Resume(v.protocol.New(), after), compression: v.compression,
		pads: v.compression != nil && comments(v.protocol) && !throttled, metrics: m, cursor: after, sum: checksum{n: position}}
	e.heartbeater, _ = v.protocol.(wire.Heartbeater)
	if v.compression != nil {
		m.compressors.Inc()
		e.compressor, e.header = v.compression.pool.Get().(compressor), true
		e.compressor.Reset(&e.out)
	}
	return e
}

// comments reports whether clients of a protocol ignore comments.
func comments(p wire.Protocol) bool { return p.ContentType() == sse.ContentType }

// close releases the compressor. The encoder must not be used afterwards.
func (e *encoder) close() {
	if e.compressor != nil {
		e.metrics.compressors.Dec()
		e.compressor.Reset(nil)
		e.compression.pool.Put(e.compressor)
		e.compressor = nil
	}
}

// begin begins a batch. With reuse and without compression, the packets of the last batch are no longer valid.
func (e *encoder) begin(reuse bool) {
	if e.compression == nil {
		if e.text = e.text[:0]; !reuse || cap(e.text) > maxKeptBytes { // a compressor holds much more
			e.text = nil
		}
	}
}

// encode appends the packets of the next events of a batch, of which there is at least one.
func (e *encoder) encode(dst []packet, events []event.Event) ([]packet, error) {
	e.frames = e.projection.Project(e.frames[:0], events)
	last := wire.Cursor{Seq: events[len(events)-1].Seq}
	if e.compression == nil { // one array for all packets, because earlier packets would keep the arrays that append replaces
		size := 0
		for _, f := range e.frames {
			size += len(f.Data) + len(f.Event) + frameOverhead
		}
		e.text = slices.Grow(e.text, size)
	}
	for _, f := range e.frames {
		data, err := e.frame(f)
		if err != nil {
			return dst, err
		}
		e.cursor = f.ID
		dst = append(dst, packet{data: data, cursor: e.cursor, sum: e.sum, frame: true})
	}
	e.metrics.encoded.Add(float64(len(e.frames)))
	if last.Compare(e.cursor) > 0 { // the events after the last frame have none
		if e.cursor = last; len(e.frames) > 0 {
			dst[len(dst)-1].cursor = last
		}
	}
	e.last = last.Seq
	for _, ev := range events {
		switch ev.Body.(type) {
		case event.Token, event.GenerationFinished, event.RunFinished, event.RunFailed:
			e.answering = true
		}
	}
	if clear(e.frames); cap(e.frames) > maxKeptFrames {
		e.frames = nil
	}
	return dst, nil
}

func (e *encoder) frame(f wire.Frame) ([]byte, error) {
	if e.compression == nil {
		from := len(e.text)
		e.text = e.protocol.AppendFrame(e.text, f)
		return e.text[from:], nil
	}
	e.text = e.protocol.AppendFrame(e.text[:0], f)
	return e.compress(e.text)
}

// heartbeat returns the packet of a heartbeat that is sent at a time.
func (e *encoder) heartbeat(at time.Time) (packet, error) {
	var data []byte
	if e.heartbeater != nil {
		data = e.heartbeater.AppendHeartbeat(nil, at)
	} else {
		data = sse.AppendComment(nil, "keep-alive")
	}
	var err error
	if e.compression != nil {
		data, err = e.compress(data)
	}
	return packet{data: data, cursor: e.cursor, sum: e.sum}, err
}

// sync returns a packet after which the packets of any encoder of the variant may follow, and resets the compressor. If frames are
// padded, the text of every sync point ends at a boundary.
func (e *encoder) sync() (packet, error) {
	var data []byte
	if rest := (e.sum.n + uint64(len(e.compression.bridgeText))) % decoderBlock; e.pads && rest > 0 {
		var err error
		if data, err = e.write(sse.AppendPadding(nil, int(decoderBlock-rest)), nil); err != nil {
			return packet{}, err
		}
	}
	e.compressor.Reset(&e.out)
	e.header = true
	p := e.bridge()
	p.data = append(data, p.data...)
	return p, nil
}

// bridge returns the packet to send between the packets of another encoder and those of this one.
func (e *encoder) bridge() packet {
	e.sum.add([]byte(e.compression.bridgeText))
	return packet{data: e.compression.bridge, cursor: e.cursor, sum: e.sum}
}

// compress compresses a frame, with padding in front of it if it would cross a boundary. The caller owns the result.
func (e *encoder) compress(frame []byte) ([]byte, error) {
	var padding []byte
	room := decoderBlock - int(e.sum.n%decoderBlock) //nolint:gosec // below 16 Ki
	if e.pads && len(frame) > room && len(frame) <= decoderBlock {
		padding = sse.AppendPadding(nil, room)
	}
	return e.write(padding, frame)
}

func (e *encoder) write(parts ...[]byte) ([]byte, error) {
	e.out.Reset()
	for _, b := range parts {
		e.sum.add(b)
		if _, err := e.compressor.Write(b); err != nil {
			return nil, err
		}
	}
	if err := e.compressor.Flush(); err != nil {
		return nil, err
	}
	data := e.out.Bytes()
	if e.header {
		var err error
		if data, err = e.compression.withoutHeader(data); err != nil {
			return nil, err
		}
		e.header = false
	}
	return bytes.Clone(data), nil
}
