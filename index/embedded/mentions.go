package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index/prepare"
)

// appendMentions appends the number of mentions and the kind and name of each, then the number of relations and the mentions and
// words of each. Numbers and the lengths of strings are uvarints.
func appendMentions(b []byte, n *prepare.Mentions) []byte {
	b = binary.AppendUvarint(b, uint64(len(n.List)))
	for _, m := range n.List {
		b = append(b, byte(m.Kind))
		b = appendString(b, m.Name)
	}
	b = binary.AppendUvarint(b, uint64(len(n.Relations)))
	for _, r := range n.Relations {
		b = binary.AppendUvarint(b, uint64(r.From))
		b = binary.AppendUvarint(b, uint64(r.To))
		b = appendString(b, r.Predicate)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errTruncated = errors.New("truncated record")

// decodeMentions decodes the result of appendMentions.
func decodeMentions(raw []byte) (*prepare.Mentions, error) {
	d := decoder{rest: raw}
	out := &prepare.Mentions{}
	n := d.number(prepare.MaxMentions)
	for range n {
		out.List = append(out.List, corpus.Mention{Kind: corpus.MentionKind(d.number(int(corpus.Phrase))), Name: d.string()})
	}
	for range d.number(prepare.MaxRelations) {
		out.Relations = append(out.Relations, prepare.Relation{From: d.number(n - 1), To: d.number(n - 1), Predicate: d.string()})
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
	n := d.number(len(d.rest))
	if n > len(d.rest) {
		d.bad = true
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

// mentions returns the mentions of a row, or nil without mentions.
func (r *chunkReader) mentions(row uint64) (n *prepare.Mentions, err error) {
	raw, err := r.rawMentions(row)
	if err == nil && raw != nil {
		n, err = decodeMentions(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: mentions of chunk %d: %w", errDamaged, row, err)
	}
	return n, nil
}

// rawMentions returns the encoded mentions of a row: those of a nested document are with the text of its section, except if an earlier version wrote it.
func (r *chunkReader) rawMentions(row uint64) ([]byte, error) {
	if sealed := r.tx.Bucket(bucketMentions).Get(rowKey(row)); sealed != nil {
		return unseal(sealed)
	}
	rec, _, err := r.record(row)
	if err != nil || rec == nil || rec.mentions[1] == 0 {
		return nil, err
	}
	section, _, err := r.record(row - rec.up)
	if err != nil {
		return nil, err
	}
	if section == nil || section.level != corpus.Section {
		return nil, errTruncated
	}
	if err := r.open(row-rec.up, section); err != nil {
		return nil, err
	}
	from := section.size + rec.mentions[0]
	if from+rec.mentions[1] > uint64(len(r.text)) {
		return nil, errTruncated
	}
	return []byte(r.text[from : from+rec.mentions[1]]), nil
}
