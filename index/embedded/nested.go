package embedded

import (
	"encoding/binary"
	"encoding/hex"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

// A document is nested if each of its passages is a piece of a section, and each of its sentences a piece of a passage. The text of a nested document is stored
// once, compressed, in the records of its sections. Only its passages have vectors and are in a lexical index; its sections and
// sentences are found through them. The ingestion only makes nested documents. Other documents are stored chunk by chunk, each with its own vector
// and its own terms.

// nesting describes the entries of a nested document, by their places in the change.
type nesting struct {
	parent      []int    // the entry that contains it; -1: a section
	at          []uint64 // its row minus the first row of the document
	parts       [][2]int // of a section or passage: the range of its parts in the order of rows
	order       []entryRow
	proposition []int       // of a sentence: where its proposition begins after the text of its section
	mentions    [][2]uint64 // of a passage: where its mentions begin after the text of its section, and their size
	// computed means that the ids are those of [corpus.NewChunkID] and the ordinals count from 0, and that the sentences of a passage are in the order of the text. So records have no ids, and
	// those of the sentences of a passage are one; see sentenceRun.
	computed bool
}

// nestingOf returns the nesting of a change's entries, or nil if the document is not nested.
func nestingOf(ch *change) *nesting {
	size, ids := len(ch.entries), corpus.ChunkIDsOf(ch.doc.ID)
	n := &nesting{parent: make([]int, size), at: make([]uint64, size), parts: make([][2]int, size), order: assignRows(ch, 0), proposition: make([]int, size), mentions: make([][2]uint64, size), computed: true}
	byID := make(map[corpus.ChunkID]int, size)
	last := 0 // row of the parent of the chunk before
	var ordinals [levels]int
	written := make([]int, size) // by section: bytes of propositions and mentions
	for i, p := range n.order {
		e := &ch.entries[p.entry]
		n.at[p.entry] = uint64(i)
		byID[e.ID] = p.entry
		odd := func(n int) bool { return n < 0 || n > maxNumber }
		if odd(e.Ordinal) || odd(e.Start) || slices.ContainsFunc(e.Pages, odd) || slices.ContainsFunc(e.PageStarts, odd) {
			return nil
		}
		n.computed = n.computed && e.Ordinal == ordinals[e.Level-1] && ids.Match(e.ID, e.Level, e.Ordinal, e.Text)
		ordinals[e.Level-1]++
		if e.Level == corpus.Section {
			if n.parent[p.entry] = -1; e.Parent != "" || e.Proposition != "" || e.End != e.Start+len(e.Text) {
				return nil
			}
			continue
		}
		parent, ok := byID[e.Parent]
		if !ok || !contains(&ch.entries[parent].Chunk, &e.Chunk) || e.Level == corpus.Passage && e.Proposition != "" {
			return nil
		}
		at := int(n.at[parent])
		if at < last { // parts of one chunk are not neighbours
			return nil
		}
		last, n.parent[p.entry] = at, parent
		if n.parts[parent][1] == 0 {
			n.parts[parent][0] = i
		} else if e.Start < ch.entries[n.order[i-1].entry].Start {
			n.computed = false
		}
		n.parts[parent][1] = i + 1
		if e.Level == corpus.Sentence {
			n.proposition[p.entry] = written[n.parent[parent]]
			written[n.parent[parent]] += len(e.Proposition)
		}
	}
	for i := range ch.entries {
		if ch.entries[i].Level == corpus.Section && n.parts[i][1] == 0 {
			return nil
		}
	}
	if size == 0 {
		return nil
	}
	var b []byte
	for _, p := range n.order {
		if m := ch.named[p.entry]; m != nil {
			section := n.parent[p.entry]
			b = appendMentions(b[:0], m)
			n.mentions[p.entry] = [2]uint64{uint64(written[section]), uint64(len(b))}
			written[section] += len(b)
		}
	}
	return n
}

// contains reports whether c is a piece of p, which is one level up.
func contains(p, c *corpus.Chunk) bool {
	from := c.Start - p.Start
	return p.Level == c.Level-1 && from >= 0 && len(c.Text) <= len(p.Text)-from && c.End == c.Start+len(c.Text) &&
		p.Text[from:from+len(c.Text)] == c.Text && p.Title == c.Title && slices.Equal(p.Headings, c.Headings)
}

// nestedRecord is the record of a chunk of a nested document. The record begins with its level, so that it differs from the JSON of other chunks.
type nestedRecord struct {
	level   corpus.Level
	id      corpus.ChunkID // empty: computed
	ordinal uint64
	start   uint64 // of a section: in the document; else: in the text of the section
	size    uint64 // of the text
	up      uint64 // passage, sentence: its row minus that of its parent
	parts   [2]uint64
	// The place of a sentence's proposition and of a passage's mentions after the text of the section, and their size.
	proposition, mentions [2]uint64
	pages, starts         []int
	rest                  []byte // of a section: the compressed sectionText
}

// Flags in the first byte of a record.
const (
	noID        = 0x10 // the id is computed
	hasMentions = 0x20 // of a passage; they are with the text of the section
)

func (r *nestedRecord) encode() []byte {
	b := append(make([]byte, 0, 64+len(r.rest)), byte(r.level))
	if r.mentions[1] > 0 {
		b[0] |= hasMentions
	}
	if r.id == "" {
		b[0] |= noID
	} else if raw, err := hex.DecodeString(strings.TrimPrefix(string(r.id), "c_")); err == nil && len(raw) == 8 && corpus.ChunkID("c_"+hex.EncodeToString(raw)) == r.id {
		b = append(append(b, 0), raw...)
	} else {
		b = appendString(b, string(r.id))
	}
	numbers := []uint64{r.ordinal, r.start, r.size}
	if r.level > corpus.Section {
		numbers = append(numbers, r.up)
	}
	if r.level < corpus.Sentence {
		numbers = append(numbers, r.parts[0], r.parts[1])
	} else {
		numbers = append(numbers, r.proposition[0], r.proposition[1])
	}
	if r.mentions[1] > 0 {
		numbers = append(numbers, r.mentions[0], r.mentions[1])
	}
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	b = appendNumbers(appendNumbers(b, r.pages), r.starts)
	return seal(append(b, r.rest...))
}

// maxNumber bounds the numbers of a record: a document has at most some gigabytes of text.
const maxNumber = 1 << 40

func decodeNested(raw []byte) (*nestedRecord, error) {
	d := decoder{rest: raw[1:]}
	r := &nestedRecord{level: corpus.Level(raw[0] &^ (noID | hasMentions))}
	if raw[0]&noID != 0 {
	} else if len(d.rest) >= 9 && d.rest[0] == 0 {
		r.id = corpus.ChunkID("c_" + hex.EncodeToString(d.rest[1:9]))
		d.rest = d.rest[9:]
	} else {
		r.id = corpus.ChunkID(d.string())
	}
	r.ordinal, r.start, r.size = d.next(), d.next(), d.next()
	if r.level > corpus.Section {
		r.up = d.next()
	}
	if r.level < corpus.Sentence {
		r.parts = [2]uint64{d.next(), d.next()}
	} else {
		r.proposition = [2]uint64{d.next(), d.next()}
	}
	if raw[0]&hasMentions != 0 {
		r.mentions = [2]uint64{d.next(), d.next()}
	}
	r.pages, r.starts = d.numbers(), d.numbers()
	if d.bad || r.level != corpus.Passage && r.mentions[1] > 0 || r.level != corpus.Section && len(d.rest) > 0 {
		return nil, errTruncated
	}
	r.rest = d.rest
	return r, nil
}

// record returns the record of an entry.
func (n *nesting) record(ch *change, entry int) *nestedRecord {
	e := &ch.entries[entry]
	r := &nestedRecord{level: e.Level, id: e.ID, ordinal: uint64(e.Ordinal), start: uint64(e.Start), size: uint64(len(e.Text)), pages: e.Pages, starts: e.PageStarts}
	if n.computed {
		r.id = ""
	}
	if parts := n.parts[entry]; parts[1] > 0 {
		r.parts = [2]uint64{uint64(parts[0]) - n.at[entry], uint64(parts[1]) - n.at[entry]}
	}
	section := entry
	for n.parent[section] >= 0 {
		section = n.parent[section]
	}
	if section == entry {
		r.rest = n.sectionText(ch, entry)
		return r
	}
	r.start, r.up = uint64(e.Start-ch.entries[section].Start), n.at[entry]-n.at[n.parent[entry]]
	if e.Proposition != "" {
		r.proposition = [2]uint64{uint64(n.proposition[entry]), uint64(len(e.Proposition))}
	}
	r.mentions = n.mentions[entry]
	return r
}

// record returns the record of an entry. It is nil if the entry is in the record of the first sentence of its passage.
func (ch *change) record(entry int) ([]byte, error) {
	n := ch.nesting
	if n == nil {
		return sealJSON(ch.entries[entry].Chunk)
	}
	if ch.entries[entry].Level < corpus.Sentence || !n.computed {
		return n.record(ch, entry).encode(), nil
	}
	parts := n.parts[n.parent[entry]]
	if n.order[parts[0]].entry != entry {
		return nil, nil
	}
	run := make(sentenceRun, 0, parts[1]-parts[0])
	for _, p := range n.order[parts[0]:parts[1]] {
		run = append(run, *n.record(ch, p.entry))
	}
	return run.encode(), nil
}

// sectionText compresses what the chunks of a section have in common: the id of the document, the title, the headings, the text, the propositions, and the
// mentions of the passages, which are mostly pieces of the rest.
func (n *nesting) sectionText(ch *change, section int) []byte {
	e := &ch.entries[section]
	b := appendString(make([]byte, 0, 2*len(e.Text)+256), string(e.Document))
	b = appendString(b, e.Title)
	b = binary.AppendUvarint(b, uint64(len(e.Headings)))
	for _, h := range e.Headings {
		b = appendString(b, h)
	}
	b = append(b, e.Text...)
	for _, passage := range n.order[n.parts[section][0]:n.parts[section][1]] {
		parts := n.parts[passage.entry]
		for _, sentence := range n.order[parts[0]:parts[1]] {
			b = append(b, ch.entries[sentence.entry].Proposition...)
		}
	}
	for _, passage := range n.order[n.parts[section][0]:n.parts[section][1]] {
		if m := ch.named[passage.entry]; m != nil {
			b = appendMentions(b, m)
		}
	}
	return zstdEncoder.EncodeAll(b, nil)
}

// maxSectionText bounds the memory for a damaged section.
const maxSectionText = 1 << 30

// The encoder and the decoder of sections. They are not made on demand, because a test may run in a bubble of testing/synctest, to which their channels
// would belong.
var zstdEncoder, zstdDecoder = newZstd()

func newZstd() (*zstd.Encoder, *zstd.Decoder) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(64<<10), zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // an option is wrong
	}
	e.EncodeAll([]byte{0}, nil)
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxSectionText))
	if err != nil {
		panic(err)
	}
	return e, d
}

// indexed reports whether the chunks of the document at level i+1 can have vectors and are in a lexical index.
func (d *docRecord) indexed(i int) bool { return !d.Nested || i == passages }

// dropVectors removes the vectors of sections and sentences, which are not used.
func (n *nesting) dropVectors(entries []index.Entry) {
	for i := range entries {
		if entries[i].Level != corpus.Passage {
			entries[i].Space, entries[i].Vector = "", nil
		}
	}
}
