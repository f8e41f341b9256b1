package natslog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/natsconn"
)

// To which server a run belongs: the index has a mark of each run that a server has begun or claimed, so that others find the runs of a server that
// has died. The marks alone decide nothing: a claim is a message of the run. So one of several servers that claim a run wins, and what the earlier
// server has sent since or still sends is refused.

// Server implements [eventlog.Sharer].
func (l *Log) Server() string { return l.o.Server }

// Owned implements [eventlog.Sharer].
func (l *Log) Owned(ctx context.Context) (map[string][]event.RunID, error) {
	prefix := l.names.mark + "own."
	subjects, err := l.subjects(ctx, l.index, prefix+">")
	if err != nil {
		return nil, fmt.Errorf("list unfinished runs: %w", err)
	}
	out := map[string][]event.RunID{}
	for _, s := range subjects {
		server, _, _ := strings.Cut(strings.TrimPrefix(s, prefix), ".")
		if id := runID(s); id != "" {
			out[server] = append(out[server], id)
		}
	}
	return out, nil
}

// Owns reports whether a server has runs of a tenant, under the default prefix, that have not ended. The log of the tenant need not be open.
func Owns(ctx context.Context, c *natsconn.Conn, tenant, server string) (bool, error) {
	n := newNames(defaultPrefix, tenant)
	stream, err := c.JS.Stream(ctx, n.index)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = stream.Info(ctx, jetstream.WithSubjectFilter(n.mark+"own."+server+".>"))
	}
	if err != nil {
		return false, fmt.Errorf("list unfinished runs: %w", err)
	}
	return len(info.State.Subjects) > 0, nil
}

// Claim implements [eventlog.Sharer]. After the claim it removes the mark of the earlier server, before this one appends events. So a server that finds
// neither the claim at the end of the run nor the mark knows that it was too late.
//
// A server writes its mark after it has read the end of the run, and before its claim. So the marks that are older than that of a server whose claim
// succeeds belong to servers that have lost the run, and newer ones may be of a server that is about to claim it next: they stay.
func (l *Log) Claim(ctx context.Context, s eventlog.Summary, from string) (event.Seq, error) {
	id := s.Start.Run
	last, mark, err := l.claim(ctx, s, from)
	ended := errors.Is(err, eventlog.ErrEnd)
	switch {
	case err == nil, ended && s.Start.Ephemeral:
		err = errors.Join(err, l.removeMarks(ctx, id, l.o.Server, mark))
	case ended, errors.Is(err, eventlog.ErrNotFound):
		err = errors.Join(err, l.removeMarks(ctx, id, "", 0))
	case errors.Is(err, eventlog.ErrConflict) && !l.owns(id):
		err = errors.Join(err, l.purge(ctx, l.index, l.names.owned(l.o.Server, id)))
	}
	if err != nil {
		return last, fmt.Errorf("claim run %s: %w", id, err)
	}
	return last, nil
}

// owns reports whether this process writes a run.
func (l *Log) owns(id event.RunID) bool {
	l.mu.Lock()
	w := l.writers[id]
	l.mu.Unlock()
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owned && w.lost == nil
}

// removeMarks removes the marks of a run that are before a sequence of the index, except for that of a server; 0: all of them.
func (l *Log) removeMarks(ctx context.Context, id event.RunID, except string, before uint64) error {
	marks, err := l.subjects(ctx, l.index, l.names.owned("*", id))
	for _, mark := range marks {
		if mark != l.names.owned(except, id) {
			err = errors.Join(err, l.purgeBefore(ctx, l.index, mark, before))
		}
	}
	return err
}

// claim returns the last event of the run, and the sequence of the mark of this server in the index; 0: it did not write one.
func (l *Log) claim(ctx context.Context, s eventlog.Summary, from string) (last event.Seq, mark uint64, err error) {
	id := s.Start.Run
	t, err := l.tail(ctx, id)
	if err == nil && from != "" && t.claim != "" && t.claim != from {
		return 0, 0, eventlog.ErrConflict
	}
	if err == nil && from != "" {
		err = l.retry(ctx, func(ctx context.Context) error {
			_, err := l.get(ctx, l.names.index, getRequest{Last: l.names.owned(from, id)})
			return err
		})
		if errors.Is(err, errNone) {
			return 0, 0, eventlog.ErrConflict
		}
	}
	var key sealer
	if err == nil {
		key, err = l.sealer(ctx, id) // without one, the run was deleted, or its creation was given up before its first message arrived
	}
	if errors.Is(err, errNone) {
		return 0, 0, eventlog.ErrNotFound
	}
	if err == nil && (!t.ended || s.Start.Ephemeral) {
		mark, err = l.putMark(ctx, l.names.owned(l.o.Server, id)) // before the claim: a run without a mark would have no server
	}
	if err == nil && t.ended {
		err = eventlog.ErrEnd
	}
	if err != nil {
		return t.last, mark, err
	}
	r := record{first: t.last + 1, last: t.last + 1, part: 1, parts: 2, write: rand.Text(), claim: l.o.Server} // without its second part, readers skip it
	m := &nats.Msg{Subject: l.names.run(id), Header: r.header(), Data: key.seal(r).data}
	seq, err := l.send(ctx, m, r, t.seq)
	if err != nil {
		return 0, mark, err
	}
	_ = l.nc.Publish(l.names.claimed, fmt.Appendf(nil, "%s %d", id, seq)) // the earlier server notices it without that, too, but later
	l.dropWriter(id)
	w := l.writer(id)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.key, w.seq, w.last, w.owned, w.unmark, w.used = key, seq, t.last, true, !s.Start.Ephemeral, time.Now()
	return t.last, mark, nil
}

// dropWriter makes the next Append of this process look at the stream again.
func (l *Log) dropWriter(id event.RunID) {
	l.mu.Lock()
	w := l.writers[id]
	l.mu.Unlock()
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		l.removeWriter(w)
	}
}

// claimedElsewhere notes that another server has claimed a run that this process writes: the next Append fails, and readers follow the run.
func (l *Log) claimedElsewhere(m *nats.Msg) {
	id, text, _ := strings.Cut(string(m.Data), " ")
	seq, err := strconv.ParseUint(text, 10, 64)
	l.mu.Lock()
	w := l.writers[event.RunID(id)]
	l.mu.Unlock()
	if err != nil || w == nil {
		return
	}
	w.mu.Lock()
	lost := w.owned && w.seq < seq
	if lost && w.lost == nil {
		w.lost = eventlog.ErrConflict
	}
	w.mu.Unlock()
	if lost {
		l.drop(w.id)
	}
}

// addEnded notes a run of this server whose mark can be removed.
func (l *Log) addEnded(id event.RunID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = append(l.ended, id)
}

// unmark removes the marks of runs that this server has ended. It does so some time after their end, so that the engine of the next process sees
// the runs that ended last.
func (l *Log) unmark(ctx context.Context) {
	l.mu.Lock()
	ids := l.ended
	l.ended = nil
	l.mu.Unlock()
	for i, id := range ids {
		if err := l.purge(ctx, l.index, l.names.owned(l.o.Server, id)); err != nil {
			l.mu.Lock()
			l.ended = append(l.ended, ids[i:]...)
			l.mu.Unlock()
			return
		}
	}
}
