package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/model"
)

// vectors gives every entry its vector, texts that are the same being embedded once: a short section is its passage. The
// error is that of ctx; where the embedder fails, entries are left without.
func (r *run) vectors(ctx context.Context, entries [][]index.Entry, chunks int) error {
	if r.embed == nil {
		return nil
	}
	place := make(map[string]int, chunks)
	var texts []string
	for _, es := range entries {
		for _, e := range es {
			if _, ok := place[e.SearchText()]; !ok {
				place[e.SearchText()] = len(texts)
				texts = append(texts, e.SearchText())
			}
		}
	}
	space := r.embed.Space()
	vectors, made, err := r.embedAll(ctx, texts)
	if err != nil {
		return err
	}
	if r.embed.Space() != space { // the model was replaced meanwhile, and nobody knows which made which vector
		clear(made)
	}
	for _, es := range entries {
		for i := range es {
			at := place[es[i].SearchText()]
			if !made[at/r.opts.EmbedBatch] {
				r.report.Unembedded++
				continue
			}
			es[i].Space, es[i].Vector = space, vectors[at]
		}
	}
	return nil
}

// embedAll embeds texts in calls of EmbedTexts; made says by call which of them did it.
func (r *run) embedAll(ctx context.Context, texts []string) (vectors [][]float32, made []bool, err error) {
	n := r.opts.EmbedBatch
	vectors = make([][]float32, len(texts))
	made = make([]bool, (len(texts)+n-1)/n)
	var mu sync.Mutex // guards mute, the report and what follows
	done := 0
	told := func() {
		done++
		r.stage(Embedding, float64(done)/float64(len(made)))
	}
	r.stage(Embedding, 0)
	var calls errgroup.Group
	calls.SetLimit(r.opts.Workers)
	for k := range made {
		calls.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			mu.Lock()
			mute := r.mute
			mu.Unlock()
			if mute {
				return nil
			}
			from, to := k*n, min(k*n+n, len(texts))
			vs, err := r.embed.Embed(ctx, texts[from:to], model.ForPassage)
			if err == nil && len(vs) != to-from {
				err = fault.New(fault.Model, "the embedder gave %d vectors for %d texts", len(vs), to-from)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				r.unembedded(err)
				told()
				return nil
			}
			copy(vectors[from:to], vs)
			made[k] = true
			mu.Lock()
			defer mu.Unlock()
			told()
			return nil
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, nil, fmt.Errorf("embed chunks: %w", err)
	}
	return vectors, made, nil
}

// strip takes away vectors that the index refuses, as it does where an embedder gives others than it did.
func (r *run) strip(entries [][]index.Entry, err error) {
	for _, es := range entries {
		for i := range es {
			if es[i].Vector != nil {
				r.report.Unembedded++
			}
			es[i].Space, es[i].Vector = "", nil
		}
	}
	r.unembedded(err)
}

// unembedded notes that the embedder failed. After a failure that lies in the texts others may fare better; after any
// other, waiting for each call to fail would only hold up the documents.
func (r *run) unembedded(err error) {
	e, told := errors.AsType[*model.Error](err)
	r.mute = r.mute || !told || e.Failure != model.TooLong && e.Failure != model.Rejected
	if r.report.EmbedFailure != "" {
		return
	}
	r.report.EmbedFailure = "the embedder failed"
	if told {
		r.report.EmbedFailure = e.Public()
	} else if f, coded := errors.AsType[*fault.Error](err); coded {
		r.report.EmbedFailure = f.Message
	}
	r.opts.Logger.Warn("documents are indexed without vectors for now: words find them", "collection", r.collection, "error", err)
}
