// Package corpus defines the data model of documents: a [Document] and its [Chunk]s at three levels.
package corpus

import (
	"cmp"
	"strings"
	"time"
)

// DefaultCollection is used for documents and questions that name no collection.
const DefaultCollection = "default"

// DocumentID identifies a document within its collection; it stays the same while the document's location does.
type DocumentID string

// Level is how much text a chunk holds. A chunk's parent is one level up.
type Level int

// The levels.
const (
	Section  Level = 1 // the text under one heading
	Passage  Level = 2 // about a paragraph: the unit of retrieval
	Sentence Level = 3 // one statement
)

// String returns the level's name on the wire: L1, L2 or L3.
func (l Level) String() string {
	switch l {
	case Section:
		return "L1"
	case Passage:
		return "L2"
	case Sentence:
		return "L3"
	}
	return "L?"
}

// Document is one file, page or upload.
type Document struct {
	ID         DocumentID `json:"id"`
	Collection string     `json:"collection"`
	Title      string     `json:"title"`
	URI        string     `json:"uri"` // where it came from: a path or a URL
	// Path is the slash-separated path of a file from an indexed folder. It begins with the folder's name. It is empty for other documents.
	Path      string     `json:"path,omitempty"`
	MediaType string     `json:"media_type"` // as detected, such as text/markdown
	Hash      string     `json:"hash"`       // hex SHA-256 of the bytes and the versions of the ingestion steps
	Bytes     int64      `json:"bytes"`      // size of the source
	Pages     int        `json:"pages,omitempty"`
	Meta      DublinCore `json:"meta,omitzero"`  // as the document states it; see [Document.Metadata]
	Given     DublinCore `json:"given,omitzero"` // as a user set it, which takes precedence
	// Contributor is the account that contributed the document. It earns a share of the answers that use it. Empty: the account of
	// the server's operator.
	Contributor string    `json:"contributor,omitempty"`
	IndexedAt   time.Time `json:"indexed_at"`
}

// DublinCore is the part of the Dublin Core element set that a document may carry.
type DublinCore struct {
	Title       string `json:"title,omitempty"`
	Creator     string `json:"creator,omitempty"`
	Subject     string `json:"subject,omitempty"`
	Description string `json:"description,omitempty"`
	Publisher   string `json:"publisher,omitempty"`
	Date        string `json:"date,omitempty"`
	Language    string `json:"language,omitempty"`
	Rights      string `json:"rights,omitempty"`
	Source      string `json:"source,omitempty"`     // the resource that the document is derived from, such as its original URL
	Identifier  string `json:"identifier,omitempty"` // such as a DOI or ISBN
}

// Chunk is a piece of a document's text. Text is valid UTF-8 without control characters except tab and newline.
type Chunk struct {
	ID       ChunkID    `json:"id"`
	Document DocumentID `json:"document"`
	Parent   ChunkID    `json:"parent,omitempty"` // empty at level Section
	Level    Level      `json:"level"`
	Ordinal  int        `json:"ordinal"` // position among the document's chunks of this level, from 0
	Title    string     `json:"title"`   // the document's
	Headings []string   `json:"headings,omitempty"`
	Pages    []int      `json:"pages,omitempty"` // from 1; empty where the format has none
	// PageStarts holds the byte offsets in Text at which Pages[1], Pages[2] … begin. Chunks of older indexes have none.
	PageStarts []int  `json:"page_starts,omitempty"`
	Start      int    `json:"start"` // byte offsets into the document's extracted text, half open
	End        int    `json:"end"`
	Text       string `json:"text"`
	// Proposition is the self-contained form of a sentence, with pronouns and headings resolved. It is empty if Text is already
	// self-contained. It replaces Text in the index and the embedding, and is never shown as the document's words.
	Proposition string `json:"proposition,omitempty"`
}

// SearchText returns the text that is indexed, embedded and judged.
func (c Chunk) SearchText() string { return cmp.Or(c.Proposition, c.Text) }

// WithHeadings returns the text after the title and the headings, each in a line.
func (c Chunk) WithHeadings() string {
	return strings.Join(append(append([]string{c.Title}, c.Headings...), c.Text), "\n")
}

// PagesOf returns the pages of Text[start:end], or all pages of the chunk if their offsets are unknown.
func (c Chunk) PagesOf(start, end int) []int {
	first, last := c.pageRange(start, end)
	return c.Pages[first:last]
}

// Slice returns a copy of the chunk whose text is Text[start:end].
func (c Chunk) Slice(start, end int) Chunk {
	first, last := c.pageRange(start, end)
	if len(c.PageStarts) > 0 {
		starts := make([]int, 0, last-first)
		for _, at := range c.PageStarts[first:max(first, last-1)] {
			starts = append(starts, at-start)
		}
		c.PageStarts = starts
	}
	c.Pages, c.Text, c.Start, c.End = c.Pages[first:last], c.Text[start:end], c.Start+start, c.Start+end
	return c
}

// pageRange returns the half-open range of Pages that Text[start:end] covers.
func (c Chunk) pageRange(start, end int) (first, last int) {
	if len(c.PageStarts) == 0 || len(c.PageStarts) != len(c.Pages)-1 {
		return 0, len(c.Pages)
	}
	for first < len(c.PageStarts) && c.PageStarts[first] <= start {
		first++
	}
	last = first + 1
	for last < len(c.Pages) && c.PageStarts[last-1] < end {
		last++
	}
	return first, last
}

// Heading returns the innermost heading above the chunk, or the document's title.
func (c Chunk) Heading() string {
	if n := len(c.Headings); n > 0 {
		return c.Headings[n-1]
	}
	return c.Title
}

// PageBytes is the size of a page of a document whose format has no pages. A page holds the whole passages that fit, and at least one.
const PageBytes = 3000

// PageCounter numbers the pages of such a document. The zero value is ready to use.
type PageCounter struct{ page, bytes int }

// Next returns the page, from 1, of the next passage.
func (p *PageCounter) Next(text string) int {
	if p.page == 0 || p.bytes+len(text) > PageBytes {
		p.page, p.bytes = p.page+1, 0
	}
	p.bytes += len(text) + 2
	return p.page
}
