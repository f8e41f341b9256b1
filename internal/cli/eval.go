package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
)

type evalCmd struct {
	config.Models
	Dir     string `arg:"" type:"existingdir" help:"Folder of a set, or of several."`
	Queries string `type:"existingfile" placeholder:"FILE" help:"Other questions over the set's documents, in the form of queries.jsonl."`
	Qrels   string `type:"existingfile" placeholder:"FILE" help:"What is relevant to them, in the form of qrels.tsv."`
	JSON    bool   `name:"json" help:"Print JSON, with each question's scores."`
}

// Help says what is measured, and how.
func (evalCmd) Help() string {
	return `A set is a folder with corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and qrels.tsv (query id, document id,
score). A folder of such folders is measured set by set. Each document is indexed as one passage, in a temporary folder
that is removed afterwards. Every question that has a relevant document is then asked of the index by words (lexical), by
vectors (vector) and by both (hybrid, as answering does). R@k is recall, and the latencies are those of one search while
each processor is busy with another. The last table compares lexical to hybrid question by question: the mean difference of
nDCG@10, and p, the share of random exchanges of the two that differ as much.`
}

// evaluation is what was measured.
type evaluation struct {
	Reports     []*eval.Report    `json:"reports"`
	Comparisons []eval.Comparison `json:"comparisons"`
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

// Run measures and prints.
func (c *evalCmd) Run(e *env) error {
	dirs, err := eval.Find(c.Dir)
	if err != nil {
		return err
	}
	if len(dirs) > 1 && c.Queries+c.Qrels != "" {
		return errors.New("eval: --queries and --qrels are of one set, and the folder holds several")
	}
	sets := make([]*eval.Set, len(dirs)) // all are read first, so that a fault in one shows before time is spent
	for i, dir := range dirs {
		files := eval.FilesOf(dir)
		if c.Queries != "" {
			files.Questions = c.Queries
		}
		if c.Qrels != "" {
			files.Judgements = c.Qrels
		}
		if sets[i], err = eval.LoadFiles(filepath.Base(dir), files); err != nil {
			return err
		}
	}
	var all evaluation
	for _, set := range sets {
		if err := all.measure(e, set); err != nil {
			return err
		}
	}
	if c.JSON {
		enc := json.NewEncoder(e.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(all)
	}
	if err := eval.WriteTable(e.Out, all.Reports...); err != nil {
		return err
	}
	fmt.Fprintln(e.Out)
	return eval.WriteComparisons(e.Out, all.Comparisons...)
}

// measure adds a set's reports and their comparison.
func (v *evaluation) measure(e *env, set *eval.Set) (err error) {
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
