package delivery

import (
	"errors"
	"io"

	"github.com/sluice-rag/sluice/wire"
)

// stream sends a run to one client. It is for one goroutine.
type stream struct {
	hub      *Hub
	variant  variant
	writer   writer
	follower *follower
	shared   *broadcast // nil: the stream always reads a private one

	source *broadcast  // the broadcast being read; nil at the start
	offset int         // in source
	cursor wire.Cursor // of the last packet sent
	begun  bool        // something was sent

	// The checksum of the body is sum, extended by the text of source between the checksums from and to.
	sum, from, to checksum
}

// send sends the run to its end. A stream whose follower polls can return errWait or errFull before: send then goes on when it is called again.
func (s *stream) send() error {
	for {
		if s.writer.full() {
			return errFull
		}
		if err := s.choose(); err != nil {
			return err
		}
		packets, err := s.source.next(s.follower, s.offset)
		switch {
		case errors.Is(err, errDiscarded):
			err = s.readPrivate()
		case errors.Is(err, io.EOF):
			return s.end()
		case err == nil && len(packets) > 0:
			s.offset += len(packets)
			err = s.write(packets)
		}
		if err != nil {
			return err
		}
	}
}

// close releases what the stream holds.
func (s *stream) close() {
	if s.private() {
		s.source.encoder.close()
	}
	if s.shared != nil {
		s.hub.unsubscribe(s.shared)
	}
	s.follower.stop()
	s.hub.metrics.streams.Dec()
}

// choose decides which broadcast the stream reads next: the shared one if it has a sync point at the stream's cursor, otherwise a
// private one, which stops at the next sync point of the shared one.
func (s *stream) choose() error {
	switch {
	case s.source == nil && s.shared == nil:
		return s.readPrivate()
	case s.shared == nil || s.source == s.shared:
		return nil
	case s.source != nil:
		if s.offset < s.source.end() || s.source.ended() {
			return nil
		}
		s.cursor = s.source.encoder.cursor // the last events may have no frames
	}
	p, ok := s.shared.syncPoint(s.cursor)
	if ok && p.cursor == s.cursor {
		return s.readShared(p)
	}
	if s.source == nil {
		if err := s.readPrivate(); err != nil {
			return err
		}
	}
	s.source.stopAfter(p.cursor.Seq)
	return nil
}

// readShared continues the stream at a sync point of the shared broadcast.
func (s *stream) readShared(at syncPoint) error {
	if s.begun && s.variant.compression != nil {
		p, err := s.source.encoder.sync()
		if err == nil {
			err = s.write([]packet{p})
		}
		if err != nil {
			return err
		}
	}
	if s.source != nil {
		s.source.encoder.close()
	}
	s.read(s.shared, at.offset, at.sum)
	return nil
}

// readPrivate continues the stream with a new private broadcast.
func (s *stream) readPrivate() error {
	b := s.hub.newBroadcast(s.variant, s.cursor, s.total().n)
	s.read(b, 0, b.encoder.sum)
	if !s.begun || s.variant.compression == nil {
		return nil
	}
	return s.write([]packet{b.encoder.bridge()})
}

// read makes b the source. The next packet is the one at the offset, and sum is the checksum of the packets before it.
func (s *stream) read(b *broadcast, offset int, sum checksum) {
	s.total()
	s.source, s.offset, s.from, s.to = b, offset, sum, sum
}

// total returns the checksum of the text sent so far.
func (s *stream) total() checksum {
	s.sum.extend(s.from, s.to)
	s.from = s.to
	return s.sum
}

// private reports whether the stream reads a private broadcast.
func (s *stream) private() bool { return s.source != nil && s.source != s.shared }

// write sends packets of source. There is at least one.
func (s *stream) write(packets []packet) error {
	last := packets[len(packets)-1]
	s.cursor, s.to = last.cursor, last.sum
	frames := 0
	for _, p := range packets {
		if p.frame {
			frames++
		}
	}
	s.hub.metrics.sent.Add(float64(frames))
	return s.writeBody(packets...)
}

// writeBody writes packets of the body, and its head before the first ones.
func (s *stream) writeBody(packets ...packet) error {
	if c := s.variant.compression; c != nil && !s.begun {
		packets = append([]packet{{data: c.head}}, packets...)
	}
	s.begun = true
	return s.writer.write(packets)
}

// end ends the body.
func (s *stream) end() error {
	if s.variant.compression == nil {
		return nil
	}
	return s.writeBody(packet{data: s.variant.compression.end(s.total())})
}
