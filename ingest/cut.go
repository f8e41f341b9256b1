package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/entities"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/lang"
)

// cutVersion is part of every document's hash. Increase it after a change of the rules below, or of a parser, after which documents must be
// ingested again.
const cutVersion = "cut-21"

// Sizes in bytes.
const (
	passageMax     = 1100 // of a passage
	passageFloor   = 400  // a shorter passage is filled with the beginning of a paragraph that does not fit completely
	passageTail    = 200  // a shorter last passage of a section is merged with the passage before it,
	passageJoin    = 1400 // if the result is not longer than this
	sectionMax     = 6000
	sentenceMax    = 2000 // a longer sentence is split
	declarationMin = 200  // a shorter declaration is merged with the next one
	headingsMax    = 600  // of consecutive headings that are kept with the text after them
	tableMax       = 1000 // of a part of a table that is longer than a passage
	tableHeadMax   = 200  // a longer row of the names of columns is not repeated
)

// Limits of a document. Indexing takes up to about 4 KiB of memory per chunk.
const (
	MaxChunks = 200_000  // of a document: its sections, passages and sentences
	maxText   = 32 << 20 // bytes
)

// Cut returns the text of a parsed document and its chunks: first sections, then passages, then sentences. The Text of each chunk is
// text[Start:End]. IDs of chunks only depend on the document's ID and text.
//
//   - A section is the text under one heading.
//   - A passage is 600 to 1,100 bytes of a section, if the section is long enough. It ends at the end of a sentence. A heading stays with
//     the text after it. Lists, tables and code are not split if they fit. Each part of a longer table begins with the names of its
//     columns, which the text repeats. Code in prose keeps its fences.
//   - A sentence is a sentence, a table row, a fenced code block, or a source file's code between blank lines.
func Cut(doc corpus.DocumentID, p parse.Parsed) (string, []corpus.Chunk) {
	c := cut(doc, p, math.MaxInt)
	return c.text, c.chunks()
}

func (c *cutter) count() int { return len(c.l1) + len(c.l2) + len(c.l3) }

func (c *cutter) chunks() []corpus.Chunk { return slices.Concat(c.l1, c.l2, c.l3) }

// cut stops when there are more than limit chunks.
func cut(doc corpus.DocumentID, p parse.Parsed, limit int) *cutter {
	l := newLayout(p)
	c := &cutter{layout: l, doc: doc, ids: corpus.ChunkIDsOf(doc), title: p.Title}
	for _, s := range l.sections {
		if c.section(s, limit); c.count() > limit {
			break
		}
	}
	return c
}

// links returns the links of each passage, indexed by chunk. It returns nil if the document has no links.
func (c *cutter) links() [][]entities.Link {
	var out [][]entities.Link
	for n := range c.l2 {
		p := &c.l2[n]
		for i := c.atomAt(p.Start); i < len(c.atoms) && c.atoms[i].start < p.End; i++ {
			for _, l := range c.atoms[i].links {
				if at := c.atoms[i].start + l.Offset; at < p.Start || at+len(l.Text) > p.End {
					continue
				}
				if out == nil {
					out = make([][]entities.Link, len(c.l1)+len(c.l2)+len(c.l3))
				}
				k := len(c.l1) + n
				out[k] = append(out[k], entities.Link{Text: l.Text, Target: l.Target})
			}
		}
	}
	return out
}

// atom is the position of a block in the text.
type atom struct {
	start, end int
	kind       parse.Kind
	tight      bool
	fenced     bool // it includes its fences, and is not split
	page       int
	pageBreaks []parse.PageBreak
	links      []parse.Link
}

// headingRange is the range of atoms under one heading.
type headingRange struct {
	first, last int // half open
	headings    []string
}

type layout struct {
	text     string
	atoms    []atom
	sections []headingRange
}

