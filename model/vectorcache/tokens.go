package vectorcache

import (
	"container/list"
	"context"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/model"
)

// defaultTokenBytes is the size in memory where none is set: some 600 passages of 250 tokens of 100 components.
const defaultTokenBytes = 64 << 20

// Tokens is a [model.TokenEmbedder] that keeps what another gave in memory, by purpose and text. Of several calls that want
// the same text at once, one asks. Beyond the size, those go that were not used for longest.
type Tokens struct {
	inner  model.TokenEmbedder
	space  func() string
	gather gatherer[[]model.TokenVector]
	memory *memory
}

// NewTokens returns a cache of at most maxBytes, counted about (0: 64 MiB). The function space names the space of inner's vectors at
// the moment.
func NewTokens(inner model.TokenEmbedder, space func() string, maxBytes int64) *Tokens {
	if maxBytes <= 0 {
		maxBytes = defaultTokenBytes
	}
	t := &Tokens{inner: inner, space: space, memory: &memory{most: maxBytes, places: map[key]*list.Element{}}}
	t.gather.store = t.memory
	return t
}

// EmbedTokens implements [model.TokenEmbedder]. Texts that are not known go to the embedder behind in one call, each once;
// its errors are passed on. What is returned is shared: nobody may change it.
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
			err = fault.New(fault.Model, "the embedder gave vectors of %d texts for %d", len(vs), len(some))
		}
		return vs, err
	})
}

// Stats counts.
func (t *Tokens) Stats() Stats {
	t.gather.mu.Lock()
	defer t.gather.mu.Unlock()
	return Stats{Hits: t.gather.hits, Misses: t.gather.misses, Entries: len(t.memory.places), Bytes: t.memory.bytes}
}

// memory is a store of token vectors, of which those used last are kept.
type memory struct {
	most, bytes int64
	places      map[key]*list.Element // of entry
	order       list.List             // the one used last in front
}

type entry struct {
	key    key
	tokens []model.TokenVector
	bytes  int64
}

func (m *memory) get(k key) ([]model.TokenVector, bool) {
	e := m.places[k]
	if e == nil {
		return nil, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*entry).tokens, true
}

func (m *memory) put(ks []key, vs [][]model.TokenVector) {
	for i, k := range ks {
		e := &entry{k, vs[i], 200} // of maps and lists
		for _, t := range vs[i] {
			e.bytes += 64 + int64(len(t.Token)) + 4*int64(len(t.Vector))
		}
		if m.places[k] != nil || e.bytes > m.most {
			continue
		}
		m.places[k] = m.order.PushFront(e)
		for m.bytes += e.bytes; m.bytes > m.most; {
			last := m.order.Remove(m.order.Back()).(*entry)
			delete(m.places, last.key)
			m.bytes -= last.bytes
		}
	}
}
