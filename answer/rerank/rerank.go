// Package rerank reorders retrieved passages by comparing each with the question.
package rerank

import (
	"context"
	"fmt"

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
	word, stem string
	weight     float64
	vector     []float32
}

// maxQuestion is the maximum number of tokens of a question that are compared.
const maxQuestion = 128

// Rerank implements [Reranker]. Errors are the embedder's and ctx's.
func (m *MaxSim) Rerank(ctx context.Context, question string, chunks []corpus.Chunk, stats index.TermStats) (Ranking, error) {
	asked, err := m.question(ctx, question, stats)
	if err != nil {
		return Ranking{}, err
	}
	out := make([]float64, len(chunks))
	for i, c := range chunks {
		if err := ctx.Err(); err != nil {
			return Ranking{}, err
		}
		read, err := m.tokens.EmbedTokens(ctx, []string{heading(c) + c.Text}, model.ForPassage)
		if err != nil {
			return Ranking{}, fmt.Errorf("embed passage: %w", err)
		}
		out[i] = maxSim(asked, read[0])
	}
	return Ranking{out, "colbert"}, nil
}

func heading(c corpus.Chunk) string {
	s := c.Title + "\n"
	for _, h := range c.Headings {
		s += h + "\n"
	}
	return s
}

func (m *MaxSim) question(ctx context.Context, s string, stats index.TermStats) ([]token, error) {
	embedded, err := m.tokens.EmbedTokens(ctx, []string{s}, model.ForQuery)
	if err != nil {
		return nil, fmt.Errorf("embed question: %w", err)
	}
	seen := map[string]bool{}
	var out, stops []token
	for _, v := range embedded[0] {
		t := token{word: v.Token, stem: lang.Stem(v.Token), weight: v.Weight, vector: v.Vector}
		if seen[t.stem] {
			continue
		}
		seen[t.stem] = true
		df, ok := stats.DF[t.word]
		if !ok {
			df, ok = stats.DF[t.stem]
		}
		if ok && stats.Chunks > 0 {
			t.weight = lang.IDF(stats.Chunks, df)
		}
		if lang.IsStopWord(t.word) {
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

func maxSim(asked []token, read []model.TokenVector) float64 {
	stems := make(map[string]struct{}, len(read))
	vectors := make([][]float32, 0, len(read))
	for _, r := range read {
		if lang.IsStopWord(r.Token) {
			continue
		}
		stem := lang.Stem(r.Token)
		if _, ok := stems[stem]; ok {
			continue
		}
		stems[stem] = struct{}{}
		if r.Vector != nil {
			vectors = append(vectors, r.Vector)
		}
	}
	sum := 0.0
	for _, t := range asked {
		if _, ok := stems[t.stem]; ok {
			sum += t.weight
			continue
		}
		best := 0.0
		for _, v := range vectors {
			best = max(best, dot(t.vector, v))
		}
		sum += t.weight * min(best, 1)
	}
	return sum
}

// dot returns 0 for vectors of different lengths, such as a missing one.
func dot(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var x float32
	for i := range a {
		x += a[i] * b[i]
	}
	return float64(x)
}
