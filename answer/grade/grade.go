// Package grade judges whether retrieved passages are relevant to a question, so that answering can keep them, widen the
// search or search again. The classes are those of S.-Q. Yan et al., Corrective Retrieval Augmented Generation, 2024.
package grade

import (
	"context"
	"math"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/text"
)

// Scored is a passage as retrieval found it: its Score and Cosine are evidence too.
type Scored = index.Hit

// Grades are the judgement of some passages.
type Grades struct {
	Scores []float64 // 0..1, in the order of the passages
	By     string    // the form that judged: coverage, or a model's name
}

// Grader judges passages. Calls may run at once. A form that asks a model falls back on one that does not and tells the
// trace of ctx (see [model.Failed]); its only error is then that of ctx.
type Grader interface {
	// Grade judges chunks in the order of retrieval. The frequencies in stats are those of the question's words, as written
	// or stemmed; without them all words weigh the same.
	Grade(ctx context.Context, question string, chunks []Scored, stats index.TermStats) (Grades, error)
}

// The scores from which a passage is [event.Correct] and [event.Ambiguous].
const (
	CorrectFrom   = 0.7
	AmbiguousFrom = 0.4
)

// Classify gives the class of a score.
func Classify(score float64) event.Class {
	switch {
	case score >= CorrectFrom:
		return event.Correct
	case score >= AmbiguousFrom:
		return event.Ambiguous
	}
	return event.Incorrect
}

// Coverage is the [Grader] that needs no model: it goes by the share of the question's weighted terms that a passage holds,
// by the cosine of the vectors where there is one, and by how the passage's score stands to the best one's.
type Coverage struct{}

// Grade implements [Grader]. The only error is that of ctx.
func (Coverage) Grade(ctx context.Context, question string, chunks []Scored, stats index.TermStats) (Grades, error) {
	terms := text.Unique(question)
	weights := make([]float64, len(terms))
	total := 0.0
	for i, t := range terms {
		weights[i] = weight(t, stats)
		if _, ok := vague[t.Stem]; ok && len(terms) > 1 {
			weights[i] *= 0.3
		}
		total += weights[i]
	}
	subject, defined := text.Subject(question), false
	defines := make([]bool, len(chunks))
	best, vectors := 0.0, false
	for i, c := range chunks {
		best = max(best, c.Score)
		vectors = vectors || c.Cosine != 0
		if subject != nil {
			defines[i] = holdsDefinition(c.Chunk.Text, subject)
			defined = defined || defines[i]
		}
	}
	out := make([]float64, len(chunks))
	for i, c := range chunks {
		if err := ctx.Err(); err != nil {
			return Grades{}, err
		}
		if total > 0 {
			out[i] = calibrate(evidence(c, terms, weights, total, best), vectors)
		}
		switch {
		case defines[i]:
			out[i] = max(out[i], CorrectFrom+0.1)
		case defined:
			out[i] *= mentioned
		}
	}
	return Grades{out, "coverage"}, nil
}

// mentioned is what is left of the score of a passage that speaks of what a question asks the meaning of, where another
// one defines it.
const mentioned = 0.39

// holdsDefinition says whether a sentence of s says what the subject is.
func holdsDefinition(s string, subject []string) bool {
	for _, sp := range text.Sentences(s) {
		if text.Defines(s[sp.Start:sp.End], subject) {
			return true
		}
	}
	return false
}

// vague are stems of words that questions are made with; passages that answer seldom repeat them.
var vague = map[string]struct{}{"happen": {}, "mean": {}, "work": {}, "call": {}, "know": {}}

// weight is a term's inverse document frequency. A word that no passage holds says less of what is asked for than a rare
// one that some hold: it may be misspelt or a synonym.
func weight(t text.Term, stats index.TermStats) float64 {
	df, ok := stats.DF[t.Word]
	if !ok {
		df, ok = stats.DF[t.Stem]
	}
	if !ok {
		return text.IDF(stats.Chunks, stats.Chunks/100)
	}
	return text.IDF(stats.Chunks, df)
}

// figures is the evidence for a passage.
type figures struct{ cover, cosine, rank float64 }

func evidence(c Scored, terms []text.Term, weights []float64, total, best float64) figures {
	held := text.Set(c.Chunk.Text)
	above := text.Set(c.Chunk.Title)
	for _, h := range c.Chunk.Headings {
		for t := range text.Set(h) {
			above[t] = struct{}{}
		}
	}
	f := figures{cosine: clamp(c.Cosine)}
	for i, t := range terms {
		if _, ok := held[t.Stem]; ok {
			f.cover += weights[i] / total
		} else if _, ok := above[t.Stem]; ok {
			f.cover += 0.7 * weights[i] / total
		}
	}
	if best > 0 {
		f.rank = clamp(c.Score / best)
	}
	return f
}

func clamp(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(0, min(1, x))
}

// calibrate turns evidence into the probability that a passage is relevant. The figures are those of logistic regressions,
// rounded, over the ten best passages by BM25 for questions of three public sets: the passages marked relevant against the
// others, and against those found in sets about something else. Where no passage has a vector, coverage stands alone.
func calibrate(f figures, vectors bool) float64 {
	z := 10.4 * (f.cover - 0.5)
	if vectors {
		z = 7.3*f.cover + 4*f.cosine + 1.5*f.rank - 7
	}
	return 1 / (1 + math.Exp(-z))
}
