package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/eval/summary"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
)

type evalCmd struct {
	config.Models
	config.Index
	Dir         string   `arg:"" type:"existingdir" help:"Folder of one or several evaluation sets; with --feedback, a data folder."`
	Feedback    bool     `help:"Ask the questions of rated answers again and compare the answers. The folder is the data folder of a server that is stopped, or a copy of it."`
	What        []string `placeholder:"PART" help:"Part to measure: search, answers, claims, cache or followups. Can be repeated. The default is search, or with --mode all other parts except followups."`
	Mode        []string `placeholder:"MODE" help:"Mode of the answers: direct or agentic. Can be repeated to compare both."`
	TopK        int      `name:"top-k" default:"10" help:"Number of passages for the generator, 1 to 50."`
	Half        string   `placeholder:"a|b" help:"Use one half of the questions of each set, split by a hash: tune on one half and test on the other."`
	Part        string   `placeholder:"tuning|held-out" help:"Use two thirds of the questions of each set (tuning), or the other third (held-out), split by the document that they are about. The answers to single questions of the held-out part are not shown."`
	Queries     string   `placeholder:"FILE" help:"Other questions about the documents of the set, in the format of queries.jsonl. If the folder holds several sets, the name of such a file in the folders of those to measure."`
	Qrels       string   `type:"existingfile" placeholder:"FILE" help:"Relevance judgements of --queries, in the format of qrels.tsv."`
	Against     string   `type:"existingfile" placeholder:"FILE" help:"Output of an earlier eval --json, with which each mode is compared question by question."`
	Plot        string   `type:"path" placeholder:"FILE" help:"Write a plot of the measures of answers with their intervals to an SVG file."`
	Reliability string   `type:"path" placeholder:"FILE" help:"Write diagrams of right answers by confidence and of wrong answers by coverage, over all sets, to an SVG file."`
	Save        string   `type:"existingdir" placeholder:"DATA" help:"Also keep the results of answers in the data folder of a server, whose page shows them to administrators."`
	Tasks       string   `type:"path" placeholder:"FILE" help:"Write what the built-in generator was given for each question to a file, as JSON lines."`
	Groups      bool     `help:"Print all measures of each set with their intervals, and those of each group of questions. The default is the leading measures, and the groups of all sets together."`
	JSON        bool     `name:"json" help:"Print JSON with the scores of each question."`
}

// Help returns the long help text.
func (evalCmd) Help() string {
	return `Your own set is a folder with a subfolder documents, which has files of any format that ingest reads, and the questions beside it in
queries.jsonl: on each line an object with _id and text, and optionally answers, accept, answerable, documents and others. Search is not measured for
such a set: use --mode or --what answers.

A public set has corpus.jsonl (_id, title, text) instead of documents. Both can have qrels.tsv (query id, document id, score) and
claims.jsonl (claim, doc_id, label, evidence). If the folder holds several sets, each is measured. Everything is indexed in a temporary
folder, or with --index in temporary tenants of a Weaviate server.

Search: each document is one passage. Every question that has a relevant document is searched for by words (lexical), by vectors
(vector) and by both (hybrid, as for answers). The last table compares lexical and hybrid search.

Answers: documents are ingested and questions answered as by serve, in each mode, without the cache. The table shows the leading measures of
each set, and those of all sets together with their 95 % bootstrap intervals and groups of questions. With --groups, tables show all measures of
retrieval, answers and citations of each set and group. The last table compares the modes.

The tables after them show how many answers of each confidence are right, and how many are wrong if only those of the highest
confidence are given.

Claims: how well the verification distinguishes evidence that supports a claim from evidence that does not.

Cache: how often the answer cache matches paraphrases of the questions, and how often it matches near misses.

Follow-ups: how well follow-up questions are answered. Rules make conversations of two questions from the set. The second question is asked as it is, as a
follow-up without the first question, and as a follow-up after it.

R@k is recall. Latencies are measured with one concurrent question per processor. Random numbers have a fixed seed, so that all
results except latencies are reproducible. See docs/evaluation.md for the definition of each measure.`
}

