package embedded

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	bleve "github.com/blevesearch/bleve_index_api"
	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/text"
)

const (
	maxNameWords  = 12  // of an entity that is found in a text
	maxTextWords  = 400 // of a text in which entities are sought: the first
	maxEntities   = 64  // found in a text
	maxMentioned  = 100 // chunks that one call of Mentioned reads
	formsCompared = 8   // passages whose ways of writing a name are compared
)

// graph reads what one state of a collection's passages name. The entities stand in the lexical index as terms of two
// fields, and what a passage names in documents.db by its row. It is for one goroutine.
type graph struct {
	collection uint32
	v          *view
	tx         *bolt.Tx
	contains   [2]bleve.FieldDictContains // by field; nil: no passage has it
	figures    map[string]figures
}

// figures say how many passages name an entity and are about it.
type figures struct{ chunks, about uint64 }

var graphFields = [2]string{fieldNamed, fieldAbout}

// inGraph runs do with the graph of a collection's newest state; not at all if nothing was ever put into it.
func (x *Index) inGraph(ctx context.Context, collection string, do func(g *graph) error) error {
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	c, err := x.collection(collection)
	if err != nil || c == nil {
		return err
	}
	s := c.acquire()
	defer c.release(s)
	v := &s.levels[corpus.Passage-1]
	if v.reader == nil || v.chunks == 0 {
		return nil
	}
	return guard(x.path(folderLexical), func() error {
		return x.view(func(tx *bolt.Tx) error {
			g := &graph{collection: c.id, v: v, tx: tx, figures: map[string]figures{}}
			if r, ok := v.reader.(bleve.IndexReaderContains); ok {
				for i, f := range graphFields {
					var err error
					if g.contains[i], err = r.FieldDictContains(f); err != nil {
						return err
					}
				}
			}
			return do(g)
		})
	})
}

// figuresOf counts the passages of an entity.
func (g *graph) figuresOf(ctx context.Context, key string) (figures, error) {
	if f, ok := g.figures[key]; ok {
		return f, nil
	}
	var counts [2]uint64
	for i, field := range graphFields {
		if c := g.contains[i]; c != nil {
			if ok, err := c.Contains([]byte(key)); err != nil || !ok {
				if err != nil {
					return figures{}, err
				}
				continue
			}
		}
		var err error
		if counts[i], err = g.v.df(ctx, field, key); err != nil {
			return figures{}, err
		}
	}
	f := figures{counts[0], counts[1]}
	g.figures[key] = f
	return f, nil
}

// entity gives an entity that some passage names, and false where none does.
func (g *graph) entity(ctx context.Context, key string) (index.Entity, bool, error) {
	f, err := g.figuresOf(ctx, key)
	if err != nil || f.chunks == 0 {
		return index.Entity{}, false, err
	}
	name, err := g.written(ctx, key, f)
	return index.Entity{Name: name, Chunks: int(f.chunks), About: int(f.about)}, true, err
}

// written gives the way in which most of the first passages write a name; of several, the one that comes first.
func (g *graph) written(ctx context.Context, key string, f figures) (string, error) {
	field := fieldNamed
	if f.about > 0 {
		field = fieldAbout
	}
	r, err := g.v.reader.TermFieldReader(ctx, []byte(key), field, false, false, false)
	if err != nil {
		return "", err
	}
	defer r.Close()
	var forms []string
	times := map[string]int{}
	var d bleve.TermFieldDoc
	for range formsCompared {
		got, err := r.Next(d.Reset())
		if err != nil || got == nil {
			if err != nil {
				return "", err
			}
			break
		}
		n, err := number(got.ID)
		if err != nil {
			return "", err
		}
		names, err := g.names(uint32(n))
		if err != nil {
			return "", err
		}
		for _, m := range names.mentions {
			if text.Name(m.Name) == key {
				if times[m.Name] == 0 {
					forms = append(forms, m.Name)
				}
				times[m.Name]++
			}
		}
	}
	if len(forms) == 0 {
		return key, nil
	}
	return slices.MaxFunc(forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(times[a], times[b]), cmp.Compare(slices.Index(forms, b), slices.Index(forms, a)))
	}), nil
}

