package wire

import (
	"iter"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// DublinCore is the metadata of a document (ISO 15836) in requests and replies. Unknown elements are left out.
type DublinCore struct {
	Title       string `json:"dc_title,omitempty" maxLength:"2000"`
	Creator     string `json:"dc_creator,omitempty" maxLength:"2000"`
	Subject     string `json:"dc_subject,omitempty" maxLength:"2000"`
	Description string `json:"dc_description,omitempty" maxLength:"2000"`
	Publisher   string `json:"dc_publisher,omitempty" maxLength:"2000"`
	Date        string `json:"dc_date,omitempty" maxLength:"2000"`
	Language    string `json:"dc_language,omitempty" maxLength:"2000"`
	Rights      string `json:"dc_rights,omitempty" maxLength:"2000"`
	Source      string `json:"dc_source,omitempty" maxLength:"2000" description:"The resource that the document is derived from, such as its original URL."`
	Identifier  string `json:"dc_identifier,omitempty" maxLength:"2000" description:"Such as a DOI or ISBN."`
}

// All iterates over the elements by their names in JSON. Unknown elements are empty.
func (d DublinCore) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		m := corpus.DublinCore(d)
		for _, e := range m.Elements() {
			if !yield(e.Name, *e.Value) {
				return
			}
		}
	}
}

// DublinCoreOfDocument returns the metadata of an indexed document; nil if it has none.
func DublinCoreOfDocument(d corpus.Document) *DublinCore {
	meta := d.Metadata()
	return DublinCoreOf(&meta, corpus.MaxElement)
}

// DublinCoreOf returns metadata with at most limit bytes of each element. It returns nil if m is nil or empty, or if limit is 0.
func DublinCoreOf(m *corpus.DublinCore, limit int) *DublinCore {
	if m == nil || limit <= 0 {
		return nil
	}
	short := *m
	for _, e := range short.Elements() {
		*e.Value = lang.Truncate(*e.Value, limit)
	}
	if short == (corpus.DublinCore{}) {
		return nil
	}
	d := DublinCore(short)
	return &d
}
