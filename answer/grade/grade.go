// Package grade judges whether retrieved passages are relevant to a question, so that answering can keep them, widen the
// search or search again. The classes are those of S.-Q. Yan et al., Corrective Retrieval Augmented Generation, 2024.
package grade

import (
	"context"
	"math"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
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

// Coverage is the [Grader] that needs no model: it goes by [Signals], of which a [Calibration] makes the probability that a
// passage is relevant.
type Coverage struct {
	Fitted Calibrations // beside the built-in ones, and before them
}

// Grade implements [Grader]. The only error is that of ctx.
func (g Coverage) Grade(ctx context.Context, question string, chunks []Scored, stats index.TermStats) (Grades, error) {
	subject, defined := lang.Subject(question), false
	defines := make([]bool, len(chunks))
	space := ""
	for i, c := range chunks {
		if c.Space != "" {
			space = c.Space
		}
		if subject != nil {
			defines[i] = holdsDefinition(c.Chunk.Text, subject)
			defined = defined || defines[i]
		}
	}
	calibration := g.Fitted.Of(space)
	asked := take(question, stats)
	signals := asked.signals(chunks)
	out := make([]float64, len(chunks))
	for i, s := range signals {
		if err := ctx.Err(); err != nil {
			return Grades{}, err
		}
		if len(asked.terms) > 0 {
			out[i] = calibration.Score(s)
		}
		switch {
		case defines[i]:
			out[i] = max(out[i], CorrectFrom+0.1)
		case defined:
			out[i] *= mentioned
		}
	}
	return Grades{out, "coverage"}, ctx.Err()
}

// mentioned is what is left of the score of a passage that speaks of what a question asks the meaning of, where another
// one defines it.
const mentioned = 0.39

// holdsDefinition says whether a sentence of s says what the subject is.
func holdsDefinition(s string, subject []string) bool {
	for _, sp := range lang.Sentences(s) {
		if lang.Defines(s[sp.Start:sp.End], subject) {
			return true
		}
	}
	return false
}

// vague are stems of words that questions are made with; passages that answer seldom repeat them.
var vague = map[string]struct{}{"happen": {}, "mean": {}, "work": {}, "call": {}, "know": {}}

// weight is a term's inverse document frequency. A word that no passage holds says less of what is asked for than a rare
// one that some hold: it may be misspelt or a synonym.
func weight(t lang.Term, stats index.TermStats) float64 {
	df, ok := stats.DF[t.Word]
	if !ok {
		df, ok = stats.DF[t.Stem]
	}
	if !ok {
		return lang.IDF(stats.Chunks, stats.Chunks/100)
	}
	return lang.IDF(stats.Chunks, df)
}

func clamp(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(0, min(1, x))
}