// newLayout concatenates the text of the blocks and groups them by heading.
func newLayout(p parse.Parsed) *layout {
	l := &layout{}
	var b strings.Builder
	var path []parse.Block      // the current headings, from the outermost
	begun, headingsOnly := 0, 0 // of the current section: its first atom, and its size while it consists of headings only, else -1
	names := func() []string {
		out := make([]string, len(path))
		for i, h := range path {
			out[i] = h.Text
		}
		return out
	}
	closeSection := func() {
		if n := len(l.atoms); n > begun {
			l.sections = append(l.sections, headingRange{begun, n, names()})
			begun, headingsOnly = n, 0
		}
	}
	for _, blk := range repeatHeads(p.Blocks) {
		if blk.Kind == parse.Heading {
			inner := len(path) == 0 || blk.Level > path[len(path)-1].Level
			small := blk.Synthetic && inner && len(l.atoms) > begun && b.Len()-l.atoms[begun].start < declarationMin
			if pendingHeadings := headingsOnly > 0 && headingsOnly < headingsMax; !pendingHeadings && !small {
				closeSection()
			}
			for len(path) > 0 && path[len(path)-1].Level >= blk.Level {
				path = path[:len(path)-1]
			}
			path = append(path, blk)
			if blk.Synthetic {
				continue
			}
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
			if !blk.Tight {
				b.WriteByte('\n')
			}
		}
		a := atom{start: b.Len(), kind: blk.Kind, tight: blk.Tight, page: blk.Page, pageBreaks: blk.PageBreaks, links: blk.Links}
		body := blk.Text
		if blk.Fenced {
			body, a.fenced = lang.Fence(body)
		}
		b.WriteString(body)
		a.end = b.Len()
		if blk.Kind != parse.Heading {
			headingsOnly = -1
		} else if headingsOnly >= 0 {
			headingsOnly += len(blk.Text) + 2
		}
		l.atoms = append(l.atoms, a)
	}
	closeSection()
	l.text = b.String()
	return l
}

// repeatHeads returns the blocks with the names of the columns of each table that does not fit into a passage before each part of it that does.
func repeatHeads(blocks []parse.Block) []parse.Block {
	var out []parse.Block // nil: as blocks
	for i := 0; i < len(blocks); {
		n, size := i+1, len(blocks[i].Text)
		for blocks[i].Kind == parse.TableRow && n < len(blocks) && blocks[n].Kind == parse.TableRow && blocks[n].Tight {
			size += 1 + len(blocks[n].Text)
			n++
		}
		head := blocks[i]
		repeat := size > passageMax && n > i+1 && len(head.Text) <= tableHeadMax && isHead(blocks[i:n])
		if repeat && out == nil {
			out = slices.Clone(blocks[:i])
		}
		if size = 0; i > 0 && blocks[i-1].Kind == parse.Paragraph { // what leads to the table stays with its first part
			size = min(len(blocks[i-1].Text), passageFloor)
		}
		for k := i - 1; k >= 0 && blocks[k].Kind == parse.Heading && !blocks[k].Synthetic && size < headingsMax; k-- { // they stay with it too
			size += len(blocks[k].Text) + 2
		}
		if out != nil || repeat {
			for k, row := range blocks[i:n] {
				if size += 1 + len(row.Text); repeat && k > 1 && size > tableMax {
					out = append(out, parse.Block{Kind: parse.TableRow, Text: head.Text, Page: row.Page})
					size = 2 + len(head.Text) + len(row.Text)
				}
				out = append(out, row)
			}
		}
		i = n
	}
	if out == nil {
		return blocks
	}
	return out
}

// maxSample is the number of rows that show how the cells under the names of columns are written.
const maxSample = 20

func cellsOf(rows []parse.Block) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = lang.TableCells(r.Text)
	}
	return out
}

// isHead reports whether the first of some rows has the names of the columns: it looks so, and at most a tenth of the others have the same text in a column.
func isHead(rows []parse.Block) bool {
	head := lang.TableCells(rows[0].Text)
	if !lang.IsTableHeadOver(head, cellsOf(rows[1:min(len(rows), 1+maxSample)])) {
		return false
	}
	same := 0
	for _, r := range rows[1:] {
		for k, cell := range lang.TableCells(r.Text) {
			if k < len(head) && cell != "" && cell == head[k] {
				same++
				break
			}
		}
	}
	return 10*same <= len(rows)
}

// span is a piece of the text.
type span struct{ start, end int }

type cutter struct {
	*layout
	doc        corpus.DocumentID
	ids        corpus.ChunkIDs
	title      string
	l1, l2, l3 []corpus.Chunk
}

