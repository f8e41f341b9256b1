package sandbox

import (
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/ingest/parse"
)

// The encoding of a parsed document between child and parent: numbers are varints, strings have a length prefix, and lists have a count.
// The text of a link is not repeated, because it is part of its block's text. encoding/gob takes four times as long, and its decoder cannot
// be bounded.

// Bytes that a parsed document may have in addition to its text.
const (
	perBlock    = 64
	perLink     = 256
	allLinks    = 250_000
	headerBytes = 1 << 20
)

// maxReply returns the largest size of an encoded document within the limits.
func maxReply(l parse.Limits) int64 {
	return int64(l.Text) + perBlock*int64(l.Blocks) + perLink*allLinks + headerBytes
}

const (
	flagSynthetic = 1 << iota
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
	e.text(p.Contributor)
	for _, m := range p.Meta.Elements() {
		e.text(*m.Value)
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

// decode decodes the output of encode. It does not trust its input.
func decode(body []byte, limits parse.Limits) (p parse.Parsed, err error) {
	d := &decoder{rest: string(body)}
	p.Title, p.MediaType, p.Contributor = d.cloneText(), d.cloneText(), d.cloneText()
	for _, m := range p.Meta.Elements() {
		*m.Value = d.cloneText()
	}
	p.Pages = d.number(limits.Pages)
	p.Blocks = make([]parse.Block, d.number(limits.Blocks))
	for i := range p.Blocks {
		b := &p.Blocks[i]
		b.Kind = parse.Kind(d.number(int(parse.Code)))
		b.Level = d.number(1 << 20)
		flags := d.number(flagSynthetic | flagFenced | flagTight)
		b.Synthetic, b.Fenced, b.Tight = flags&flagSynthetic != 0, flags&flagFenced != 0, flags&flagTight != 0
		b.Page = d.number(limits.Pages)
		if b.Text = d.text(); b.Kind == parse.Heading {
			b.Text = strings.Clone(b.Text) // chunks keep it longer than the document's text
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
		b.Links[i] = parse.Link{Offset: at, Text: strings.Clone(b.Text[at : at+size]), Target: d.cloneText()}
	}
}

type decoder struct {
	rest  string
	all   int // number of links decoded so far
	wrong bool
}

// number reads a number of at most limit. A larger one makes the reply invalid.
func (d *decoder) number(limit int) int {
	var n uint64
	for i := range len(d.rest) {
		if i == binary.MaxVarintLen64-1 {
			break
		}
		c := d.rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.rest = d.rest[i+1:]
			if limit < 0 || n > uint64(limit) {
				break
			}
			return int(n)
		}
	}
	d.wrong, d.rest = true, ""
	return 0
}

// text reads a string, which shares the memory of the reply.
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

// cloneText reads a string that may be kept longer than the reply.
func (d *decoder) cloneText() string { return strings.Clone(d.text()) }
