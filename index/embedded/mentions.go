package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// What is kept of a passage's mentions and relations: the first of them, and none whose name or words are longer.
const (
	maxMentions  = 128
	maxRelations = 128
	maxNameBytes = 200
	maxSaysBytes = 200
)

// named is what a passage names. Relations are between the mentions of their numbers.
type named struct {
	mentions  []corpus.Mention
	names     []string // what [lang.Name] makes of each mention's; nil: not known yet
	relations []related
}

type related struct {
	from, to int
	says     string
}

// namedBy gives what is kept of an entry's mentions; nil where there is nothing.
func namedBy(e *index.Entry) (*named, error) {
	if e.Level != corpus.Passage || len(e.Mentions) == 0 {
		return nil, nil
	}
	out := &named{}
	place := map[string]int{}
	for _, m := range e.Mentions {
		if m.Kind < corpus.Subject || m.Kind > corpus.Phrase {
			return nil, fault.Invalid("mention", "there is no kind %d", m.Kind)
		}
		if len(m.Name) > maxNameBytes || !utf8.ValidString(m.Name) {
			continue
		}
		if i, ok := place[m.Name]; ok {
			out.mentions[i].Kind = min(out.mentions[i].Kind, m.Kind)
			continue
		}
		if len(out.mentions) == maxMentions {
			break
		}
		key := lang.Name(m.Name)
		if key == "" {
			continue
		}
		place[m.Name] = len(out.mentions)
		out.mentions = append(out.mentions, m)
		out.names = append(out.names, key)
	}
	for _, r := range e.Relations {
		from, okFrom := place[r.From]
		to, okTo := place[r.To]
		if !okFrom || !okTo || len(r.Predicate) > maxSaysBytes || !utf8.ValidString(r.Predicate) || strings.TrimSpace(r.Predicate) == "" {
			continue
		}
		if len(out.relations) == maxRelations {
			break
		}
		out.relations = append(out.relations, related{from, to, r.Predicate})
	}
	if len(out.mentions) == 0 {
		return nil, nil
	}
	return out, nil
}

// key is the entity of a mention.
func (n *named) key(i int) string {
	if n.names != nil {
		return n.names[i]
	}
	return lang.Name(n.mentions[i].Name)
}

// keys gives the entities that are named, and those that the passage is about, each once.
func (n *named) keys() (all, subjects []string) {
	if n == nil {
		return nil, nil
	}
	seen := make(map[string]corpus.MentionKind, len(n.mentions))
	for i, m := range n.mentions {
		key := n.key(i)
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

// sealNamed writes the number of mentions and each one's kind and name, then the number of relations and each one's
// mentions and words. Numbers and the lengths before strings are uvarints.
func sealNamed(n *named) []byte {
	b := binary.AppendUvarint(nil, uint64(len(n.mentions)))
	for _, m := range n.mentions {
		b = append(b, byte(m.Kind))
		b = appendString(b, m.Name)
	}
	b = binary.AppendUvarint(b, uint64(len(n.relations)))
	for _, r := range n.relations {
		b = binary.AppendUvarint(b, uint64(r.from))
		b = binary.AppendUvarint(b, uint64(r.to))
		b = appendString(b, r.says)
	}
	return seal(b)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errRecord = errors.New("cut short")

// unsealNamed reads what sealNamed wrote.
func unsealNamed(b []byte) (*named, error) {
	raw, err := unseal(b)
	if err != nil {
		return nil, err
	}
	d := decoder{rest: raw}
	out := &named{}
	n := d.number(maxMentions)
	for range n {
		out.mentions = append(out.mentions, corpus.Mention{Kind: corpus.MentionKind(d.number(int(corpus.Phrase))), Name: d.string()})
	}
	for range d.number(maxRelations) {
		out.relations = append(out.relations, related{d.number(n - 1), d.number(n - 1), d.string()})
	}
	if d.bad || len(d.rest) > 0 {
		return nil, errRecord
	}
	return out, nil
}

// decoder reads a record; bad says that there was less in it, or something else, than was read.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number(most int) int {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || most < 0 || v > uint64(most) {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return int(v)
}

func (d *decoder) string() string {
	n := d.number(max(maxNameBytes, maxSaysBytes))
	if n > len(d.rest) {
		d.bad = true
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

// readNamed gives what a row names; nil where it names nothing.
func readNamed(tx *txn, row uint64) (*named, error) {
	raw := tx.Bucket(bucketMentions).Get(rowKey(row))
	if raw == nil {
		return nil, nil
	}
	n, err := unsealNamed(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: mentions of chunk %d: %w", errDamaged, row, err)
	}
	return n, nil
}
