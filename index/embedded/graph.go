package embedded

import (
	"context"
	"errors"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded/inverted"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/index/walk"
	"github.com/sluice-rag/sluice/lang"
)

const (
	maxMentioned = 100 // chunks of one call of EntitiesOf
)

// graph reads the entities and mentions of one snapshot of a collection. Entities are terms of two fields of the lexical index;
// mentions are stored in documents.db. It is not safe for concurrent use.
type graph struct {
	collection   uint32
	v            *view
	reader       chunkReader
	named, about *inverted.Terms // postings of fieldNamed and fieldAbout
	texts        *inverted.Terms // postings of fieldText; nil until needed
	statsByKey   map[string]entityStats
}

// entityStats counts the passages that mention an entity, and those that are about it.
type entityStats struct {
	chunks, about uint64
	whole         bool // whether about was counted
}

// inGraph runs do with the graph of a collection's newest snapshot. It does nothing if the collection has no passages.
func (x *Index) inGraph(ctx context.Context, collection string, do func(g *graph) error) error {
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	scope, c, err := x.resolve(collection)
	if err != nil || c == nil {
		return err
	}
	s, only, err := x.scoped(ctx, c, scope)
	if err != nil {
		return err
	}
	defer c.release(s)
	v := s.levels[corpus.Passage-1].scoped(only)
	if v.lexical == nil || v.chunks == 0 {
		return nil
	}
	return x.guardLexical(c, func() error {
		return x.view(func(tx *txn) error {
			g := &graph{collection: c.id, v: v, reader: chunkReader{tx: tx}, statsByKey: map[string]entityStats{}}
			var err error
			if g.named, err = v.termsOf(fieldNamed); err != nil {
				return err
			}
			if g.about, err = v.termsOf(fieldAbout); err != nil {
				return err
			}
			return do(g)
		})
	})
}

// stats counts the passages of an entity. To save a lookup, which is the main cost of a walk, it only counts the passages about the
// entity if more than one passage mentions it, or if all is set.
func (g *graph) stats(key string, all bool) (f entityStats, err error) {
	f, known := g.statsByKey[key]
	if !known {
		if f.chunks, err = count(g.named, key); err != nil {
			return f, err
		}
	}
	if !f.whole && (f.chunks > 1 || f.chunks > 0 && all) {
		if f.about, err = count(g.about, key); err != nil {
			return f, err
		}
		f.whole = true
	}
	g.statsByKey[key] = f
	return f, nil
}

func count(t *inverted.Terms, term string) (uint64, error) {
	n, err := t.Count(term)
	return uint64(n), err
}

// entity returns an entity, and false if no passage mentions it.
func (g *graph) entity(key string) (index.Entity, bool, error) {
	f, err := g.stats(key, true)
	if err != nil || f.chunks == 0 {
		return index.Entity{}, false, err
	}
	name, err := g.spelling(key, f)
	return index.Entity{Name: name, Chunks: int(f.chunks), About: int(f.about)}, true, err
}

// spelling returns the most frequent spelling of a name in the first passages that mention it; of several, the first one.
func (g *graph) spelling(key string, f entityStats) (string, error) {
	from := g.named
	if f.about > 0 {
		from = g.about
	}
	numbers, err := from.First(key, walk.FormsCompared)
	if err != nil {
		return "", err
	}
	found := make([]*prepare.Mentions, len(numbers))
	for i, n := range numbers {
		if found[i], err = g.names(n); err != nil {
			return "", err
		}
	}
	return walk.Spelling(key, found), nil
}

// names returns the mentions of the passage with number n in the lexical index. They are never nil.
func (g *graph) names(n uint32) (*prepare.Mentions, error) {
	out, err := g.reader.mentions(g.v.lexical.Row(n))
	if out == nil {
		out = &prepare.Mentions{}
	}
	return out, err
}

// Entities implements [index.Graph]. Case, accents, punctuation and articles are ignored. Stop words alone are not an entity. A
// single lower-case word is an entity only if a passage is about it. A single word that is in lower case, or the first of the
// text, must also be a name in one of eight passages that contain it: a document with the title Data does not make each "data"
// an entity. Only the first 400 words of a text are searched.
func (x *Index) Entities(ctx context.Context, collection, s string) ([]index.Entity, error) {
	var out []index.Entity
	err := x.inGraph(ctx, collection, func(g *graph) (err error) {
		out, err = g.entities(ctx, lang.Truncate(s, prepare.MaxQuery))
		return err
	})
	return out, failed("find entities", err)
}

func (g *graph) entities(ctx context.Context, s string) (out []index.Entity, err error) {
	names, err := walk.Names(ctx, s, func(key string) (walk.Stats, error) {
		f, err := g.stats(key, true)
		return walk.Stats{Chunks: f.chunks, About: f.about}, err
	}, g.holding)
	if err != nil {
		return nil, err
	}
	for _, key := range names {
		e, _, err := g.entity(key)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// holding counts the passages that contain a stem.
func (g *graph) holding(stem string) (uint64, error) {
	if g.texts == nil {
		var err error
		if g.texts, err = g.v.termsOf(fieldText); err != nil {
			return 0, err
		}
	}
	return count(g.texts, stem)
}

// EntitiesOf implements [index.Graph]. Unknown chunks and those without mentions have no entities. Only the first 100 ids are used.
func (x *Index) EntitiesOf(ctx context.Context, collection string, ids []corpus.ChunkID) ([][]index.Entity, error) {
	out := make([][]index.Entity, len(ids))
	err := x.inGraph(ctx, collection, func(g *graph) error {
		for i, id := range ids[:min(len(ids), maxMentioned)] {
			if err := ctx.Err(); err != nil {
				return err
			}
			n, ok, err := g.find(id)
			if err != nil || !ok {
				if err != nil {
					return err
				}
				continue
			}
			names, err := g.names(n)
			if err != nil {
				return err
			}
			if out[i], err = g.entitiesIn(names); err != nil {
				return err
			}
		}
		return nil
	})
	return out, failed("read entities", err)
}

// entitiesIn returns the entities of mentions; see [walk.EntitiesIn].
func (g *graph) entitiesIn(n *prepare.Mentions) ([]index.Entity, error) {
	var failure error
	out := walk.EntitiesIn(n.List, func(key string) walk.Stats {
		f, err := g.stats(key, true)
		failure = errors.Join(failure, err)
		return walk.Stats{Chunks: f.chunks, About: f.about}
	})
	return out, failure
}

// find returns the number of the passage with the id in the lexical index.
func (g *graph) find(id corpus.ChunkID) (uint32, bool, error) {
	row, ok, err := g.reader.find(g.collection, id)
	if err != nil || !ok || g.v.only != nil && !g.v.only.rows.has(row) {
		return 0, false, err
	}
	n, ok := g.v.lexical.Number(row) // not for a section, a sentence, or a passage newer than the snapshot
	return n, ok, nil
}
