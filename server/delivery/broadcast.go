package delivery

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// What a shared broadcast keeps is bounded, in bytes. Few compressed answers have more than maxBuffered: 1,000 tokens have 11 to 72 KB. A stream can join an
// uncompressed broadcast after each packet, so less is enough there.
const (
	maxBuffered      = 256 << 10
	maxBufferedPlain = 64 << 10
)

// packetOverhead is the memory of a packet besides its data, in bytes.
const packetOverhead = 80

// A batch is what is encoded together. Its size is bounded, which bounds the memory of a stream whose client is slow. A batch ends after maxBatch events or,
// in throttled protocols, after maxBatch frames of events that are not coalesced. It also ends as soon as it has maxBatchBytes, so only the frames of its last
// event can exceed this.
const (
	maxBatch      = 100
	maxBatchBytes = 8 << 10
)

// syncInterval is the minimum time between two sync points. Each costs all clients some bytes: packets after it cannot refer to
// the text before.
const syncInterval = time.Second

// beforeToken bounds the heartbeat interval until the first token of the answer. Some clients time out after 5 s without data,
// such as httpx by default. It does not apply to protocols with a heartbeat of their own.
const beforeToken = 4 * time.Second

// errDiscarded says that an offset is no longer kept.
var errDiscarded = errors.New("offset no longer kept")

// errPanicked ends the other streams of a broadcast after a protocol panicked in one of them.
var errPanicked = errors.New("protocol panicked")

// syncPoint is an offset where a client may begin: the packets after it do not refer to text before it.
type syncPoint struct {
	offset int
	cursor wire.Cursor // of the packet before it
	sum    checksum    // of the packet before it
}

// broadcast is a buffer of the newest packets of one run in one variant. Streams read it by offset. See the package comment.
type broadcast struct {
	hub         *Hub
	variant     variant
	throttled   wire.Throttled // nil: every event is due at once
	shared      bool           // may be read by several streams; otherwise only unread packets are kept
	subscribers atomic.Int32   // changed by the hub

	mu         sync.Mutex
	encoder    *encoder
	pending    []event.Event // loaded and not encoded
	urgent     bool          // the pending events are due now
	loaded     event.Seq     // of the last event loaded
	limit      event.Seq     // of a private broadcast: stop after this event; 0: none
	packets    []packet
	base       int         // offset of the first packet
	start      wire.Cursor // of the packet before it
	bytes      int         // of the packets
	reuse      bool        // the last packets are for one stream, and the next ones may reuse their memory
	syncPoints []syncPoint
	lastPacket time.Time     // when the last packet was added
	lastFrame  time.Time     // when the last packet with a frame was added
	lastSync   time.Time     // when the last sync point was made
	waiting    bool          // a stream waits for events
	changed    chan struct{} // closed when that stream is done; nil: no other stream waits for it
	err        error         // why no packets follow; [io.EOF] after the terminal event
}

func (h *Hub) newBroadcast(v variant, after wire.Cursor, position uint64) *broadcast {
	b := &broadcast{hub: h, variant: v, encoder: newEncoder(v, after, position, h.metrics), start: after, lastPacket: time.Now()}
	if t, ok := v.protocol.(wire.Throttled); ok && t.MinInterval() > 0 {
		b.throttled = t
	}
	return b
}

func (b *broadcast) end() int { return b.base + len(b.packets) }

// ended reports whether no packets follow.
func (b *broadcast) ended() bool { return b.err != nil }

// exclusive reports whether the broadcast is private, or whether its only reader is the calling stream, without compression. Packets that were read are then not
// kept, and the next ones reuse their memory. This is the usual case, because most runs have one client.
func (b *broadcast) exclusive() bool {
	return !b.shared || b.variant.compression == nil && b.subscribers.Load() == 1
}

// next returns the packets at an offset that fit into one write, at least one. If there are none, it waits, and may return none.
// Errors: errDiscarded; [io.EOF] at the end; those of [follower.next].
func (b *broadcast) next(f *follower, offset int) ([]packet, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if offset == b.end() && b.err == nil {
		if err := b.advance(f); err != nil {
			return nil, err
		}
	}
	switch {
	case offset < b.base:
		return nil, errDiscarded
	case offset == b.end():
		return nil, b.err
	}
	packets := b.packets[offset-b.base:]
	size, n := len(packets[0].data), 1
	for ; n < len(packets) && size+len(packets[n].data) <= maxWrite; n++ {
		size += len(packets[n].data)
	}
	return packets[:n:n], nil
}

