package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/disk/cachedb"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
)

// openCache opens the answer cache and lets equal questions share a run, unless the settings disable the cache. Servers that share the index and the
// records share the cache. One of them that does not use it still deletes the answers that depend on documents which it changes.
func (a *App) openCache(ctx context.Context, p *answer.Pipeline, o *engine.Options) error {
	path := filepath.Join(a.Config.Store.Data, "cache.db")
	used, shared := a.Config.Cache.CacheBytes > 0, a.Config.Index.URL != "" && a.records.External()
	if !used || shared { // cached answers would outlive the documents that they depend on
		if err := cachedb.Remove(path); err != nil {
			return fmt.Errorf("remove answer cache: %w", err)
		}
	}
	if !used && !shared {
		return nil
	}
	setup, err := a.setup()
	if err != nil {
		return fmt.Errorf("open answer cache: %w", err)
	}
	lookups := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_cache_lookups_total",
		Help: "Questions looked up in the answer cache, by result."}, []string{"result"})
	for _, r := range []cache.Result{cache.Hit, cache.Miss, cache.Stale} {
		lookups.WithLabelValues(string(r))
	}
	options := cache.Options{MaxBytes: int64(a.Config.Cache.CacheBytes),
		MaxAge: a.Config.Cache.CacheAge, OnLookup: func(r cache.Result) { lookups.WithLabelValues(string(r)).Inc() }, Logger: a.logger}
	if shared {
		a.cache, err = a.records.cache(ctx, a.Tenant, options)
	} else {
		err = a.reserve.Use(func() (err error) {
			a.cache, err = cache.Open(path, options)
			return err
		})
	}
	if fault.DiskFull(err) {
		a.logger.Warn("answers are not cached until the next start: the disk is full", "error", err)
		a.cache = nil
		return nil
	}
	if err != nil {
		return err
	}
	a.metrics.MustRegister(lookups,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_cache_entries", Help: "Answers in the cache."},
			func() float64 { return float64(a.cache.Stats().Entries) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_cache_bytes", Help: "Size of the answer cache's file, or of its answers in PostgreSQL."},
			func() float64 { return float64(a.cache.Stats().Bytes) }))
	o.Deleted = a.cache.DeleteRun
	if used {
		p.Cache, p.Setup, o.ShareKey = a.cache, setup, p.ShareKey
		o.SharedKeys = a.Config.Index.URL != "" // with their own indexes, servers have other versions of the documents
	}
	return nil
}

// setup returns a fingerprint of what answers depend on besides the question and the documents: the program, the models with
// their settings, the prompts, the limits of the agent.
func (a *App) setup() (string, error) {
	write, embed := a.Models.Names()
	all := []any{write, embed, a.Config.Models, a.Models.grader.Fitted, a.Config.Runs.AgentIterations, a.Config.Runs.AgentTokens}
	if info, ok := debug.ReadBuildInfo(); ok {
		all = append(all, info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				all = append(all, s.Value)
			}
		}
	}
	for _, name := range a.Models.Prompts.Names() {
		source, err := a.Models.Prompts.Source(name)
		if err != nil {
			return "", err
		}
		all = append(all, name, source)
	}
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(all); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// invalidatingIndex is the index for writers. It deletes the cached answers that depend on a changed document: before the change,
// since the process may crash after it, and again afterwards, for answers made meanwhile. Deletes may use the disk reserve.
type invalidatingIndex struct {
	Index
	app *App
}

// Put implements [index.Writer].
func (f invalidatingIndex) Put(ctx context.Context, docs []corpus.Document, entries [][]index.Entry) error {
	ids := make([]corpus.DocumentID, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	f.invalidate(ids)
	defer f.invalidate(ids)
	return f.Index.Put(ctx, docs, entries)
}

// Annotate implements [index.Annotator].
func (f invalidatingIndex) Annotate(ctx context.Context, collection string, id corpus.DocumentID, given corpus.DublinCore, contributor string) error {
	defer f.invalidate([]corpus.DocumentID{id})
	return f.Index.Annotate(ctx, collection, id, given, contributor)
}

// Delete implements [index.Writer].
func (f invalidatingIndex) Delete(ctx context.Context, collection string, ids []corpus.DocumentID) error {
	f.invalidate(ids)
	defer f.invalidate(ids)
	return f.app.reserve.Use(func() error { return f.Index.Delete(ctx, collection, ids) })
}

// RemoveFromSet implements [index.Sets].
func (f invalidatingIndex) RemoveFromSet(ctx context.Context, collection, set string, ids []corpus.DocumentID) error {
	return f.app.reserve.Use(func() error { return f.Index.RemoveFromSet(ctx, collection, set, ids) })
}

// DeleteSet implements [index.Sets].
func (f invalidatingIndex) DeleteSet(ctx context.Context, collection, set string) error {
	return f.app.reserve.Use(func() error { return f.Index.DeleteSet(ctx, collection, set) })
}

func (f invalidatingIndex) invalidate(ids []corpus.DocumentID) {
	if f.app.cache != nil {
		f.app.cache.DeleteDependents(ids)
	}
}

func (a *App) closeCache() error {
	if a.cache == nil {
		return nil
	}
	return a.cache.Close()
}
