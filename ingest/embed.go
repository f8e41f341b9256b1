package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/model"
)

// embedEntries sets the vectors of the entries that need one; see [index.PassageVectors]. It embeds equal texts once, because a short section equals its passage. If the embedder
// fails, entries keep no vector. The error is that of ctx.
func (r *run) embedEntries(ctx context.Context, entries [][]index.Entry, chunks int) error {
	if r.embed == nil {
		return nil
	}
	x, ok := r.index.(index.PassageVectors)
	onlyPassages := ok && x.OnlyPassages()
	place := make(map[string]int, chunks)
	var texts []string
	for _, es := range entries {
		for _, e := range es {
			if onlyPassages && e.Level != corpus.Passage {
				continue
			}
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
	if r.embed.Space() != space { // the model was replaced during the calls, so the space of each vector is unknown
		clear(made)
	}
	for _, es := range entries {
		for i := range es {
			if onlyPassages && es[i].Level != corpus.Passage {
				continue
			}
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

// embedAll embeds texts in batches of EmbedBatch. made reports for each batch whether it has vectors.
func (r *run) embedAll(ctx context.Context, texts []string) (vectors [][]float32, made []bool, err error) {
	n := r.opts.EmbedBatch
	vectors = make([][]float32, len(texts))
	made = make([]bool, (len(texts)+n-1)/n)
	var mu sync.Mutex // guards noEmbedder, the report and finished
	finished := 0
	advance := func() {
		finished++
		r.onStage(Embedding, float64(finished)/float64(len(made)))
	}
	r.onStage(Embedding, 0)
	var calls errgroup.Group
	calls.SetLimit(r.opts.Workers)
	for k := range made {
		calls.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			mu.Lock()
			skip := r.noEmbedder
			mu.Unlock()
			if skip {
				return nil
			}
			from, to := k*n, min(k*n+n, len(texts))
			vs, err := r.embed.Embed(ctx, texts[from:to], model.ForPassage)
			if err == nil && len(vs) != to-from {
				err = fault.New(fault.Model, "the embedder returned %d vectors for %d texts", len(vs), to-from)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				r.unembedded(err)
				advance()
				return nil
			}
			copy(vectors[from:to], vs)
			made[k] = true
			mu.Lock()
			defer mu.Unlock()
			advance()
			return nil
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, nil, fmt.Errorf("embed chunks: %w", err)
	}
	return vectors, made, nil
}

// dropVectors removes vectors that the index rejects, as when the embedder returns another dimension than before.
func (r *run) dropVectors(entries [][]index.Entry, err error) {
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

// unembedded records a failure of the embedder. If the texts caused it, other texts may still succeed. Otherwise the embedder is not
// called again, since each failing call would delay the ingestion.
func (r *run) unembedded(err error) {
	e, isModel := errors.AsType[*model.Error](err)
	r.noEmbedder = r.noEmbedder || !isModel || e.Failure != model.TooLong && e.Failure != model.Rejected
	if r.report.EmbedFailure != "" {
		return
	}
	r.report.EmbedFailure = "the embedder failed"
	if isModel {
		r.report.EmbedFailure = e.Public()
	} else if f, coded := errors.AsType[*fault.Error](err); coded {
		r.report.EmbedFailure = f.Message
	}
	r.opts.Logger.Warn("embedding failed; documents are only found by lexical search for now", "collection", r.collection, "error", err)
}
