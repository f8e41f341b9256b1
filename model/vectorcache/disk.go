package vectorcache

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/fault"
)

// The files of the folder: records are appended to the young one; when that is half of what is allowed, it takes the place
// of the old one, whose vectors go but for those that were used meanwhile, which were copied.
const (
	fileYoung = "young"
	fileOld   = "old"
)

// A file is the magic and then records: the key, the number of components (4 bytes), the CRC-32C of those two and the
// components, and the components. Integers and floats are little-endian. No components: the text has no vector.
const (
	magic      = "SLVC1\n\x00\x00"
	recordHead = len(key{}) + 4 + 4
	maxDim     = 1 << 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// place is where a record is, by the first half of its key.
type (
	half  [16]byte
	place struct {
		at  int64
		dim int32
	}
)

func (k key) half() half { return half(k[:16]) }

// generation is a file with what is in it.
type generation struct {
	file   *os.File // nil: it could not be made, and the next write tries again
	size   int64
	places map[half]place
}

// disk is a store of vectors in two files.
type disk struct {
	dir        string
	most       int64
	log        *slog.Logger
	young, old *generation
	failed     bool // a write failed, and that was told
}

func openDisk(dir string, o Options) (*disk, error) {
	d := &disk{dir: dir, most: o.MaxBytes, log: o.Logger}
	for name, g := range map[string]**generation{fileYoung: &d.young, fileOld: &d.old} {
		var err error
		if *g, err = d.open(name); fault.DiskFull(err) { // of an empty file
			*g, err = &generation{places: map[half]place{}}, nil
		}
		if err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	return d, nil
}

// open opens or makes a file and reads it up to where it is whole. The rest is forgotten.
func (d *disk) open(name string) (*generation, error) {
	f, err := os.OpenFile(filepath.Join(d.dir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	g := &generation{file: f, places: map[half]place{}}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	g.read(bufio.NewReaderSize(f, 1<<20))
	if info.Size() > g.size {
		d.log.Warn("part of the vector cache is damaged and begun anew", "file", name, "bytes", info.Size()-g.size)
	}
	if g.size == 0 {
		if _, err := f.WriteAt([]byte(magic), 0); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		g.size = int64(len(magic))
	}
	if err := f.Truncate(g.size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return g, nil
}

// read takes records until the first that is not whole; size is what precedes it.
func (g *generation) read(r io.Reader) {
	head := make([]byte, recordHead)
	if _, err := io.ReadFull(r, head[:len(magic)]); err != nil || string(head[:len(magic)]) != magic {
		return
	}
	g.size = int64(len(magic))
	var cells []byte
	for {
		if _, err := io.ReadFull(r, head); err != nil {
			return
		}
		k, dim := key(head), binary.LittleEndian.Uint32(head[len(key{}):])
		if dim > maxDim {
			return
		}
		if n := int(4 * dim); cap(cells) < n {
			cells = make([]byte, n)
		}
		cells = cells[:4*dim]
		if _, err := io.ReadFull(r, cells); err != nil || !whole(head, cells) {
			return
		}
		g.places[k.half()] = place{g.size, int32(dim)}
		g.size += int64(recordHead) + int64(len(cells))
	}
}

func whole(head, cells []byte) bool {
	sum := crc32.Update(crc32.Checksum(head[:recordHead-4], castagnoli), castagnoli, cells)
	return binary.LittleEndian.Uint32(head[recordHead-4:]) == sum
}

func appendRecord(b []byte, k key, v []float32) []byte {
	from := len(b)
	b = append(b, k[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
	b = append(b, 0, 0, 0, 0)
	cells := len(b)
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	sum := crc32.Update(crc32.Checksum(b[from:cells-4], castagnoli), castagnoli, b[cells:])
	binary.LittleEndian.PutUint32(b[cells-4:], sum)
	return b
}

// get implements store.
func (d *disk) get(k key) ([]float32, bool) {
	if v, ok := d.young.get(k); ok {
		return v, true
	}
	v, ok := d.old.get(k)
	if ok {
		delete(d.old.places, k.half())
		d.put([]key{k}, [][]float32{v}) // so that it stays when the old go
	}
	return v, ok
}

func (g *generation) get(k key) ([]float32, bool) {
	p, ok := g.places[k.half()]
	if !ok {
		return nil, false
	}
	b := make([]byte, recordHead+4*int(p.dim))
	_, err := g.file.ReadAt(b, p.at)
	if err != nil || key(b) != k || !whole(b[:recordHead], b[recordHead:]) {
		delete(g.places, k.half())
		return nil, false
	}
	if p.dim == 0 {
		return nil, true
	}
	v := make([]float32, p.dim)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[recordHead+4*i:]))
	}
	return v, true
}

// put implements store. A failing disk keeps nothing and is told once.
func (d *disk) put(ks []key, vs [][]float32) {
	err := d.write(ks, vs)
	if err != nil && !d.failed {
		d.log.Warn("vectors are not kept: the disk failed", "error", err)
	}
	d.failed = err != nil
}

func (d *disk) write(ks []key, vs [][]float32) error {
	if d.young.file == nil {
		if err := d.begin(); err != nil {
			return err
		}
	}
	var b []byte
	places := make(map[half]place, len(ks))
	flush := func() error {
		if _, err := d.young.file.WriteAt(b, d.young.size); err != nil {
			return err // what came of it is no whole record, and the next write begins at the same place
		}
		for h, p := range places {
			d.young.places[h] = p
		}
		d.young.size += int64(len(b))
		b, places = b[:0], map[half]place{}
		return nil
	}
	for i, k := range ks {
		n := int64(recordHead + 4*len(vs[i]))
		if len(vs[i]) > maxDim || int64(len(magic))+n > d.most/2 {
			continue
		}
		if d.young.size+int64(len(b))+n > d.most/2 {
			if err := flush(); err != nil {
				return err
			}
			if err := d.age(); err != nil {
				return err
			}
		}
		places[k.half()] = place{d.young.size + int64(len(b)), int32(len(vs[i]))}
		b = appendRecord(b, k, vs[i])
	}
	return flush()
}

// age makes the young file the old one. If the disk fails, the files that are there stay in use, and the next write tries again.
func (d *disk) age() error {
	if d.old.file != nil { // Windows does not replace an open file
		if err := d.old.file.Close(); err != nil {
			d.log.Warn("close the old vector cache", "error", err)
		}
		d.old.file = nil
	}
	if err := os.Rename(filepath.Join(d.dir, fileYoung), filepath.Join(d.dir, fileOld)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.old.places = map[half]place{}
		return err
	}
	d.old, d.young = d.young, &generation{places: map[half]place{}}
	return d.begin()
}

// begin opens a young file.
func (d *disk) begin() error {
	young, err := d.open(fileYoung)
	if err == nil {
		d.young = young
	}
	return err
}

func (d *disk) entries() int {
	return len(d.young.places) + len(d.old.places)
}

func (d *disk) bytes() int64 { return d.young.size + d.old.size }

func (d *disk) close() error {
	var errs []error
	for _, g := range []*generation{d.young, d.old} {
		if g != nil {
			if g.file != nil {
				errs = append(errs, g.file.Close())
			}
			g.places = map[half]place{}
		}
	}
	d.failed = true // calls that still run need not tell
	return errors.Join(errs...)
}
