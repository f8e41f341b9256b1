package weaviate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

// kind is the kind of an object. Chunks have the number of their level.
type kind int

const (
	kindDocument kind = 10
	kindMember   kind = 11 // a document in a set
	kindHead     kind = 12
	kindSpace    kind = 13
)

// The properties of a class. Ids and names are stored as keys: see key.
const (
	propKind     = "kind"
	propDocument = "document" // key of the document
	propChunk    = "chunk"    // key of the chunk
	propRevision = "revision" // of the document
	propWriter   = "writer"   // server of the commit
	propSeq      = "seq"      // number of the commit of the writer
	propRow      = "row"      // the first bits of the object's id; divides the objects into ranges
	propOrdinal  = "ordinal"
	propOrder    = "order"  // of a document or a member: its id in hex
	propSet      = "set"    // of a member: name of the set
	propSpaces   = "spaces" // of a chunk: slots of the spaces in which its vector is known, or known to be none
	propNamed    = "named"  // of a passage: the entities that it mentions
	propAbout    = "about"  // of a passage: the entities that it is about
	propTitled   = "titled" // of a passage: the distinct terms of its title
	propData     = "data"   // JSON of a record; not indexed
	propTerms    = "terms"  // with the number of a level: title, innermost heading, other headings and text as terms, divided by separators
)

// rowBits is the number of bits of a row. Integers of GraphQL have 32 bits with their sign.
const rowBits = 30

// object is an object of Weaviate, in requests and replies.
type object struct {
	Kind       kind     `json:"kind,omitempty"`
	Document   string   `json:"document,omitempty"`
	Chunk      string   `json:"chunk,omitempty"`
	Revision   string   `json:"revision,omitempty"`
	Writer     string   `json:"writer,omitempty"`
	Seq        int64    `json:"seq,omitempty"`
	Row        int64    `json:"row"`
	Ordinal    int      `json:"ordinal"`
	Order      string   `json:"order,omitempty"`
	Set        string   `json:"set,omitempty"`
	Spaces     []string `json:"spaces,omitempty"`
	Named      []string `json:"named,omitempty"`
	About      []string `json:"about,omitempty"`
	Titled     []string `json:"titled,omitempty"`
	Data       string   `json:"data,omitempty"`
	Terms1     string   `json:"terms1,omitempty"`
	Terms2     string   `json:"terms2,omitempty"`
	Terms3     string   `json:"terms3,omitempty"`
	Additional struct {
		ID       string
		Distance *float64
		Vectors  map[string][]float32
	} `json:"_additional,omitzero"`
}

// terms returns the terms of a chunk, of any level.
func (o *object) terms() string { return o.Terms1 + o.Terms2 + o.Terms3 }

// decode reads the record of an object.
func (o *object) decode(out any) error { return json.Unmarshal([]byte(o.Data), out) }

// stored is an object with its id and vectors, as Weaviate stores it.
type stored struct {
	Class      string               `json:"class"`
	Tenant     string               `json:"tenant"`
	ID         string               `json:"id"`
	Properties any                  `json:"properties"`
	Vectors    map[string][]float32 `json:"vectors,omitempty"`
}

// key returns a short string for an id or name. Readers compare the id itself where a collision would show a text.
func key(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// idOf returns the id of an object that exists once for its parts.
func idOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	id, _ := uuid.FromBytes(sum[:16]) // it has the right length
	return id.String()
}

// rowOf returns the row of the object with an id.
func rowOf(id string) int64 {
	u := uuid.MustParse(id) // this package makes all ids
	return int64(binary.BigEndian.Uint64(u[:8]) >> (64 - rowBits))
}

// chunkRecord is the data of a chunk.
type chunkRecord struct {
	Chunk     corpus.Chunk       `json:"chunk"`
	Mentions  []corpus.Mention   `json:"mentions,omitempty"`
	Relations []prepare.Relation `json:"relations,omitempty"`
}

// documentRecord is the data of a document.
type documentRecord struct {
	corpus.Document
	Time   int64               `json:"time,omitempty"` // of the commit, in microseconds since 1970
	Chunks [prepare.Levels]int `json:"chunks"`
	Tokens [prepare.Levels]int `json:"tokens"`
}

// separator divides the parts of a chunk's terms. No term is equal to it.
const separator = "|"

// maxTerm is the length of a term in bytes from which its key is used in its place.
const maxTerm = 128

func term(t string) string {
	if len(t) > maxTerm {
		return key(t)
	}
	return t
}

// termsOf returns the terms of a chunk and their number. The first part is the title, the second the innermost heading; then follow the other headings
// and the text.
func termsOf(c *corpus.Chunk) (string, int) {
	heading, n := "", 0
	parts := make([]string, 0, 3+len(c.Headings))
	add := func(s string) {
		terms := lang.Terms(s)
		n += len(terms)
		for i, t := range terms {
			terms[i] = term(t)
		}
		parts = append(parts, strings.Join(terms, " "))
	}
	var others []string
	for _, h := range c.Headings {
		if h != c.Title {
			others = append(others, h)
		}
	}
	if len(others) > 0 {
		heading, others = others[len(others)-1], others[:len(others)-1]
	}
	add(c.Title)
	add(heading)
	for _, h := range others {
		add(h)
	}
	add(c.SearchText())
	return strings.Join(parts, " "+separator+" "), n
}
