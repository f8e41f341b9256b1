package corpus

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/fault"
)

// Scope is what a question searches: collections or sets of uploaded files by their names, and single documents by their ids.
// Its text form, in requests and logs, is a list of names separated by commas, in which "file:" precedes the id of a document.
type Scope struct {
	Collections []string
	Documents   []DocumentID
}

const (
	documentPrefix = "file:"
	maxScopeNames  = 64
	maxScopeBytes  = 32 << 10
)

// ParseScope parses the text form. Order, repetition and blanks around names do not matter: the fields are sorted and without
// duplicates. The empty string is [DefaultCollection]. Errors are [fault.InvalidRequest] of the field "collection": no
// name, too many names, and characters that are not printable.
func ParseScope(text string) (Scope, error) {
	if text == "" {
		return Scope{Collections: []string{DefaultCollection}}, nil
	}
	if len(text) > maxScopeBytes {
		return Scope{}, fault.Invalid("collection", "more than %d bytes", maxScopeBytes)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Scope{}, fault.Invalid("collection", "names consist of printable characters")
	}
	var s Scope
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if id, ok := strings.CutPrefix(name, documentPrefix); !ok && name != "" {
			s.Collections = append(s.Collections, name)
		} else if id = strings.TrimSpace(id); ok && id != "" {
			s.Documents = append(s.Documents, DocumentID(id))
		}
	}
	s.Collections, s.Documents = distinct(s.Collections), distinct(s.Documents)
	switch n := len(s.Collections) + len(s.Documents); {
	case n == 0:
		return Scope{}, fault.Invalid("collection", "contains no name")
	case n > maxScopeNames:
		return Scope{}, fault.Invalid("collection", "%d names; at most %d are searched at once", n, maxScopeNames)
	}
	return s, nil
}

func distinct[T ~string](names []T) []T {
	slices.Sort(names)
	return slices.Compact(names)
}

// String returns the text form: the collections, then the documents, each in the order of its field.
func (s Scope) String() string {
	names := slices.Clone(s.Collections)
	for _, id := range s.Documents {
		names = append(names, documentPrefix+string(id))
	}
	return strings.Join(names, ",")
}
