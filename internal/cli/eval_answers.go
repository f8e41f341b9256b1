package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/model"
)

// answers adds the report of a set in each mode. It compares the modes with each other and with the earlier results.
func (v *evaluation) answers(e *env, set *eval.Set, c *evalCmd, earlier []*eval.ModeReport) (err error) {
	t, err := app.OpenTempApp(e.ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	finish, err := writeTasks(c.Tasks, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finish()) }()
	if err := ingestSet(e, t, set); err != nil {
		return err
	}
	if err := t.Warm(e.ctx, corpus.DefaultCollection); err != nil {
		return err
	}
	first := len(v.Modes)
	for _, mode := range c.modes() {
		r, err := ask(e, t, set, mode, c.TopK)
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
		for _, before := range earlier {
			if before.Set == r.Set && before.Mode == r.Mode {
				v.Compared = append(v.Compared, eval.CompareModes(before, r, "earlier "+string(r.Mode), string(r.Mode))...)
			}
		}
	}
	return nil
}

// ask asks the questions of a set, whose documents are indexed. topK is the number of passages; 0: the default of the engine.
func ask(e *env, t *app.TempApp, set *eval.Set, mode event.Mode, topK int) (*eval.ModeReport, error) {
	show, done := newProgress(e, "asking "+set.Name+" "+string(mode))
	defer done()
	var mu sync.Mutex // show is not safe for concurrent use
	return eval.Ask(e.ctx, set, eval.EngineAsker(t.Engine, t.Index, set, corpus.DefaultCollection),
		eval.AskOptions{Mode: mode, TopK: topK, Verifier: t.RuleVerifier(), Progress: func(asked, total int) {
			mu.Lock()
			defer mu.Unlock()
			show(ingest.Progress{Done: asked, Total: total})
		}})
}

// writeTasks appends the tasks of the built-in generator to a file. The returned function closes the file. An empty path writes nothing.
func writeTasks(path string, t *app.TempApp) (finish func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write tasks: %w", err)
	}
	var mu sync.Mutex
	var failed error
	t.Models.Local.Observe(func(task model.Task) {
		line, err := json.Marshal(task)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			_, err = f.Write(append(line, '\n'))
		}
		failed = errors.Join(failed, err)
	})
	return func() error { return errors.Join(failed, f.Close()) }, nil
}

func firstFailure(r *eval.ModeReport) string {
	for _, a := range r.Results {
		if a.Failed != "" {
			return a.Failed
		}
	}
	return ""
}

// ingestSet ingests the documents of a set.
func ingestSet(e *env, t *app.TempApp, set *eval.Set) error {
	show, done := newProgress(e, "indexing "+set.Name)
	report, err := set.Ingest(e.ctx, t.Ingester, corpus.DefaultCollection, show)
	done()
	if err != nil {
		return fmt.Errorf("ingest %s: %w", set.Name, err)
	}
	if n := len(report.Failed); n > 0 {
		e.logger.Warn("documents not indexed", "set", set.Name, "documents", n, "first", report.Failed[0].Path, "reason", report.Failed[0].Reason)
	}
	if report.Unembedded > 0 {
		return fmt.Errorf("ingest %s: %d chunks have no vectors: %s", set.Name, report.Unembedded, report.EmbedFailure)
	}
	return nil
}