// section splits the text under one heading into passages, and groups them into sections.
func (c *cutter) section(s headingRange, limit int) {
	passages := c.passages(s)
	for len(passages) > 0 && c.count() <= limit {
		n := 1
		for n < len(passages) && passages[n].end-passages[0].start <= sectionMax {
			n++
		}
		l1 := c.chunk(corpus.Section, len(c.l1), "", span{passages[0].start, passages[n-1].end}, s)
		c.l1 = append(c.l1, l1)
		for _, p := range passages[:n] {
			l2 := c.chunk(corpus.Passage, len(c.l2), l1.ID, p, s)
			c.l2 = append(c.l2, l2)
			for _, sent := range c.sentences(p, s) {
				c.l3 = append(c.l3, c.chunk(corpus.Sentence, len(c.l3), l2.ID, sent, s))
			}
		}
		passages = passages[n:]
	}
}

// passages groups the atoms of a section into passages.
func (c *cutter) passages(s headingRange) []span {
	var out []span
	cur, open, headingsOnly := span{}, false, true // headingsOnly: cur consists of headings only
	add := func(p span, heading bool) {
		switch {
		case !open:
			cur, open, headingsOnly = p, true, heading
		case p.end-cur.start <= passageMax || headingsOnly:
			cur.end = p.end
			headingsOnly = headingsOnly && heading
		default:
			out = append(out, cur)
			cur, headingsOnly = p, heading
		}
	}
	for i := s.first; i < s.last; {
		n := c.group(i, s.last)
		g := span{c.atoms[i].start, c.atoms[n-1].end}
		kind := c.atoms[i].kind
		switch {
		case kind == parse.Heading:
			if open && !headingsOnly && cur.end-cur.start >= passageFloor {
				out = append(out, cur)
				open = false
			}
			add(g, true)
		case g.end-g.start > passageMax || open && g.end-cur.start > passageMax && (headingsOnly || kind == parse.Paragraph && cur.end-cur.start < passageFloor):
			for ; i < n; i++ {
				for _, p := range c.splitBlock(c.atoms[i]) {
					add(p, false)
				}
			}
		default:
			add(g, false)
		}
		i = n
	}
	if open {
		out = append(out, cur)
	}
	if n := len(out); n > 1 && out[n-1].end-out[n-1].start < passageTail && out[n-1].end-out[n-2].start <= passageJoin {
		out[n-2].end = out[n-1].end
		out = out[:n-1]
	}
	return out
}

// group returns the end of the atoms that should stay together: a list, a table or a part of one, or one atom.
func (c *cutter) group(i, last int) int {
	kind := c.atoms[i].kind
	n := i + 1
	if kind != parse.ListItem && kind != parse.TableRow {
		return n
	}
	for n < last && (c.atoms[n].kind == kind && kind == parse.ListItem || c.atoms[n].tight && (kind == parse.ListItem || c.atoms[n].kind == kind)) {
		n++
	}
	return n
}

// splitBlock splits an atom between sentences. It splits code at blank lines, or else between lines.
func (c *cutter) splitBlock(a atom) []span {
	if a.fenced {
		return []span{{a.start, a.end}}
	}
	if a.kind == parse.Code {
		var out []span
		for _, p := range c.codeParagraphs(span{a.start, a.end}) {
			if p.end-p.start <= passageMax {
				out = append(out, p)
				continue
			}
			for _, line := range c.split(p, "\n") {
				out = append(out, c.splitLong(line)...)
			}
		}
		return out
	}
	if a.end-a.start <= passageMax && a.kind != parse.Paragraph {
		return []span{{a.start, a.end}}
	}
	var out []span
	for _, s := range lang.Sentences(c.text[a.start:a.end]) {
		out = append(out, c.splitLong(span{a.start + s.Start, a.start + s.End})...)
	}
	return out
}

// codeParagraphs returns the parts of code between blank lines.
func (c *cutter) codeParagraphs(s span) []span { return c.split(s, "\n\n") }

// split splits a span at a separator and drops empty parts.
func (c *cutter) split(s span, sep string) []span {
	var out []span
	for at := s.start; at < s.end; {
		end := s.end
		next := s.end
		if i := strings.Index(c.text[at:s.end], sep); i >= 0 {
			end = at + i
			next = end + len(sep)
		}
		for at < end && c.text[at] == '\n' {
			at++
		}
		if strings.TrimSpace(c.text[at:end]) != "" {
			out = append(out, span{at, end})
		}
		at = next
	}
	return out
}

