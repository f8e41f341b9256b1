// Package parse turns the bytes of a document into blocks of text with headings and pages: one file per format.
//
// Whatever the bytes are, [Parse] returns within its limits: it does not panic, its output is bounded, and its text is
// valid UTF-8 without control characters but tab and newline.
package parse

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/lang"
)

// Kind says what a block is.
type Kind int

// The kinds.
const (
	Paragraph Kind = iota
	Heading
	ListItem
	TableRow
	Code
)

// String gives the kind's name.
func (k Kind) String() string {
	return [...]string{"paragraph", "heading", "item", "row", "code"}[k]
}

// Block is a piece of a document in reading order.
type Block struct {
	Kind       Kind
	Level      int         // of a heading: from 1, the outermost; of a list item: how deep, from 1
	Text       string      // never empty; no newline in a heading
	Page       int         // where it begins, from 1; 0: the format has no pages
	PageBreaks []PageBreak // the pages that begin within Text, in order
	Links      []Link      // of Text, in order and apart: the first 64; only Markdown and HTML have some

	// Synthetic is a heading that what follows repeats, as a declaration's name does: it names its section and is no
	// part of the text.
	Synthetic bool
	// Fenced is code that stands in prose, and not a source file's: the document's text keeps it between fences. It is
	// no longer than a passage may be, so that no cut parts it from them.
	Fenced bool
	// Tight joins the block to the one before with a newline and not with a blank line.
	Tight bool
}

// PageBreak is where a page begins within a block.
type PageBreak struct {
	Offset int // byte offset in the block's text
	Page   int
}

// Link is a link of a block's text. What links a picture is none.
type Link struct {
	Offset int    // byte offset in the block's text
	Text   string // its words there; at most 200 bytes, and never empty
	Target string // where it leads, as the document writes it; empty if that is longer than 200 bytes
}

// Parsed is a document as its format tells it.
type Parsed struct {
	Title     string // never empty
	MediaType string
	Meta      corpus.DublinCore
	Pages     int // 0 where the format has none
	Blocks    []Block
}

// Limits bound what a document may cost. A zero field means its default.
type Limits struct {
	Bytes  int           // of the source; 64 MiB
	Text   int           // bytes of extracted text; 64 MiB
	Pages  int           // 20,000
	Blocks int           // 2,000,000
	Time   time.Duration // a minute
}

// Version is that of the parsers' limits and costs. Raise it when documents that took too much may be read now.
const Version = "1"

// ErrExhausted is wrapped by the error of a document whose parsing took too much time or memory, and would again with the same limits.
var ErrExhausted = errors.New("parsing took too much")

// WithDefaults gives the limits with their defaults.
func (l Limits) WithDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 64 << 20
	}
	if l.Text <= 0 {
		l.Text = 64 << 20
	}
	if l.Pages <= 0 {
		l.Pages = 20_000
	}
	if l.Blocks <= 0 {
		l.Blocks = 2_000_000
	}
	if l.Time <= 0 {
		l.Time = time.Minute
	}
	return l
}