// evaluation holds the results.
type evaluation struct {
	Reports     []*eval.Report         `json:"reports,omitempty"`
	Comparisons []eval.Comparison      `json:"comparisons,omitempty"`
	Modes       []*eval.ModeReport     `json:"modes,omitempty"`
	Compared    []eval.ModeComparison  `json:"modes_compared,omitempty"`
	Claims      []*eval.ClaimsReport   `json:"claims,omitempty"`
	Cache       []*eval.CacheReport    `json:"cache,omitempty"`
	FollowUps   []*eval.FollowUpReport `json:"follow_ups,omitempty"`
	Feedback    *eval.FeedbackReport   `json:"feedback,omitempty"`
	// Calibration compares the confidence in the answers with the share of right ones, for each mode.
	Calibration []*eval.CalibrationReport `json:"calibration,omitempty"`
}

// The parts of an evaluation.
const (
	partSearch    = "search"
	partAnswers   = "answers"
	partClaims    = "claims"
	partCache     = "cache"
	partFollowUps = "followups"
)

// Validate rejects invalid combinations of flags.
func (c *evalCmd) Validate() error {
	for _, p := range c.What {
		if !slices.Contains([]string{partSearch, partAnswers, partClaims, partCache, partFollowUps}, p) {
			return fmt.Errorf("--what: must be search, answers, claims, cache or followups, not %q", p)
		}
	}
	for _, m := range c.Mode {
		if m != string(event.Direct) && m != string(event.Agentic) {
			return fmt.Errorf("--mode: must be direct or agentic, not %q", m)
		}
	}
	switch {
	case c.Feedback && (len(c.What)+len(c.Mode) > 0 || c.Half+c.Part+c.Queries+c.Qrels+c.Against+c.Plot+c.Reliability+c.Save != ""):
		return errors.New("--feedback can only be combined with --json and settings of models")
	case c.Half != "" && c.Half != "a" && c.Half != "b":
		return fmt.Errorf("--half: must be a or b, not %q", c.Half)
	case c.Part != "" && c.Part != eval.PartTuning && c.Part != eval.PartHeldOut:
		return fmt.Errorf("--part: must be tuning or held-out, not %q", c.Part)
	case c.Part != "" && c.Half != "":
		return errors.New("--part: cannot be combined with --half")
	case c.TopK < 1 || c.TopK > 50:
		return errors.New("--top-k: must be 1 to 50")
	case !c.wants(partAnswers) && len(c.Mode) > 0:
		return errors.New("--mode: requires --what answers")
	case !c.wants(partAnswers) && c.Tasks != "":
		return errors.New("--tasks: requires --what answers")
	case !c.wants(partAnswers) && c.Plot+c.Against+c.Reliability+c.Save != "":
		return errors.New("--plot, --reliability, --save and --against require --mode")
	}
	return nil
}

// wants reports whether a part is measured.
func (c *evalCmd) wants(part string) bool {
	switch {
	case len(c.What) > 0:
		return slices.Contains(c.What, part)
	case len(c.Mode) > 0:
		return part != partSearch && part != partFollowUps
	}
	return part == partSearch
}

// modes returns the modes without duplicates.
func (c *evalCmd) modes() (out []event.Mode) {
	for _, m := range c.Mode {
		if !slices.Contains(out, event.Mode(m)) {
			out = append(out, event.Mode(m))
		}
	}
	if out == nil {
		return []event.Mode{event.Direct, event.Agentic}
	}
	return out
}

// Run measures the sets and prints the results.
func (c *evalCmd) Run(e *env) error {
	if c.Feedback {
		var all evaluation
		if err := all.feedback(e, c.Dir); err != nil {
			return err
		}
		return all.print(e, c)
	}
	earlier, err := c.earlier()
	if err != nil {
		return err
	}
	sets, err := c.sets()
	if err != nil {
		return err
	}
	if err := c.checkPlot(); err != nil {
		return err
	}
	var all evaluation
	for _, set := range sets {
		if c.wants(partSearch) {
			if err := all.search(e, set); err != nil {
				return err
			}
		}
		if c.wants(partAnswers) {
			if err := all.answers(e, set, c, earlier); err != nil {
				return err
			}
		}
		if c.wants(partClaims) && len(set.Claims) > 0 {
			if err := all.claims(e, set); err != nil {
				return err
			}
		}
		if c.wants(partCache) {
			if err := all.cache(e, set); err != nil {
				return err
			}
		}
		if c.wants(partFollowUps) {
			if err := all.followUps(e, set, c.TopK); err != nil {
				return err
			}
		}
	}
	all.calibrate()
	all.pool(c.modes(), earlier)
	if c.Part == eval.PartHeldOut {
		for i, r := range all.Modes {
			all.Modes[i] = r.WithoutAnswers()
		}
	}
	if err := all.print(e, c); err != nil {
		return err
	}
	if c.Save != "" {
		if err := summary.Save(c.Save, all.summary(time.Now())); err != nil {
			return err
		}
	}
	return errors.Join(
		draw(c.Plot, func(w io.Writer) error { return eval.WritePlot(w, all.Modes...) }),
		draw(c.Reliability, func(w io.Writer) error { return all.drawCalibration(w) }))
}

