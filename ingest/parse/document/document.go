// Package document has what the parsers of all formats share: the blocks of a parsed document, the input of a parser, its limits and
// errors, and cleaning of text.
package document

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
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
	Links      []Link      // in Text, ordered and not overlapping, at most 64

	// Synthetic marks a heading that only labels its section and is not in the document's text, such as the name of a declaration, which
	// the code after it repeats.
	Synthetic bool
	// Fenced marks code in prose, as opposed to code of a source file. The document's text keeps its fences. It is no longer than a
	// passage, so that it is never split.
	Fenced bool
	// Strong marks a paragraph that is all in bold. Package parse makes it a heading if it looks like a title.
	Strong bool
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

// Source is the input of a parser.
type Source struct {
	Name   string // file name, path or URL
	Data   []byte // must not be changed or kept
	Limits Limits
	// Embed parses a document that this one contains, such as an attachment of a message or a chapter of a book. Its name selects the
	// format if its bytes do not. The number of embedded documents and their nesting are limited.
	Embed Parser
}

// Parser parses documents of one format. It returns blocks in reading order; package parse cleans their text and checks the limits. The
// error of a damaged document is that of [Refuse] or [TooLarge]. It ends early if ctx ends, and may be called concurrently.
type Parser func(ctx context.Context, src Source) (Parsed, error)

// TextParser is like Parser, for formats that are text: s is UTF-8 with \n as the end of lines.
type TextParser func(ctx context.Context, s string, limits Limits) (Parsed, error)

// Refusal is the error of a document. Package parse adds the document's name.
type Refusal struct {
	Code   fault.Code
	Reason string // fit for users
	Cause  error
}

// Error returns the reason.
func (r Refusal) Error() string { return r.Reason }

// Unwrap returns the cause.
func (r Refusal) Unwrap() error { return r.Cause }

// ErrEmbedded is the cause if a document contains too many documents, or too deep ones. A parser that leaves out embedded documents that
// cannot be read returns this error.
var ErrEmbedded = errors.New("limit of embedded documents")

// Embedded returns the blocks of an embedded document for a document that contains it: headings are moved down by some levels, and pages are
// left out.
func Embedded(blocks []Block, levels int) []Block {
	for i := range blocks {
		b := &blocks[i]
		if b.Page, b.PageBreaks = 0, nil; b.Kind == Heading {
			b.Level += levels
		}
	}
	return blocks
}

// Refuse returns the error of a document that cannot be read.
func Refuse(cause error, format string, args ...any) error {
	return Refusal{fault.InvalidRequest, fmt.Sprintf(format, args...), cause}
}

// TooLarge returns the error of a document that exceeds a limit.
func TooLarge(format string, args ...any) error {
	return Refusal{fault.TooLarge, fmt.Sprintf(format, args...), nil}
}