// advance waits until events are due and encodes them. If nothing happens until the deadline, it adds a heartbeat. One stream does
// this for all: if another stream is in advance, advance waits for it. While it waits, mu is unlocked. A stream that polls does not wait, but does
// it beside the one that waits.
func (b *broadcast) advance(f *follower) error {
	if !f.polls {
		if b.waiting {
			return b.waitForChange(f)
		}
		b.waiting = true
		defer func() {
			b.waiting = false
			b.wake()
		}()
	}
	for end := b.end(); !b.due(); {
		events, err := b.waitForEvents(f)
		if b.end() > end || b.err != nil {
			return nil // a stream that polls was here meanwhile
		}
		late := errors.Is(err, errDeadline)
		switch {
		case late && time.Now().Before(b.deadline()):
			continue // it was later
		case errors.Is(err, io.EOF):
			b.err = err
			return nil
		case err != nil && !late:
			return err
		case late && len(b.pending) == 0:
			b.add(b.heartbeat)
			return nil
		}
		b.load(events)
	}
	b.add(b.encode)
	return nil
}

// waitForEvents returns the next events, or errDeadline at the deadline. While it waits, mu is unlocked.
func (b *broadcast) waitForEvents(f *follower) ([]event.Event, error) {
	after, deadline := b.loaded, b.deadline()
	if f.polls {
		return f.next(after, deadline)
	}
	b.mu.Unlock()
	defer b.mu.Lock() // also if the log panics
	return f.next(after, deadline)
}

// waitForChange waits until the stream in advance is done, or has left.
func (b *broadcast) waitForChange(f *follower) error {
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	changed := b.changed
	b.mu.Unlock()
	defer b.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
}

// wake ends waitForChange.
func (b *broadcast) wake() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// wakeAt returns the time at which a stream that polls has something to send without a new event; zero: never.
func (b *broadcast) wakeAt() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.deadline()
}

// load adds to the pending events. Another stream may have loaded some of them.
func (b *broadcast) load(events []event.Event) {
	for len(events) > 0 && events[0].Seq <= b.loaded {
		events = events[1:]
	}
	for n := len(events); b.limit > 0 && n > 0 && events[n-1].Seq > b.limit; n-- {
		events = events[:n-1]
	}
	if len(events) == 0 {
		return
	}
	b.loaded = events[len(events)-1].Seq
	if len(b.pending) == 0 {
		b.pending = events
	} else {
		b.pending = append(slices.Clip(b.pending), events...) // pending may be a slice of the log
	}
	b.urgent = b.urgent || b.throttled == nil || b.loaded == b.limit || slices.ContainsFunc(events, func(e event.Event) bool {
		return !b.throttled.Coalesces(e.Body) || event.Terminal(e.Body)
	})
}

// due reports whether pending events are to be encoded now.
func (b *broadcast) due() bool {
	return len(b.pending) > 0 && (b.urgent || !time.Now().Before(b.deadline()))
}

// deadline returns the time at which pending events are due, or, without any, a heartbeat. It is zero if the protocol has no heartbeats.
func (b *broadcast) deadline() time.Time {
	switch {
	case len(b.pending) > 0 && b.throttled == nil:
		return time.Now()
	case len(b.pending) > 0:
		return b.lastFrame.Add(b.throttled.MinInterval())
	case b.encoder.heartbeater == nil && !comments(b.variant.protocol):
		return time.Time{}
	case b.encoder.answering || b.encoder.heartbeater != nil:
		return b.lastPacket.Add(b.hub.o.Heartbeat)
	}
	return b.lastPacket.Add(min(b.hub.o.Heartbeat, beforeToken))
}

// add runs a function that appends packets, and discards the oldest packets. If the function fails, or the protocol panics in it, the
// broadcast ends for all streams.
func (b *broadcast) add(appendTo func([]packet) ([]packet, error)) {
	if b.reuse = b.exclusive(); b.reuse {
		b.discard(len(b.packets)) // its stream has read them
	}
	n := len(b.packets)
	b.err = errPanicked // stays if it panics
	b.packets, b.err = appendTo(b.packets)
	if len(b.packets) > n {
		b.lastPacket = time.Now()
	}
	size := 0
	for _, p := range b.packets[n:] {
		if size += len(p.data) + packetOverhead; p.frame {
			b.lastFrame = b.lastPacket
		}
	}
	b.resize(size)
	if !b.shared {
		return
	}
	most := maxBuffered
	if b.variant.compression == nil {
		most = maxBufferedPlain
	}
	if !b.reuse && b.bytes > most {
		old, left := 0, b.bytes
		for ; left > most*3/4 && old < n; old++ { // leave room, so that not every new packet moves the others, and keep the new ones, which no stream has read
			left -= len(b.packets[old].data) + packetOverhead
		}
		b.discard(old)
	}
	b.wake()
}

// resize changes the bytes of the packets.
func (b *broadcast) resize(by int) {
	if b.bytes += by; b.shared {
		b.hub.metrics.buffered.Add(float64(by))
	}
}

// discard forgets the oldest n packets.
func (b *broadcast) discard(n int) {
	if n == 0 {
		return
	}
	size := 0
	for _, p := range b.packets[:n] {
		size += len(p.data) + packetOverhead
	}
	b.resize(-size)
	b.base += n
	b.start = b.packets[n-1].cursor
	switch {
	case !b.reuse:
		b.packets = slices.Clone(b.packets[n:]) // other streams may read the old ones
	case cap(b.packets) > maxKeptFrames:
		b.packets = nil
	default:
		b.packets = slices.Delete(b.packets, 0, n)
	}
	b.syncPoints = slices.DeleteFunc(b.syncPoints, func(p syncPoint) bool { return p.offset < b.base })
}

