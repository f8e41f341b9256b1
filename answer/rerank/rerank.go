// Package rerank reorders retrieved passages by comparing each with the question.
package rerank

import (
	"context"
	"fmt"
	"slices"

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
	read := newReading(terms, asked)
	vectors, err := m.vectors(ctx, read.unknown)
	if err != nil {
		return Ranking{}, err
	}
	out := make([]float64, len(chunks))
	for i := range out {
		if err := ctx.Err(); err != nil {
			return Ranking{}, err
		}
		out[i] = read.maxSim(i, vectors)
	}
	return Ranking{out, "colbert"}, nil
}

// vectors returns the vector of each word; nil for a word without one.
func (m *MaxSim) vectors(ctx context.Context, words []string) ([][]float32, error) {
	embedded, err := m.tokens.EmbedTokens(ctx, words, model.ForPassage)
	if err != nil {
		return nil, fmt.Errorf("embed passages: %w", err)
	}
	out := make([][]float32, len(words))
	for i, tokens := range embedded[:min(len(words), len(embedded))] {
		if len(tokens) == 1 {
			out[i] = tokens[0].Vector
		}
	}
	return out, nil
}

// maxWords is the maximum number of words of a passage that are compared.
const maxWords = 4096

// reading holds the words of some passages. Passages share most of their words, so each is embedded and compared once.
type reading struct {
	asked    []token
	passages []passage
	unknown  []string    // the words whose vectors are needed
	cosines  [][]float64 // of the question's tokens with each of unknown; nil until they are needed
}

// passage is a passage with what its words stand for.
type passage struct {
	credits []float64 // of each term of the question
	words   []int     // indexes in unknown; nil if the credits suffice
}

// typicalWords is the typical number of different words in the passages of a question.
const typicalWords = 1 << 10

func newReading(terms *lang.Matcher, asked []token) *reading {
	r := &reading{asked: asked, passages: make([]passage, len(terms.Words))}
	at := make(map[string]int, typicalWords) // index in unknown
	var last []int                           // of unknown: the last passage with the word
	for i, words := range terms.Words {
		p := passage{credits: make([]float64, len(terms.Terms))}
		words = words[:min(len(words), maxWords)]
		for _, w := range words {
			for _, m := range w.Matches {
				p.credits[m.Term] = max(p.credits[m.Term], m.Credit)
			}
		}
		if r.needsVectors(p) {
			for _, w := range words {
				if w.Stop {
					continue
				}
				k, known := at[w.Text]
				if !known {
					k = len(r.unknown)
					at[w.Text] = k
					r.unknown, last = append(r.unknown, w.Text), append(last, -1)
				}
				if last[k] < i {
					last[k] = i
					p.words = append(p.words, k)
				}
			}
		}
		r.passages[i] = p
	}
	r.cosines = make([][]float64, len(r.unknown))
	return r
}

// needsVectors reports whether a token of the question does not occur in a passage.
func (r *reading) needsVectors(p passage) bool {
	return slices.ContainsFunc(r.asked, func(t token) bool { return t.term < 0 || p.credits[t.term] < 1 })
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

// maxSim returns the score of a passage. vectors are those of the unknown words.
func (r *reading) maxSim(i int, vectors [][]float32) float64 {
	p := r.passages[i]
	sum := 0.0
	for k, t := range r.asked {
		best := 0.0
		if t.term >= 0 {
			best = p.credits[t.term]
		}
		for n := 0; n < len(p.words) && best < 1; n++ {
			best = max(best, r.cosine(k, p.words[n], vectors))
		}
		sum += t.weight * min(best, 1)
	}
	return sum
}

// cosine returns the cosine of a token of the question and an unknown word.
func (r *reading) cosine(k, word int, vectors [][]float32) float64 {
	if vectors[word] == nil {
		return 0
	}
	if r.cosines[word] == nil {
		r.cosines[word] = make([]float64, len(r.asked))
		for i, t := range r.asked {
			r.cosines[word][i] = dot(t.vector, vectors[word])
		}
	}
	return r.cosines[word][k]
}

// dot returns 0 for vectors of different lengths, such as a missing one.
func dot(a, b []float32) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	return float64(vek32.Dot(a, b))
}
