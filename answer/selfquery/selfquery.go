// Package selfquery finds conditions on documents in a question, such as dates and authors.
package selfquery

import (
	"context"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/lang"
)

// Filter holds the conditions of a question; see [Filter.Where]. A document must meet all that are not empty.
type Filter struct {
	Creator   string `json:"creator,omitempty"`   // name; each of its words is in the creator of the document
	Publisher string `json:"publisher,omitempty"` // in the same way
	Title     string `json:"title,omitempty"`     // words of the title or the file name
	Type      string `json:"type,omitempty"`      // one of [filter.Types]
	Language  string `json:"language,omitempty"`  // two letters (ISO 639-1)
	From      string `json:"from,omitempty"`      // first day, YYYY-MM-DD
	To        string `json:"to,omitempty"`        // last day
	Query     string `json:"query"`               // the question without the conditions; the whole question if nothing else is left
	By        string `json:"by"`                  // rules, or the name of a model
}

// Empty reports whether there are no conditions.
func (f Filter) Empty() bool { return f == Filter{Query: f.Query, By: f.By} }

// Extractor finds the conditions of a question. It is safe for concurrent use. An implementation that asks a model falls back to one that
// does not and reports the failure to the trace of ctx. The only error is that of ctx.
type Extractor interface {
	Extract(ctx context.Context, question string) (Filter, error)
}

// Where returns the conditions as a filter of documents; nil if there are none. A document whose metadata lacks what a condition needs does not
// match.
func (f Filter) Where() *filter.Filter {
	var all []filter.Filter
	add := func(kind, key, value string) {
		if value != "" {
			all = append(all, filter.Filter{Type: kind, Key: key, Value: value})
		}
	}
	add(filter.Contains, "creator", f.Creator)
	add(filter.Contains, "publisher", f.Publisher)
	add(filter.Equal, "type", f.Type)
	add(filter.Equal, "language", f.Language)
	add(filter.GreaterOrEqual, "date", f.From)
	add(filter.LessOrEqual, "date", f.To)
	if f.Title != "" {
		all = append(all, filter.Filter{Type: filter.Or, Filters: []filter.Filter{
			{Type: filter.Contains, Key: "title", Value: f.Title}, {Type: filter.Contains, Key: "filename", Value: f.Title}}})
	}
	return filter.Join(all...)
}

func day(t time.Time) string { return t.Format(time.DateOnly) }

func folded(s string) []string {
	var out []string
	for _, w := range lang.Words(lang.Truncate(s, corpus.MaxElement)) {
		out = append(out, lang.FoldWord(w.Text))
	}
	return out
}
