package index

import (
	"context"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
)

// Scope is a part of a collection: the documents of some sets, and single documents. Without either, it is the whole
// collection. Methods that read accept a [Scope.Name] in place of a collection's name: searches, walks, statistics and versions
// then cover only the documents of the scope. Term statistics may still count the whole collection; they reveal no passage.
type Scope struct {
	Collection string
	Sets       []string // names; see [ValidSet]
	Documents  []corpus.DocumentID
}

// separator stands before each part of a scope's name that follows the collection. Names of collections do not contain it.
const separator = "\x1f"

// maxSet is the maximum length of a set name in bytes.
const maxSet = 256

// ValidSet reports whether name is a valid set name: 1 to 256 ASCII letters, digits, dashes and underscores.
func ValidSet(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return name != "" && len(name) <= maxSet
}

// Name encodes the scope as a collection name. If a set or document cannot be encoded, [ParseScope] rejects the result.
func (s Scope) Name() string {
	var b strings.Builder
	b.WriteString(s.Collection)
	part := func(kind, name string) {
		if strings.Contains(name, separator) { // it would add another part
			name = ""
		}
		b.WriteString(separator + kind + name)
	}
	for _, set := range s.Sets {
		part("s", set)
	}
	for _, id := range s.Documents {
		part("d", string(id))
	}
	return b.String()
}

// ParseScope decodes a name. A plain name is that of a whole collection. Malformed names are a [fault.InvalidRequest].
func ParseScope(name string) (Scope, error) {
	collection, rest, scoped := strings.Cut(name, separator)
	s := Scope{Collection: collection}
	for scoped {
		var part string
		part, rest, scoped = strings.Cut(rest, separator)
		switch {
		case len(part) > 1 && part[0] == 's' && ValidSet(part[1:]):
			s.Sets = append(s.Sets, part[1:])
		case len(part) > 1 && part[0] == 'd':
			s.Documents = append(s.Documents, corpus.DocumentID(part[1:]))
		default:
			return Scope{}, fault.Invalid("collection", "not a valid name")
		}
	}
	return s, nil
}

// Whole reports whether the scope is the whole collection.
func (s Scope) Whole() bool { return len(s.Sets)+len(s.Documents) == 0 }

// Sets is the part of an index that manages sets of a collection's documents. A document that is in several sets is stored once;
// deleting it removes it from all sets. A member may be added before its document exists. Changes are durable when the call
// returns, and visible to all searches that start afterwards. All methods may be called concurrently, also with those of [Reader]
// and [Writer].
type Sets interface {
	// AddToSet adds documents to a set, and creates the set if needed. Documents that are in it stay in it.
	AddToSet(ctx context.Context, collection, set string, ids []corpus.DocumentID) error
	// RemoveFromSet removes documents from a set.
	RemoveFromSet(ctx context.Context, collection, set string, ids []corpus.DocumentID) error
	// DeleteSet removes all documents from a set.
	DeleteSet(ctx context.Context, collection, set string) error
}

// Annotator is the part of an index that changes what users state about a document. Its method may be called concurrently.
type Annotator interface {
	// Annotate sets the metadata that users give a document, and its contributor unless that is empty. The chunks of the document do not
	// change, so neither does the version of the collection. Unknown ids are ignored. The change is durable when the call returns.
	Annotate(ctx context.Context, collection string, id corpus.DocumentID, given corpus.DublinCore, contributor string) error
}

// DocumentReader is the part of an index that reads whole documents. All methods may be called concurrently and accept scopes.
type DocumentReader interface {
	// DocumentsByID returns the documents of ids that exist, in the order of ids.
	DocumentsByID(ctx context.Context, collection string, ids []corpus.DocumentID) ([]corpus.Document, error)
	// DocumentChunks returns a document's chunks of one level in their order, starting at the ordinal from, at most limit (0: all).
	DocumentChunks(ctx context.Context, collection string, id corpus.DocumentID, level corpus.Level, from, limit int) ([]corpus.Chunk, error)
}