// Parse reads a document. Name is its file name, path or URL: the extension tells the format where the bytes do not, and
// the last element is the title of a document that names none. Data is not changed and not kept. Calls may run at once.
//
// An error that is due to the document is a [*fault.Error] whose message names it and says why in words fit for a
// person; an ended ctx gives its own error.
func Parse(ctx context.Context, name string, data []byte, limits Limits) (Parsed, error) {
	limits = limits.WithDefaults()
	shown := PrintableName(name)
	if len(data) > limits.Bytes {
		return Parsed{}, fault.New(fault.TooLarge, "%s: larger than the limit of %d bytes", shown, limits.Bytes)
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	p, err := parseAs(ctx, name, data, limits)
	if err == nil {
		err = p.finish(name, limits)
	}
	if err == nil {
		return p, nil
	}
	if outer.Err() != nil {
		return Parsed{}, outer.Err()
	}
	if ctx.Err() != nil {
		return Parsed{}, fault.Wrap(fault.TooLarge, ErrExhausted, "%s: reading it took longer than %s", shown, limits.Time)
	}
	if r, ok := errors.AsType[refusal](err); ok {
		return Parsed{}, fault.Wrap(r.code, r.cause, "%s: %s", shown, r.reason)
	}
	return Parsed{}, fault.Wrap(fault.InvalidRequest, err, "%s: cannot be read", shown)
}

// refusal is why a document is not taken; Parse puts its name before the reason.
type refusal struct {
	code   fault.Code
	reason string
	cause  error
}

func (r refusal) Error() string { return r.reason }

func refuse(cause error, format string, args ...any) error {
	return refusal{fault.InvalidRequest, fmt.Sprintf(format, args...), cause}
}

func tooMuch(format string, args ...any) error {
	return refusal{fault.TooLarge, fmt.Sprintf(format, args...), nil}
}

func parseAs(ctx context.Context, name string, data []byte, limits Limits) (p Parsed, err error) {
	f, err := recognise(name, data)
	if err != nil {
		return Parsed{}, err
	}
	defer func() {
		if r := recover(); r != nil {
			p, err = Parsed{}, refuse(fmt.Errorf("panic: %v", r), "not valid %s", f.label)
		}
	}()
	p, err = f.parse(ctx, source{name: name, data: data, format: f, limits: limits})
	p.MediaType = f.media
	return p, err
}

// finish brings what a parser found into the shape that Parsed promises.
func (p *Parsed) finish(name string, limits Limits) error {
	if len(p.Blocks) > limits.Blocks {
		return tooMuch("holds more than %d blocks", limits.Blocks)
	}
	total, links, solid := 0, 0, false
	kept := make([]Block, 0, len(p.Blocks))
	for _, b := range p.Blocks {
		switch {
		case b.Kind == Heading:
			b.Text = clip(oneLine(b.Text), 400)
		case len(b.PageBreaks) == 0:
			b.Text = tidy(b.Text)
			if b.Kind != Code {
				b.Text = strings.TrimSpace(b.Text)
			}
		}
		if strings.TrimSpace(b.Text) == "" {
			continue
		}
		b.Links = placed(b.Links, b.Text)
		if total += len(b.Text); total > limits.Text {
			return tooMuch("holds more than %d bytes of text", limits.Text)
		}
		if links += len(b.Links); links > maxAllLinks {
			b.Links = nil
		}
		solid = solid || !b.Synthetic
		for b.Fenced && len(b.Text) > maxFenced {
			at := codeSeam(b.Text)
			if part := strings.TrimRight(b.Text[:at], " \t\n"); part != "" {
				kept = append(kept, Block{Kind: b.Kind, Text: part, Page: b.Page, Fenced: true, Tight: b.Tight})
			}
			b.Text, b.Tight = strings.TrimLeft(b.Text[at:], "\n"), false
		}
		if b.Text != "" {
			kept = append(kept, b)
		}
	}
	p.Blocks = kept
	if !solid {
		return refuse(nil, "holds no text")
	}
	if len(p.Blocks) > limits.Blocks { // code that is cut has more of them
		return tooMuch("holds more than %d blocks", limits.Blocks)
	}
	m := &p.Meta
	for _, s := range []*string{&m.Title, &m.Creator, &m.Subject, &m.Description, &m.Publisher, &m.Date, &m.Language, &m.Rights} {
		*s = clip(oneLine(*s), 2000)
	}
	p.Title = clip(oneLine(p.Title), 300)
	for _, t := range []string{clip(p.Meta.Title, 300), baseTitle(name), "untitled"} {
		if p.Title == "" {
			p.Title = t
		}
	}
	return nil
}

// maxFenced is the longest fenced code of one block, in bytes.
const maxFenced = 1000

// codeSeam says where overlong code may be cut: at a blank line, else at a line's end, else between characters.
func codeSeam(s string) int {
	head := s[:maxFenced]
	if i := strings.LastIndex(head, "\n\n"); i > maxFenced/4 {
		return i
	}
	if i := strings.LastIndexByte(head, '\n'); i > 0 {
		return i
	}
	at := maxFenced
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// tidy is clean text without blanks at the ends of lines.
func tidy(s string) string {
	s = lang.Clean(s)
	if !strings.Contains(s, " \n") && !strings.Contains(s, "\t\n") {
		return strings.TrimRight(s, " \t\n")
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] == '\n' {
			for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
				b = b[:len(b)-1]
			}
		}
		b = append(b, s[i])
	}
	return strings.TrimRight(string(b), " \t\n")
}

// oneLine is tidy text with every run of white space as one blank.
func oneLine(s string) string {
	s = tidy(s)
	b := make([]byte, 0, len(s))
	blank := false
	for i, r := range s {
		if unicode.IsSpace(r) {
			blank = len(b) > 0
			continue
		}
		if blank {
			b = append(b, ' ')
			blank = false
		}
		b = append(b, s[i:i+utf8.RuneLen(r)]...)
	}
	return string(b)
}

// clip shortens s to n bytes at most, at a word if one ends near.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	s = s[:n]
	if i := strings.LastIndexByte(s, ' '); i > n*3/4 {
		s = s[:i]
	}
	return s
}

// baseTitle is the last element of a path or URL.
func baseTitle(name string) string {
	name = strings.ReplaceAll(name, "\\", "/")
	if strings.Contains(name, "://") {
		name, _, _ = strings.Cut(name, "#")
		name, _, _ = strings.Cut(name, "?")
	}
	base := path.Base(strings.TrimRight(name, "/"))
	if base == "." || base == "/" {
		return ""
	}
	return clip(oneLine(base), 300)
}

// PrintableName is a file's name fit for a message: bytes that are no UTF-8 and characters that do not print are escaped.
func PrintableName(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, name[i])
		case r < 0x20:
			fmt.Fprintf(&b, `\x%02x`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	if b.Len() > 1000 {
		return clip(b.String(), 1000) + "…"
	}
	return b.String()
}