// trim releases the buffers if one stream reads the broadcast and has sent all packets. The first events of a run need larger ones than those that follow.
func (b *broadcast) trim() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reuse = b.exclusive(); b.reuse {
		b.discard(len(b.packets))
		b.packets, b.encoder.frames, b.encoder.text = nil, nil, nil
	}
}

// encode appends the packets of pending events, of which there is at least one, until the batch is full.
func (b *broadcast) encode(packets []packet) ([]packet, error) {
	b.encoder.begin(b.reuse)
	for parts, size := 0, 0; len(b.pending) > 0 && parts < maxBatch && size < maxBatchBytes; parts++ {
		from, n := len(packets), b.part(min(maxBatch-parts, len(b.pending)), maxBatchBytes-size)
		last := b.pending[n-1].Body
		var err error
		if packets, err = b.encoder.encode(packets, b.pending[:n]); err != nil {
			return packets, err
		}
		if b.pending = b.pending[n:]; event.Terminal(last) {
			b.encoder.close() // slow clients only need the packets
			return packets, io.EOF
		}
		for _, p := range packets[from:] {
			size += len(p.data)
		}
		if b.throttled == nil {
			parts += n - 1
		}
	}
	if len(b.pending) == 0 {
		b.pending, b.urgent = nil, false
	}
	return packets, nil
}

// part returns the number of pending events that are encoded next: events with text, up to the given numbers of events and bytes, but at least one event. In
// throttled protocols, it returns all events up to the first one that is not coalesced.
func (b *broadcast) part(events, bytes int) int {
	if b.throttled != nil {
		n := slices.IndexFunc(b.pending, func(e event.Event) bool { return !b.throttled.Coalesces(e.Body) })
		if n < 0 {
			return len(b.pending)
		}
		return n + 1
	}
	for n, e := range b.pending[:events] {
		switch body := e.Body.(type) {
		case event.Token:
			bytes -= len(body.Text)
		case event.Reasoned:
			bytes -= len(body.Text)
		default:
			return max(n, 1)
		}
		if bytes <= 0 {
			return n + 1
		}
	}
	return events
}

// heartbeat appends a heartbeat.
func (b *broadcast) heartbeat(packets []packet) ([]packet, error) {
	p, err := b.encoder.heartbeat(time.Now())
	return append(packets, p), err
}

// stopAfter makes a private broadcast encode the events up to a sequence number without delay, and none after it. 0: no limit.
func (b *broadcast) stopAfter(limit event.Seq) {
	if b.limit != limit {
		b.limit, b.pending, b.urgent, b.loaded = limit, nil, false, b.encoder.last
	}
}

// syncPoint returns a sync point for a stream that has sent everything up to a cursor: one at the cursor, if possible, or after it.
// If there is none, it makes one at the end, unless the last one is too new.
func (b *broadcast) syncPoint(cursor wire.Cursor) (syncPoint, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.variant.compression == nil {
		return b.boundary(cursor)
	}
	for _, p := range b.syncPoints {
		if n := p.cursor.Compare(cursor); n == 0 || n > 0 && p.cursor.Frame == 0 {
			return p, true
		}
		if p.offset == b.end() && cursor.Compare(b.encoder.cursor) <= 0 { // the events in between have no frames
			p.cursor = cursor
			return p, true
		}
	}
	now := time.Now()
	if b.err != nil || b.encoder.cursor.Frame > 0 || b.encoder.cursor.Compare(cursor) < 0 || now.Sub(b.lastSync) < syncInterval {
		return syncPoint{}, false
	}
	b.lastSync = now
	b.add(func(packets []packet) ([]packet, error) {
		p, err := b.encoder.sync()
		if len(p.data) > 0 {
			packets = append(packets, p)
		}
		return packets, err
	})
	p := syncPoint{b.end(), b.encoder.cursor, b.encoder.sum}
	b.syncPoints = append(b.syncPoints, p)
	return p, b.err == nil
}

// boundary does what syncPoint does, for broadcasts without compression, in which each packet ends at a sync point. If the packet with the cursor is no longer
// kept, it returns the end.
func (b *broadcast) boundary(cursor wire.Cursor) (syncPoint, bool) {
	end := syncPoint{offset: b.end(), cursor: b.encoder.cursor}
	if end.cursor == cursor {
		return end, true
	}
	for i, p := range slices.Backward(b.packets) {
		if p.cursor == cursor {
			return syncPoint{offset: b.base + i + 1, cursor: cursor}, true
		}
	}
	if b.start == cursor {
		return syncPoint{offset: b.base, cursor: cursor}, true
	}
	if b.err == nil && end.cursor.Frame == 0 && cursor.Compare(end.cursor) < 0 {
		return end, true
	}
	return syncPoint{}, false // the stream is ahead
}
