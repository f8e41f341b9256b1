// Package rtf parses Rich Text Format (Microsoft, version 1.9.1).
//
// Heads and feet of pages, pictures and hidden text are left out. A footnote follows the paragraph that refers to it.
package rtf

import (
	"bytes"
	"context"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/net/html/charset"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// Limits of a document.
const (
	maxDepth = 1_000 // of groups
	maxCells = 10_000
	maxTable = 10_000 // fonts, and styles
)

// Parse parses a document: headings by their outline levels and styles, lists, tables, and code, which is what only has fonts of one width.
func Parse(ctx context.Context, src document.Source) (document.Parsed, error) {
	r := &reader{data: src.Data, limit: src.Limits.Blocks, codePage: 1252, fonts: map[int]font{}, styles: map[int]int{}, now: state{skipped: 1}}
	for n := 0; len(r.data) > 0 && len(r.out)+len(r.code) <= r.limit; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return document.Parsed{}, ctx.Err()
		}
		if err := r.next(); err != nil {
			return document.Parsed{}, err
		}
	}
	r.paragraph()
	r.endCode()
	return document.Parsed{Title: r.meta.Title, Meta: r.meta, Blocks: r.out}, nil
}

// state is what a group restores at its end.
type state struct {
	target  string // destination: empty for the text
	font    int
	level   int // of a heading
	indent  int // in twips
	table   bool
	hidden  bool
	deleted bool // by a tracked change
	noSize  bool // the size of characters is zero
	bold    bool
	skipped int // characters that stand for a Unicode character
}

type font struct {
	mono     bool
	codePage int
}

type reader struct {
	data     []byte
	limit    int
	now      state
	stack    []state
	codePage int
	skip     int // characters to leave out after a Unicode character
	pending  []byte
	wide     []uint16

	text, note, aside strings.Builder // aside: of a destination that is not text
	mono, plain       bool            // the paragraph has characters of such fonts
	light             bool            // the paragraph has characters that are not in bold
	cells             []string
	indents           []int
	fonts             map[int]font
	style             int
	styles            map[int]int // levels of headings
	meta              corpus.DublinCore
	out               []document.Block
	lastRow           bool
	code              []string // lines of code that is not ended
}

// next reads a token.
func (r *reader) next() error {
	c := r.data[0]
	r.data = r.data[1:]
	switch c {
	case '{':
		r.decode()
		if len(r.stack) >= maxDepth {
			return document.TooLarge("holds groups nested more than %d deep", maxDepth)
		}
		r.stack, r.skip = append(r.stack, r.now), 0
	case '}':
		r.decode()
		r.endGroup()
	case '\\':
		return r.control()
	case '\r', '\n', 0:
	default:
		r.char(c)
	}
	return nil
}

func (r *reader) char(c byte) {
	if r.skip > 0 {
		r.skip--
		return
	}
	if len(r.wide) > 0 {
		r.decode()
	}
	r.pending = append(r.pending, c)
}

// decode writes the characters that are read, in the encoding of the font.
func (r *reader) decode() {
	if len(r.wide) > 0 {
		s := string(utf16.Decode(r.wide))
		r.wide = r.wide[:0]
		r.write(s)
	}
	if len(r.pending) == 0 {
		return
	}
	page := r.codePage
	if p := r.fonts[r.now.font].codePage; p != 0 {
		page = p
	}
	name := "windows-" + strconv.Itoa(page)
	if n := codePages[page]; n != "" {
		name = n
	}
	s := ""
	if e, _ := charset.Lookup(name); e != nil {
		if b, err := e.NewDecoder().Bytes(r.pending); err == nil {
			s = string(b)
		}
	}
	if s == "" {
		s = strings.ToValidUTF8(string(r.pending), "\uFFFD")
	}
	r.pending = r.pending[:0]
	r.write(s)
}

var codePages = map[int]string{932: "shift_jis", 936: "gb18030", 949: "euc-kr", 950: "big5", 10000: "macintosh", 65001: "utf-8"}

func (r *reader) write(s string) {
	switch {
	case r.now.hidden || r.now.deleted || r.now.noSize || r.now.target == "skip":
	case r.now.target == "note":
		r.note.WriteString(s)
	case r.now.target != "":
		if r.aside.Len() < corpus.MaxElement {
			r.aside.WriteString(s)
		}
	default:
		r.text.WriteString(s)
		if strings.TrimSpace(s) != "" {
			r.mono = r.mono || r.fonts[r.now.font].mono
			r.plain = r.plain || !r.fonts[r.now.font].mono
			r.light = r.light || !r.now.bold
		}
	}
}

var (
	monospaced = regexp.MustCompile(`(?i)courier|consolas|monospace|\bmono\b|menlo|monaco`)
	headed     = regexp.MustCompile(`(?i)^heading ([1-9])`)
	marker     = regexp.MustCompile(`^\s*([•·–—▪◦●○■-]|\(?\d{1,4}[.)]|\(?[a-zA-Z]{1,4}[.)])\s*\t\s*`)
)

