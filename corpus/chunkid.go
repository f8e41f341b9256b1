package corpus

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// ChunkID identifies a chunk within all collections; it stays the same while the document's text does.
type ChunkID string

// The parts of the ids of [ChunkIDs] in bytes. The first is encoded to idPrefix characters, including "c_".
const (
	idDocument = 9 // hash of the document's id
	idText     = 6 // hash of the text
	idPrefix   = 2 + idDocument/3*4
)

var idEncoding = base64.RawURLEncoding.Strict()

// ChunkIDs computes the ids of the chunks of one document.
type ChunkIDs struct{ document [idDocument]byte }

// ChunkIDsOf returns the [ChunkIDs] of a document.
func ChunkIDsOf(d DocumentID) (out ChunkIDs) {
	sum := sha256.Sum256([]byte(d))
	copy(out.document[:], sum[:])
	return out
}

// New returns the id of a chunk that is computed from its document, its place in it, and its text. An index can find the chunk by the parts of its id; see [ChunkID.Place].
func (c ChunkIDs) New(l Level, ordinal int, text string) ChunkID {
	return ChunkID(c.append(make([]byte, 0, maxID), l, ordinal, text))
}

// Match reports whether an id is the one that New returns.
func (c ChunkIDs) Match(id ChunkID, l Level, ordinal int, text string) bool {
	return string(c.append(make([]byte, 0, maxID), l, ordinal, text)) == string(id)
}

func (c ChunkIDs) append(dst []byte, l Level, ordinal int, text string) []byte {
	var short [1024]byte // most texts fit, and need no copy in the heap
	var content [sha256.Size]byte
	if len(text) <= len(short) {
		content = sha256.Sum256(short[:copy(short[:], text)])
	} else {
		content = sumOfLong(text)
	}
	raw := append(append(make([]byte, 0, idDocument+idText+binary.MaxVarintLen64), c.document[:]...), content[:idText]...)
	raw = binary.AppendUvarint(raw, uint64(ordinal)<<2|uint64(l))
	return idEncoding.AppendEncode(append(dst, "c_"...), raw)
}

// sumOfLong returns the hash of a text, without a copy of all of it.
func sumOfLong(text string) (sum [sha256.Size]byte) {
	h, part := sha256.New(), make([]byte, 1<<12)
	for len(text) > 0 {
		n := copy(part, text)
		h.Write(part[:n])
		text = text[n:]
	}
	h.Sum(sum[:0])
	return sum
}

// maxID is the size of the longest id in bytes.
const maxID = 2 + (idDocument+idText+binary.MaxVarintLen64+2)/3*4

// NewChunkID is [ChunkIDs.New] for one chunk.
func NewChunkID(d DocumentID, l Level, ordinal int, text string) ChunkID {
	return ChunkIDsOf(d).New(l, ordinal, text)
}

// Place returns the parts of an id that [ChunkIDs] computed: the beginning that the ids of all chunks of the document have in common, the level, and the ordinal. ok is false for
// other ids.
func (id ChunkID) Place() (document string, l Level, ordinal int, ok bool) {
	if len(id) < idPrefix || len(id) > idPrefix+20 || id[:2] != "c_" {
		return "", 0, 0, false
	}
	raw, err := idEncoding.DecodeString(string(id[2:]))
	if err != nil || len(raw) <= idDocument+idText || idEncoding.EncodeToString(raw) != string(id[2:]) { // DecodeString skips line breaks
		return "", 0, 0, false
	}
	n, size := binary.Uvarint(raw[idDocument+idText:])
	if size != len(raw)-idDocument-idText || n>>2 > 1<<31-1 {
		return "", 0, 0, false
	}
	return string(id[:idPrefix]), Level(n & 3), int(n >> 2), true
}
