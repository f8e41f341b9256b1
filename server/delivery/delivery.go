// Package delivery streams the events of runs to HTTP clients, each in the protocol and compression that the client asked for.
//
//	 event log          encoder            broadcast                    streams
//	┌─────────┐  load  ┌─────────┐  add  ┌───┬───┬───┬───┬───┐  next  ┌────────────┐ write
//	│ 1 2 3 … │ ─────> │ frames, │ ────> │ 4 │ 5 │ 6 │ 7 │ 8 │ ─┬───> │ offset 8   │ ─────> client A
//	└─────────┘        │ bytes   │       └───┴───┴───┴───┴───┘  └───> │ offset 5   │ ─────> client B, slower
//	                   └─────────┘           ▲ sync point             └────────────┘
//
// The parts:
//
//   - An encoder turns events into packets: it projects events to frames of the protocol, encodes the frames and compresses them.
//   - A broadcast is a buffer of the newest packets of one run in one variant (protocol and compression).
//   - An offset is the number of a packet, counted from the first one that the broadcast ever held.
//   - A sync point is an offset where a client can begin to read. Compressed packets refer to the text before them; those after a
//     sync point do not refer to text before it, because the compressor was reset there.
//   - A stream sends a run to one client. It takes the packets at its offset from a broadcast and gives them to a writer, until
//     the run ends.
//
// No goroutine encodes ahead. The first stream that has read all packets waits for events and encodes them, for all streams of the
// broadcast. If it leaves, another stream takes its place. Events that arrive while every client is busy are encoded together.
//
// Streams of the same variant share a broadcast. A stream that cannot read the shared one reads a private broadcast,
// which encodes for this stream alone and keeps no packets. How clients are served:
//
//   - The first client of a variant creates the shared broadcast.
//   - A late client starts at offset 0, as long as the buffer keeps it.
//   - A client that resumes after a cursor starts at the sync point of the cursor, if there is one. Otherwise its stream reads a private
//     broadcast up to a later sync point, and the shared broadcast from there. The stream asks for that sync point; the shared
//     broadcast makes at most one per second.
//   - A slow client whose offset is no longer kept continues in the same way.
//   - Without compression, each packet ends at a sync point, so a client can join after any packet. If a run has one such client, the broadcast keeps no
//     packets that it has read.
//
// A handler sends what is in the log. When the stream waits for events, [Conns] can take its connection over, and the handler returns.
//
// In throttled protocols ([wire.Throttled]), events that may be coalesced are encoded when the minimum interval between two frames is
// over.
package delivery

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/wire"
)

// Options are the settings of a hub. All are required.
type Options struct {
	// Heartbeat is the time without a packet before a heartbeat; before the first token at most 4 s. Only streams of server-sent events and of
	// a [wire.Heartbeater] have heartbeats.
	Heartbeat    time.Duration
	WriteTimeout time.Duration // how long a client may take to accept a write
	Logger       *slog.Logger
	Registry     prometheus.Registerer
}

// Source provides the events of runs. The engine implements it.
type Source interface {
	// Follow returns the log of a run, and a context that ends with a cause when the run can get no more events although it has no
	// terminal event.
	Follow(run event.RunID) (log eventlog.Store, over context.Context)
}

// Hub serves streams and holds the broadcasts that they share. Its methods may be called concurrently.
type Hub struct {
	o       Options
	source  Source
	metrics *metrics

	mu         sync.Mutex
	broadcasts map[variant]*broadcast
}

// variant identifies a shared broadcast.
type variant struct {
	run         event.RunID
	protocol    wire.Protocol
	compression *compression // nil: none
}

// New returns a hub for the runs of source.
func New(source Source, o Options) (*Hub, error) {
	m, err := newMetrics(o.Registry)
	if err != nil {
		return nil, err
	}
	return &Hub{o: o, source: source, metrics: m, broadcasts: map[variant]*broadcast{}}, nil
}

// Serve streams a run from after the cursor until the run ends or the client leaves. Nothing may have been written to w. If the
// stream fails, Serve panics with [http.ErrAbortHandler], so that the client does not take the part it received for the whole. If [Conns] takes
// the connection over, Serve returns while the stream goes on: see [AtEnd].
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, run event.RunID, p wire.Protocol, after wire.Cursor) {
	header := w.Header()
	header.Set("Content-Type", p.ContentType())
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	header.Add("Vary", "Accept-Encoding") // beside the Origin of pages on other hosts
	header.Set("Sluice-Run-Id", string(run))
	if own, ok := p.(wire.HeaderField); ok {
		header.Set(own.HeaderField())
	}
	if r.Method == http.MethodHead {
		return // writes to the connection would not be suppressed
	}
	c := negotiate(strings.Join(r.Header.Values("Accept-Encoding"), ","))
	if c != nil {
		header.Set("Content-Encoding", c.name)
	}
	err := h.stream(w, r, variant{run, p, c}, after)
	h.report(r.Context(), run, err)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// report logs the error with which a stream has ended, unless its client has left.
func (h *Hub) report(ctx context.Context, run event.RunID, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, errDisconnected) {
		h.o.Logger.Error("stream aborted", "run", run, "error", err)
	}
}

func (h *Hub) stream(w http.ResponseWriter, r *http.Request, v variant, after wire.Cursor) error {
	out, err := newHTTPWriter(w, r, h.o.WriteTimeout)
	if err != nil {
		return err
	}
	log, over := h.source.Follow(v.run)
	s := &stream{hub: h, variant: v, writer: out, follower: &follower{ctx: r.Context(), over: over, log: log, run: v.run}, cursor: after}
	h.metrics.streams.Inc()
	if v.shareable() {
		s.shared = h.subscribe(v, after)
	}
	taken := false
	defer func() {
		if !taken {
			s.close()
		}
	}()
	if notifier, ok := log.(eventlog.Notifier); ok && mayTake(r) {
		s.follower.polls = true
		if err = s.send(); !errors.Is(err, errWait) {
			return err
		}
		if taken = connOf(r.Context()).take(w, s, notifier); taken {
			return nil
		}
		s.follower.polls = false
	}
	s.follower.join()
	return s.send()
}

// shareable reports whether streams of the variant may read a shared broadcast. Compressed streams join it after a bridge, whose text clients of
// the protocol must ignore. Without compression, clients of throttled protocols have frames of their own, so a slow one skips older snapshots.
func (v variant) shareable() bool {
	if v.compression == nil {
		_, throttled := v.protocol.(wire.Throttled)
		return !throttled
	}
	return v.compression.bridgeText == "" || comments(v.protocol)
}

// subscribe returns the shared broadcast of a variant. If there is none, it creates one that begins after a cursor.
func (h *Hub) subscribe(v variant, after wire.Cursor) *broadcast {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.broadcasts[v]
	if b == nil {
		b = h.newBroadcast(v, after, 0)
		b.shared = true
		b.syncPoints = []syncPoint{{cursor: after}}
		h.broadcasts[v] = b
	}
	b.subscribers.Add(1)
	return b
}

// unsubscribe ends one use of a shared broadcast.
func (h *Hub) unsubscribe(b *broadcast) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b.subscribers.Add(-1) == 0 {
		delete(h.broadcasts, b.variant)
		b.encoder.close() // no stream is left that could call the broadcast
		h.metrics.buffered.Sub(float64(b.bytes))
	}
}
