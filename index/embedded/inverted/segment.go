package inverted

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"sort"
	"sync/atomic"

	"github.com/blevesearch/mmap-go"
	"github.com/blevesearch/vellum"
)

const (
	magic       = 0x31676573786c6f73 // of a segment in this format
	trailerSize = 4 + 8 + 4          // number of documents, magic, checksum
)

// castagnoli is the table of the checksum of a segment, for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Segment is an immutable file of documents. It is safe for concurrent use.
type Segment struct {
	path   string
	number uint64
	data   mmap.MMap
	docs   int
	fields []segmentField
	rows   []byte

	refs     atomic.Int32
	obsolete atomic.Bool // the index does not list it any more
	files    *folder
}

// segmentField is a field of a segment.
type segmentField struct {
	detail   Detail
	postings []byte
	terms    *vellum.FST
	lengths  []byte
}

// openSegment maps a file, and verifies its checksum.
func openSegment(path string, number uint64, details []Detail, files *folder) (*Segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < trailerSize { // an empty file cannot be mapped
		return nil, cmp.Or(err, fmt.Errorf("%s: %w: too short", path, ErrDamaged))
	}
	s := &Segment{path: path, number: number, files: files}
	err = safely(func() error {
		if s.data, err = mmap.Map(f, mmap.RDONLY, 0); err != nil {
			return err
		}
		return s.read(details)
	})
	if err != nil {
		if s.data != nil {
			_ = s.data.Unmap()
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.refs.Store(1)
	return s, nil
}

// verify checks the checksum.
func (s *Segment) verify() error {
	n := len(s.data) - 4
	if n < trailerSize || binary.LittleEndian.Uint32(s.data[n:]) != crc32.Checksum(s.data[:n], castagnoli) {
		return fmt.Errorf("%w: checksum", ErrDamaged)
	}
	return nil
}

// read finds the parts of the file.
func (s *Segment) read(details []Detail) error {
	if err := s.verify(); err != nil {
		return err
	}
	b := s.data[:len(s.data)-4]
	offsets := 3*len(details) + 2
	if len(b) < 12+8*offsets || binary.LittleEndian.Uint64(b[len(b)-8:]) != magic {
		return fmt.Errorf("%w: not a segment of this format", ErrDamaged)
	}
	s.docs = int(binary.LittleEndian.Uint32(b[len(b)-12:]))
	foot := b[len(b)-12-8*offsets:]
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(foot[8*i:]) }
	for i, d := range details {
		f := segmentField{detail: d, postings: b[at(3*i):at(3*i+1)], lengths: b[at(3*i+2):at(3*i+3)]}
		var err error
		if f.terms, err = vellum.Load(b[at(3*i+1):at(3*i+2)]); err != nil {
			return fmt.Errorf("%w: terms: %w", ErrDamaged, err)
		}
		if d != Documents && len(f.lengths) != 4*s.docs {
			return fmt.Errorf("%w: numbers of terms", ErrDamaged)
		}
		s.fields = append(s.fields, f)
	}
	s.rows = b[at(offsets-2):at(offsets-1)]
	if len(s.rows) != 8*s.docs || s.docs == 0 {
		return fmt.Errorf("%w: number of documents", ErrDamaged)
	}
	return nil
}

// Docs returns the number of documents, with deleted ones.
func (s *Segment) Docs() int { return s.docs }

// Row returns the row of document n.
func (s *Segment) Row(n uint32) uint64 { return binary.LittleEndian.Uint64(s.rows[8*n:]) }

// Range returns the numbers [first, end) of the documents whose rows are in [from, to).
func (s *Segment) Range(from, to uint64) (first, end uint32) {
	first = uint32(sort.Search(s.docs, func(i int) bool { return s.Row(uint32(i)) >= from }))
	end = first + uint32(sort.Search(s.docs-int(first), func(i int) bool { return s.Row(first+uint32(i)) >= to }))
	return first, end
}

// length returns the number of terms of a field of document n.
func (f *segmentField) length(n uint32) uint32 { return binary.LittleEndian.Uint32(f.lengths[4*n:]) }

func (s *Segment) retain() { s.refs.Add(1) }

// release ends a use of the segment. After the last one, the file is unmapped, and removed if it is obsolete.
func (s *Segment) release() {
	if s.refs.Add(-1) > 0 {
		return
	}
	_ = s.data.Unmap()
	if s.obsolete.Load() {
		s.files.remove(s.path) // if it fails, it is tried again after the next change, and at the next open
	}
}
