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

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
)

type evalCmd struct {
	config.Models
	Dir     string   `arg:"" type:"existingdir" help:"Folder of a set, or of several."`
	What    []string `placeholder:"PART" help:"What is measured: search, answers, claims or cache; several with commas. Without it: search, or with --mode everything else."`
	Mode    []string `placeholder:"MODE" help:"Modes in which the questions are answered, and compared: direct, agentic, or both with a comma."`
	TopK    int      `name:"top-k" default:"10" help:"Passages that an answer is made from."`
	Half    string   `placeholder:"a|b" help:"Ask only one half of each set's questions, told apart by a hash: tune on one, look at the other."`
	Queries string   `type:"existingfile" placeholder:"FILE" help:"Other questions over the set's documents, in the form of queries.jsonl."`
	Qrels   string   `type:"existingfile" placeholder:"FILE" help:"What is relevant to them, in the form of qrels.tsv."`
	Against string   `type:"existingfile" placeholder:"FILE" help:"What an earlier eval --json printed: each mode is compared with itself then, question by question."`
	Plot    string   `type:"path" placeholder:"FILE" help:"Draw the answers' measures with their intervals into an SVG file."`
	JSON    bool     `name:"json" help:"Print JSON, with each question's scores."`
}

// Help says what is measured, and how.
func (evalCmd) Help() string {
	return `A set is a folder with corpus.jsonl (_id, title, text), queries.jsonl (_id, text, and what is known of answers: answers,
answerable, multihop, type), qrels.tsv (query id, document id, score) and perhaps claims.jsonl (claim, doc_id, label, evidence). A
folder of such folders is measured set by set. Everything is indexed in a temporary folder that is removed afterwards.

Search: each document is one passage, and every question that has a relevant document is asked of the index by words (lexical),
by vectors (vector) and by both (hybrid, as answering does). The last table compares lexical to hybrid.

Answers: documents are ingested and questions answered as serve does it, in each mode, without the cache. The tables hold measures
of retrieval, answers and citations, each with the 95 % interval of a bootstrap below; the last one compares the modes.

Claims: how well the check of answers tells evidence that supports a claim from evidence that does not.

Cache: how often the cache of answers takes a question for the same as another: paraphrases of the set's questions, and near misses.

R@k is recall, and latencies are those of one question while each processor is busy with another. Random numbers are the same
each time, so figures come out the same, but for latencies. docs/evaluation.md says what each measure is.`
}

// evaluation is what was measured.
type evaluation struct {
	Reports     []*eval.Report        `json:"reports,omitempty"`
	Comparisons []eval.Comparison     `json:"comparisons,omitempty"`
	Modes       []*eval.ModeReport    `json:"modes,omitempty"`
	Compared    []eval.ModeComparison `json:"modes_compared,omitempty"`
	Claims      []*eval.ClaimsReport  `json:"claims,omitempty"`
	Cache       []*eval.CacheReport   `json:"cache,omitempty"`
}

// The parts of an evaluation.
const (
	partSearch  = "search"
	partAnswers = "answers"
	partClaims  = "claims"
	partCache   = "cache"
)

// Validate refuses what the flags cannot mean.
func (c *evalCmd) Validate() error {
	for _, p := range c.What {
		if !slices.Contains([]string{partSearch, partAnswers, partClaims, partCache}, p) {
			return fmt.Errorf("--what: %q is none of search, answers, claims and cache", p)
		}
	}
	for _, m := range c.Mode {
		if m != string(event.Direct) && m != string(event.Agentic) {
			return fmt.Errorf("--mode: %q is neither direct nor agentic", m)
		}
	}
	switch {
	case c.Half != "" && c.Half != "a" && c.Half != "b":
		return fmt.Errorf("--half: %q is neither a nor b", c.Half)
	case c.TopK < 1 || c.TopK > 50:
		return errors.New("--top-k: want 1 to 50")
	case !c.wants(partAnswers) && len(c.Mode) > 0:
		return errors.New("--mode: answers are not among what is to be measured")
	case !c.wants(partAnswers) && c.Plot+c.Against != "":
		return errors.New("--plot and --against are of answers: name a mode")
	}
	return nil
}

// wants tells whether a part is to be measured; claims only where there are some.
func (c *evalCmd) wants(part string) bool {
	switch {
	case len(c.What) > 0:
		return slices.Contains(c.What, part)
	case len(c.Mode) > 0:
		return part != partSearch
	}
	return part == partSearch
}

// modes are those to be measured, each once.
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

