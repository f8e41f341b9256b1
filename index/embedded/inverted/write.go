package inverted

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"

	"github.com/blevesearch/vellum"
)

// segmentWriter writes the file of a segment: for each field begin, add for each term in order, and end; then finish.
type segmentWriter struct {
	file    *os.File
	out     *bufio.Writer
	sum     uint32
	size    uint64
	fields  []Detail
	list    listWriter
	field   int
	start   uint64 // of the postings of the field
	terms   *vellum.Builder
	built   bytes.Buffer
	offsets []uint64
	buffer  []byte
}

// permFile are the permissions of the files of an index.
const permFile = 0o600

// termOptions let the table of shared suffixes fit into the processor's cache: vellum's default, of 10,000 rows, makes segments 1 % smaller and takes a fifth longer.
var termOptions = &vellum.BuilderOpts{Encoder: 1, RegistryTableSize: 2000, RegistryMRUSize: 2}

// createSegment creates the file of a segment. The caller calls close.
func createSegment(path string, fields []Detail) (*segmentWriter, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, permFile)
	if err != nil {
		return nil, err
	}
	return &segmentWriter{file: f, out: bufio.NewWriterSize(f, 256<<10), fields: fields}, nil
}

func (w *segmentWriter) write(b []byte) error {
	w.sum = crc32.Update(w.sum, castagnoli, b)
	w.size += uint64(len(b))
	_, err := w.out.Write(b)
	return err
}

// begin begins the next field.
func (w *segmentWriter) begin() (err error) {
	w.start = w.size
	w.offsets = append(w.offsets, w.size)
	w.list.detail = w.fields[w.field]
	w.built.Reset()
	if w.terms == nil {
		w.terms, err = vellum.New(&w.built, termOptions)
		return err
	}
	return w.terms.Reset(&w.built)
}

// add adds a term with its list.
func (w *segmentWriter) add(term []byte) error {
	if err := w.terms.Insert(term, w.size-w.start); err != nil {
		return err
	}
	w.buffer = w.list.encoded(w.buffer[:0])
	return w.write(w.buffer)
}

// end ends the field.
func (w *segmentWriter) end(lengths []uint32) error {
	if err := w.terms.Close(); err != nil {
		return err
	}
	w.offsets = append(w.offsets, w.size)
	if err := w.write(w.built.Bytes()); err != nil {
		return err
	}
	w.offsets = append(w.offsets, w.size)
	w.buffer = w.buffer[:0]
	if w.fields[w.field] != Documents {
		for _, n := range lengths {
			w.buffer = binary.LittleEndian.AppendUint32(w.buffer, n)
		}
	}
	w.field++
	return w.write(w.buffer)
}

// finish writes the rest, and makes the file durable.
func (w *segmentWriter) finish(rows []uint64) error {
	w.offsets = append(w.offsets, w.size)
	w.buffer = w.buffer[:0]
	for _, r := range rows {
		w.buffer = binary.LittleEndian.AppendUint64(w.buffer, r)
	}
	w.offsets = append(w.offsets, w.size+uint64(len(w.buffer)))
	for _, o := range w.offsets {
		w.buffer = binary.LittleEndian.AppendUint64(w.buffer, o)
	}
	w.buffer = binary.LittleEndian.AppendUint32(w.buffer, uint32(len(rows)))
	w.buffer = binary.LittleEndian.AppendUint64(w.buffer, magic)
	if err := w.write(w.buffer); err != nil {
		return err
	}
	if _, err := w.out.Write(binary.LittleEndian.AppendUint32(nil, w.sum)); err != nil {
		return err
	}
	return errors.Join(w.out.Flush(), w.file.Sync())
}

// close closes the file. If err is not nil, or closing fails, it removes the file and returns the error.
func (w *segmentWriter) close(err error) error {
	if err = errors.Join(err, w.file.Close()); err != nil {
		_ = os.Remove(w.file.Name())
	}
	return err
}
