// Package local is the model that needs no download, no key and no other process: its answers are sentences of the passages,
// and its vectors are averages of static word vectors, which the binary holds.
package local

// Options are what may be said about a [Model]. The zero value works.
type Options struct {
	// Sentences is the most that an answer to a simple question may have; a broad question may have four times as many. 0: 2.
	Sentences int
	// Patience is how much evidence an answer needs before it is given, from 0 (always answer) upwards. 0: 1, which was
	// fitted; below 0: always answer.
	Patience float64
}

// Model implements model.Generator, model.Embedder and model.TokenEmbedder. All its methods may be called at once.
type Model struct {
	opts  Options
	table *table // nil if the embedded table is damaged, which a test excludes
}

// New returns the model.
func New(opts Options) *Model {
	if opts.Sentences <= 0 {
		opts.Sentences = 2
	}
	if opts.Patience == 0 {
		opts.Patience = 1
	}
	t, _ := embedded()
	return &Model{opts: opts, table: t}
}

// Name is what the model is shown as.
func (m *Model) Name() string { return "sluice-extractive" }
