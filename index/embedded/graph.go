package embedded

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

const (
	maxNameWords  = 12  // of an entity that is found in a text
	maxTextWords  = 400 // of a text in which entities are sought: the first
	maxEntities   = 64  // found in a text
	maxMentioned  = 100 // chunks that one call of Mentioned reads
	formsCompared = 8   // passages whose ways of writing a name are compared
	commonFrom    = 8   // passages with a word for each that makes a name of it: with more it is a common one
)

// graph reads what one state of a collection's passages name. The entities stand in the lexical index as terms of two
// fields, and what a passage names in documents.db by its row. It is for one goroutine.
type graph struct {
	collection   uint32
	v            *view
	tx           *txn
	named, about *postings // of the entities that passages name, and of those that they are about
	texts        *postings // of the terms of all that passages say; nil until it is asked for
	figures      map[string]figures
}

// figures say how many passages name an entity and are about it.
type figures struct {
	chunks, about uint64
	whole         bool // about was counted
}

// inGraph runs do with the graph of a collection's newest state; not at all if nothing was ever put into it.
func (x *Index) inGraph(ctx context.Context, collection string, do func(g *graph) error) error {
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	scope, c, err := x.named(collection)
	if err != nil || c == nil {
		return err
	}
	s, only, err := x.scoped(ctx, c, scope)
	if err != nil {
		return err
	}
	defer c.release(s)
	v := s.levels[corpus.Passage-1].scoped(only)
	if v.reader == nil || v.chunks == 0 {
		return nil
	}
	return x.guardLexical(c, func() error {
		return x.view(func(tx *txn) error {
			g := &graph{collection: c.id, v: v, tx: tx, figures: map[string]figures{}}
			var err error
			if g.named, err = v.postingsOf(fieldNamed); err != nil {
				return err
			}
			if g.about, err = v.postingsOf(fieldAbout); err != nil {
				return err
			}
			return do(g)
		})
	})
}

// figuresOf counts the passages of an entity; those that are about it only if more than one names it or all is asked for,
// as looking terms up is most of what a walk costs.
func (g *graph) figuresOf(key string, all bool) (f figures, err error) {
	f, known := g.figures[key]
	if !known {
		if f.chunks, err = g.named.count(key); err != nil {
			return f, err
		}
	}
	if !f.whole && (f.chunks > 1 || f.chunks > 0 && all) {
		if f.about, err = g.about.count(key); err != nil {
			return f, err
		}
		f.whole = true
	}
	g.figures[key] = f
	return f, nil
}

// entity gives an entity that some passage names, and false where none does.
func (g *graph) entity(key string) (index.Entity, bool, error) {
	f, err := g.figuresOf(key, true)
	if err != nil || f.chunks == 0 {
		return index.Entity{}, false, err
	}
	name, err := g.written(key, f)
	return index.Entity{Name: name, Chunks: int(f.chunks), About: int(f.about)}, true, err
}

// written gives the way in which most of the first passages write a name; of several, the one that comes first.
func (g *graph) written(key string, f figures) (string, error) {
	from := g.named
	if f.about > 0 {
		from = g.about
	}
	numbers, err := from.numbers(key, formsCompared)
	if err != nil {
		return "", err
	}
	var forms []string
	times := map[string]int{}
	for _, n := range numbers {
		names, err := g.names(n)
		if err != nil {
			return "", err
		}
		for _, m := range names.mentions {
			if lang.Name(m.Name) == key {
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
// is an entity only where some passage is about it; stop words alone are none. Nor is a word in small letters, or the first of
// the text, of which fewer than one in eight passages that hold it make a name: a document titled Data does not turn the
// word into one. Of a text the first 400 words are read.
func (x *Index) Entities(ctx context.Context, collection, s string) ([]index.Entity, error) {
	var out []index.Entity
	err := x.inGraph(ctx, collection, func(g *graph) (err error) {
		out, err = g.entities(ctx, lang.Head(s, maxQueryBytes))
		return err
	})
	return out, failed("find entities", err)
}

func (g *graph) entities(ctx context.Context, s string) (out []index.Entity, err error) {
	words := lang.Words(s)
	words = words[:min(len(words), maxTextWords)]
	folded := make([]string, len(words))
	for i, w := range words {
		folded[i] = lang.FoldWord(w.Text)
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
			f, err := g.figuresOf(key, true)
			if err != nil {
				return nil, err
			}
			if f.chunks == 0 {
				continue
			}
			if n == 1 {
				name, err := g.single(s, words[i], i == 0, f)
				if err != nil {
					return nil, err
				}
				if !name {
					continue
				}
			}
			if !seen[key] {
				seen[key] = true
				e, _, err := g.entity(key)
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

// single says whether a word that some passages name something by is a name where it stands alone in a text.
func (g *graph) single(s string, w lang.Token, first bool, f figures) (bool, error) {
	big := capital(s[w.Start:])
	if big && !first {
		return true, nil
	}
	if !big && f.about == 0 {
		return false, nil
	}
	if g.texts == nil {
		var err error
		if g.texts, err = g.v.postingsOf(fieldText); err != nil {
			return false, err
		}
	}
	holding, err := g.texts.count(lang.Stem(w.Text))
	return holding <= commonFrom*f.chunks, err
}

// nameable says whether words may be a name: they are in one line of one sentence, about, and not of stop words alone.
func nameable(s string, words []lang.Token) bool {
	first, last := words[0], words[len(words)-1]
	if len(words) > 1 && lang.Article(first.Text) {
		return false // the name stands without it
	}
	if strings.ContainsAny(s[first.Start:last.End], "\n?") {
		return false
	}
	for _, w := range words {
		if !lang.Stop(w.Text) {
			return true
		}
	}
	return false
}

func capital(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || unicode.IsTitle(r) || !unicode.IsLower(r)
}

// EntitiesOf implements [index.Graph]. Chunks that there are not and those that name nothing have an empty place; of more
// than 100 ids the first are looked up.
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
			if out[i], err = g.each(names); err != nil {
				return err
			}
		}
		return nil
	})
	return out, failed("read entities", err)
}

// each gives the entities of mentions, the strongest kind first and else in order.
func (g *graph) each(n *named) (out []index.Entity, err error) {
	sorted := slices.Clone(n.mentions)
	slices.SortStableFunc(sorted, func(a, b corpus.Mention) int { return cmp.Compare(a.Kind, b.Kind) })
	seen := map[string]bool{}
	for _, m := range sorted {
		key := lang.Name(m.Name)
		if seen[key] {
			continue
		}
		seen[key] = true
		f, err := g.figuresOf(key, true)
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
	if len(row) != 8 || g.v.only != nil && !g.v.only.rows.has(binary.BigEndian.Uint64(row)) {
		return 0, false, nil
	}
	internal, err := g.v.reader.InternalID(string(row))
	if err != nil || internal == nil {
		return 0, false, err // a section, a sentence, or newer than the state that is read
	}
	n, err := number(internal)
	return uint32(n), err == nil, err
}
