package prepare

import (
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// Limits of the mentions and relations of a passage. Further and longer ones are dropped.
const (
	MaxMentions       = 128
	MaxRelations      = 128
	MaxNameBytes      = 200
	MaxPredicateBytes = 200
)

// Mentions holds the mentions of a passage, and the relations between them by index.
type Mentions struct {
	List      []corpus.Mention
	names     []string // [lang.NormalizeName] of each mention; nil: not computed
	Relations []Relation
}

// Relation is a relation between two mentions, by their places in the list.
type Relation struct {
	From, To  int
	Predicate string
}

// mentionsOf returns the mentions of an entry, or nil if it has none.
func mentionsOf(e *index.Entry) (*Mentions, error) {
	if e.Level != corpus.Passage || len(e.Mentions) == 0 {
		return nil, nil
	}
	size := min(len(e.Mentions), MaxMentions)
	out := &Mentions{List: make([]corpus.Mention, 0, size), names: make([]string, 0, size)}
	place := make(map[string]int, size)
	for _, m := range e.Mentions {
		if m.Kind < corpus.Subject || m.Kind > corpus.Phrase {
			return nil, fault.Invalid("mention", "there is no kind %d", m.Kind)
		}
		if len(m.Name) > MaxNameBytes || !utf8.ValidString(m.Name) {
			continue
		}
		if i, ok := place[m.Name]; ok {
			out.List[i].Kind = min(out.List[i].Kind, m.Kind)
			continue
		}
		if len(out.List) == MaxMentions {
			break
		}
		key := lang.NormalizeName(m.Name)
		if key == "" {
			continue
		}
		place[m.Name] = len(out.List)
		out.List = append(out.List, m)
		out.names = append(out.names, key)
	}
	for _, r := range e.Relations {
		from, okFrom := place[r.From]
		to, okTo := place[r.To]
		if !okFrom || !okTo || len(r.Predicate) > MaxPredicateBytes || !utf8.ValidString(r.Predicate) || strings.TrimSpace(r.Predicate) == "" {
			continue
		}
		if len(out.Relations) == MaxRelations {
			break
		}
		out.Relations = append(out.Relations, Relation{from, to, r.Predicate})
	}
	if len(out.List) == 0 {
		return nil, nil
	}
	return out, nil
}

// Key returns the entity of a mention.
func (n *Mentions) Key(i int) string {
	if n.names != nil {
		return n.names[i]
	}
	return lang.NormalizeName(n.List[i].Name)
}

// Keys returns all entities, and those that the passage is about, each once.
func (n *Mentions) Keys() (all, subjects []string) {
	if n == nil {
		return nil, nil
	}
	seen := make(map[string]corpus.MentionKind, len(n.List))
	for i, m := range n.List {
		key := n.Key(i)
		kind, ok := seen[key]
		if !ok {
			all = append(all, key)
		}
		if m.Kind == corpus.Subject && kind != corpus.Subject {
			subjects = append(subjects, key)
		}
		if !ok || m.Kind < kind {
			seen[key] = m.Kind
		}
	}
	return all, subjects
}

// Restore sets the mentions and relations of an entry that was stored with n, which may be nil.
func (n *Mentions) Restore(e *index.Entry) {
	if n == nil {
		return
	}
	e.Mentions = n.List
	for _, r := range n.Relations {
		e.Relations = append(e.Relations, corpus.Relation{From: n.List[r.From].Name, To: n.List[r.To].Name, Predicate: r.Predicate})
	}
}
