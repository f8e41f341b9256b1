package embedded

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index/prepare"
)

// The buckets of documents.db. Integers in keys are big-endian, so keys sort as numbers do.
var (
	bucketMeta        = []byte("meta")
	bucketCollections = []byte("collections") // name → collection number, 4 bytes
	bucketDocuments   = []byte("documents")   // collection, document id → docRecord
	bucketChunks      = []byte("chunks")      // row → chunk as JSON, nestedRecord or sentenceRun; a row is never used twice
	bucketIDs         = []byte("ids")         // collection, chunk id → row; or collection, beginning of the computed ids of a document → its rows
	bucketSpaces      = []byte("spaces")      // collection, name → spaceRecord
	bucketDropped     = []byte("dropped")     // collection, number of a dropped space whose vectors have to be deleted → nothing
	bucketVectors     = []byte("vectors")     // collection, number of a space, level, row → components, see [index.Quantize]; empty: the chunk has no vector
	bucketLevels      = []byte("levels")      // collection, level → levelRecord
	bucketMentions    = []byte("mentions")    // row → mentions of the passage, see appendMentions; those of nested documents are with the text of the section
	bucketGarbage     = []byte("garbage")     // row of a chunk without document → nothing, or the key of its vector
	bucketSets        = []byte("sets")        // collection, name of a set → setRecord
	bucketMembers     = []byte("members")     // collection, name of a set, 0, document id → range of its rows; empty until the document is put
	bucketMemberships = []byte("memberships") // collection, document id, 0xff, name of a set → nothing
	buckets           = [][]byte{bucketMeta, bucketCollections, bucketDocuments, bucketChunks, bucketIDs, bucketSpaces,
		bucketDropped, bucketVectors, bucketLevels, bucketMentions, bucketGarbage, bucketSets, bucketMembers, bucketMemberships}
)

var (
	keyFormat     = []byte("format")
	keyNextRow    = []byte("next row")
	keyCreated    = []byte("made")    // creation time of the folder in microseconds since 1970; missing in folders of earlier versions
	keySums       = []byte("sums")    // checksums of the buckets, without this key and the next
	keyTxID       = []byte("txid")    // id of the last transaction; missing in folders of earlier versions
	keyConvert    = []byte("convert") // present if documents or vectors of earlier formats may have to be converted
	keyScrub      = []byte("scrub")   // present if pages of the file may contain deleted text
	keyScrubLevel = []byte("scrub:")  // with collection and level: present if its lexical index may contain deleted text
)

// The formats of the folder. Format 2 added spaces of vectors, format 3 mentions, format 4 sets, format 5 checksums of buckets, format 6 nested documents, format 7
// computed ids of chunks, format 8 vectors of bytes, and mentions with the text of a section.
const (
	format         = "8"
	formatComputed = "7"
	formatNested   = "6"
	formatSums     = "5" // first format with checksums of buckets
	formatSets     = "4"
	formatMentions = "3"
	formatSpaces   = "2"
	formatFirst    = "1"
)

// hasSums reports whether folders of a format have checksums of buckets.
func hasSums(f string) bool {
	return f == formatSums || f == formatNested || f == formatComputed || f == format
}

// maxKey is the maximum length in bytes of ids and of names of collections and spaces. Keys in bbolt have at most 32 KiB.
const maxKey = prepare.MaxKey

// levels is the number of levels of a document. Levels are numbered from 1.
const levels = prepare.Levels

// passages is the index of the level of passages.
const passages = int(corpus.Passage) - 1

var errChecksum = errors.New("checksum does not match")

// docRecord is a document with its rows: First, First+1 …, sorted by level.
type docRecord struct {
	corpus.Document
	First uint64 `json:"first"`
	// Ordered reports that the rows of each level are sorted by ordinal. Earlier versions did not sort them.
	Ordered bool `json:"ordered,omitempty"`
	// Nested reports that the chunks are pieces of each other; see nesting.
	Nested bool `json:"nested,omitempty"`
	// Computed reports that the chunks have the ids of [corpus.NewChunkID]; see nesting.
	Computed bool           `json:"computed,omitempty"`
	Counts   [levels]uint64 `json:"counts"`
	Tokens   [levels]uint64 `json:"tokens"` // total lengths in terms of the lexical index
	Titles   [levels]uint64 `json:"titles"` // total lengths of the titles
}

// rows returns the half-open range of the document's rows at level i+1.
func (d *docRecord) rows(i int) (from, to uint64) {
	from = d.First
	for k := range i {
		from += d.Counts[k]
	}
	return from, from + d.Counts[i]
}

// all returns the half-open range of the document's rows.
func (d *docRecord) all() [2]uint64 {
	_, end := d.rows(levels - 1)
	return [2]uint64{d.First, end}
}

// levelRecord holds the totals of a level of a collection and its newest change, so that a lexical index that only lacks this change
// can be updated.
type levelRecord struct {
	Generation uint64      `json:"generation"`
	Chunks     uint64      `json:"chunks"`
	Tokens     uint64      `json:"tokens"`
	Titles     uint64      `json:"titles"`
	Added      [][2]uint64 `json:"added"`   // ranges of rows
	Removed    [][2]uint64 `json:"removed"` // applied after Added
}

// spaceRecord describes a vector space of a collection. Numbers are never reused.
type spaceRecord struct {
	Number   uint32 `json:"number"`
	Dim      int    `json:"dim"`     // 0: no vector yet
	Vectors  int    `json:"vectors"` // number of keys, including those of chunks that have no vector
	Complete bool   `json:"complete"`
}

// seal prefixes a value with its CRC-32C.
func seal(value []byte) []byte {
	out := make([]byte, 4, 4+len(value))
	binary.BigEndian.PutUint32(out, crc32.Checksum(value, castagnoli))
	return append(out, value...)
}

// unseal checks and removes the CRC-32C of a sealed value. The result aliases b.
func unseal(b []byte) ([]byte, error) {
	if len(b) < 4 || binary.BigEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return nil, errChecksum
	}
	return b[4:], nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealJSON returns v as sealed JSON. It does not escape the characters <, > and &, which are frequent in source code.
func sealJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return seal(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func unsealJSON(b []byte, v any) error {
	raw, err := unseal(b)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

func rowKey(row uint64) []byte { return binary.BigEndian.AppendUint64(nil, row) }

func idKey(collection uint32, id string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, collection), id...)
}

func levelKey(collection uint32, level int) []byte {
	return append(binary.BigEndian.AppendUint32(nil, collection), byte(level))
}

func spaceKey(collection, space uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(make([]byte, 0, 17), collection), space)
}

func vectorKey(collection, space uint32, level int, row uint64) []byte {
	return binary.BigEndian.AppendUint64(append(spaceKey(collection, space), byte(level)), row)
}
