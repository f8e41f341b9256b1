// Package selfquery finds conditions on documents in a question, such as dates and authors, and filters documents by their metadata.
package selfquery

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// Filter holds the conditions of a question. A document matches if it meets all that are not empty.
type Filter struct {
	Creator   string `json:"creator,omitempty"`   // name; each of its words is in the creator of the document
	Publisher string `json:"publisher,omitempty"` // in the same way
	Title     string `json:"title,omitempty"`     // part of the title or file name
	Type      string `json:"type,omitempty"`      // one of Types
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

// types are the types of documents with their media types.
var types = map[string][]string{
	"pdf": {"application/pdf"}, "markdown": {"text/markdown"}, "html": {"text/html"}, "text": {"text/plain"}, "table": {"text/csv", "text/tab-separated-values"},
}

// Matches reports whether a document meets the conditions. A date of less precision, such as a year, matches if it can be within the
// range. A document whose metadata lacks what a condition needs does not match.
func (f Filter) Matches(d corpus.Document) bool {
	meta := d.Metadata()
	switch {
	case f.Creator != "" && !hasWords(meta.Creator, f.Creator):
		return false
	case f.Publisher != "" && !hasWords(meta.Publisher, f.Publisher):
		return false
	case f.Title != "" && !hasPhrase(d.Title, f.Title) && !hasPhrase(meta.Title, f.Title) && !hasPhrase(path.Base(d.URI), f.Title):
		return false
	case f.Type != "" && !slices.Contains(types[f.Type], d.MediaType):
		return false
	case f.Language != "" && languageCode(meta.Language) != f.Language:
		return false
	case f.From == "" && f.To == "":
		return true
	}
	when, ok := parseDate(meta.Date)
	return ok && (f.From == "" || day(when.last) >= f.From) && (f.To == "" || day(when.first) <= f.To)
}

// hasWords reports whether all words of name are words of s, whatever their case and accents.
func hasWords(s, name string) bool {
	have := folded(s)
	wanted := folded(name)
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(have, w) })
}

// hasPhrase reports whether the words of phrase follow each other in s.
func hasPhrase(s, phrase string) bool {
	wanted := folded(phrase)
	return len(wanted) > 0 && strings.Contains(" "+strings.Join(folded(s), " ")+" ", " "+strings.Join(wanted, " ")+" ")
}

func folded(s string) []string {
	var out []string
	for _, w := range lang.Words(lang.Truncate(s, corpus.MaxElement)) {
		out = append(out, lang.FoldWord(w.Text))
	}
	return out
}

// languages are names of languages with their codes.
var languages = map[string]string{"english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt", "dutch": "nl", "polish": "pl",
	"swedish": "sv", "danish": "da", "norwegian": "no", "finnish": "fi", "czech": "cs", "russian": "ru", "chinese": "zh", "japanese": "ja", "korean": "ko", "arabic": "ar",
	"turkish": "tr", "greek": "el"}

// languageCode returns the code of a language from its name or tag, such as en-GB; "" if it is unknown.
func languageCode(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if code, ok := languages[s]; ok {
		return code
	}
	s, _, _ = strings.Cut(strings.ReplaceAll(s, "_", "-"), "-")
	if len(s) != 2 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return s
}
