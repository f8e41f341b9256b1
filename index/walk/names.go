package walk

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

const (
	maxNameWords = 12  // words of an entity in a text
	maxTextWords = 400 // words of a text that are searched for entities
	maxEntities  = 64  // entities of a text
	commonFrom   = 8   // a word is a common one if more than this many times as many passages contain it as mention it as a name
	// FormsCompared is the number of passages whose spellings of a name are compared.
	FormsCompared = 8
)

// text is a text with its words in the form that they have in the keys of entities.
type text struct {
	s      string
	words  []lang.Token
	folded []string
}

func textOf(s string) text {
	words := lang.Words(s)
	words = words[:min(len(words), maxTextWords)]
	t := text{s, words, make([]string, len(words))}
	for i, w := range words {
		t.folded[i] = lang.FoldWord(w.Text)
	}
	return t
}

// key returns the key of n words from the i-th, or false if they cannot be a name.
func (t text) key(i, n int) (string, bool) {
	if !canBeName(t.s, t.words[i:i+n]) {
		return "", false
	}
	return strings.Join(t.folded[i:i+n], " "), true
}

// Candidates returns the keys of all entities that [Names] may ask about, each once.
func Candidates(s string) (keys []string) {
	t := textOf(s)
	seen := map[string]bool{}
	for i := range t.words {
		for n := 1; n <= min(maxNameWords, len(t.words)-i); n++ {
			if k, ok := t.key(i, n); ok && !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// Names returns the keys of the entities in a text, in its order, each once; see [index.Graph]. stats counts the passages of an entity, with those about
// it; holding counts those that contain a stem. Case, accents, punctuation and articles are ignored. Stop words alone are not an entity. A single
// lower-case word is an entity only if a passage is about it. A single word that is in lower case, or the first of the text, must also be a name in one
// of eight passages that contain it: a document with the title Data does not make each "data" an entity. Only the first 400 words are searched.
func Names(ctx context.Context, s string, stats func(key string) (Stats, error), holding func(stem string) (uint64, error)) (keys []string, err error) {
	t := textOf(s)
	for i := 0; i < len(t.words) && len(keys) < maxEntities; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(maxNameWords, len(t.words)-i)
		for ; n > 0; n-- {
			key, ok := t.key(i, n)
			if !ok {
				continue
			}
			f, err := stats(key)
			if err != nil {
				return nil, err
			}
			if f.Chunks == 0 {
				continue
			}
			if n == 1 {
				name, err := isSingleName(s, t.words[i], i == 0, f, holding)
				if err != nil {
					return nil, err
				}
				if !name {
					continue
				}
			}
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
			break
		}
		i += max(n, 1)
	}
	return keys, nil
}

// isSingleName reports whether a word that some passages use as a name is a name where it occurs alone in a text.
func isSingleName(s string, w lang.Token, first bool, f Stats, holding func(string) (uint64, error)) (bool, error) {
	big := capital(s[w.Start:])
	if big && !first {
		return true, nil
	}
	if !big && f.About == 0 {
		return false, nil
	}
	n, err := holding(lang.Stem(w.Text))
	return n <= commonFrom*f.Chunks, err
}

// canBeName reports whether words may be a name: they are on one line, probably in one sentence, and not all stop words.
func canBeName(s string, words []lang.Token) bool {
	first, last := words[0], words[len(words)-1]
	if len(words) > 1 && lang.IsArticle(first.Text) {
		return false // names are stored without their article
	}
	if strings.ContainsAny(s[first.Start:last.End], "\n?") {
		return false
	}
	for _, w := range words {
		if !lang.IsStopWord(w.Text) {
			return true
		}
	}
	return false
}

func capital(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || unicode.IsTitle(r) || !unicode.IsLower(r)
}

// Spelling returns the most frequent spelling of an entity in the mentions of passages; of several, the first one; without any, the key.
func Spelling(key string, passages []*prepare.Mentions) string {
	var forms []string
	times := map[string]int{}
	for _, p := range passages {
		for _, m := range p.List {
			if lang.NormalizeName(m.Name) == key {
				if times[m.Name] == 0 {
					forms = append(forms, m.Name)
				}
				times[m.Name]++
			}
		}
	}
	if len(forms) == 0 {
		return key
	}
	return slices.MaxFunc(forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(times[a], times[b]), cmp.Compare(slices.Index(forms, b), slices.Index(forms, a)))
	})
}

// EntitiesIn returns the entities of the mentions of a passage, the strongest kind first, otherwise in order.
func EntitiesIn(mentions []corpus.Mention, stats func(key string) Stats) (out []index.Entity) {
	sorted := slices.Clone(mentions)
	slices.SortStableFunc(sorted, func(a, b corpus.Mention) int { return cmp.Compare(a.Kind, b.Kind) })
	seen := map[string]bool{}
	for _, m := range sorted {
		key := lang.NormalizeName(m.Name)
		if seen[key] {
			continue
		}
		seen[key] = true
		if f := stats(key); f.Chunks > 0 {
			out = append(out, index.Entity{Name: m.Name, Chunks: int(f.Chunks), About: int(f.About)})
		}
	}
	return out
}
