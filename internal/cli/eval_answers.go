package cli

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
)

// answers adds a set's report in each mode, and compares each mode with the ones before it and with itself at an earlier time.
func (v *evaluation) answers(e *env, set *eval.Set, modes []event.Mode, topK int, earlier []*eval.ModeReport) (err error) {
	t, err := app.OpenTrial(e.ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := ingestSet(e, t, set); err != nil {
		return err
	}
	if err := t.Warm(e.ctx, corpus.DefaultCollection); err != nil {
		return err
	}
	first := len(v.Modes)
	for _, mode := range modes {
		show, done := progress(e, "asking "+set.Name+" "+string(mode))
		var one sync.Mutex // a bar is for one goroutine
		r, err := eval.Ask(e.ctx, set, eval.Through(t.Engine, t.Index, set, corpus.DefaultCollection, mode, topK),
			eval.AskOptions{Mode: mode, Verifier: t.Rules(), Progress: func(asked, total int) {
				one.Lock()
				defer one.Unlock()
				show(ingest.Progress{Done: asked, Total: total})
			}})
		done()
		if err != nil {
			return err
		}
		if r.Failed > 0 {
			e.logger.Warn("runs failed", "set", set.Name, "mode", mode, "runs", r.Failed, "of", len(r.Results), "first", firstFailure(r))
		}
		for _, before := range v.Modes[first:] {
			v.Compared = append(v.Compared, eval.CompareModes(before, r, "", "")...)
		}
		v.Modes = append(v.Modes, r)
	}
	for _, r := range v.Modes[first:] {
		for _, was := range earlier {
			if was.Set == r.Set && was.Mode == r.Mode {
				v.Compared = append(v.Compared, eval.CompareModes(was, r, "earlier "+string(r.Mode), string(r.Mode))...)
			}
		}
	}
	return nil
}

func firstFailure(r *eval.ModeReport) string {
	for _, a := range r.Results {
		if a.Failed != "" {
			return a.Failed
		}
	}
	return ""
}

// ingestSet adds the set's documents as ingest does.
func ingestSet(e *env, t *app.Trial, set *eval.Set) error {
	show, done := progress(e, "indexing "+set.Name)
	report, err := set.Ingest(e.ctx, t.Ingester, corpus.DefaultCollection, show)
	done()
	if err != nil {
		return fmt.Errorf("ingest %s: %w", set.Name, err)
	}
	if n := len(report.Failed); n > 0 {
		e.logger.Warn("documents were not indexed", "set", set.Name, "documents", n, "first", report.Failed[0].Path, "reason", report.Failed[0].Reason)
	}
	if report.Unembedded > 0 {
		return fmt.Errorf("ingest %s: %d chunks have no vectors: %s", set.Name, report.Unembedded, report.EmbedFailure)
	}
	return nil
}

// claims adds how a set's claims are judged.
func (v *evaluation) claims(e *env, set *eval.Set) error {
	verifier, err := app.OpenVerifier(e.ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	for _, cites := range []eval.Cited{eval.Sentences, eval.Document} {
		r, err := eval.Claims(e.ctx, verifier, set, cites)
		if err != nil {
			return err
		}
		v.Claims = append(v.Claims, r)
	}
	return nil
}

// cache adds how the cache tells the set's questions from others.
func (v *evaluation) cache(e *env, set *eval.Set) error {
	r, err := eval.Cache(e.ctx, set, app.SameQuestion)
	if err != nil {
		return err
	}
	if r.TrueHits.Cases+r.FalseHits.Cases > 0 { // of a few short questions nothing may be made
		v.Cache = append(v.Cache, r)
	}
	return nil
}

// writePlot draws the reports into a file.
func writePlot(path string, reports []*eval.ModeReport) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("draw plot: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return eval.WritePlot(f, reports...)
}
