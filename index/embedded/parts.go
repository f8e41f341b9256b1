package embedded

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded/inverted"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

// searchedPassages is the minimum number of passages whose sections and sentences are ranked.
const searchedPassages = 50

// sectionsOf returns the sections of passages that a search found. Each has the scores of its best passage.
func (x *Index) sectionsOf(passages []found) (out []found, err error) {
	seen := map[uint64]bool{}
	err = x.view(func(tx *txn) error {
		reader := chunkReader{tx: tx}
		for _, f := range passages {
			rec, err := reader.nested(f.row)
			if err != nil {
				return err
			}
			if rec == nil || seen[f.row-rec.up] {
				continue
			}
			f.row -= rec.up
			seen[f.row] = true
			out = append(out, f)
		}
		return nil
	})
	return out, err
}

// sentencesOf returns the sentences of passages that a search found. A sentence has the lexical score of its own terms, with the weights of the
// terms in the passages, and the cosine of its passage.
func (x *Index) sentencesOf(ctx context.Context, passages []found, asked *weightedQuery, w index.Weights) ([]found, error) {
	var out []found
	var has []bool
	var streams [][]inverted.Token
	tokens := 0
	err := x.view(func(tx *txn) error {
		reader := chunkReader{tx: tx}
		for _, f := range passages {
			if err := ctx.Err(); err != nil {
				return err
			}
			rec, err := reader.nested(f.row)
			if err != nil {
				return err
			}
			if rec == nil {
				continue
			}
			for row := f.row + rec.parts[0]; row < f.row+rec.parts[1]; row++ {
				c, err := reader.read(row)
				if err != nil {
					return err
				}
				stream := analyse(c, nil).text
				tokens += len(stream)
				streams = append(streams, stream)
				out = append(out, found{row: row, cosine: f.cosine, corrected: f.corrected})
				has = append(has, f.cosine != 0)
			}
		}
		return nil
	})
	if err != nil || len(out) == 0 {
		return nil, err
	}
	average := float64(max(tokens, 1)) / float64(len(out))
	for i, s := range streams {
		out[i].lexical = asked.scoreOf(s, average, x.opts.Scoring)
	}
	if asked != nil && len(asked.terms) > 0 {
		kept := 0
		for i, f := range out {
			if f.lexical > 0 || has[i] {
				out[kept], has[kept] = f, has[i]
				kept++
			}
		}
		out, has = out[:kept], has[:kept]
	}
	return fuse(out, has, w), nil
}

// scoreOf returns the lexical score of a text, as [Scoring] defines it, without the parts for title and heading.
func (q *weightedQuery) scoreOf(text []inverted.Token, average float64, with Scoring) (score float64) {
	if q == nil {
		return 0
	}
	at := map[string][]int{}
	for _, t := range text {
		at[t.Term] = append(at[t.Term], t.Position)
	}
	norm := with.K1 * (1 - with.B + with.B*float64(len(text))/average)
	places := make([][]int, len(q.terms))
	for i, t := range q.terms {
		share := 0.0
		for _, o := range append([]variant{{t.text, 1}}, t.others...) {
			if more := at[o.text]; len(more) > 0 {
				places[i], share = append(places[i], more...), max(share, o.weight)
			}
		}
		slices.Sort(places[i])
		tf := float64(len(places[i]))
		score += t.times * t.idf * share * tf / (tf + norm)
	}
	for _, p := range q.pairs {
		n := float64(index.Following(places[p[0]], places[p[1]], with.Window))
		score += with.Pairs * min(q.terms[p[0]].idf, q.terms[p[1]].idf) * n / (n + norm)
	}
	return score
}

// searchParts searches the sections or sentences of nested documents, given the passages that the search found.
func (x *Index) searchParts(ctx context.Context, v *view, level corpus.Level, passages []found, terms []lang.Term, language *lang.Language, q index.Query) ([]found, error) {
	best := slices.SortedFunc(slices.Values(passages), func(a, b found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
	})
	best = best[:min(len(best), max(searchedPassages, q.Limit))]
	if level == corpus.Section {
		return x.sectionsOf(best)
	}
	var asked *weightedQuery
	if len(terms) > 0 && v.lexical != nil {
		var err error
		if asked, err = v.weigh(ctx, terms, q.Terms, newExpander(v, lang.Truncate(q.Text, prepare.MaxQuery), language)); err != nil {
			return nil, err
		}
	}
	return x.sentencesOf(ctx, best, asked, q.Weights)
}
