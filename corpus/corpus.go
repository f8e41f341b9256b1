// Package corpus says what documents are made of: a [Document] and its [Chunk]s at three levels. It holds types, and how they are counted.
package corpus

import (
	"cmp"
	"time"
)

// DefaultCollection is the collection of documents and questions that name none.
const DefaultCollection = "default"

// DocumentID identifies a document within its collection; it is stable while the document's location is.
type DocumentID string

// ChunkID identifies a chunk within all collections; it is stable while the document's text is.
type ChunkID string

// Level is how much text a chunk holds. A chunk's parent is one level up.
type Level int

// The levels.
const (
	Section  Level = 1 // what stands under one heading
	Passage  Level = 2 // about a paragraph: what is retrieved and read
	Sentence Level = 3 // one statement
)

// String gives the level's name on the wire: L1, L2, L3.
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
	// Path is the path of a file that a folder was indexed for, from that folder's name on, with slashes; empty for other documents.
	Path      string     `json:"path,omitempty"`
	MediaType string     `json:"media_type"` // as recognised, such as text/markdown
	Hash      string     `json:"hash"`       // hex SHA-256 of the bytes and of the way they were cut
	Bytes     int64      `json:"bytes"`      // size of the source
	Pages     int        `json:"pages,omitempty"`
	Meta      DublinCore `json:"meta,omitzero"`
	IndexedAt time.Time  `json:"indexed_at"`
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
}

// Chunk is a piece of a document's text. Text is valid UTF-8 without control characters but tab and newline.
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
	// Proposition is, of a sentence that does not stand alone, what it says with its pronouns and its heading resolved; empty
	// where the text does. It is searched and embedded in the text's place, and never shown as what the document says.
	Proposition string `json:"proposition,omitempty"`
}

// SearchText is what a search and a judgement read of the chunk.
func (c Chunk) SearchText() string { return cmp.Or(c.Proposition, c.Text) }

// PagesOf returns the pages that Text[start:end] is on: all pages of the chunk if it is not known where they begin.
func (c Chunk) PagesOf(start, end int) []int {
	first, last := c.pageRange(start, end)
	return c.Pages[first:last]
}

// Slice returns the chunk with Text[start:end] as its text.
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

// pageRange returns the half-open range of Pages that Text[start:end] is on.
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

// Heading is the innermost heading over the chunk, or the document's title.
func (c Chunk) Heading() string {
	if n := len(c.Headings); n > 0 {
		return c.Headings[n-1]
	}
	return c.Title
}

// PageBytes is how much text a page has of a document whose format has no pages: as many whole passages as fit, and one at least.
const PageBytes = 3000

// PageCounter counts the pages of such a document over its passages in their order. The zero value stands before the first.
type PageCounter struct{ page, bytes int }

// Next gives the page, from 1, of the next passage.
func (p *PageCounter) Next(text string) int {
	if p.page == 0 || p.bytes+len(text) > PageBytes {
		p.page, p.bytes = p.page+1, 0
	}
	p.bytes += len(text) + 2
	return p.page
}
