// Package reembed keeps the vectors of every collection in the space of the wanted embedder: what has none there gets one
// in the background, while an embedder of before serves the searches.
//
// Documents that arrive meanwhile are put with vectors of the wanted space alone. Until it takes over, searches by the old
// vectors find them by their words; afterwards by both. Embedding each twice would cost a server that is to be left.
package reembed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/model"
)

// Options are a [Worker]'s. The zero value works.
type Options struct {
	Weights      func(space string) index.Weights // that suit the vectors of a space; nil: the defaults of the index
	Batch        int                              // texts in one call to the embedder; 128
	Backoff      time.Duration                    // after a failure, doubled with each that follows; 1 s
	MaxBackoff   time.Duration                    // the longest; 5 min
	QueryTimeout time.Duration                    // for the vector of one text in [Worker.SearchVector]; 3 s
	Cooldown     time.Duration                    // for which an embedder that failed there is not asked again; 10 s
	Logger       *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Batch = cmp.Or(max(o.Batch, 0), 128)
	o.Backoff = cmp.Or(max(o.Backoff, 0), time.Second)
	o.QueryTimeout = cmp.Or(max(o.QueryTimeout, 0), 3*time.Second)
	o.Cooldown = cmp.Or(max(o.Cooldown, 0), 10*time.Second)
	o.MaxBackoff = max(cmp.Or(max(o.MaxBackoff, 0), 5*time.Minute), o.Backoff)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Worker keeps the vectors of an index up to date. Its methods may be called at once, but for Run.
type Worker struct {
	spaces index.Spaces
	wanted model.Embedder
	older  []model.Embedder
	opts   Options
	notify chan struct{}

	mu          sync.Mutex
	changes     int // of what serves
	serving     map[string]served
	resting     map[string]time.Time // by space: embedders that failed, and until when they are not asked
	collections map[string]Collection
	failure     string
}

// served is which embedder's vectors searches of a collection use, and their dimension.
type served struct {
	embedder model.Embedder
	dim      int // 0: there is none yet
	next     int // the dimension of the wanted space, likewise
}

// New returns a keeper that is to bring all collections into the space of wanted. Older embedders are those at hand whose
// vectors may serve until then.
func New(spaces index.Spaces, wanted model.Embedder, older []model.Embedder, o Options) *Worker {
	return &Worker{spaces: spaces, wanted: wanted, older: older, opts: o.withDefaults(), notify: make(chan struct{}, 1),
		serving: map[string]served{}, resting: map[string]time.Time{}, collections: map[string]Collection{}}
}

// Notify tells that collections may have changed, as after an ingestion. It does not wait.
func (k *Worker) Notify() {
	k.changed()
	select {
	case k.notify <- struct{}{}:
	default:
	}
}

// changed forgets what serves.
func (k *Worker) changed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	clear(k.serving)
}

// ServingEmbedder gives the embedder whose vectors searches of the collection should use now: the wanted one if its space is
// complete; else the first older one whose space is; else the wanted one.
func (k *Worker) ServingEmbedder(ctx context.Context, collection string) (model.Embedder, error) {
	s, err := k.servedBy(ctx, collection)
	return s.embedder, err
}

func (k *Worker) servedBy(ctx context.Context, collection string) (served, error) {
	collection = cmp.Or(collection, corpus.DefaultCollection)
	k.mu.Lock()
	s, known := k.serving[collection]
	changes := k.changes
	k.mu.Unlock()
	if known {
		return s, nil
	}
	census, err := k.spaces.VectorStats(ctx, collection)
	if err != nil {
		return served{}, fmt.Errorf("choose embedder: %w", err)
	}
	s = k.choose(census)
	k.mu.Lock()
	defer k.mu.Unlock()
	if changes == k.changes && s.dim > 0 { // a collection that there is not is not remembered: anybody may name it
		k.serving[collection] = s
	}
	return s, nil
}

func (k *Worker) choose(c index.VectorStats) served {
	wanted := spaceOf(c, k.wanted)
	if !wanted.Complete {
		for _, e := range k.older {
			if s := spaceOf(c, e); s.Complete && s.Vectors > 0 {
				return served{e, s.Dim, wanted.Dim}
			}
		}
	}
	return served{k.wanted, wanted.Dim, wanted.Dim}
}

// spaceOf gives the figures of an embedder's space.
func spaceOf(c index.VectorStats, e model.Embedder) index.Space {
	name := e.Space()
	if i := slices.IndexFunc(c.Spaces, func(s index.Space) bool { return s.Name == name }); i >= 0 {
		return c.Spaces[i]
	}
	return index.Space{Name: name}
}

// SearchVector gives the vector of a text in the space that serves the collection, with the weights that suit it. The vector is
// nil where the embedder knows nothing of the text. While one space takes over from another, a search may come too late for
// the vectors of the old one: words find what there is, that once. An older embedder that fails is told to the
// [model.Trace] of ctx, and the wanted one takes its place, with those of its vectors that there are. An embedder that fails
// or does not hurry is left alone for a while, so that questions do not wait for a server that is down.
func (k *Worker) SearchVector(ctx context.Context, collection, text string, p model.Purpose) (index.SearchVector, error) {
	s, err := k.servedBy(ctx, collection)
	if err != nil {
		return index.SearchVector{}, err
	}
	out, err := k.place(ctx, s.embedder, s.dim, text, p)
	if err != nil && s.embedder.Space() != k.wanted.Space() && ctx.Err() == nil {
		model.Failed(ctx, err, s.embedder.Space(), k.wanted.Space())
		out, err = k.place(ctx, k.wanted, s.next, text, p)
	}
	if err != nil {
		return index.SearchVector{}, fmt.Errorf("place text: %w", err)
	}
	return out, nil
}

