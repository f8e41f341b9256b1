package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/grade/calibrate"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

type calibrateCmd struct {
	config.Models
	Dirs  []string `arg:"" name:"dir" type:"existingdir" help:"Folder of one or several evaluation sets."`
	What  string   `enum:"grades,confidence" default:"grades" help:"What to fit: the grades of passages, or the confidence in answers."`
	Write string   `type:"path" placeholder:"FILE" help:"Write the result to a file. That of grades can be named by the setting calibration."`
	JSON  bool     `name:"json" help:"Print JSON."`
}

// Help returns the long help text.
func (calibrateCmd) Help() string {
	return `Fits the grades of passages (CRAG) to questions with relevance judgements, for the configured embedder and for searches without
vectors. A set is a folder in the format of sluice eval. Each document is indexed as one passage in a temporary folder. Every
question that has a relevant document is searched for in its own set, and in the next set, where no passage is relevant. The
weights are fitted on one half of the questions, split by a hash. The report is for the other half, with the current and with
the new calibration: expected calibration error, Brier score, and precision and recall of CORRECT and AMBIGUOUS. See
docs/calibration.md.

With --what confidence, it fits the confidence in answers: all questions are answered as by sluice eval --what answers --mode direct
--top-k 5, and the weights of the evidence are fitted to the answers of one part: the tuning part (see sluice eval --part) of
sets whose questions name their documents, half a of other sets. The report is for the answers of the other part, with the current
and with the new weights. Each DIR has the same weight. The weights are built into the program: write them to
answer/confidence/weights.json.`
}

// calibrationReport compares two calibrations on questions that they were not fitted to.
type calibrationReport struct {
	Space  string           `json:"space"`
	Before calibrate.Report `json:"before"`
	After  calibrate.Report `json:"after"`
}

// Run fits the calibrations, prints the reports and writes the file.
func (c *calibrateCmd) Run(e *env) (err error) {
	if c.What == "confidence" {
		return c.confidence(e)
	}
	var sets []*eval.Set
	for _, dir := range c.Dirs {
		found, err := eval.Find(dir)
		if err != nil {
			return err
		}
		for _, d := range found {
			set, err := eval.Load(d)
			if err != nil {
				return err
			}
			sets = append(sets, set)
		}
	}
	x, err := app.OpenTempIndex(e.ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	train, test, err := collectSamples(e, x, sets)
	if err != nil {
		return err
	}
	current, err := app.LoadCalibrations(e.cfg)
	if err != nil {
		return err
	}
	var fitted grade.Calibrations
	var all []calibrationReport
	for _, space := range []string{x.Embedder.Space(), ""} {
		next, err := calibrate.Fit(train, space)
		if err != nil {
			return err
		}
		fitted = append(fitted, next)
		all = append(all, calibrationReport{space, measure(test, current.Of(space)), measure(test, next)})
	}
	if err := c.print(e, fitted, all); err != nil {
		return err
	}
	if c.Write == "" {
		return nil
	}
	data, err := json.MarshalIndent(fitted, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.Write, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write calibrations: %w", err)
	}
	return nil
}

func measure(samples []calibrate.Sample, c grade.Calibration) calibrate.Report {
	scores := make([]float64, len(samples))
	for i, s := range samples {
		scores[i] = c.Score(s.Signals)
	}
	return calibrate.Measure(samples, scores)
}

func (c *calibrateCmd) print(e *env, fitted grade.Calibrations, all []calibrationReport) error {
	if c.JSON {
		enc := json.NewEncoder(e.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Fitted  grade.Calibrations  `json:"fitted"`
			Reports []calibrationReport `json:"reports"`
		}{fitted, all})
	}
	for i, r := range all {
		name := r.Space
		if name == "" {
			name = "without vectors"
		}
		fmt.Fprintf(e.Out, "%s: bias %.2f", name, fitted[i].Bias)
		for k, w := range fitted[i].Weights {
			if w != 0 {
				fmt.Fprintf(e.Out, ", %s %.2f", grade.SignalNames[k], w)
			}
		}
		fmt.Fprint(e.Out, "\nbefore: ")
		if err := r.Before.WriteText(e.Out); err != nil {
			return err
		}
		fmt.Fprint(e.Out, "after: ")
		if err := r.After.WriteText(e.Out); err != nil {
			return err
		}
		fmt.Fprintln(e.Out)
	}
	return nil
}

// samplesPerQuestion is the number of passages of a question that are samples. It is the number that answering grades.
const samplesPerQuestion = 20

// collectSamples indexes and searches the sets, and returns the samples of the two halves of the questions. Each set has the
// same weight.
func collectSamples(e *env, x *app.TempIndex, sets []*eval.Set) (train, test []calibrate.Sample, err error) {
	for _, set := range sets {
		show, done := newProgress(e, "indexing "+set.Name)
		put := eval.PassageIndexer(x.Index, set.Name, x.Embedder)
		indexed := 0
		err := eval.IndexSet(e.ctx, set, func(ctx context.Context, docs []eval.Doc) error {
			indexed += len(docs)
			show(ingest.Progress{Done: indexed, Total: len(set.Docs)})
			return put(ctx, docs)
		})
		done()
		if err != nil {
			return nil, nil, err
		}
	}
	for i, set := range sets {
		for _, half := range []struct {
			name string
			to   *[]calibrate.Sample
		}{{"a", &train}, {"b", &test}} {
			part, err := set.Half(half.name)
			if err != nil {
				return nil, nil, err
			}
			samples, err := samplesOf(e, x, part, sets[(i+1)%len(sets)].Name)
			if err != nil {
				return nil, nil, err
			}
			calibrate.Balance(samples)
			*half.to = append(*half.to, samples...)
		}
	}
	return train, test, nil
}

// samplesOf searches for the questions of a set that have a relevant document, in the set and in another one.
func samplesOf(e *env, x *app.TempIndex, set *eval.Set, other string) ([]calibrate.Sample, error) {
	var out []calibrate.Sample
	for _, q := range set.Questions {
		if set.Relevant(q.ID) == 0 {
			continue
		}
		vectors, err := x.Embedder.Embed(e.ctx, []string{q.Text}, model.ForQuery)
		if err != nil {
			return nil, fmt.Errorf("embed question: %w", err)
		}
		for _, collection := range slices.Compact([]string{set.Name, other}) {
			hits, err := x.Index.Search(e.ctx, index.Query{Collection: collection, Text: q.Text, Space: x.Embedder.Space(), Vector: vectors[0], Weights: x.Weights, Limit: samplesPerQuestion})
			if err != nil {
				return nil, err
			}
			stats, err := x.Index.Terms(e.ctx, collection, lang.ContentWords(q.Text, 256))
			if err != nil {
				return nil, err
			}
			for k, s := range grade.Read(q.Text, hits, stats) {
				relevant := collection == set.Name && set.Qrels[q.ID][string(hits[k].Chunk.ID)] > 0
				out = append(out, calibrate.Sample{Signals: s, Relevant: relevant, Foreign: collection != set.Name})
			}
		}
	}
	return out, nil
}
