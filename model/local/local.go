// Package local implements extractive answers and embeddings in the process, without a download or a key. Answers are sentences
// of the passages. Vectors are averages of static word vectors, which are embedded in the binary.
package local

import "github.com/sluice-rag/sluice/model"

// Options configure a [Model]. The zero value works.
type Options struct {
	// Sentences is the maximum number of sentences for a simple question; a broad one may have four times as many. 0: 2.
	Sentences int
	// Patience scales the evidence that an answer needs. 0: 1, which was fitted; below 0: always answer.
	Patience float64
}

// Model implements model.Generator, model.Embedder and model.TokenEmbedder. Its methods may be called concurrently.
type Model struct {
	opts  Options
	table *table // nil if the embedded table is damaged, which a test excludes

	observe func(model.Task)
}

// Observe calls a function with each task before it is answered. It must be called before the model is used.
func (m *Model) Observe(f func(model.Task)) { m.observe = f }

// New returns the model.
func New(opts Options) *Model {
	if opts.Sentences <= 0 {
		opts.Sentences = 2
	}
	if opts.Patience == 0 {
		opts.Patience = 1
	}
	t, _ := embedded()
	return &Model{opts: opts, table: t, observe: func(model.Task) {}}
}

// Name returns the display name.
func (m *Model) Name() string { return model.Extractive }
