// Package reembed computes missing vectors in the background, so that each collection gets vectors of the configured embedder. While
// a collection is re-embedded, searches use the vectors of the previous embedder.
//
// New documents only get vectors of the configured embedder. Until its space is complete, they are only found by lexical search.
// Embedding them twice would keep the old embedding server in use.
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

// Options configure a [Worker]. The zero value works.
type Options struct {
	Weights      func(space string) index.Weights // weights for searches with vectors of a space; nil: the defaults of the index
	Batch        int                              // texts in one call to the embedder; default 128
	Backoff      time.Duration                    // delay after a failure, doubled after each further one; default 1 s
	MaxBackoff   time.Duration                    // maximum delay; default 5 min
	QueryTimeout time.Duration                    // for one text in [Worker.SearchVector]; default 3 s
	Cooldown     time.Duration                    // how long SearchVector does not call an embedder that failed; default 10 s
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

// Worker keeps the vectors of an index up to date. Its methods may be called concurrently, except Run and RunOnce.
type Worker struct {
	spaces index.Spaces
	wanted model.Embedder
	older  []model.Embedder
	opts   Options
	notify chan struct{}

	mu          sync.Mutex
	changes     int                     // number of resets of serving
	serving     map[string]servingSpace // by collection; a cache
	coolingDown map[string]time.Time    // by space of embedders that failed: the time of the next try
	collections map[string]Collection
	failure     string
}

// servingSpace is the embedder whose vectors the searches of a collection use.
type servingSpace struct {
	embedder  model.Embedder
	dim       int // dimension of its vectors; 0: not known yet
	wantedDim int // dimension of the vectors of the wanted embedder; 0: not known yet
}

// New returns a worker that re-embeds all collections with wanted. Searches can use the vectors of the older embedders until a
// collection is complete.
func New(spaces index.Spaces, wanted model.Embedder, older []model.Embedder, o Options) *Worker {
	return &Worker{spaces: spaces, wanted: wanted, older: older, opts: o.withDefaults(), notify: make(chan struct{}, 1),
		serving: map[string]servingSpace{}, coolingDown: map[string]time.Time{}, collections: map[string]Collection{}}
}

// Notify tells the worker that collections may have changed, for example after an ingestion. It does not block.
func (w *Worker) Notify() {
	w.resetServing()
	select {
	case w.notify <- struct{}{}:
	default:
	}
}

// resetServing clears the cache of serving embedders.
func (w *Worker) resetServing() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes++
	clear(w.serving)
}

// ServingEmbedder returns the embedder whose vectors searches of the collection should use: the wanted one if its space is complete,
// else the first older one with a complete space, else the wanted one.
func (w *Worker) ServingEmbedder(ctx context.Context, collection string) (model.Embedder, error) {
	s, err := w.servingFor(ctx, collection)
	return s.embedder, err
}

func (w *Worker) servingFor(ctx context.Context, collection string) (servingSpace, error) {
	collection = cmp.Or(collection, corpus.DefaultCollection)
	w.mu.Lock()
	s, known := w.serving[collection]
	changes := w.changes
	w.mu.Unlock()
	if known {
		return s, nil
	}
	stats, err := w.spaces.VectorStats(ctx, collection)
	if err != nil {
		return servingSpace{}, fmt.Errorf("choose embedder: %w", err)
	}
	s = w.choose(stats)
	w.mu.Lock()
	defer w.mu.Unlock()
	if changes == w.changes && s.dim > 0 { // do not cache unknown collections: clients choose names
		w.serving[collection] = s
	}
	return s, nil
}

func (w *Worker) choose(c index.VectorStats) servingSpace {
	wanted := spaceOf(c, w.wanted)
	if !wanted.Complete {
		for _, e := range w.older {
			if s := spaceOf(c, e); s.Complete && s.Vectors > 0 {
				return servingSpace{e, s.Dim, wanted.Dim}
			}
		}
	}
	return servingSpace{w.wanted, wanted.Dim, wanted.Dim}
}

// spaceOf returns the statistics of an embedder's space.
func spaceOf(c index.VectorStats, e model.Embedder) index.Space {
	name := e.Space()
	if i := slices.IndexFunc(c.Spaces, func(s index.Space) bool { return s.Name == name }); i >= 0 {
		return c.Spaces[i]
	}
	return index.Space{Name: name}
}

// SearchVector returns the vector of a text in the serving space of the collection, with its weights. The vector is nil if the
// embedder knows no word of the text. If the space is dropped between this call and the search, the search is only lexical. If an
// older embedder fails, that is reported to the [model.Trace] of ctx, and the wanted embedder replaces it. An embedder that fails
// or times out is not called for a while, so that questions do not wait for a server that is down.
func (w *Worker) SearchVector(ctx context.Context, collection, text string, p model.Purpose) (index.SearchVector, error) {
	s, err := w.servingFor(ctx, collection)
	if err != nil {
		return index.SearchVector{}, err
	}
	out, err := w.searchVector(ctx, s.embedder, s.dim, text, p)
	if err != nil && s.embedder.Space() != w.wanted.Space() && ctx.Err() == nil {
		model.Failed(ctx, err, s.embedder.Space(), w.wanted.Space())
		out, err = w.searchVector(ctx, w.wanted, s.wantedDim, text, p)
	}
	if err != nil {
		return index.SearchVector{}, fmt.Errorf("embed search text: %w", err)
	}
	return out, nil
}

