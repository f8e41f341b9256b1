// Package rerank reorders retrieved passages by comparing each with the question.
package rerank

import (
	"context"
	"fmt"
	"math"

	"github.com/viterin/vek/vek32"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// Ranking is the result of reranking some passages.
type Ranking struct {
	Scores []float64 // in the order of the passages; only comparable within one call
	Method string    // as shown to people
}

// Reranker scores passages. It is safe for concurrent use. An implementation that asks a model falls back to one that does
// not and reports the failure to the trace of ctx (see [model.Failed]).
type Reranker interface {
	// Rerank scores chunks. stats holds the frequencies of the question's words, as written or stemmed.
	Rerank(ctx context.Context, question string, chunks []corpus.Chunk, stats index.TermStats) (Ranking, error)
}

// MaxSim is late interaction: the sum, over the question's tokens, of the token's weight times its highest cosine with a
// token of the passage (O. Khattab and M. Zaharia, ColBERT, 2020). The weight of a token is its inverse document frequency
// if stats has it, otherwise the embedder's weight. Stop words are left out.
type MaxSim struct{ tokens model.TokenEmbedder }

// New returns a reranker that uses an embedder's tokens.
func New(tokens model.TokenEmbedder) *MaxSim { return &MaxSim{tokens} }

// token is a token of the question.
type token struct {
	term   int // index among the terms of the question; -1: it is not one
	weight float64
	vector []float32
}

// maxQuestion is the maximum number of tokens of a question that are compared.
const maxQuestion = 128

// Rerank implements [Reranker]. Errors are the embedder's and ctx's.
func (m *MaxSim) Rerank(ctx context.Context, question string, chunks []corpus.Chunk, stats index.TermStats) (Ranking, error) {
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = c.WithHeadings()
	}
	terms := lang.NewMatcher(question, texts, stats.DF)
	asked, err := m.question(ctx, question, terms, stats)
	if err != nil {
		return Ranking{}, err
	}
	read, err := m.tokens.EmbedTokens(ctx, texts, model.ForPassage)
	if err != nil {
		return Ranking{}, fmt.Errorf("embed passages: %w", err)
	}
	out := make([]float64, len(chunks))
	cosines := cosines{terms: terms, asked: asked, words: map[string]*word{}}
	for i := range out {
		if err := ctx.Err(); err != nil {
			return Ranking{}, err
		}
		out[i] = cosines.maxSim(i, read[i])
	}
	return Ranking{out, "colbert"}, nil
}

// cosines are the cosines of the question's tokens with those of passages, which share most of their words and vectors.
type cosines struct {
	terms *lang.Matcher
	asked []token
	words map[string]*word
	all   []float64 // NaN until they are needed
}

// word is what is known of a word of the passages.
type word struct {
	stop    bool
	matches []lang.Match
	vector  *float32 // first element of the vector that row is for
	row     int      // index in cosines.all of the cosines of the vector
	last    int      // the last passage with the word
}

// of returns what is known of a token. next reports whether it is the first one of the word in a passage.
func (c *cosines) of(passage int, t model.TokenVector) (w *word, next bool) {
	w = c.words[t.Token]
	if w == nil {
		w = &word{stop: c.terms.IsStopWord(t.Token), last: -1}
		if !w.stop {
			w.matches = c.terms.Match(t.Token)
		}
		c.words[t.Token] = w
	}
	if w.last == passage {
		return w, false
	}
	w.last = passage
	if len(t.Vector) > 0 && w.vector != &t.Vector[0] && !w.stop {
		w.vector, w.row = &t.Vector[0], len(c.all)
		for range c.asked {
			c.all = append(c.all, math.NaN())
		}
	}
	return w, true
}

func (m *MaxSim) question(ctx context.Context, s string, terms *lang.Matcher, stats index.TermStats) ([]token, error) {
	embedded, err := m.tokens.EmbedTokens(ctx, []string{s}, model.ForQuery)
	if err != nil {
		return nil, fmt.Errorf("embed question: %w", err)
	}
	at := map[string]int{} // of each term
	for i, t := range terms.Terms {
		at[t.Stem] = i
	}
	seen := map[string]bool{}
	var out, stops []token
	for _, v := range embedded[0] {
		stem := terms.Stem(v.Token)
		if seen[stem] {
			continue
		}
		seen[stem] = true
		t := token{term: -1, weight: v.Weight, vector: v.Vector}
		df, ok := stats.DF[v.Token]
		if !ok {
			df, ok = stats.DF[stem]
		}
		if i, is := at[stem]; is {
			t.term = i
			df = max(df, terms.Held[i])
		}
		if ok && stats.Chunks > 0 {
			t.weight = lang.IDF(stats.Chunks, df)
		}
		if terms.IsStopWord(v.Token) {
			stops = append(stops, t)
		} else {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		out = stops
	}
	return out[:min(len(out), maxQuestion)], nil
}

func (c *cosines) maxSim(passage int, read []model.TokenVector) float64 {
	credits := make([]float64, len(c.terms.Terms))
	vectors, rows := make([][]float32, 0, len(read)), make([]int, 0, len(read))
	for _, r := range read {
		w, next := c.of(passage, r)
		if !next || w.stop {
			continue
		}
		for _, m := range w.matches {
			credits[m.Term] = max(credits[m.Term], m.Credit)
		}
		if len(r.Vector) > 0 {
			vectors, rows = append(vectors, r.Vector), append(rows, w.row)
		}
	}
	sum := 0.0
	for k, t := range c.asked {
		best := 0.0
		if t.term >= 0 {
			best = credits[t.term]
		}
		for i := 0; i < len(vectors) && best < 1; i++ {
			x := &c.all[rows[i]+k]
			if math.IsNaN(*x) {
				*x = dot(t.vector, vectors[i])
			}
			best = max(best, *x)
		}
		sum += t.weight * min(best, 1)
	}
	return sum
}

// dot returns 0 for vectors of different lengths, such as a missing one.
func dot(a, b []float32) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	return float64(vek32.Dot(a, b))
}
