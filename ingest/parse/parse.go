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
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// The types of parsed documents; see package document, which the parsers of formats share.
type (
	Kind      = document.Kind
	Block     = document.Block
	PageBreak = document.PageBreak
	Link      = document.Link
	Parsed    = document.Parsed
	Limits    = document.Limits
)

// The kinds of blocks.
const (
	Paragraph = document.Paragraph
	Heading   = document.Heading
	ListItem  = document.ListItem
	TableRow  = document.TableRow
	Code      = document.Code
)

// Version is the version of the parsers' limits and costs. Increase it when documents that exhausted a limit may succeed now.
const Version = "2"

// ErrExhausted is wrapped by the error of a document that exhausted its time or memory, and would again with the same limits.
var ErrExhausted = errors.New("parsing exhausted a limit")

// ErrPictures is wrapped by the error of a picture, and of a document that consists of pictures of pages. Other programs may find text in them.
var ErrPictures = errors.New("the document consists of pictures")

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
	p, err := parseAs(ctx, name, data, limits, nesting{total: new(embedded)})
	if err == nil {
		err = finish(&p, name, limits)
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
	if r, ok := errors.AsType[document.Refusal](err); ok {
		return Parsed{}, fault.Wrap(r.Code, r.Cause, "%s: %s", shown, r.Reason)
	}
	return Parsed{}, fault.Wrap(fault.InvalidRequest, err, "%s: cannot be read", shown)
}

var (
	refuse   = document.Refuse
	tooLarge = document.TooLarge
)

func parseAs(ctx context.Context, name string, data []byte, limits Limits, nest nesting) (p Parsed, err error) {
	f, err := recognise(name, data)
	if err != nil {
		return Parsed{}, err
	}
	defer func() {
		if r := recover(); r != nil {
			p, err = Parsed{}, refuse(fmt.Errorf("panic: %v", r), "not valid %s", f.label)
		}
	}()
	p, err = f.parse(ctx, source{name: name, data: data, format: f, limits: limits, embed: nest.embed(limits)})
	if p.MediaType == "" { // a compressed file has that of its content
		p.MediaType = f.media
	}
	return p, err
}

// Finish cleans and checks what another program has read of a document, as [Parse] does with the output of its parsers.
func Finish(p *Parsed, name string, limits Limits) error {
	err := finish(p, name, limits.WithDefaults())
	if r, ok := errors.AsType[document.Refusal](err); ok {
		return fault.Wrap(r.Code, r.Cause, "%s: %s", PrintableName(name), r.Reason)
	}
	return err
}

// finish cleans and checks the output of a parser, as documented for Parsed.
func finish(p *Parsed, name string, limits Limits) error {
	if len(p.Blocks) > limits.Blocks {
		return tooLarge("holds more than %d paragraphs, rows and list items: split it", limits.Blocks)
	}
	total, links, visible := 0, 0, false
	kept := make([]Block, 0, len(p.Blocks))
	for _, b := range p.Blocks {
		if b.Kind == Paragraph && b.Strong && isStrongTitle(strings.TrimSpace(b.Text)) {
			b.Kind, b.Level = Heading, strongLevel
		}
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
	keepStatements(kept)
	strongTitle := markStrongTitle(kept)
	markOutline(kept)
	if !visible {
		return refuse(nil, "holds no text")
	}
	if len(p.Blocks) > limits.Blocks { // splitting code adds blocks
		return tooLarge("holds more than %d paragraphs, rows and list items: split it", limits.Blocks)
	}
	for _, e := range p.Meta.Elements() {
		*e.Value = clip(oneLine(*e.Value), corpus.MaxElement)
	}
	if !corpus.ValidAccount(p.Contributor) {
		p.Contributor = ""
	}
	p.Title = clip(oneLine(p.Title), 300)
	for _, t := range []string{clip(p.Meta.Title, 300), strongTitle, baseTitle(name), "untitled"} {
		if p.Title == "" {
			p.Title = t
		}
	}
	return nil
}

var (
	tidy     = document.Tidy
	oneLine  = document.OneLine
	tableRow = document.Row
	clip     = document.Clip
)

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
