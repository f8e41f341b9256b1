package natslog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// How runs are listed: the index has a subject for each first token of the ids that exist (see tokens), and one for each pair of the first and the
// second token. A list goes through them from the newest, asks for the subjects of runs with these tokens, and stops when it is long enough. So its
// cost depends on its length and on how many runs were begun in a quarter of an hour, and not on the number of all runs.

// mark notes in the index that a run with the id exists, its key, and that this server has begun it. ErrConflict: another server begins it.
func (l *Log) mark(ctx context.Context, id event.RunID, key sealer) error {
	t := tokens(id)
	var errs [4]error
	var wg sync.WaitGroup
	for i, subject := range []string{l.names.mark + "a." + t[0], l.names.mark + "b." + t[0] + "." + t[1], l.names.owned(l.o.Server, id)} {
		if at, ok := l.marked.Get(subject); ok && time.Since(at) < keepIndex/2 {
			continue
		}
		wg.Go(func() {
			if _, errs[i] = l.putMark(ctx, subject); errs[i] == nil && i < 2 {
				l.marked.Add(subject, time.Now())
			}
		})
	}
	errs[3] = l.putKey(ctx, id, key)
	wg.Wait()
	return errors.Join(errs[:]...)
}

// parallel bounds the requests that one call sends at once.
const parallel = 32

// Runs implements [eventlog.Archive].
func (l *Log) Runs(ctx context.Context, before event.RunID, limit int) ([]eventlog.Summary, error) {
	if l.ctx.Err() != nil {
		return nil, eventlog.ErrClosed
	}
	if limit <= 0 {
		return nil, nil
	}
	firsts, err := l.children(ctx, l.index, l.names.mark+"a.*")
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	out, err := concat(firsts, before, limit, func(first string) ([]eventlog.Summary, error) {
		seconds, err := l.children(ctx, l.index, l.names.mark+"b."+first+".*")
		if err != nil {
			return nil, err
		}
		for i, second := range seconds {
			seconds[i] = first + "." + second
		}
		return concat(seconds, before, limit, func(two string) ([]eventlog.Summary, error) { return l.page(ctx, two, before, limit) })
	})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return out, nil
}

// concat returns the first summaries of several lists, each of which is one of a prefix of ids, until there are enough. It gets more lists at once
// the longer it has to look.
func concat(prefixes []string, before event.RunID, limit int, list func(prefix string) ([]eventlog.Summary, error)) ([]eventlog.Summary, error) {
	prefixes = slices.DeleteFunc(prefixes, func(p string) bool {
		return before != "" && strings.NewReplacer(".", "", none, "").Replace(p) > string(before)
	})
	var out []eventlog.Summary
	for n := 1; len(prefixes) > 0 && len(out) < limit; n = min(2*n, 16) {
		n = min(n, len(prefixes))
		lists, errs := make([][]eventlog.Summary, n), make([]error, n)
		var wg sync.WaitGroup
		for i, p := range prefixes[:n] {
			wg.Go(func() { lists[i], errs[i] = list(p) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		out = append(out, slices.Concat(lists...)...)
		prefixes = prefixes[n:]
	}
	return out[:min(limit, len(out))], nil
}

// children returns the last tokens of the subjects that match a filter, in descending order.
func (l *Log) children(ctx context.Context, stream jetstream.Stream, filter string) ([]string, error) {
	subjects, err := l.subjects(ctx, stream, filter)
	for i, s := range subjects {
		subjects[i] = s[strings.LastIndexByte(s, '.')+1:]
	}
	slices.SortFunc(subjects, func(a, b string) int { // the empty token is the least
		return strings.Compare(strings.TrimSuffix(b, none), strings.TrimSuffix(a, none))
	})
	return subjects, err
}

// page returns the runs whose ids have the first two tokens.
func (l *Log) page(ctx context.Context, two string, before event.RunID, limit int) ([]eventlog.Summary, error) {
	thirds, err := l.children(ctx, l.runs, l.names.base+two+".*")
	if err != nil {
		return nil, err
	}
	var out []eventlog.Summary
	for len(thirds) > 0 && len(out) < limit {
		var ids []event.RunID
		for len(thirds) > 0 && len(ids) < limit-len(out) {
			if id := runID(two + "." + thirds[0]); id != "" && (before == "" || id < before) {
				ids = append(ids, id)
			}
			thirds = thirds[1:]
		}
		found, err := l.summaries(ctx, ids)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// summaries returns the summaries of runs, without those that do not exist.
func (l *Log) summaries(ctx context.Context, ids []event.RunID) ([]eventlog.Summary, error) {
	all, errs := make([]eventlog.Summary, len(ids)), make([]error, len(ids))
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i, id := range ids {
		slots <- struct{}{}
		wg.Go(func() {
			all[i], errs[i] = l.Summary(ctx, id)
			<-slots
		})
	}
	wg.Wait()
	var out []eventlog.Summary
	for i, err := range errs {
		switch {
		case err == nil:
			out = append(out, all[i])
		case !errors.Is(err, eventlog.ErrNotFound):
			return nil, err
		}
	}
	return out, nil
}

// Summary implements [eventlog.Archive]. It reads the first and the last message of the run.
func (l *Log) Summary(ctx context.Context, id event.RunID) (eventlog.Summary, error) {
	if err := l.check(id); err != nil {
		return eventlog.Summary{}, err
	}
	var s eventlog.Summary
	start, err := l.next(ctx, l.names.run(id), 0)
	if err == nil && start.first != 1 {
		err = errNone // it was deleted because of its age, or is being deleted
	}
	var first event.Event
	var end tail
	if err == nil {
		first, err = l.first(ctx, start)
	}
	if err == nil {
		end, err = l.tail(ctx, id)
	}
	var last event.Event
	if err == nil {
		last, err = l.lastEvent(ctx, id, end)
	}
	if errors.Is(err, errNone) {
		return s, eventlog.ErrNotFound
	}
	if err != nil {
		return s, fmt.Errorf("read run %s: %w", id, err)
	}
	s.Apply(first)
	s.Apply(last)
	return s, nil
}

// first returns the first event of a run, whose first message is m.
func (l *Log) first(ctx context.Context, m message) (event.Event, error) {
	if m.parts == 1 {
		key, err := l.sealer(ctx, runID(m.subject))
		if err != nil {
			return event.Event{}, err
		}
		r, err := key.open(m.record)
		if err != nil {
			return event.Event{}, err
		}
		line, _, _ := bytes.Cut(r.data, []byte("\n"))
		return event.ParseJSON(line)
	}
	es, err := l.loadFrom(ctx, runID(m.subject), 0, m.seq)
	if err == nil && len(es) == 0 {
		err = errNone
	}
	if err != nil {
		return event.Event{}, err
	}
	return es[0], nil
}