// names gives what a passage names by scorch's number; it is never nil.
func (g *graph) names(n uint32) (*named, error) {
	row, err := g.v.row(n)
	if err != nil {
		return nil, err
	}
	out, err := readNamed(g.tx, row)
	if out == nil {
		out = &named{}
	}
	return out, err
}

// Entities implements [index.Graph]. Case, accents, punctuation and articles do not count. A single word in small letters
// is an entity only where some passage is about it; stop words alone are none. Of a text the first 400 words are read.
func (x *Index) Entities(ctx context.Context, collection, s string) ([]index.Entity, error) {
	var out []index.Entity
	err := x.inGraph(ctx, collection, func(g *graph) (err error) {
		out, err = g.entities(ctx, text.Head(s, maxQueryBytes))
		return err
	})
	return out, failed("find entities", err)
}

func (g *graph) entities(ctx context.Context, s string) (out []index.Entity, err error) {
	words := text.Words(s)
	words = words[:min(len(words), maxTextWords)]
	folded := make([]string, len(words))
	for i, w := range words {
		folded[i] = text.FoldWord(w.Text)
	}
	seen := map[string]bool{}
	for i := 0; i < len(words) && len(out) < maxEntities; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(maxNameWords, len(words)-i)
		for ; n > 0; n-- {
			if !nameable(s, words[i:i+n]) {
				continue
			}
			key := strings.Join(folded[i:i+n], " ")
			f, err := g.figuresOf(ctx, key)
			if err != nil {
				return nil, err
			}
			if f.chunks == 0 || n == 1 && f.about == 0 && !capital(s[words[i].Start:]) {
				continue
			}
			if !seen[key] {
				seen[key] = true
				e, _, err := g.entity(ctx, key)
				if err != nil {
					return nil, err
				}
				out = append(out, e)
			}
			break
		}
		i += max(n, 1)
	}
	return out, nil
}

// nameable says whether words may be a name: they are in one line of one sentence, about, and not of stop words alone.
func nameable(s string, words []text.Token) bool {
	first, last := words[0], words[len(words)-1]
	if len(words) > 1 && text.Article(first.Text) {
		return false // the name stands without it
	}
	if strings.ContainsAny(s[first.Start:last.End], "\n?") {
		return false
	}
	for _, w := range words {
		if !text.Stop(w.Text) {
			return true
		}
	}
	return false
}

func capital(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || unicode.IsTitle(r) || !unicode.IsLower(r)
}

// Mentioned implements [index.Graph]. Chunks that there are not and those that name nothing have an empty place; of more
// than 100 ids the first are looked up.
func (x *Index) Mentioned(ctx context.Context, collection string, ids []corpus.ChunkID) ([][]index.Entity, error) {
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
			if out[i], err = g.each(ctx, names); err != nil {
				return err
			}
		}
		return nil
	})
	return out, failed("read entities", err)
}

// each gives the entities of mentions, the strongest kind first and else in order.
func (g *graph) each(ctx context.Context, n *named) (out []index.Entity, err error) {
	sorted := slices.Clone(n.mentions)
	slices.SortStableFunc(sorted, func(a, b corpus.Mention) int { return cmp.Compare(a.Kind, b.Kind) })
	seen := map[string]bool{}
	for _, m := range sorted {
		key := text.Name(m.Name)
		if seen[key] {
			continue
		}
		seen[key] = true
		f, err := g.figuresOf(ctx, key)
		if err != nil {
			return nil, err
		}
		if f.chunks > 0 {
			out = append(out, index.Entity{Name: m.Name, Chunks: int(f.chunks), About: int(f.about)})
		}
	}
	return out, nil
}

// find gives scorch's number of a passage by its id.
func (g *graph) find(id corpus.ChunkID) (uint32, bool, error) {
	if id == "" || len(id) > maxKey {
		return 0, false, nil
	}
	row := g.tx.Bucket(bucketIDs).Get(idKey(g.collection, string(id)))
	if len(row) != 8 {
		return 0, false, nil
	}
	internal, err := g.v.reader.InternalID(string(row))
	if err != nil || internal == nil {
		return 0, false, err // a section, a sentence, or newer than the state that is read
	}
	n, err := number(internal)
	return uint32(n), err == nil, err
}
