package document

import (
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// Builder collects the blocks of a document in reading order. Text within a list becomes items and the paragraphs after them. It drops blocks that
// exceed the limits of the document; the document is then refused.
type Builder struct {
	Blocks []Block
	limits Limits
	size   int
	lists  int
	begun  bool   // the outermost open list has a block
	mark   string // of the item that has no text yet
	lead   string // term or label before the next text
}

// NewBuilder returns a builder for a document with limits.
func NewBuilder(limits Limits) *Builder { return &Builder{limits: limits} }

// Full reports whether the blocks exceed the limits. Parsing can stop then.
func (b *Builder) Full() bool { return b.size > b.limits.Text || len(b.Blocks) > b.limits.Blocks }

// BeginList begins a list, which may be in an item of another one.
func (b *Builder) BeginList() {
	b.flush()
	if b.lists == 0 {
		b.begun = false
	}
	b.lists++
}

// EndList ends the innermost list.
func (b *Builder) EndList() {
	b.flush()
	b.lists = max(b.lists-1, 0)
}

// Lists returns the number of open lists.
func (b *Builder) Lists() int { return b.lists }

// Item begins an item of the innermost list. Its mark is "- ", or its number with a dot and a space. The next text is that of the item.
func (b *Builder) Item(mark string) {
	b.flush()
	b.mark = mark
}

// Lead sets the term or label that the next text begins with, before a colon.
func (b *Builder) Lead(s string) {
	if b.lead != "" {
		b.flush()
	}
	b.lead = OneLine(s)
}

// HasLead reports whether a term has no text yet.
func (b *Builder) HasLead() bool { return b.lead != "" }

// Also adds a second term for the same text. It does nothing unless the term of Lead has no text yet.
func (b *Builder) Also(s string) {
	if s = OneLine(s); b.lead != "" && len(b.lead) < 4<<10 {
		s = b.lead + ", " + s
	}
	b.lead = s
}

// flush adds an open term that has got no text.
func (b *Builder) flush() {
	if s := b.lead; s != "" {
		b.lead = ""
		b.Text(s)
	}
	b.mark = ""
}

// Text adds a paragraph, or the text of an item. Links need no offsets.
func (b *Builder) Text(s string, links ...Link) {
	if s = strings.TrimSpace(s); s == "" {
		return
	}
	if b.lead != "" {
		s = strings.TrimRight(b.lead, ": ") + ": " + s
		b.lead = ""
	}
	x := Block{Kind: Paragraph, Text: s, Links: linksOf(links)}
	if b.mark != "" {
		x.Kind, x.Level, x.Text, b.mark = ListItem, max(b.lists, 1), b.mark+s, ""
	}
	b.add(x)
}

// Heading adds a heading. It ends all lists.
func (b *Builder) Heading(level int, s string, links ...Link) {
	b.flush()
	b.lists = 0
	b.add(Block{Kind: Heading, Level: max(level, 1), Text: s, Links: linksOf(links)})
}

// Code adds code without its first and last empty lines.
func (b *Builder) Code(s string) {
	b.flush()
	if s = strings.TrimRight(strings.Trim(s, "\n"), " \t\n"); s != "" {
		b.add(Block{Kind: Code, Text: s, Fenced: true})
	}
}

// Rows adds a table. Its first row has the names of the columns.
func (b *Builder) Rows(rows [][]string) {
	b.flush()
	first := true
	for _, cells := range rows {
		if row := Row(cells); row != "" && !b.Full() {
			b.add(Block{Kind: TableRow, Text: row, Tight: !first})
			first = false
		}
	}
}

func (b *Builder) add(x Block) {
	if b.Full() {
		return
	}
	if b.lists > 0 && x.Kind != TableRow {
		x.Tight, b.begun = b.begun, true
	}
	b.size += len(x.Text)
	b.Blocks = append(b.Blocks, x)
}

// Limits of the links of a block.
const (
	maxLinks = 64
	maxLink  = 200 // bytes of a link's text, and of its target
)

func linksOf(links []Link) []Link {
	var out []Link
	for _, l := range links {
		if l.Text = OneLine(lang.Truncate(l.Text, 4*maxLink)); l.Text == "" || len(l.Text) > maxLink || len(out) == maxLinks {
			continue
		}
		if l.Target = OneLine(lang.Truncate(l.Target, 4*maxLink)); len(l.Target) > maxLink {
			l.Target = ""
		}
		out = append(out, l)
	}
	return out
}