// claims adds the reports of the claims of a set.
func (v *evaluation) claims(e *env, set *eval.Set) error {
	verifier, err := app.OpenVerifier(e.ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	for _, cites := range []eval.Evidence{eval.EvidenceSentences, eval.EvidenceDocument} {
		r, err := eval.Claims(e.ctx, verifier, set, cites)
		if err != nil {
			return err
		}
		v.Claims = append(v.Claims, r)
	}
	return nil
}

// cache adds the report of the answer cache for the questions of a set.
func (v *evaluation) cache(e *env, set *eval.Set) error {
	r, err := eval.Cache(e.ctx, set, app.SameQuestion)
	if err != nil {
		return err
	}
	if r.TrueHits.Cases+r.FalseHits.Cases > 0 { // there may be no variants of a few short questions
		v.Cache = append(v.Cache, r)
	}
	return nil
}

// followUps adds the report of the follow-up questions of a set.
func (v *evaluation) followUps(e *env, set *eval.Set, topK int) (err error) {
	t, err := app.OpenTempApp(e.ctx, e.cfg, e.logger)
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
	show, done := newProgress(e, "asking follow-ups of "+set.Name)
	var mu sync.Mutex // show is not safe for concurrent use
	r, err := eval.FollowUps(e.ctx, set, eval.EngineAsker(t.Engine, t.Index, set, corpus.DefaultCollection), event.Question{Mode: event.Direct, TopK: topK},
		func(asked, total int) {
			mu.Lock()
			defer mu.Unlock()
			show(ingest.Progress{Done: asked, Total: total})
		})
	done()
	v.FollowUps = append(v.FollowUps, r)
	return err
}

// allSets is the name of all sets together.
const allSets = "all"

// pool adds a report of all sets together for each mode, and their comparisons, if there are several sets.
func (v *evaluation) pool(modes []event.Mode, earlier []*eval.ModeReport) {
	of, before := byMode(v.Modes), byMode(earlier)
	for i, mode := range modes {
		if len(of[mode]) < 2 {
			continue
		}
		v.Modes = append(v.Modes, eval.Pool(allSets, of[mode]...))
		for _, other := range modes[:i] {
			v.Compared = append(v.Compared, eval.CompareAll(allSets, of[other], of[mode], string(other), string(mode))...)
		}
		v.Compared = append(v.Compared, eval.CompareAll(allSets, before[mode], of[mode], "earlier "+string(mode), string(mode))...)
	}
}

// single returns the reports of single sets, without those of all sets together.
func (v *evaluation) single() []*eval.ModeReport {
	several := len(v.Modes) > 0 && v.Modes[len(v.Modes)-1].Set == allSets
	return slices.DeleteFunc(slices.Clone(v.Modes), func(r *eval.ModeReport) bool { return several && r.Set == allSets })
}

func byMode(reports []*eval.ModeReport) map[event.Mode][]*eval.ModeReport {
	of := map[event.Mode][]*eval.ModeReport{}
	for _, r := range reports {
		of[r.Mode] = append(of[r.Mode], r)
	}
	return of
}

// overview returns what the tables show without --groups: of comparisons and confidence only those of all sets, and no groups of questions.
func (v *evaluation) overview() *evaluation {
	short := *v
	several := len(v.Modes) > 0 && v.Modes[len(v.Modes)-1].Set == allSets
	short.Calibration = slices.DeleteFunc(slices.Clone(v.Calibration), func(r *eval.CalibrationReport) bool { return several && !strings.HasPrefix(r.Set, allSets+" ") })
	short.Compared = slices.DeleteFunc(slices.Clone(v.Compared), func(c eval.ModeComparison) bool { return c.Group != "" || several && c.Set != allSets })
	short.FollowUps = nil
	for _, r := range v.FollowUps {
		all := *r
		all.Rows = slices.DeleteFunc(slices.Clone(r.Rows), func(row eval.FollowUpRow) bool { return row.Form != "" })
		short.FollowUps = append(short.FollowUps, &all)
	}
	return &short
}

// calibrate adds the calibration of each mode: that of each set, and that of all sets together if there are several.
func (v *evaluation) calibrate() {
	of := byMode(v.Modes)
	for _, mode := range slices.Sorted(maps.Keys(of)) {
		reports := of[mode]
		for _, r := range reports {
			v.addCalibration(eval.Calibrate(r.Set+" "+string(mode), r))
		}
		if len(reports) > 1 {
			v.addCalibration(eval.Calibrate(allSets+" "+string(mode), reports...))
		}
	}
}

func (v *evaluation) addCalibration(r *eval.CalibrationReport) {
	if r != nil {
		v.Calibration = append(v.Calibration, r)
	}
}

// drawCalibration draws the last report: that of all sets, in the last mode.
func (v *evaluation) drawCalibration(w io.Writer) error {
	if len(v.Calibration) == 0 {
		return errors.New("no question has an expected answer")
	}
	return eval.WriteReliability(w, v.Calibration[len(v.Calibration)-1])
}

// draw writes a plot to a file. An empty path writes nothing.
func draw(path string, write func(io.Writer) error) (err error) {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("draw plot: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := write(f); err != nil {
		return fmt.Errorf("draw plot: %w", err)
	}
	return nil
}