// searchVector returns the vector of one embedder. It must have dim components unless dim is 0.
func (w *Worker) searchVector(ctx context.Context, e model.Embedder, dim int, text string, p model.Purpose) (index.SearchVector, error) {
	vs, err := w.embedQuery(ctx, e, text, p)
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
	if w.opts.Weights != nil {
		out.Weights = w.opts.Weights(out.Space)
	}
	return out, nil
}

// embedQuery calls an embedder with a timeout, unless it failed shortly before.
func (w *Worker) embedQuery(ctx context.Context, e model.Embedder, text string, p model.Purpose) ([][]float32, error) {
	w.mu.Lock()
	until := w.coolingDown[e.Space()]
	w.mu.Unlock()
	if time.Now().Before(until) {
		return nil, &model.Error{Model: e.Space(), Failure: model.Skipped}
	}
	own, cancel := context.WithTimeout(ctx, w.opts.QueryTimeout)
	defer cancel()
	vs, err := e.Embed(own, []string{text}, p)
	if err == nil || ctx.Err() != nil {
		return vs, err
	}
	if own.Err() != nil {
		err = &model.Error{Model: e.Space(), Failure: model.TimedOut, Cause: err}
	}
	if m, ok := errors.AsType[*model.Error](err); ok && (m.Failure == model.Rejected || m.Failure == model.TooLong) {
		return nil, err // the error concerns this text, not the server
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.coolingDown[e.Space()] = time.Now().Add(w.opts.Cooldown)
	return nil, err
}

// Progress is the progress of a [Worker].
type Progress struct {
	Space       string       // the wanted one
	Collections []Collection // by name
	Failure     string       // public message of the error after which it waits; empty: no error
}

// Collection counts the chunks of a collection that have a vector of the wanted space or are known to have none.
type Collection struct {
	Name        string
	Done, Total int
	Refused     int // texts that the embedder rejected, even after shortening, since the start of the process
}

// Progress returns the progress at the last check of each collection.
func (w *Worker) Progress() Progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := Progress{Space: w.wanted.Space(), Failure: w.failure}
	for _, name := range slices.Sorted(maps.Keys(w.collections)) {
		p.Collections = append(p.Collections, w.collections[name])
	}
	return p
}

// Run works until ctx ends, and returns its error. It checks all collections at the start and after each Notify. After an error of
// the embedder or the index, it waits and continues where it stopped. Completed work is durable.
func (w *Worker) Run(ctx context.Context) error {
	failures := 0
	for {
		progressed, err := w.pass(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if progressed {
			failures = 0
		}
		w.setFailure(err, failures)
		if err == nil {
			failures = 0
			select {
			case <-w.notify:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		failures++
		wait := time.NewTimer(w.retryDelay(err, failures))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
	}
}

// RunOnce computes all vectors that are missing now, and returns the first error. It is for short-lived programs; others use
// [Worker.Run].
func (w *Worker) RunOnce(ctx context.Context) error {
	_, err := w.pass(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.setFailure(err, 0)
	return err
}

// setFailure records the error of a pass, and logs changes between failure and success.
func (w *Worker) setFailure(err error, failures int) {
	reason := ""
	_, coded := errors.AsType[*fault.Error](err)
	if m, ok := errors.AsType[*model.Error](err); ok {
		reason = m.Public()
	} else if errors.Is(err, errEmbedder) && !coded {
		reason = errEmbedder.Error()
	} else if err != nil {
		reason = fault.Public(err).Message
	}
	w.mu.Lock()
	before := w.failure
	w.failure = reason
	w.mu.Unlock()
	switch {
	case err != nil && failures == 0:
		w.opts.Logger.Warn("re-embedding failed: trying again", "space", w.wanted.Space(), "error", err)
	case err == nil && before != "":
		w.opts.Logger.Info("re-embedding continues", "space", w.wanted.Space())
	}
}

// retryDelay returns the delay after a number of consecutive failures: exponential backoff with jitter, or the delay that the
// provider requests, up to the limit.
func (w *Worker) retryDelay(err error, failures int) time.Duration {
	d := w.opts.MaxBackoff
	if n := failures - 1; n < 30 && w.opts.Backoff < d>>n {
		d = w.opts.Backoff << n
	}
	d = d/2 + rand.N(d/2+1)
	if m, ok := errors.AsType[*model.Error](err); ok {
		d = max(d, min(m.RetryAfter, w.opts.MaxBackoff))
	}
	return d
}
