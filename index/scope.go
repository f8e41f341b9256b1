package index

import (
	"context"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
)

// Scope is a part of a collection: the documents of some sets, and some documents by themselves. Without any, it is the whole
// collection. Its [Scope.Name] stands in a collection's place in whatever reads: searches, walks, statistics and versions then
// are those of the documents in it, and of nothing else. Where an engine's statistics of words count the whole collection,
// as they may, they still give no passage away.
type Scope struct {
	Collection string
	Sets       []string // of letters, digits, dashes and underscores
	Documents  []corpus.DocumentID
}

// mark begins what a scope's name says behind its collection, and stands before each part of it. No collection has it in its name.
const mark = "\x1f"

// maxSet bounds the name of a set, in bytes.
const maxSet = 256

// ValidSet tells whether a set may have the name: 1 to 256 letters and digits of ASCII, dashes and underscores.
func ValidSet(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return name != "" && len(name) <= maxSet
}

// Name gives the scope as a collection's name. That of sets and documents that cannot be named is one that nobody reads.
func (s Scope) Name() string {
	var b strings.Builder
	b.WriteString(s.Collection)
	part := func(kind, name string) {
		if strings.Contains(name, mark) { // which would add another part
			name = ""
		}
		b.WriteString(mark + kind + name)
	}
	for _, set := range s.Sets {
		part("s", set)
	}
	for _, id := range s.Documents {
		part("d", string(id))
	}
	return b.String()
}

// ParseScope reads a name. One of no scope is that of a whole collection; one that no scope has is a [fault.InvalidRequest].
func ParseScope(name string) (Scope, error) {
	collection, rest, scoped := strings.Cut(name, mark)
	s := Scope{Collection: collection}
	for scoped {
		var part string
		part, rest, scoped = strings.Cut(rest, mark)
		switch {
		case len(part) > 1 && part[0] == 's' && ValidSet(part[1:]):
			s.Sets = append(s.Sets, part[1:])
		case len(part) > 1 && part[0] == 'd':
			s.Documents = append(s.Documents, corpus.DocumentID(part[1:]))
		default:
			return Scope{}, fault.Invalid("collection", "not the name of one")
		}
	}
	return s, nil
}

// Whole tells whether the scope is all of its collection.
func (s Scope) Whole() bool { return len(s.Sets)+len(s.Documents) == 0 }

// Sets is the part of an index that keeps sets of a collection's documents. A document that is in several sets is stored once;
// one that is deleted leaves them all. A member need not be there yet: it counts once it is put. All methods may be called at
// once, also beside those of [Reader] and [Writer]; what changes is durable when the call returns, and seen by every search that
// starts afterwards.
type Sets interface {
	// Join puts documents into a set, which comes to be with its first one. Those that are in it already stay.
	Join(ctx context.Context, collection, set string, ids []corpus.DocumentID) error
	// Leave takes documents out of a set.
	Leave(ctx context.Context, collection, set string, ids []corpus.DocumentID) error
	// Disband takes all documents out of a set.
	Disband(ctx context.Context, collection, set string) error
}

// Contents is the part of an index that reads documents as such. Collections may be scopes. All methods may be called at once.
type Contents interface {
	// Describe gives the documents of ids that exist, in the order of ids.
	Describe(ctx context.Context, collection string, ids []corpus.DocumentID) ([]corpus.Document, error)
	// Within gives a document's chunks of one level in their order, those whose ordinal is from or more, at most limit (0: all).
	Within(ctx context.Context, collection string, id corpus.DocumentID, level corpus.Level, from, limit int) ([]corpus.Chunk, error)
}
