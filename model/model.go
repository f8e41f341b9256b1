// Package model defines the interfaces of language and embedding models. Sub-packages implement them.
package model

import (
	"context"
	"iter"

	"github.com/sluice-rag/sluice/corpus"
)

// Passage is a passage that a generator may cite. N is its citation number, from 1.
type Passage struct {
	N     int
	Chunk corpus.Chunk
	Score float64
	Cut   bool // it is a part of a long table, not all of whose parts are among the passages
}

// Task describes the answer that a generator has to write.
type Task struct {
	Question     string
	Asked        string             // the question as it was asked, if Question is rewritten with the help of the conversation
	SubQuestions []string           // parts of the question, each to be answered; empty if it is a single question
	Passages     []Passage          // best first
	Summary      bool               // the question asks for a summary of the passages, in their order
	IDF          map[string]float64 // weight of each stemmed term of the question and the passages; may be nil
	History      []Message          // earlier turns, oldest first, by [User] and [Assistant]; the question is understandable without them

	// The remaining fields are only used by generators with [ParameterSupport].
	Earlier      string   // summary of the conversation before History
	Instructions string   // additional instructions of the caller; the generator's own rules take precedence
	Temperature  *float64 // nil: the generator's default
	MaxTokens    int      // limit of the answer; 0: the generator's own
	// Prefix is the beginning of the answer, which was streamed before a restart. The generator continues it. Its citations
	// are written as ⟦1⟧.
	Prefix string
}

// Delta is one item of an answer's stream. Exactly one field is set.
type Delta struct {
	Text      string     // the next text, as small as the model generates it
	Cite      int        // number of the passage that supports the text since the last citation
	Reasoning string     // reasoning, which is not part of the answer
	Stop      StopReason // the last item, unless the answer ended with [StopEnd]
	// Answerability is the model's estimate that the passages hold the answer, 0..1, in an item after the text. 0: none.
	Answerability float64
}

// Extractive is the name of the built-in generator, which quotes the passages.
const Extractive = "sluice-extractive"

// Generator writes answers.
type Generator interface {
	// Name returns the model's display name. A chain of models returns the name of the one that is asked first.
	Name() string
	// Fit returns the task with the best passages that fit into one request, and their number of tokens, counted or estimated.
	Fit(ctx context.Context, t Task) (Task, int)
	// Generate streams the answer. The sequence ends after the last item or the first error. Breaking out of the loop or
	// cancelling ctx stops the model. If the passages hold no answer, the generator says so and cites nothing.
	Generate(ctx context.Context, t Task) iter.Seq2[Delta, error]
}

// ParameterSupport is implemented by generators that may use all fields of a [Task]. Other generators only use its questions,
// its passages and its history.
type ParameterSupport interface{ SupportsParameters() bool }

// SupportsParameters reports whether a generator uses all fields of a [Task].
func SupportsParameters(g Generator) bool {
	p, ok := g.(ParameterSupport)
	return ok && p.SupportsParameters()
}

// Purpose is what a text is embedded for. Some models embed queries and passages differently.
type Purpose int

// The purposes.
const (
	ForPassage Purpose = iota
	ForQuery
)

// Embedder computes vectors of unit length. Its methods may be called concurrently.
type Embedder interface {
	// Space identifies the vector space. Vectors of different spaces must not be compared.
	Space() string
	// Embed returns one vector per text, in order; nil for a text that the model cannot embed.
	Embed(ctx context.Context, texts []string, p Purpose) ([][]float32, error)
}

// TokenVector is a token of a text with its vector of unit length.
type TokenVector struct {
	Token  string // the word or, with a subword tokenizer, a part of it, in lower case
	Weight float64
	Vector []float32 // nil if the token has none: it only matches itself
}

// TokenEmbedder computes one vector per token, for late interaction. Its methods may be called concurrently.
type TokenEmbedder interface {
	EmbedTokens(ctx context.Context, texts []string, p Purpose) ([][]TokenVector, error)
}
