package sandbox

import (
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// The form of a parsed document between child and parent: numbers as varints, texts after their length, lists after their count. A link's
// words stand in its block's text and are not repeated. encoding/gob takes four times as long and its decoder cannot be bounded.

// Bytes that a parsed document may have beside its text.
const (
	perBlock = 64
	perLink  = 256
	allLinks = 250_000
	headRoom = 1 << 20
)

// maxReply is how many bytes a parsed document within limits has at most.
func maxReply(l parse.Limits) int64 {
	return int64(l.Text) + perBlock*int64(l.Blocks) + perLink*allLinks + headRoom
}

// fields are the texts of a document's metadata.
func fields(m *corpus.DublinCore) []*string {
	return []*string{&m.Title, &m.Creator, &m.Subject, &m.Description, &m.Publisher, &m.Date, &m.Language, &m.Rights}
}

const (
	flagSilent = 1 << iota
	flagFenced
	flagTight
)

func encode(p parse.Parsed) []byte {
	size := 4096
	for _, b := range p.Blocks {
		size += len(b.Text) + 24 + 64*len(b.Links)
	}
	e := encoder(make([]byte, 0, size))
	e.text(p.Title)
	e.text(p.MediaType)
	for _, f := range fields(&p.Meta) {
		e.text(*f)
	}
	e.number(p.Pages)
	e.number(len(p.Blocks))
	for _, b := range p.Blocks {
		flags := 0
		for i, set := range []bool{b.Synthetic, b.Fenced, b.Tight} {
			if set {
				flags |= 1 << i
			}
		}
		e.number(int(b.Kind))
		e.number(b.Level)
		e.number(flags)
		e.number(b.Page)
		e.text(b.Text)
		e.number(len(b.PageBreaks))
		for _, t := range b.PageBreaks {
			e.number(t.Offset)
			e.number(t.Page)
		}
		e.number(len(b.Links))
		for _, l := range b.Links {
			e.number(l.Offset)
			e.number(len(l.Text))
			e.text(l.Target)
		}
	}
	return e
}

type encoder []byte

func (e *encoder) number(n int) { *e = binary.AppendUvarint(*e, uint64(n)) }

func (e *encoder) text(s string) {
	e.number(len(s))
	*e = append(*e, s...)
}

// decode reads what encode wrote, and trusts none of it.
func decode(body []byte, limits parse.Limits) (p parse.Parsed, err error) {
	d := &decoder{rest: string(body)}
	p.Title, p.MediaType = d.ownText(), d.ownText()
	for _, f := range fields(&p.Meta) {
		*f = d.ownText()
	}
	p.Pages = d.number(limits.Pages)
	p.Blocks = make([]parse.Block, d.number(limits.Blocks))
	for i := range p.Blocks {
		b := &p.Blocks[i]
		b.Kind = parse.Kind(d.number(int(parse.Code)))
		b.Level = d.number(1 << 20)
		flags := d.number(flagSilent | flagFenced | flagTight)
		b.Synthetic, b.Fenced, b.Tight = flags&flagSilent != 0, flags&flagFenced != 0, flags&flagTight != 0
		b.Page = d.number(limits.Pages)
		if b.Text = d.text(); b.Kind == parse.Heading {
			b.Text = strings.Clone(b.Text) // it outlives the document's text
		}
		if n := d.number(limits.Pages); n > 0 && n <= len(d.rest)/2 {
			b.PageBreaks = make([]parse.PageBreak, n)
			for j := range b.PageBreaks {
				b.PageBreaks[j] = parse.PageBreak{Offset: d.number(len(b.Text)), Page: d.number(limits.Pages)}
			}
		}
		d.links(b)
		if d.wrong {
			break
		}
	}
	if d.wrong || d.rest != "" {
		return parse.Parsed{}, errors.New("the reply is damaged")
	}
	return p, nil
}

func (d *decoder) links(b *parse.Block) {
	n := d.number(64)
	if d.all += n; n == 0 || d.all > allLinks {
		d.wrong = d.wrong || n > 0
		return
	}
	b.Links = make([]parse.Link, n)
	for i := range b.Links {
		at := d.number(len(b.Text))
		size := d.number(len(b.Text) - at)
		b.Links[i] = parse.Link{Offset: at, Text: strings.Clone(b.Text[at : at+size]), Target: d.ownText()}
	}
}

type decoder struct {
	rest  string
	all   int // links so far
	wrong bool
}

// number reads a number of at most most; a larger one damages the reply.
func (d *decoder) number(most int) int {
	var n uint64
	for i := range len(d.rest) {
		if i == binary.MaxVarintLen64-1 {
			break
		}
		c := d.rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.rest = d.rest[i+1:]
			if most < 0 || n > uint64(most) {
				break
			}
			return int(n)
		}
	}
	d.wrong, d.rest = true, ""
	return 0
}

// text reads a text as a part of the reply.
func (d *decoder) text() string {
	n := d.number(len(d.rest))
	if n > len(d.rest) {
		d.wrong, n = true, 0
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	if !utf8.ValidString(s) {
		d.wrong = true
		return ""
	}
	return s
}

// ownText reads a text that may be kept for longer than the reply.
func (d *decoder) ownText() string { return strings.Clone(d.text()) }