// summary returns the short result of the answers.
func (v *evaluation) summary(at time.Time) summary.Evaluation {
	out := summary.Evaluation{At: at.UTC().Truncate(time.Second)}
	for _, r := range v.Modes {
		if len(r.Rows) == 0 {
			continue
		}
		all := r.Rows[0] // the other rows are groups of questions
		row := summary.Row{Set: r.Set, Mode: string(r.Mode), Questions: all.Questions, P50: r.P50, Measures: map[string]summary.Value{}}
		for key, e := range all.Measures {
			row.Measures[key] = summary.Value{Mean: e.Mean, Low: e.Low, High: e.High}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// checkPlot returns an error early if the file of a plot cannot be written.
func (c *evalCmd) checkPlot() error {
	for _, path := range []string{c.Plot, c.Reliability} {
		if path == "" {
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // a picture, which anyone may see
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return fmt.Errorf("draw plot: %w", err)
		}
	}
	return nil
}

// withQuestions returns the folders that have a file with a name, and the paths of these files.
func withQuestions(dirs []string, name string) (in, paths []string) {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && filepath.Base(name) == name {
			in, paths = append(in, dir), append(paths, path)
		}
	}
	return in, paths
}

// sets reads all sets, so that errors are found before the measurement starts.
func (c *evalCmd) sets() ([]*eval.Set, error) {
	dirs, err := eval.Find(c.Dir)
	if err != nil {
		return nil, err
	}
	paths := slices.Repeat([]string{c.Queries}, len(dirs))
	if len(dirs) > 1 && c.Queries != "" {
		dirs, paths = withQuestions(dirs, c.Queries)
	}
	switch {
	case len(dirs) == 0:
		return nil, fmt.Errorf("eval: no set has a file %q: with several sets, --queries is the name of a file in their folders; a path requires a single set", c.Queries)
	case len(dirs) > 1 && c.Qrels != "":
		return nil, errors.New("eval: --qrels requires a single set")
	}
	sets := make([]*eval.Set, len(dirs))
	claims := false
	for i, dir := range dirs {
		files := eval.FilesOf(dir)
		if c.Queries != "" {
			files.Questions, files.Qrels = paths[i], "" // the judgements of the set are for its own questions
		}
		if c.Qrels != "" {
			files.Qrels = c.Qrels
		}
		if sets[i], err = eval.LoadFiles(filepath.Base(dir), files); err != nil {
			return nil, err
		}
		if c.Half != "" {
			if sets[i], err = sets[i].Half(c.Half); err != nil {
				return nil, err
			}
		}
		if c.Part != "" {
			if sets[i], err = sets[i].Split(c.Part); err != nil {
				return nil, err
			}
		}
		if sets[i].Folder != "" && c.wants(partSearch) {
			return nil, fmt.Errorf("eval: %s has no corpus.jsonl: only answers can be measured, with --mode", sets[i].Name)
		}
		claims = claims || len(sets[i].Claims) > 0
	}
	if slices.Contains(c.What, partClaims) && !claims {
		return nil, errors.New("eval: claims.jsonl does not exist")
	}
	return sets, nil
}

// maxEarlier is the maximum size of an earlier evaluation in bytes.
const maxEarlier = 1 << 30

// earlier reads the results of --against.
func (c *evalCmd) earlier() ([]*eval.ModeReport, error) {
	if c.Against == "" {
		return nil, nil
	}
	f, err := os.Open(c.Against)
	if err != nil {
		return nil, fmt.Errorf("read earlier evaluation: %w", err)
	}
	defer f.Close()
	var before evaluation
	if err := json.NewDecoder(io.LimitReader(f, maxEarlier)).Decode(&before); err != nil {
		return nil, fmt.Errorf("read earlier evaluation: %s: %w", c.Against, err)
	}
	before.Modes = slices.DeleteFunc(before.Modes, func(r *eval.ModeReport) bool { return r == nil })
	if len(before.Modes) == 0 {
		return nil, fmt.Errorf("read earlier evaluation: %s holds no answers: create it with --json and --mode", c.Against)
	}
	return before.Modes, nil
}

// print writes tables or JSON.
func (v *evaluation) print(e *env, c *evalCmd) error {
	if c.JSON {
		enc := json.NewEncoder(e.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	writeModes := eval.WriteModes
	if !c.Groups {
		v, writeModes = v.overview(), eval.WriteOverview
	}
	var parts []func() error
	if len(v.Reports) > 0 {
		parts = append(parts, func() error { return eval.WriteTable(e.Out, v.Reports...) },
			func() error { return eval.WriteComparisons(e.Out, v.Comparisons...) })
	}
	if len(v.Modes) > 0 {
		parts = append(parts, func() error {
			return errors.Join(writeModes(e.Out, v.Modes...), eval.WriteFailures(e.Out, width(e.Out), v.single()...))
		})
	}
	if len(v.Calibration) > 0 {
		parts = append(parts, func() error { return eval.WriteCalibration(e.Out, v.Calibration...) })
	}
	if len(v.Compared) > 0 {
		parts = append(parts, func() error { return eval.WriteModeComparisons(e.Out, v.Compared...) })
	}
	if len(v.Claims) > 0 {
		parts = append(parts, func() error { return eval.WriteClaims(e.Out, v.Claims...) })
	}
	if len(v.Cache) > 0 {
		parts = append(parts, func() error { return eval.WriteCache(e.Out, v.Cache...) })
	}
	if len(v.Cache) > 0 && c.Groups {
		parts = append(parts, func() error { return eval.WriteCacheKinds(e.Out, v.Cache...) })
	}
	if len(v.FollowUps) > 0 {
		parts = append(parts, func() error { return eval.WriteFollowUps(e.Out, v.FollowUps...) })
	}
	if v.Feedback != nil {
		parts = append(parts, func() error { return eval.WriteFeedback(e.Out, v.Feedback) })
	}
	for i, write := range parts {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// searches are the kinds of search that are measured.
var searches = []struct {
	name string
	way  eval.SearchOptions
}{
	{"lexical", eval.SearchOptions{Lexical: true}},
	{"vector", eval.SearchOptions{Vector: true}},
	{"hybrid", eval.SearchOptions{Lexical: true, Vector: true}},
}

// search adds the search reports of a set and their comparison.
func (v *evaluation) search(e *env, set *eval.Set) (err error) {
	x, err := app.OpenTempIndex(e.ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	show, done := newProgress(e, "indexing "+set.Name)
	put := eval.PassageIndexer(x.Index, set.Name, x.Embedder)
	indexed := 0
	err = eval.IndexSet(e.ctx, set, func(ctx context.Context, docs []eval.Doc) error {
		if err := put(ctx, docs); err != nil {
			return err
		}
		indexed += len(docs)
		show(ingest.Progress{Done: indexed, Total: len(set.Docs)})
		return nil
	})
	done()
	if err != nil {
		return err
	}
	first := len(v.Reports)
	for _, w := range searches {
		way := w.way
		way.Weights = x.Weights
		search := eval.IndexSearcher(x.Index, set.Name, x.Embedder, way)
		if _, err := search(e.ctx, "warm-up query that is not measured", 1); err != nil {
			return err
		}
		r, err := eval.Run(e.ctx, set, search, eval.Options{Name: w.name})
		if err != nil {
			return err
		}
		v.Reports = append(v.Reports, r)
	}
	c, err := eval.Compare(v.Reports[first], v.Reports[len(v.Reports)-1])
	v.Comparisons = append(v.Comparisons, c)
	return err
}
