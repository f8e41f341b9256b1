package cache

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// The file is the magic and then records, each a head and a body: the body's length and the CRC-32C of all that follows (4
// bytes each), the kind (1), the key (16), the time of the answer in microseconds since 1970 and the version of its collection
// (8 each), how many documents the answer rests on, and one for its run (2), then the body: a hash of each of these (8 each), and the entry.
// Integers are little-endian. Records are appended; a drop is written over an entry that is forgotten, so that nothing of it is left.
const (
	magic      = "SLAC2\n\x00\x00"
	recordHead = 4 + 4 + 1 + len(key{}) + 8 + 8 + 2
	maxBody    = 1 << 20
)

const (
	kindPut  = 1
	kindDrop = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head is a record's.
type head struct {
	kind    byte
	key     key
	created int64
	version uint64
	rests   []uint64 // see restOf
}

// runHash identifies the run that made an answer. It is stored next to the hashes of the documents that the answer depends on.
func runHash(run event.RunID) uint64 {
	h := sha256.Sum256([]byte("run\x00" + run))
	return binary.LittleEndian.Uint64(h[:])
}

// restOf names a document that an answer rests on.
func restOf(id corpus.DocumentID) uint64 {
	h := sha256.Sum256([]byte(id))
	return binary.LittleEndian.Uint64(h[:])
}

func appendRecord(dst []byte, h head, body []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(8*len(h.rests)+len(body)))
	dst = append(dst, 0, 0, 0, 0, h.kind)
	dst = append(dst, h.key[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.created))
	dst = binary.LittleEndian.AppendUint64(dst, h.version)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(h.rests)))
	for _, r := range h.rests {
		dst = binary.LittleEndian.AppendUint64(dst, r)
	}
	dst = append(dst, body...)
	binary.LittleEndian.PutUint32(dst[start+4:], crc32.Checksum(dst[start+8:], castagnoli))
	return dst
}

// parseRecord gives the head and the body of a whole record.
func parseRecord(b []byte) (head, []byte, bool) {
	if len(b) < recordHead || int(binary.LittleEndian.Uint32(b)) != len(b)-recordHead ||
		binary.LittleEndian.Uint32(b[4:]) != crc32.Checksum(b[8:], castagnoli) {
		return head{}, nil, false
	}
	h := head{kind: b[8], key: key(b[9 : 9+len(key{})])}
	rest := b[9+len(key{}):]
	h.created, h.version = int64(binary.LittleEndian.Uint64(rest)), binary.LittleEndian.Uint64(rest[8:])
	body := b[recordHead:]
	for range binary.LittleEndian.Uint16(rest[16:]) {
		if len(body) < 8 {
			return head{}, nil, false
		}
		h.rests, body = append(h.rests, binary.LittleEndian.Uint64(body)), body[8:]
	}
	return h, body, true
}

// openFile opens or makes the file and tells each of its records to found, up to the first that is not whole. What follows
// that is cut off; lost is how many bytes that were.
func openFile(path string, found func(h head, at int64, size int)) (f *os.File, size, lost int64, err error) {
	if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, 0, 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
			f = nil
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return f, 0, 0, err
	}
	if !info.Mode().IsRegular() {
		return f, 0, 0, fmt.Errorf("%s is not a file", path)
	}
	size = readRecords(bufio.NewReaderSize(f, 1<<20), found)
	lost = info.Size() - size
	if size == 0 {
		if _, err := f.WriteAt([]byte(magic), 0); err != nil {
			return f, 0, 0, err
		}
		size = int64(len(magic))
	}
	return f, size, max(lost, 0), f.Truncate(size)
}

func readRecords(r io.Reader, found func(h head, at int64, size int)) (size int64) {
	buf := make([]byte, recordHead, 4096)
	if _, err := io.ReadFull(r, buf[:len(magic)]); err != nil || string(buf[:len(magic)]) != magic {
		return 0
	}
	size = int64(len(magic))
	for {
		buf = buf[:recordHead]
		if _, err := io.ReadFull(r, buf); err != nil {
			return size
		}
		n := binary.LittleEndian.Uint32(buf)
		if n > maxBody {
			return size
		}
		buf = append(buf, make([]byte, n)...)
		if _, err := io.ReadFull(r, buf[recordHead:]); err != nil {
			return size
		}
		h, _, ok := parseRecord(buf)
		if !ok {
			return size
		}
		found(h, size, len(buf))
		size += int64(len(buf))
	}
}
