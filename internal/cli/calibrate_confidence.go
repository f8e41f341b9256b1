package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/answer/confidence"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/app"
)

// fitted is a calibration of the confidence with the reports on the questions that it was not fitted to.
type fitted struct {
	Weights confidence.Calibration    `json:"weights"`
	Before  []*eval.CalibrationReport `json:"before"` // for each folder, and for all
	After   []*eval.CalibrationReport `json:"after"`
}

// confidence fits the weights of the confidence, prints the reports and writes the file.
func (c *calibrateCmd) confidence(e *env) error {
	current := confidence.BuiltIn()
	var samples []confidence.Sample
	test := make([]*eval.ModeReport, len(c.Dirs))
	for i, dir := range c.Dirs {
		train, rest, err := askFolder(e, dir)
		if err != nil {
			return err
		}
		one := samplesOfAnswers(train)
		for k := range one {
			one[k].Weight = 1 / float64(len(one))
		}
		samples, test[i] = append(samples, one...), rest
	}
	if len(samples) == 0 {
		return errors.New("calibrate: no answer of which it is known whether it is right")
	}
	for i := range samples {
		samples[i].Weight *= float64(len(samples)) / float64(len(c.Dirs)) // the mean is about 1
	}
	out := fitted{Weights: confidence.Fit(samples, current)}
	out.Before, out.After = rated(test, current, "before"), rated(test, out.Weights, "after")
	data, err := json.MarshalIndent(out.Weights, "", "  ")
	if err != nil {
		return err
	}
	if c.JSON {
		enc := json.NewEncoder(e.Out)
		enc.SetIndent("", "  ")
		err = enc.Encode(out)
	} else {
		fmt.Fprintf(e.Out, "%d answers\n%s\n\n", len(samples), data)
		err = eval.WriteCalibration(e.Out, append(out.Before, out.After...)...)
	}
	if err != nil || c.Write == "" {
		return err
	}
	if err := os.WriteFile(c.Write, append(data, '\n'), 0o644); err != nil { //nolint:gosec // weights, which anyone may see
		return fmt.Errorf("write calibration: %w", err)
	}
	return nil
}

// askFolder asks the questions of the sets in a folder. It returns the results of the questions to fit to, and a report of the others.
func askFolder(e *env, dir string) (train []eval.AskResult, test *eval.ModeReport, err error) {
	dirs, err := eval.Find(dir)
	if err != nil {
		return nil, nil, err
	}
	test = &eval.ModeReport{Set: filepath.Base(dir), Mode: event.Direct}
	for _, d := range dirs {
		set, err := eval.Load(d)
		if err != nil {
			return nil, nil, err
		}
		some, err := set.Training()
		if err != nil {
			return nil, nil, err
		}
		in := map[string]bool{}
		for _, q := range some.Questions {
			in[q.ID] = true
		}
		results, err := askSet(e, set)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range results {
			if in[r.Query] {
				train = append(train, r)
			} else {
				test.Results = append(test.Results, r)
			}
		}
	}
	return train, test, nil
}

// askSet ingests the documents of a set and asks its questions in direct mode, with the default number of passages.
func askSet(e *env, set *eval.Set) (results []eval.AskResult, err error) {
	t, err := app.OpenTempApp(e.ctx, e.cfg, e.logger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := ingestSet(e, t, set); err != nil {
		return nil, err
	}
	if err := t.Warm(e.ctx, corpus.DefaultCollection); err != nil {
		return nil, err
	}
	r, err := ask(e, t, set, event.Direct, 0)
	if err != nil {
		return nil, err
	}
	return r.Results, nil
}

// samplesOfAnswers returns the answers of which it is known whether they are right.
func samplesOfAnswers(results []eval.AskResult) (out []confidence.Sample) {
	for _, r := range results {
		if f, ok := r.Features(); ok && r.Right != nil && r.Failed == "" {
			out = append(out, confidence.Sample{Features: f, Right: *r.Right})
		}
	}
	return out
}

// rated returns the reports of the answers of each folder with the confidence of a calibration, and that of all.
func rated(folders []*eval.ModeReport, c confidence.Calibration, name string) (out []*eval.CalibrationReport) {
	for _, r := range folders {
		for i := range r.Results {
			if f, ok := r.Results[i].Features(); ok {
				r.Results[i].Confidence = c.Probability(f)
			}
		}
		if report := eval.Calibrate(r.Set+" "+name, r); report != nil {
			out = append(out, report)
		}
	}
	if len(folders) > 1 {
		if report := eval.Calibrate("all "+name, folders...); report != nil {
			out = append(out, report)
		}
	}
	return out
}