// Run measures and prints.
func (c *evalCmd) Run(e *env) error {
	earlier, err := c.earlier()
	if err != nil {
		return err
	}
	sets, err := c.sets()
	if err != nil {
		return err
	}
	if err := c.drawable(); err != nil {
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
			if err := all.answers(e, set, c.modes(), c.TopK, earlier); err != nil {
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
	}
	if err := all.print(e, c.JSON); err != nil || c.Plot == "" {
		return err
	}
	return writePlot(c.Plot, all.Modes)
}

// drawable finds out early whether the plot's file can be written.
func (c *evalCmd) drawable() error {
	if c.Plot == "" {
		return nil
	}
	f, err := os.OpenFile(c.Plot, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // a picture, which anyone may see
	if err != nil {
		return fmt.Errorf("draw plot: %w", err)
	}
	return f.Close()
}

// sets reads all sets first, so that a fault in one shows before time is spent.
func (c *evalCmd) sets() ([]*eval.Set, error) {
	dirs, err := eval.Find(c.Dir)
	if err != nil {
		return nil, err
	}
	if len(dirs) > 1 && c.Queries+c.Qrels != "" {
		return nil, errors.New("eval: --queries and --qrels are of one set, and the folder holds several")
	}
	sets := make([]*eval.Set, len(dirs))
	claims := false
	for i, dir := range dirs {
		files := eval.FilesOf(dir)
		if c.Queries != "" {
			files.Questions, files.Judgements = c.Queries, "" // the set's own judgements are of other questions
		}
		if c.Qrels != "" {
			files.Judgements = c.Qrels
		}
		if sets[i], err = eval.LoadFiles(filepath.Base(dir), files); err != nil {
			return nil, err
		}
		if c.Half != "" {
			if sets[i], err = sets[i].Half(c.Half); err != nil {
				return nil, err
			}
		}
		if sets[i].Folder != "" && c.wants(partSearch) {
			return nil, fmt.Errorf("eval: %s holds files and no corpus.jsonl: only answers can be measured, with --mode", sets[i].Name)
		}
		claims = claims || len(sets[i].Claims) > 0
	}
	if slices.Contains(c.What, partClaims) && !claims {
		return nil, errors.New("eval: there is no claims.jsonl")
	}
	return sets, nil
}

// maxEarlier bounds what is read of an earlier evaluation, in bytes.
const maxEarlier = 1 << 30

// earlier reads what is compared with.
func (c *evalCmd) earlier() ([]*eval.ModeReport, error) {
	if c.Against == "" {
		return nil, nil
	}
	f, err := os.Open(c.Against)
	if err != nil {
		return nil, fmt.Errorf("read earlier evaluation: %w", err)
	}
	defer f.Close()
	var was evaluation
	if err := json.NewDecoder(io.LimitReader(f, maxEarlier)).Decode(&was); err != nil {
		return nil, fmt.Errorf("read earlier evaluation: %s: %w", c.Against, err)
	}
	was.Modes = slices.DeleteFunc(was.Modes, func(r *eval.ModeReport) bool { return r == nil })
	if len(was.Modes) == 0 {
		return nil, fmt.Errorf("read earlier evaluation: %s holds no answers: make it with --json and --mode", c.Against)
	}
	return was.Modes, nil
}

// print writes the tables, or JSON.
func (v *evaluation) print(e *env, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(e.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	var parts []func() error
	if len(v.Reports) > 0 {
		parts = append(parts, func() error { return eval.WriteTable(e.Out, v.Reports...) },
			func() error { return eval.WriteComparisons(e.Out, v.Comparisons...) })
	}
	if len(v.Modes) > 0 {
		parts = append(parts, func() error { return eval.WriteModes(e.Out, v.Modes...) })
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

// ways are how each set is searched.
var ways = []struct {
	name string
	way  eval.Way
}{
	{"lexical", eval.Way{Words: true}},
	{"vector", eval.Way{Vectors: true}},
	{"hybrid", eval.Way{Words: true, Vectors: true}},
}

// search adds a set's reports and their comparison.
func (v *evaluation) search(e *env, set *eval.Set) (err error) {
	x, err := app.OpenScratch(e.ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	show, done := progress(e, "indexing "+set.Name)
	put := eval.AsPassages(x.Index, set.Name, x.Embedder)
	indexed := 0
	err = eval.Fill(e.ctx, set, func(ctx context.Context, docs []eval.Doc) error {
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
	for _, w := range ways {
		way := w.way
		way.Weights = x.Weights
		search := eval.Documents(x.Index, set.Name, x.Embedder, way)
		if _, err := search(e.ctx, "what the first search reads is not counted", 1); err != nil {
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
