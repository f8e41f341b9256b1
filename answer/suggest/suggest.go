// Package suggest offers questions that the documents of a collection answer. It makes them from sentences and headings by rules, asks each
// one, and keeps those whose answer comes from the passage that the question was made from.
package suggest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// Index is the part of an index that questions are made from. Collections are the texts of scopes.
type Index interface {
	index.Reader
	index.DocumentReader
	index.Versions
}

// Answer is what a question was answered with.
type Answer struct {
	Cited         []corpus.ChunkID // passages that the answer cites; none: the documents do not answer the question
	Answerability float64          // how likely the passages hold the answer, 0..1
}

// Ask asks a question. It has no lasting effect.
type Ask func(ctx context.Context, collection, question string) (Answer, error)

// Options of a [Maker]. The zero value works.
type Options struct {
	Budget time.Duration    // for asking, once there are 4 questions; three times as long before that; default 300 ms
	Now    func() time.Time // default time.Now
}

// Limits of the work for one collection.
const (
	most             = 6    // questions
	enough           = 4    // questions for which no more time than the budget is taken
	minAnswerability = 0.3  // of an offered question; the generator without a model abstains below 0.26
	listed           = 2000 // documents among which those that are read are chosen
	read             = 24   // documents that are read
	readPassages     = 40   // of a document, from its beginning
	perDocument      = 8    // candidates of a document that are asked
	remembered       = 64   // collections whose questions are kept
)

// Maker makes questions. It keeps them as long as the collection does not change. It is safe for concurrent use.
type Maker struct {
	index Index
	ask   Ask
	o     Options

	busy chan struct{} // semaphore: one collection is read at a time

	mu   sync.Mutex
	kept map[key]result
}

type key struct{ collection, language string }

type result struct {
	version   uint64
	questions []string
}

// New returns a maker that reads an index and checks its questions with ask.
func New(ix Index, ask Ask, o Options) *Maker {
	if o.Budget <= 0 {
		o.Budget = 300 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Maker{index: ix, ask: ask, o: o, busy: make(chan struct{}, 1), kept: map[key]result{}}
}

// Questions returns at most 6 questions that the documents of a collection answer, each in the language of its document. Documents in the
// given language, a code of ISO 639-1, come first. A collection without documents has none. The error is that of the index or of ctx.
func (m *Maker) Questions(ctx context.Context, collection, language string) ([]string, error) {
	k := key{collection, language}
	version, err := m.index.Version(ctx, collection)
	if err != nil || version == 0 {
		return nil, err
	}
	if questions, ok := m.known(k, version); ok {
		return questions, nil
	}
	select {
	case m.busy <- struct{}{}:
		defer func() { <-m.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if questions, ok := m.known(k, version); ok {
		return questions, nil
	}
	documents, err := m.read(ctx, collection)
	if err != nil {
		return nil, err
	}
	c := choice{Maker: m, collection: collection, began: m.o.Now()}
	if err := c.from(ctx, documents[language]); err != nil {
		return nil, err
	}
	if len(c.questions) < enough {
		delete(documents, language)
		if err := c.from(ctx, byWeight(slices.Concat(slices.Collect(maps.Values(documents))...))); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kept) >= remembered {
		clear(m.kept)
	}
	m.kept[k] = result{version, c.questions}
	return c.questions, nil
}

func (m *Maker) known(k key, version uint64) ([]string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.kept[k]
	return r.questions, ok && r.version == version
}

// read returns the candidates of each document that is read, by language.
func (m *Maker) read(ctx context.Context, collection string) (map[string][][]candidate, error) {
	docs, err := m.index.Documents(ctx, collection, "", listed)
	if err != nil {
		return nil, fmt.Errorf("suggest questions: %w", err)
	}
	out := map[string][][]candidate{}
	headings := map[string]int{} // in how many documents they occur
	for i := range min(read, len(docs)) {
		d := docs[i*len(docs)/min(read, len(docs))] // spread over the list
		passages, err := m.index.DocumentChunks(ctx, collection, d.ID, corpus.Passage, 0, readPassages)
		if err != nil {
			return nil, fmt.Errorf("suggest questions: %w", err)
		}
		found, language := candidatesOf(passages)
		for _, c := range found {
			headings[c.heading]++
		}
		out[language] = append(out[language], found)
	}
	for language, documents := range out {
		for i, found := range documents {
			found = slices.DeleteFunc(found, func(c candidate) bool { return c.heading != "" && headings[c.heading] > 1 })
			documents[i] = found[:min(len(found), perDocument)]
		}
		out[language] = byWeight(documents)
	}
	return out, nil
}

// byWeight sorts documents by their best candidates. Those without candidates are left out.
func byWeight(documents [][]candidate) [][]candidate {
	documents = slices.DeleteFunc(documents, func(cs []candidate) bool { return len(cs) == 0 })
	slices.SortFunc(documents, func(a, b []candidate) int {
		return cmp.Or(cmp.Compare(b[0].weight, a[0].weight), cmp.Compare(a[0].passage.ID, b[0].passage.ID))
	})
	return documents
}

// choice is the questions for one collection while they are chosen.
type choice struct {
	*Maker
	collection string
	began      time.Time
	questions  []string
	terms      []map[string]struct{} // of the questions
}

// from asks candidates, those of different documents in turn, and adds the ones that are answered well.
func (c *choice) from(ctx context.Context, documents [][]candidate) error {
	share := 1 + most/max(1, len(documents))
	chosen := make([]int, len(documents)) // questions of each document
	for turn := range perDocument {
		for i, candidates := range documents {
			if c.over() {
				return nil
			}
			if turn >= len(candidates) || chosen[i] >= share || candidates[turn].heading != "" && len(c.questions) >= enough {
				continue
			}
			q := candidates[turn].question
			terms := lang.TermSet(q)
			if similar(terms, c.terms) {
				continue
			}
			good, err := c.good(ctx, candidates[turn])
			if err != nil {
				return err
			}
			if good {
				c.questions, c.terms = append(c.questions, q), append(c.terms, terms)
				chosen[i]++
			}
		}
	}
	return nil
}

// over reports whether there are enough questions, or no time for more.
func (c *choice) over() bool {
	spent := c.o.Now().Sub(c.began)
	return len(c.questions) >= most || spent > 3*c.o.Budget || len(c.questions) >= enough && spent > c.o.Budget
}

// good reports whether the passage that a question was made from answers it. Questions that cannot be asked are not offered.
func (c *choice) good(ctx context.Context, from candidate) (bool, error) {
	a, err := c.ask(ctx, c.collection, from.question)
	if err != nil {
		return false, ctx.Err()
	}
	if len(a.Cited) == 0 || a.Answerability < minAnswerability {
		return false, nil
	}
	first := a.Cited[0]
	return first == from.passage.ID || first == from.passage.Parent, nil
}

// similar reports whether a question asks about the same as one of others.
func similar(set map[string]struct{}, others []map[string]struct{}) bool {
	for _, other := range others {
		both := 0
		for t := range set {
			if _, ok := other[t]; ok {
				both++
			}
		}
		if 2*both > min(len(set), len(other)) {
			return true
		}
	}
	return false
}
