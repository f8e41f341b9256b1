// Package parse extracts blocks of text, with headings and pages, from the bytes of a document. Each format has its own file.
//
// For any input, [Parse] returns within its limits and does not panic. Its output is bounded, and its text is valid UTF-8 without control
// characters except tab and newline.
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

// Kind is the type of a block.
type Kind int

// The kinds.
const (
	Paragraph Kind = iota
	Heading
	ListItem
	TableRow
	Code
)

// String returns the kind's name.
func (k Kind) String() string {
	return [...]string{"paragraph", "heading", "item", "row", "code"}[k]
}

// Block is a part of a document, in reading order.
type Block struct {
	Kind       Kind
	Level      int         // level of a heading, or nesting depth of a list item; from 1
	Text       string      // never empty; no newline in a heading
	Page       int         // page on which it begins, from 1; 0 if the format has no pages
	PageBreaks []PageBreak // pages that begin within Text, in order
	Links      []Link      // in Text, ordered and not overlapping, at most 64; only from Markdown and HTML

	// Synthetic marks a heading that only labels its section and is not in the document's text, such as the name of a declaration, which
	// the code after it repeats.
	Synthetic bool
	// Fenced marks code in prose, as opposed to code of a source file. The document's text keeps its fences. It is no longer than a
	// passage, so that it is never split.
	Fenced bool
	// Tight means that a newline, and not a blank line, separates the block from the one before.
	Tight bool
}

// PageBreak is the beginning of a page within a block.
type PageBreak struct {
	Offset int // byte offset in the block's text
	Page   int
}

// Link is a link in a block's text. Links around images are not included.
type Link struct {
	Offset int    // byte offset in the block's text
	Text   string // link text; 1 to 200 bytes
	Target string // as the document writes it; empty if longer than 200 bytes
}

// Parsed is a parsed document.
type Parsed struct {
	Title     string // never empty
	MediaType string
	Meta      corpus.DublinCore
	// Contributor is the account that the document names as its contributor. It is empty if the name cannot be that of an account.
	Contributor string
	Pages       int // 0 if the format has no pages
	Blocks      []Block
}

// Limits are the limits of parsing a document. A zero field means its default.
type Limits struct {
	Bytes  int           // of the source; default 64 MiB
	Text   int           // bytes of extracted text; default 64 MiB
	Pages  int           // default 20,000
	Blocks int           // default 2,000,000
	Time   time.Duration // default 1 minute
}

// Version is the version of the parsers' limits and costs. Increase it when documents that exhausted a limit may succeed now.
const Version = "1"

// ErrExhausted is wrapped by the error of a document that exhausted its time or memory, and would again with the same limits.
var ErrExhausted = errors.New("parsing exhausted a limit")

// WithDefaults returns the limits with defaults for zero fields.
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

// Parse parses a document. Name is its file name, path or URL. Its extension selects the format if the bytes do not, and its last element
// is the default title. Parse does not change or keep data. It may be called concurrently.
//
// An error caused by the document is a [*fault.Error] whose message names the document and is fit for users. If ctx ends, Parse returns its
// error.
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

// refusal is the error of a document. Parse adds the document's name.
type refusal struct {
	code   fault.Code
	reason string
	cause  error
}

func (r refusal) Error() string { return r.reason }

func refuse(cause error, format string, args ...any) error {
	return refusal{fault.InvalidRequest, fmt.Sprintf(format, args...), cause}
}

func tooLarge(format string, args ...any) error {
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

// finish cleans and checks the output of a parser, as documented for Parsed.
func (p *Parsed) finish(name string, limits Limits) error {
	if len(p.Blocks) > limits.Blocks {
		return tooLarge("holds more than %d blocks", limits.Blocks)
	}
	total, links, visible := 0, 0, false
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
		b.Links = locateLinks(b.Links, b.Text)
		if total += len(b.Text); total > limits.Text {
			return tooLarge("holds more than %d bytes of text", limits.Text)
		}
		if links += len(b.Links); links > maxAllLinks {
			b.Links = nil
		}
		visible = visible || !b.Synthetic
		for b.Fenced && len(b.Text) > maxFenced {
			at := codeSplit(b.Text)
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
	if !visible {
		return refuse(nil, "holds no text")
	}
	if len(p.Blocks) > limits.Blocks { // splitting code adds blocks
		return tooLarge("holds more than %d blocks", limits.Blocks)
	}
	for _, e := range p.Meta.Elements() {
		*e.Value = clip(oneLine(*e.Value), corpus.MaxElement)
	}
	if !corpus.ValidAccount(p.Contributor) {
		p.Contributor = ""
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

// codeSplit returns where to split long code: at a blank line, else at the end of a line, else between characters.
func codeSplit(s string) int {
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

// tidy cleans a text and removes white space at the ends of lines.
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

// oneLine is like tidy, and replaces each run of white space with one space.
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

// clip shortens s to at most n bytes, if possible at the end of a word.
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

// baseTitle returns the last element of a path or URL.
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

// PrintableName returns a file's name for messages. Invalid UTF-8 and unprintable characters are escaped.
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
