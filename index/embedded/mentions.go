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

// Limits of the mentions and relations of a passage. Further and longer ones are dropped.
const (
	maxMentions       = 128
	maxRelations      = 128
	maxNameBytes      = 200
	maxPredicateBytes = 200
)

// passageMentions holds the mentions of a passage, and the relations between them by index.
type passageMentions struct {
	mentions  []corpus.Mention
	names     []string // [lang.NormalizeName] of each mention; nil: not computed
	relations []relation
}

type relation struct {
	from, to  int
	predicate string
}

// mentionsOf returns the mentions of an entry, or nil if it has none.
func mentionsOf(e *index.Entry) (*passageMentions, error) {
	if e.Level != corpus.Passage || len(e.Mentions) == 0 {
		return nil, nil
	}
	out := &passageMentions{}
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
		key := lang.NormalizeName(m.Name)
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
		if !okFrom || !okTo || len(r.Predicate) > maxPredicateBytes || !utf8.ValidString(r.Predicate) || strings.TrimSpace(r.Predicate) == "" {
			continue
		}
		if len(out.relations) == maxRelations {
			break
		}
		out.relations = append(out.relations, relation{from, to, r.Predicate})
	}
	if len(out.mentions) == 0 {
		return nil, nil
	}
	return out, nil
}

// key returns the entity of a mention.
func (n *passageMentions) key(i int) string {
	if n.names != nil {
		return n.names[i]
	}
	return lang.NormalizeName(n.mentions[i].Name)
}

// keys returns all entities, and those that the passage is about, each once.
func (n *passageMentions) keys() (all, subjects []string) {
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

// encodeMentions encodes the number of mentions and the kind and name of each, then the number of relations and the mentions and
// words of each. Numbers and the lengths of strings are uvarints.
func encodeMentions(n *passageMentions) []byte {
	b := binary.AppendUvarint(nil, uint64(len(n.mentions)))
	for _, m := range n.mentions {
		b = append(b, byte(m.Kind))
		b = appendString(b, m.Name)
	}
	b = binary.AppendUvarint(b, uint64(len(n.relations)))
	for _, r := range n.relations {
		b = binary.AppendUvarint(b, uint64(r.from))
		b = binary.AppendUvarint(b, uint64(r.to))
		b = appendString(b, r.predicate)
	}
	return seal(b)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errTruncated = errors.New("truncated record")

// decodeMentions decodes the result of encodeMentions.
func decodeMentions(b []byte) (*passageMentions, error) {
	raw, err := unseal(b)
	if err != nil {
		return nil, err
	}
	d := decoder{rest: raw}
	out := &passageMentions{}
	n := d.number(maxMentions)
	for range n {
		out.mentions = append(out.mentions, corpus.Mention{Kind: corpus.MentionKind(d.number(int(corpus.Phrase))), Name: d.string()})
	}
	for range d.number(maxRelations) {
		out.relations = append(out.relations, relation{d.number(n - 1), d.number(n - 1), d.string()})
	}
	if d.bad || len(d.rest) > 0 {
		return nil, errTruncated
	}
	return out, nil
}

// decoder decodes a record. bad is set if the record is too short or has an invalid number.
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
	n := d.number(max(maxNameBytes, maxPredicateBytes))
	if n > len(d.rest) {
		d.bad = true
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

// readMentions returns the mentions of a row, or nil without mentions.
func readMentions(tx *txn, row uint64) (*passageMentions, error) {
	raw := tx.Bucket(bucketMentions).Get(rowKey(row))
	if raw == nil {
		return nil, nil
	}
	n, err := decodeMentions(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: mentions of chunk %d: %w", errDamaged, row, err)
	}
	return n, nil
}
