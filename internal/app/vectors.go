package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest/reembed"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/fingerprint"
	"github.com/sluice-rag/sluice/model/vectorcache"
)

// maxTokenVectors bounds the memory that vectors of passages' tokens may take.
const maxTokenVectors = 256 << 20

// maxCheck bounds how long a start waits for an embedder that does not answer.
const maxCheck = 5 * time.Second

// asksFor is how long a question waits to learn whether a server gives vectors of tokens, and restsFor for how long one that did
// not answer is left alone.
const (
	asksFor  = 3 * time.Second
	restsFor = 10 * time.Second
)

// The shares of the vectors in a search's score, in percent, where the settings give none.
const (
	staticWeight   = 5
	embedderWeight = 40
)

// vectors is what embeds, and what keeps the index's vectors up to date.
type vectors struct {
	embedder model.Embedder
	cache    *vectorcache.Cache // nil: the local model embeds
	keeper   *reembed.Worker
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// openVectors makes the embedder that the settings name, behind a cache in the data folder.
func openVectors(ctx context.Context, m *Models, ix index.Spaces, cfg config.Config, logger *slog.Logger) (*vectors, error) {
	v := &vectors{embedder: m.Local}
	var older []model.Embedder
	var known *fingerprint.Embedder
	if m.Embedder != nil {
		var err error
		known, err = fingerprint.New(filepath.Join(cfg.Store.Data, "embedders.json"), m.Embedder,
			fingerprint.Options{Replaced: func() { v.keeper.Notify() }, Logger: logger})
		if err != nil {
			return nil, err
		}
		if v.cache, err = vectorcache.Open(filepath.Join(cfg.Store.Data, "vectors"), known, vectorcache.Options{Logger: logger}); err != nil {
			return nil, err
		}
		v.embedder, older = v.cache, []model.Embedder{m.Local}
	}
	v.keeper = reembed.New(ix, v.embedder, older, reembed.Options{Logger: logger, Weights: func(space string) index.Weights {
		return weights(cfg.Models, space == m.Local.Space())
	}})
	if known != nil {
		checking, cancel := context.WithTimeout(ctx, maxCheck)
		defer cancel()
		if _, err := known.Check(checking); err != nil {
			logger.Warn("the embedder does not answer: documents get their vectors when it does", "error", err)
		}
	}
	return v, nil
}

// KeepVectors begins to bring all vectors into the space of the embedder that the settings name, in the background, until the
// app is closed. Programs that only look must not: they may have been started without the settings of the server.
func (a *App) KeepVectors() {
	ctx, stop := context.WithCancel(context.Background())
	a.vectors.stop = stop
	a.vectors.running.Go(func() { _ = a.vectors.keeper.Run(ctx) }) // its error is that of ctx
}

// CatchUpVectors does the same at once, and returns when it is done.
func (a *App) CatchUpVectors(ctx context.Context) error {
	if err := a.vectors.keeper.RunOnce(ctx); err != nil {
		return fmt.Errorf("make vectors: %w", err)
	}
	return nil
}

// VectorsChanged says that documents were added.
func (a *App) VectorsChanged() { a.vectors.keeper.Notify() }

// weights gives the shares of words and vectors in a search's score.
func weights(cfg config.Models, static bool) index.Weights {
	share := cfg.EmbedWeight
	switch {
	case share == 0 && static || static && cfg.Embeds(): // what the settings say is of the embedder that they name
		share = staticWeight
	case share == 0:
		share = embedderWeight
	}
	return index.Weights{Lexical: float64(100-share) / 100, Vector: float64(share) / 100}
}

// close stops what runs in the background.
func (v *vectors) close() error {
	if v.stop != nil {
		v.stop()
	}
	v.running.Wait()
	if v.cache != nil {
		return v.cache.Close()
	}
	return nil
}

// reranker gives the late interaction over the server's vectors of tokens where it gives them, and else over static ones.
func reranker(m *Models, space func() string) rerank.Reranker {
	static := rerank.New(m.Local)
	if m.Embedder == nil {
		return static
	}
	tokens := vectorcache.NewTokens(m.Embedder, space, maxTokenVectors)
	return newLate(m.Embedder.PerToken, tokens, m.Embedder.Name(), static)
}

// late is the reranker that knows only at a question whether the server gives vectors of tokens: it may have been down before.
// A server that did not answer, or gives none, is left alone for a while, so that questions do not wait for it.
type late struct {
	perToken           func(context.Context) bool
	contextual, static rerank.Reranker
	until              atomic.Pointer[time.Time] // when the server may be asked again; nil: now
}

func newLate(perToken func(context.Context) bool, tokens model.TokenEmbedder, name string, static rerank.Reranker) *late {
	l := &late{perToken: perToken, static: static}
	l.contextual = rerank.NewContextual(tokens, name, fallen{l}, rerank.Options{})
	return l
}

// Rerank implements [rerank.Reranker].
func (l *late) Rerank(ctx context.Context, question string, chunks []corpus.Chunk, stats index.TermStats) (rerank.Ranking, error) {
	if len(chunks) > 0 && l.ready(ctx) {
		return l.contextual.Rerank(ctx, question, chunks, stats)
	}
	return l.static.Rerank(ctx, question, chunks, stats)
}

// ready tells whether the server gives vectors of tokens, as far as it answers soon.
func (l *late) ready(ctx context.Context) bool {
	if until := l.until.Load(); until != nil && time.Now().Before(*until) {
		return false
	}
	short, cancel := context.WithTimeout(ctx, asksFor)
	defer cancel()
	if l.perToken(short) {
		return true
	}
	if ctx.Err() == nil { // one who is gone has not asked to the end
		l.rest()
	}
	return false
}

func (l *late) rest() {
	until := time.Now().Add(restsFor)
	l.until.Store(&until)
}

// fallen ranks where the server has failed.
type fallen struct{ *late }

// Rerank implements [rerank.Reranker].
func (f fallen) Rerank(ctx context.Context, question string, chunks []corpus.Chunk, stats index.TermStats) (rerank.Ranking, error) {
	f.rest()
	return f.static.Rerank(ctx, question, chunks, stats)
}