// place gives the vector of one embedder, which is to have dim components.
func (k *Worker) place(ctx context.Context, e model.Embedder, dim int, text string, p model.Purpose) (index.SearchVector, error) {
	vs, err := k.hurry(ctx, e, text, p)
	if err != nil {
		return index.SearchVector{}, err
	}
	if len(vs) != 1 {
		return index.SearchVector{}, fault.New(fault.Model, "the embedder gave %d vectors for one text", len(vs))
	}
	if n := len(vs[0]); n > 0 && dim > 0 && n != dim {
		return index.SearchVector{}, fault.New(fault.Model, "the embedder gives vectors of %d components where those indexed have %d", n, dim)
	}
	out := index.SearchVector{Space: e.Space(), Vector: vs[0]}
	if k.opts.Weights != nil {
		out.Weights = k.opts.Weights(out.Space)
	}
	return out, nil
}

// hurry asks an embedder for a vector, unless it failed a moment ago.
func (k *Worker) hurry(ctx context.Context, e model.Embedder, text string, p model.Purpose) ([][]float32, error) {
	k.mu.Lock()
	until := k.resting[e.Space()]
	k.mu.Unlock()
	if time.Now().Before(until) {
		return nil, &model.Error{Model: e.Space(), Failure: model.Skipped}
	}
	own, cancel := context.WithTimeout(ctx, k.opts.QueryTimeout)
	defer cancel()
	vs, err := e.Embed(own, []string{text}, p)
	if err == nil || ctx.Err() != nil {
		return vs, err
	}
	if own.Err() != nil {
		err = &model.Error{Model: e.Space(), Failure: model.TimedOut, Cause: err}
	}
	if m, ok := errors.AsType[*model.Error](err); ok && (m.Failure == model.Rejected || m.Failure == model.TooLong) {
		return nil, err // it says something of this text, and nothing of the server
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.resting[e.Space()] = time.Now().Add(k.opts.Cooldown)
	return nil, err
}

// Progress is how far a [Worker] is.
type Progress struct {
	Space       string       // the wanted one
	Collections []Collection // by name
	Failure     string       // why it waits, in words fit to be shown; empty: it does not
}

// Collection is how many of a collection's chunks have a vector of the wanted space, or are known to have none.
type Collection struct {
	Name        string
	Done, Total int
	Refused     int // texts in them that the embedder did not take, not even their beginnings; counted since the start
}

// Progress tells how far the work is, as seen when it was last looked at.
func (k *Worker) Progress() Progress {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := Progress{Space: k.wanted.Space(), Failure: k.failure}
	for _, name := range slices.Sorted(maps.Keys(k.collections)) {
		p.Collections = append(p.Collections, k.collections[name])
	}
	return p
}

// Run does the work until ctx ends, and returns its error. It looks at all collections at the start and after each Notify. An
// embedder or index that fails is tried again after a while, from where it failed: what is done is kept, also if the
// process dies.
func (k *Worker) Run(ctx context.Context) error {
	failures := 0
	for {
		moved, err := k.pass(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if moved {
			failures = 0
		}
		k.tell(err, failures)
		if err == nil {
			failures = 0
			select {
			case <-k.notify:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		failures++
		wait := time.NewTimer(k.wait(err, failures))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
	}
}

// RunOnce does the work that there is, once, and gives the first error. It is for programs that do not stay: those that do
// call [Worker.Run].
func (k *Worker) RunOnce(ctx context.Context) error {
	_, err := k.pass(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	k.tell(err, 0)
	return err
}

// tell notes whether the work goes on, and logs where that changes.
func (k *Worker) tell(err error, failures int) {
	reason := ""
	_, coded := errors.AsType[*fault.Error](err)
	if m, ok := errors.AsType[*model.Error](err); ok {
		reason = m.Public()
	} else if errors.Is(err, errEmbedder) && !coded {
		reason = errEmbedder.Error()
	} else if err != nil {
		reason = fault.Public(err).Message
	}
	k.mu.Lock()
	before := k.failure
	k.failure = reason
	k.mu.Unlock()
	switch {
	case err != nil && failures == 0:
		k.opts.Logger.Warn("vectors cannot be made for now: trying again", "space", k.wanted.Space(), "error", err)
	case err == nil && before != "":
		k.opts.Logger.Info("vectors are made again", "space", k.wanted.Space())
	}
}

// wait is how long to wait after some failures in a row: between half and all of what has doubled with each, or as long as
// the provider asks, within the limit.
func (k *Worker) wait(err error, failures int) time.Duration {
	d := k.opts.MaxBackoff
	if n := failures - 1; n < 30 && k.opts.Backoff < d>>n {
		d = k.opts.Backoff << n
	}
	d = d/2 + rand.N(d/2+1)
	if m, ok := errors.AsType[*model.Error](err); ok {
		d = max(d, min(m.RetryAfter, k.opts.MaxBackoff))
	}
	return d
}
