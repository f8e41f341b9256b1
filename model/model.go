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
	Passages []Passage
	IDF      map[string]float64 // weight of each stemmed term of the question and the passages; may be nil
}

// Delta is a piece of an answer as it is generated. Exactly one of its fields is set.
type Delta struct {
	Text string // the next piece of the answer's text, as small as the model makes it
	Cite int    // the text since the last citation rests on the passage of this number
}

// Generator writes answers.
type Generator interface {
	// Name is the model's name as shown to people.
	Name() string
	// Generate streams the answer to a task. The sequence ends after the last piece or the first error; breaking out of
	// it or ending ctx stops the model. A generator that finds no answer in the passages says so in words and cites nothing.
	Generate(ctx context.Context, t Task) iter.Seq2[Delta, error]
}

// Embedder turns texts into vectors of unit length. Calls may run at once.
type Embedder interface {
	// Embedding identifies the vector space. Vectors of different names never meet.
	Embedding() Embedding
	// Embed gives one vector a text, in order; nil for a text of which it knows nothing.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Embedding names a vector space.
type Embedding struct {
	Name string
	Dim  int
}

// TokenVector is a token of a text with its vector of unit length.
type TokenVector struct {
	Token  string // the lower-cased word
	Weight float64
	Vector []float32 // nil for a word without one: it can match itself alone
}

// TokenEmbedder gives one vector a token, for late interaction. Calls may run at once.
type TokenEmbedder interface {
	EmbedTokens(ctx context.Context, text string) ([]TokenVector, error)
}