// splitLong splits a span that is longer than a sentence may be, at white space or else between characters.
func (c *cutter) splitLong(s span) []span {
	var out []span
	for s.end-s.start > sentenceMax {
		at := s.start + passageMax
		if i := strings.LastIndexAny(c.text[s.start+passageMax/2:at], " \t\n"); i > 0 {
			at = s.start + passageMax/2 + i
		}
		for !utf8.RuneStart(c.text[at]) {
			at--
		}
		if strings.TrimSpace(c.text[s.start:at]) != "" {
			out = append(out, span{s.start, at})
		}
		s.start = at
	}
	if strings.TrimSpace(c.text[s.start:s.end]) != "" {
		out = append(out, s)
	}
	return out
}

// sentences returns the sentences of a passage. It includes headings only if the passage has nothing else.
func (c *cutter) sentences(p span, s headingRange) []span {
	var out []span
	headingsOnly := true
	first := c.atomAt(p.start)
	for i := first; i < s.last && c.atoms[i].start < p.end; i++ {
		headingsOnly = headingsOnly && c.atoms[i].kind == parse.Heading
	}
	for i := first; i < s.last && c.atoms[i].start < p.end; i++ {
		a := c.atoms[i]
		part := span{max(a.start, p.start), min(a.end, p.end)}
		if part.end <= part.start || a.kind == parse.Heading && !headingsOnly {
			continue
		}
		switch {
		case a.fenced:
			out = c.appendWithText(out, part)
		case a.kind == parse.Code:
			for _, run := range c.codeParagraphs(part) {
				out = c.appendWithText(out, c.splitLong(run)...)
			}
		case a.kind == parse.TableRow && part.end-part.start <= sentenceMax:
			out = c.appendWithText(out, part)
		default:
			for _, st := range lang.Sentences(c.text[part.start:part.end]) {
				out = c.appendWithText(out, span{part.start + st.Start, part.start + st.End})
			}
		}
	}
	return out
}

// appendWithText appends the spans that contain a letter or a digit.
func (c *cutter) appendWithText(out []span, spans ...span) []span {
	for _, s := range spans {
		if strings.IndexFunc(c.text[s.start:s.end], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 {
			out = append(out, s)
		}
	}
	return out
}

// atomAt returns the index of the last atom that begins at or before an offset.
func (c *cutter) atomAt(at int) int {
	i, found := slices.BinarySearchFunc(c.atoms, at, func(a atom, at int) int { return a.start - at })
	if !found {
		i--
	}
	return max(i, 0)
}

// pages returns the pages of a span, and the offset in it at which each page but the first begins.
func (c *cutter) pages(s span) (pages, starts []int) {
	add := func(page, at int) {
		if page > 0 && (len(pages) == 0 || pages[len(pages)-1] != page) {
			if len(pages) > 0 {
				starts = append(starts, at-s.start)
			}
			pages = append(pages, page)
		}
	}
	for i := c.atomAt(s.start); i < len(c.atoms) && c.atoms[i].start < s.end; i++ {
		a := c.atoms[i]
		page, begins := a.page, max(a.start, s.start)
		for _, t := range a.pageBreaks {
			switch at := a.start + t.Offset; {
			case at <= s.start:
				page = t.Page
			case at < s.end:
				add(page, begins)
				page, begins = t.Page, at
			}
		}
		add(page, begins)
	}
	return pages, starts
}

func (c *cutter) chunk(level corpus.Level, ordinal int, parent corpus.ChunkID, s span, in headingRange) corpus.Chunk {
	body := c.text[s.start:s.end]
	pages, starts := c.pages(s)
	return corpus.Chunk{
		ID: c.ids.New(level, ordinal, body), Document: c.doc, Parent: parent, Level: level, Ordinal: ordinal,
		Title: c.title, Headings: in.headings, Pages: pages, PageStarts: starts, Start: s.start, End: s.end, Text: body,
	}
}

// DocumentID returns the ID of the document with a URI in a collection.
func DocumentID(collection, uri string) corpus.DocumentID {
	sum := sha256.Sum256([]byte(collection + "\x00" + uri))
	return corpus.DocumentID("doc_" + hex.EncodeToString(sum[:8]))
}
