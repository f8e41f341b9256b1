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

// maxTokenVectors limits the memory for token vectors of passages of all tenants, in bytes.
const maxTokenVectors = 256 << 20

// maxCheck is how long a start waits for the embedder.
const maxCheck = 5 * time.Second

const (
	perTokenTimeout = 3 * time.Second  // how long a question waits to learn whether a server returns token vectors
	perTokenRetry   = 10 * time.Second // after which a server that failed is asked again
)

// The default weights of vectors in the score of a search, in percent.
const (
	staticWeight   = 5
	embedderWeight = 40
)

// vectors holds the embedder and the worker that re-embeds the index after a change of the embedder.
type vectors struct {
	embedder model.Embedder
	cache    *vectorcache.Cache // nil: the local model embeds
	reembed  *reembed.Worker
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// openVectors returns the embedder of the settings, with a cache in the data folder.
func openVectors(ctx context.Context, m *Models, ix index.Spaces, cfg config.Config, logger *slog.Logger) (*vectors, error) {
	v := &vectors{embedder: m.Local}
	var older []model.Embedder
	var known *fingerprint.Embedder
	if m.Embedder != nil {
		var err error
		known, err = fingerprint.New(filepath.Join(cfg.Store.Data, "embedders.json"), m.Embedder,
			fingerprint.Options{OnReplaced: func() { v.reembed.Notify() }, Logger: logger})
		if err != nil {
			return nil, err
		}
		if v.cache, err = vectorcache.Open(filepath.Join(cfg.Store.Data, "vectors.db"), known, vectorcache.Options{Logger: logger}); err != nil {
			return nil, err
		}
		v.embedder, older = v.cache, []model.Embedder{m.Local}
	}
	v.reembed = reembed.New(ix, v.embedder, older, reembed.Options{Logger: logger, Weights: func(space string) index.Weights {
		return weights(cfg.Models, space == m.Local.Space())
	}})
	if known != nil {
		checking, cancel := context.WithTimeout(ctx, maxCheck)
		defer cancel()
		if _, err := known.Check(checking); err != nil {
			logger.Warn("the embedder does not answer; documents are embedded when it does", "error", err)
		}
	}
	return v, nil
}

// StartReembedding re-embeds, in the background until the app is closed, all chunks that have no vector of the embedder of the
// settings. Programs that only read must not call it: they may run without the settings of the server.
func (a *App) StartReembedding() {
	ctx, stop := context.WithCancel(context.Background())
	a.vectors.stop = stop
	a.vectors.running.Go(func() { _ = a.vectors.reembed.Run(ctx) }) // its error is that of ctx
}

// Reembed does the same once, and returns when it is done.
func (a *App) Reembed(ctx context.Context) error {
	if err := a.vectors.reembed.RunOnce(ctx); err != nil {
		return fmt.Errorf("embed documents: %w", err)
	}
	return nil
}

// notifyReembedding notifies the background worker that chunks may have no vectors.
func (a *App) notifyReembedding() { a.vectors.reembed.Notify() }

// weights returns the weights of lexical and vector search in the score of a search.
func weights(cfg config.Models, static bool) index.Weights {
	share := cfg.EmbedWeight
	switch {
	case share == 0 && static || static && cfg.Embeds(): // the setting is for the embedder of the settings
		share = staticWeight
	case share == 0:
		share = embedderWeight
	}
	return index.Weights{Lexical: float64(100-share) / 100, Vector: float64(share) / 100}
}

// close stops the background worker.
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

// reranker returns late interaction over the token vectors of the server if it has them, and otherwise over static ones.
func (s *Shared) reranker(tenant string, space func() string) rerank.Reranker {
	static := rerank.New(s.Models.Local)
	if s.tokens == nil {
		return static
	}
	tokens := s.tokens.WithSpace(func() string { return tenant + "/" + space() })
	return newLazyReranker(s.Models.Embedder.PerToken, tokens, s.Models.Embedder.Name(), static)
}

// lazyReranker asks the server for token vectors when a question needs them, since the server may be down at the start. After a
// failure it uses static vectors for a while, so that questions do not wait.
type lazyReranker struct {
	perToken           func(context.Context) bool
	contextual, static rerank.Reranker
	until              atomic.Pointer[time.Time] // no request before; nil: now
}

func newLazyReranker(perToken func(context.Context) bool, tokens model.TokenEmbedder, name string, static rerank.Reranker) *lazyReranker {
	l := &lazyReranker{perToken: perToken, static: static}
	l.contextual = rerank.NewContextual(tokens, name, staticFallback{l}, rerank.Options{})
	return l
}

// Rerank implements [rerank.Reranker].
func (l *lazyReranker) Rerank(ctx context.Context, question string, chunks []corpus.Chunk, stats index.TermStats) (rerank.Ranking, error) {
	if len(chunks) > 0 && l.ready(ctx) {
		return l.contextual.Rerank(ctx, question, chunks, stats)
	}
	return l.static.Rerank(ctx, question, chunks, stats)
}

// ready reports whether the server returns token vectors. It is false if the server does not answer in time.
func (l *lazyReranker) ready(ctx context.Context) bool {
	if until := l.until.Load(); until != nil && time.Now().Before(*until) {
		return false
	}
	short, cancel := context.WithTimeout(ctx, perTokenTimeout)
	defer cancel()
	if l.perToken(short) {
		return true
	}
	if ctx.Err() == nil { // if the question ended, the server did not fail
		l.pause()
	}
	return false
}

func (l *lazyReranker) pause() {
	until := time.Now().Add(perTokenRetry)
	l.until.Store(&until)
}

// staticFallback reranks by static vectors after a failure of the server.
type staticFallback struct{ *lazyReranker }

// Rerank implements [rerank.Reranker].
func (f staticFallback) Rerank(ctx context.Context, question string, chunks []corpus.Chunk, stats index.TermStats) (rerank.Ranking, error) {
	f.pause()
	return f.static.Rerank(ctx, question, chunks, stats)
}
