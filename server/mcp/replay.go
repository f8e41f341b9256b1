package mcp

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of the messages that are kept for streams that are resumed.
const (
	maxReplay        = 64 << 20 // bytes of all sessions
	maxSessionReplay = 2 << 20  // bytes of a session
	maxStreams       = 200      // streams of a session; each request has one
)

// replay keeps the messages of sessions, so that clients can resume their streams. It implements [mcp.EventStore]. In contrast to
// [mcp.MemoryEventStore], each session has its own limit, and the sessions with the most bytes lose messages first: a session that has at most
// max / maxSessions bytes loses none because of others.
type replay struct {
	max, maxSession int // bytes

	mu       sync.Mutex
	bytes    int
	sessions map[string]*kept
}

var _ mcp.EventStore = (*replay)(nil)

// kept is what is kept of a session.
type kept struct {
	bytes    int
	streams  map[string]*messages
	opened   []string // ids of streams of requests, the oldest first
	appended []string // ids of the streams of the messages, in the order of Append
}

// messages are those of a stream.
type messages struct {
	first int // index of data[0] in the stream
	data  [][]byte
}

func newReplay(limit, session int) *replay {
	return &replay{max: limit, maxSession: session, sessions: map[string]*kept{}}
}

// Open implements [mcp.EventStore]. It forgets the oldest stream of a session that has too many, but not the one without an id, which belongs to no request.
func (r *replay) Open(_ context.Context, session, stream string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[session]
	if s == nil {
		s = &kept{streams: map[string]*messages{}}
		r.sessions[session] = s
	}
	if s.streams[stream] != nil {
		return nil
	}
	if stream == "" {
		s.streams[stream] = &messages{}
		return nil
	}
	if len(s.opened) == maxStreams {
		oldest := s.opened[0]
		for _, data := range s.streams[oldest].data {
			r.count(s, -len(data))
		}
		delete(s.streams, oldest)
		s.opened = slices.Delete(s.opened, 0, 1)
		s.appended = slices.DeleteFunc(s.appended, func(id string) bool { return id == oldest })
	}
	s.streams[stream] = &messages{}
	s.opened = append(s.opened, stream)
	return nil
}

// Append implements [mcp.EventStore]. Streams that are not open keep nothing. The newest message of a session is always kept.
func (r *replay) Append(_ context.Context, session, stream string, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[session]
	if s == nil || s.streams[stream] == nil {
		return nil
	}
	m := s.streams[stream]
	m.data = append(m.data, data)
	s.appended = append(s.appended, stream)
	r.count(s, len(data))
	for s.bytes > r.maxSession && len(s.appended) > 1 {
		r.drop(s)
	}
	for r.bytes > r.max {
		largest := s
		for _, other := range r.sessions {
			if other.bytes > largest.bytes {
				largest = other
			}
		}
		if len(largest.appended) < 2 {
			break
		}
		r.drop(largest)
	}
	return nil
}

// drop forgets the oldest message of a session, which must have one.
func (r *replay) drop(s *kept) {
	m := s.streams[s.appended[0]]
	r.count(s, -len(m.data[0]))
	m.data[0] = nil
	m.data, m.first = m.data[1:], m.first+1
	s.appended = s.appended[1:]
}

func (r *replay) count(s *kept, n int) {
	s.bytes += n
	r.bytes += n
}

// After implements [mcp.EventStore].
func (r *replay) After(_ context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		after, err := r.after(session, stream, index)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, data := range after {
			if !yield(data, nil) {
				return
			}
		}
	}
}

func (r *replay) after(session, stream string, index int) ([][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[session]
	if s == nil || s.streams[stream] == nil {
		return nil, fmt.Errorf("replay stream %.40q: no such stream", stream)
	}
	m := s.streams[stream]
	start := index + 1 - m.first
	if start < 0 {
		return nil, fmt.Errorf("replay stream %.40q: %w", stream, mcp.ErrEventsPurged)
	}
	return slices.Clone(m.data[min(start, len(m.data)):]), nil
}

// SessionClosed implements [mcp.EventStore].
func (r *replay) SessionClosed(_ context.Context, session string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sessions[session]; s != nil {
		r.bytes -= s.bytes
		delete(r.sessions, session)
	}
	return nil
}