func (r *reader) endGroup() {
	if len(r.stack) == 0 {
		return
	}
	was := r.now
	r.now = r.stack[len(r.stack)-1]
	r.stack, r.skip = r.stack[:len(r.stack)-1], 0
	if was.target == "" || was.target == "skip" || was.target == "note" {
		return
	}
	s := document.OneLine(strings.TrimSuffix(r.aside.String(), ";"))
	r.aside.Reset()
	if s == "" {
		return
	}
	switch was.target {
	case "fonts":
		if f := r.fonts[was.font]; len(r.fonts) < maxTable {
			f.mono = f.mono || monospaced.MatchString(s)
			r.fonts[was.font] = f
		}
	case "styles":
		if m := headed.FindStringSubmatch(s); m != nil && len(r.styles) < maxTable {
			r.styles[r.style] = int(m[1][0] - '0')
		}
	case "title":
		r.meta.Title = s
	case "author":
		r.meta.Creator = s
	case "subject":
		r.meta.Description = s
	case "keywords":
		r.meta.Subject = s
	}
}

// paragraph ends a paragraph.
func (r *reader) paragraph() {
	r.decode()
	s := r.text.String()
	r.text.Reset()
	mono, plain, light := r.mono, r.plain, r.light
	r.mono, r.plain, r.light = false, false, false
	if strings.TrimSpace(s) == "" {
		r.lastRow = false
		return
	}
	b := document.Block{Kind: document.Paragraph, Text: s}
	m := marker.FindStringSubmatchIndex(s)
	switch {
	case r.now.level > 0:
		b.Kind, b.Level = document.Heading, r.now.level
	case m != nil:
		b.Kind, b.Level = document.ListItem, r.depth()
		mark := s[m[2]:m[3]]
		if len(mark) == 0 || !strings.ContainsAny(mark, ".)") {
			mark = "-"
		}
		b.Text = mark + " " + s[m[1]:]
		b.Tight = len(r.out) > 0 && r.out[len(r.out)-1].Kind == document.ListItem
	case mono && !plain:
		r.code = append(r.code, s)
		return
	}
	b.Strong = b.Kind == document.Paragraph && !light
	r.endCode()
	if b.Kind != document.ListItem {
		r.indents = nil
	}
	r.out = append(r.out, b)
	r.lastRow = false
	r.notes()
}

func (r *reader) notes() {
	if s := strings.TrimSpace(r.note.String()); s != "" {
		r.out = append(r.out, document.Block{Kind: document.Paragraph, Text: "Note: " + s})
		r.lastRow = false
	}
	r.note.Reset()
}

// endCode ends the code of consecutive paragraphs.
func (r *reader) endCode() {
	if len(r.code) > 0 {
		r.out = append(r.out, document.Block{Kind: document.Code, Text: strings.Join(r.code, "\n"), Fenced: true})
		r.code, r.lastRow, r.indents = nil, false, nil
	}
}

// depth returns the depth of an item, from the indents of the items before it.
func (r *reader) depth() int {
	for len(r.indents) > 0 && r.indents[len(r.indents)-1] > r.now.indent {
		r.indents = r.indents[:len(r.indents)-1]
	}
	if !slices.Contains(r.indents, r.now.indent) && len(r.indents) < 9 {
		r.indents = append(r.indents, r.now.indent)
	}
	return len(r.indents)
}

func (r *reader) cell() error {
	r.decode()
	if r.cells = append(r.cells, r.text.String()); len(r.cells) > maxCells {
		return document.TooLarge("holds a row of more than %d cells", maxCells)
	}
	r.text.Reset()
	r.mono, r.plain, r.light = false, false, false
	return nil
}

func (r *reader) row() {
	if s := document.Row(r.cells); s != "" {
		r.endCode()
		r.out = append(r.out, document.Block{Kind: document.TableRow, Text: s, Tight: r.lastRow})
		r.lastRow, r.indents = true, nil
	}
	r.cells = r.cells[:0]
	if r.note.Len() > 0 {
		r.notes()
	}
}

// control reads what follows a backslash.
func (r *reader) control() error {
	if len(r.data) == 0 {
		return nil
	}
	c := r.data[0]
	if c < 'a' || c > 'z' {
		r.data = r.data[1:]
		r.symbol(c)
		return nil
	}
	end := 0
	for end < len(r.data) && end < 40 && (r.data[end] >= 'a' && r.data[end] <= 'z' || r.data[end] >= 'A' && r.data[end] <= 'Z') {
		end++
	}
	word := string(r.data[:end])
	from := end
	for end < len(r.data) && end-from < 11 && (r.data[end] >= '0' && r.data[end] <= '9' || end == from && r.data[end] == '-') {
		end++
	}
	n, err := strconv.Atoi(string(r.data[from:end]))
	given := err == nil
	r.data = bytes.TrimPrefix(r.data[end:], []byte(" "))
	if word != "u" && r.skip > 0 {
		r.skip--
		return nil
	}
	return r.word(word, n, given)
}

func (r *reader) symbol(c byte) {
	switch c {
	case '\'':
		if len(r.data) >= 2 {
			var b [1]byte
			if _, err := hex.Decode(b[:], r.data[:2]); err == nil {
				r.char(b[0])
			}
			r.data = r.data[2:]
		}
	case '\\', '{', '}':
		r.char(c)
	case '~':
		r.decode()
		r.write(" ")
	case '_':
		r.char('-')
	case '*':
		r.decode()
		r.now.target = "skip"
	case '\r', '\n':
		r.paragraph()
	}
}
