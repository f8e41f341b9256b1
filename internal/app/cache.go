package app

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice"
	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/cache"
)

// openCache gives the pipeline the answers that were kept, and lets equal questions share a run, unless the settings say that
// none are to be kept.
func (a *App) openCache(p *answer.Pipeline, o *sluice.Options) error {
	if a.Config.Cache.CacheBytes == 0 {
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
	a.cache, err = cache.Open(filepath.Join(a.Config.Store.Data, "cache.db"), cache.Options{MaxBytes: int64(a.Config.Cache.CacheBytes),
		MaxAge: a.Config.Cache.CacheAge, Counted: func(r cache.Result) { lookups.WithLabelValues(string(r)).Inc() }, Logger: a.logger})
	if err != nil {
		return err
	}
	a.Registry.MustRegister(lookups,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_cache_entries", Help: "Answers in the cache."},
			func() float64 { return float64(a.cache.Stats().Entries) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_cache_bytes", Help: "Size of the answer cache's file."},
			func() float64 { return float64(a.cache.Stats().Bytes) }))
	p.Cache, p.Setup, o.Equal = a.cache, setup, p.Equal
	return nil
}

// setup is a fingerprint of all that answers depend on beside question and documents: the program, the models with their
// settings, the prompts, the agent's bounds.
func (a *App) setup() (string, error) {
	write, embed := a.Models.Names()
	all := []any{write, embed, a.Config.Models, a.Config.Runs.AgentIterations, a.Config.Runs.AgentTokens}
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

func (a *App) closeCache() error {
	if a.cache == nil {
		return nil
	}
	return a.cache.Close()
}
