// Package grade judges whether retrieved passages are relevant to a question, so that answering can keep them, widen the
// search or search again. The classes are those of S.-Q. Yan et al., Corrective Retrieval Augmented Generation, 2024.
package grade

import (
	"context"
	"math"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// Scored is a retrieved passage. Its Score and Cosine are used as signals.
type Scored = index.Hit

// Grades are the grades of some passages.
type Grades struct {
	Scores []float64 // 0..1, in the order of the passages
	By     string    // who graded: "coverage" or the name of a model
}

// Grader grades passages. It is safe for concurrent use. An implementation that asks a model falls back to one that does
// not and reports the failure to the trace of ctx (see [model.Failed]). The only error is that of ctx.
type Grader interface {
	// Grade grades chunks in the order of retrieval. stats holds the frequencies of the question's words, as written or
	// stemmed; without it all words have the same weight.
	Grade(ctx context.Context, question string, chunks []Scored, stats index.TermStats) (Grades, error)
}

// The lowest scores of the classes [event.Correct] and [event.Ambiguous].
const (
	CorrectFrom   = 0.7
	AmbiguousFrom = 0.4
)

// Classify returns the class of a score.
func Classify(score float64) event.Class {
	switch {
	case score >= CorrectFrom:
		return event.Correct
	case score >= AmbiguousFrom:
		return event.Ambiguous
	}
	return event.Incorrect
}

// Coverage is the [Grader] that needs no model: a [Calibration] computes the probability that a passage is relevant from
// its [Signals].
type Coverage struct {
	Fitted Calibrations // preferred to the built-in ones
}

// Grade implements [Grader]. The only error is that of ctx.
func (g Coverage) Grade(ctx context.Context, question string, chunks []Scored, stats index.TermStats) (Grades, error) {
	subject, defined := lang.DefinitionSubject(question), false
	defines := make([]Definition, len(chunks))
	space := ""
	for i, c := range chunks {
		if c.Space != "" {
			space = c.Space
		}
		if subject != nil {
			defines[i] = Defines(c.Chunk.Text, subject)
			defined = defined || defines[i] == Stated
		}
	}
	named, held := HoldsNames(question, chunks)
	calibration := g.Fitted.Of(space)
	asked := readQuestion(question, chunks, stats)
	signals := asked.signals(chunks)
	out := make([]float64, len(chunks))
	for i, s := range signals {
		if err := ctx.Err(); err != nil {
			return Grades{}, err
		}
		if len(asked.Terms) > 0 {
			out[i] = calibration.Score(s)
		}
		switch {
		case defines[i] != NoDefinition, named[i]:
			out[i] = max(out[i], CorrectFrom+0.1)
		case defined, held:
			out[i] *= mentionedFactor
		}
	}
	return Grades{out, "coverage"}, ctx.Err()
}

// HoldsNames reports which chunks have an option, a variable, a function or a file that the question names literally, and whether any has.
func HoldsNames(question string, chunks []Scored) (held []bool, some bool) {
	held = make([]bool, len(chunks))
	if names := lang.Identifiers(question); names != nil {
		for i, c := range chunks {
			held[i] = lang.HoldsIdentifier(c.Chunk.WithHeadings(), names)
			held[i] = held[i] && coversRest(question, names, c.Chunk.WithHeadings())
			some = some || held[i]
		}
	}
	return held, some
}

// mentionedFactor is the factor for passages that mention the words of a question while another passage defines its subject, or has what it names literally.
const mentionedFactor = 0.39

// Definition is how a text defines a thing.
type Definition int

// The ways to define a thing. A row with several other cells need not define it: tables of all kinds begin their rows with names of things.
const (
	NoDefinition Definition = iota
	InTable                 // the thing is the first of three or more cells of a row
	Stated                  // a sentence says what it is, or a line or a row of two cells has it as its label
)

// Defines returns how s defines the subject; see [lang.DefinitionSubject].
func Defines(s string, subject []string) Definition {
	if len(subject) == 0 {
		return NoDefinition
	}
	for _, sp := range lang.Sentences(s) {
		if lang.Defines(s[sp.Start:sp.End], subject) {
			return Stated
		}
	}
	found := NoDefinition
	for line := range strings.Lines(s) {
		if !lang.Labels(line, subject) {
			continue
		}
		if strings.Count(line, " | ") < 2 {
			return Stated
		}
		found = InTable
	}
	return found
}

// weight is a term's inverse document frequency. held is the number of the retrieved passages that contain a form of the term: the index, which
// compares words as English ones, may know none.
func weight(t lang.Term, stats index.TermStats, held int) float64 {
	df, ok := stats.DF[t.Word]
	if !ok {
		df, ok = stats.DF[t.Stem]
	}
	if !ok {
		return lang.IDF(stats.Chunks, stats.Chunks/100)
	}
	return lang.IDF(stats.Chunks, max(df, held))
}

func clamp(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(0, min(1, x))
}

// coversRest reports whether a text has a term of the question besides those of the names, or the question has none.
func coversRest(question string, names []string, text string) bool {
	l := lang.OfQuestion(question)
	named, has := l.TermSet(strings.Join(names, " ")), l.TermSet(text)
	rest := false
	for _, t := range l.UniqueTerms(question) {
		if _, ok := named[t.Stem]; ok {
			continue
		}
		rest = true
		if _, ok := has[t.Stem]; ok {
			return true
		}
	}
	return !rest
}
