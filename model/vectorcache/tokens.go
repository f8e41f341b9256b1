package vectorcache

import (
	"container/list"
	"context"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/model"
)

// defaultTokenBytes is the default size limit in memory: about 600 passages of 250 tokens of 100 components.
const defaultTokenBytes = 64 << 20

// Tokens is a [model.TokenEmbedder] that caches the vectors of another in memory, by space, purpose and text. If several calls need the same text
// at once, one of them embeds it. When the cache is full, it drops the least recently used texts.
type Tokens struct {
	inner  model.TokenEmbedder
	space  func() string
	gather *gatherer[[]model.TokenVector]
	memory *memory
}

// NewTokens returns a cache of approximately maxBytes at most (0: 64 MiB). The function space returns the current space of inner's vectors.
func NewTokens(inner model.TokenEmbedder, space func() string, maxBytes int64) *Tokens {
	if maxBytes <= 0 {
		maxBytes = defaultTokenBytes
	}
	t := &Tokens{inner: inner, space: space, gather: &gatherer[[]model.TokenVector]{}, memory: &memory{maxBytes: maxBytes, entries: map[key]*list.Element{}}}
	t.gather.store = t.memory
	return t
}

// WithSpace returns the cache with another function for the space. Both share the memory.
func (t *Tokens) WithSpace(space func() string) *Tokens {
	other := *t
	other.space = space
	return &other
}

// EmbedTokens implements [model.TokenEmbedder]. It passes the unknown texts to the inner embedder in one call, each once, and returns its errors.
// Callers share the vectors and must not change them.
func (t *Tokens) EmbedTokens(ctx context.Context, texts []string, p model.Purpose) ([][]model.TokenVector, error) {
	space := t.space()
	keys := make([]key, len(texts))
	for i, s := range texts {
		keys[i] = keyOf(space, p, s)
	}
	return t.gather.all(ctx, keys, func(ctx context.Context, which []int) ([][]model.TokenVector, error) {
		some := make([]string, len(which))
		for k, i := range which {
			some[k] = texts[i]
		}
		vs, err := t.inner.EmbedTokens(ctx, some, p)
		if err == nil && len(vs) != len(some) {
			err = fault.New(fault.Model, "the embedder returned the vectors of %d texts for %d texts", len(vs), len(some))
		}
		return vs, err
	})
}

// Stats returns the lookups since the cache was created, and its content.
func (t *Tokens) Stats() Stats {
	t.gather.mu.Lock()
	defer t.gather.mu.Unlock()
	return Stats{Hits: t.gather.hits, Misses: t.gather.misses, Entries: len(t.memory.entries), Bytes: t.memory.bytes}
}

// memory is a [store] of token vectors that drops the least recently used ones.
type memory struct {
	maxBytes, bytes int64
	entries         map[key]*list.Element // of *entry
	order           list.List             // most recently used first
}

type entry struct {
	key    key
	tokens []model.TokenVector
	bytes  int64
}

func (m *memory) get(k key) ([]model.TokenVector, bool) {
	e := m.entries[k]
	if e == nil {
		return nil, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*entry).tokens, true
}

func (m *memory) put(ks []key, vs [][]model.TokenVector) {
	for i, k := range ks {
		e := &entry{k, vs[i], 200} // for the map and the list
		for _, t := range vs[i] {
			e.bytes += 64 + int64(len(t.Token)) + 4*int64(len(t.Vector))
		}
		if m.entries[k] != nil || e.bytes > m.maxBytes {
			continue
		}
		m.entries[k] = m.order.PushFront(e)
		for m.bytes += e.bytes; m.bytes > m.maxBytes; {
			last := m.order.Remove(m.order.Back()).(*entry)
			delete(m.entries, last.key)
			m.bytes -= last.bytes
		}
	}
}
