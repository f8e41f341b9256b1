// Package model is what the pipeline asks of a model, and what a model says. Back ends stand in folders of their own.
package model

import (
	"context"
	"iter"

	"github.com/sluice-rag/sluice/corpus"
)

// Passage is a piece of context that a generator may cite. N is its number in citations, from 1.
type Passage struct {
	N     int
	Chunk corpus.Chunk
	Score float64
}

// Task is an answer to be written.
type Task struct {
	Question string
	Parts    []string           // questions that it asks at once, each to be answered; empty: it asks one thing
	Passages []Passage          // best first
	Whole    bool               // the question asks for an account of the passages, in their order, and of nothing else in them
	IDF      map[string]float64 // weight of each stemmed term of the question and the passages; may be nil

	// What follows is the asker's, and for generators that are [Heeding].
	History      []Message // what was said before, the oldest first, by [User] and [Assistant]; the question stands without it
	Instructions string    // how to answer: never above what the generator is bound to
	Temperature  *float64  // nil: the generator's own
	MaxTokens    int       // of the answer, at most; 0: the generator's own limit
	// Said is the beginning of the answer, which was streamed before a restart: the generator gives what follows. Citations are
	// written in it as ⟦1⟧.
	Said string
}

// Delta is a piece of an answer as it is generated. Exactly one of its fields is set.
type Delta struct {
	Text      string // the next piece of the answer's text, as small as the model makes it
	Cite      int    // the text since the last citation rests on the passage of this number
	Reasoning string // what the model thinks and does not say
	Stop      Stop   // the last piece, where it did not end with [StopEnd]
}

// Generator writes answers.
type Generator interface {
	// Name is the model's name as shown to people: of several, the one that will be asked first.
	Name() string
	// Fit gives the task with the passages that the model can read in one request, the best ones, and their tokens, counted
	// or estimated.
	Fit(ctx context.Context, t Task) (Task, int)
	// Generate streams the answer to a task. The sequence ends after the last piece or the first error; breaking out of
	// it or ending ctx stops the model. A generator that finds no answer in the passages says so in words and cites nothing.
	Generate(ctx context.Context, t Task) iter.Seq2[Delta, error]
}

// Heeding is also implemented by generators whose answers depend on all of a [Task]; those of others depend on its question,
// parts and passages alone.
type Heeding interface{ Heeds() bool }

// Heeds tells whether a generator is [Heeding].
func Heeds(g Generator) bool {
	h, ok := g.(Heeding)
	return ok && h.Heeds()
}

// Purpose is what a text is embedded for: some models place questions and passages differently.
type Purpose int

// The purposes.
const (
	ForPassage Purpose = iota
	ForQuery
)

// Embedder turns texts into vectors of unit length. Calls may run at once.
type Embedder interface {
	// Space names the vector space. Vectors of different spaces never meet.
	Space() string
	// Embed gives one vector a text, in order; nil for a text of which it knows nothing.
	Embed(ctx context.Context, texts []string, p Purpose) ([][]float32, error)
}

// TokenVector is a token of a text with its vector of unit length.
type TokenVector struct {
	Token  string // the lower-cased word, or a piece of one where the model cuts words
	Weight float64
	Vector []float32 // nil for a word without one: it can match itself alone
}

// TokenEmbedder gives one vector a token, for late interaction. Calls may run at once.
type TokenEmbedder interface {
	EmbedTokens(ctx context.Context, texts []string, p Purpose) ([][]TokenVector, error)
}
