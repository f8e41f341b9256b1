package vectorcache

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"log/slog"
	"math"

	"github.com/sluice-rag/sluice/disk/cachedb"
)

// A vector is its CRC-32C (4 bytes) and its components, little endian. A text without a vector has no components.
const schema = `
CREATE TABLE entries (
	id     INTEGER PRIMARY KEY,
	key    BLOB NOT NULL UNIQUE,
	vector BLOB NOT NULL
) STRICT`

const maxDim = 1 << 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// disk stores vectors in an SQLite file.
type disk struct {
	db     *cachedb.DB // nil once closed
	max    int64
	log    *slog.Logger
	failed bool // the last write failed, which was logged
}

func openDisk(path string, o Options) (*disk, error) {
	db, err := cachedb.Open(path, schema, o.MaxBytes, o.Logger)
	if err != nil {
		return nil, err
	}
	return &disk{db: db, max: o.MaxBytes, log: o.Logger}, nil
}

// get implements [store].
func (d *disk) get(k key) ([]float32, bool) {
	if d.db == nil {
		return nil, false
	}
	var id, oldest, newest int64
	var raw []byte
	err := d.db.QueryRow("SELECT id, vector, (SELECT min(id) FROM entries), (SELECT max(id) FROM entries) FROM entries WHERE key = ?", k[:]).
		Scan(&id, &raw, &oldest, &newest)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false
	}
	if err != nil {
		d.report(d.db.Check(err))
		return nil, false
	}
	v, ok := decode(k, raw)
	if !ok {
		_, err = d.db.Exec("DELETE FROM entries WHERE id = ?", id)
	} else if id < oldest+(newest-oldest)/2 { // recently used vectors keep their order, which saves writes
		_, err = d.db.Exec("UPDATE entries SET id = ? WHERE id = ?", newest+1, id)
	}
	if err != nil {
		d.report(d.db.Check(err))
	}
	return v, ok
}

// put implements [store].
func (d *disk) put(ks []key, vs [][]float32) {
	if d.db == nil {
		return
	}
	var size int64
	for _, v := range vs {
		size += int64(100 + 4*len(v))
	}
	if size > d.max/2 && len(ks) > 1 {
		d.put(ks[:len(ks)/2], vs[:len(ks)/2])
		d.put(ks[len(ks)/2:], vs[len(ks)/2:])
		return
	}
	if size > d.max/2 || len(vs[0]) > maxDim {
		return
	}
	err := d.db.MakeRoom(size)
	if err == nil {
		err = d.db.Update(func() error {
			for i, k := range ks {
				if _, err := d.db.Exec("INSERT OR REPLACE INTO entries (key, vector) VALUES (?, ?)", k[:], encode(k, vs[i])); err != nil {
					return err
				}
			}
			return nil
		})
	}
	d.report(err)
}

// report logs the first of several errors in a row.
func (d *disk) report(err error) {
	if err != nil && !d.failed {
		d.log.Warn("vectors are not cached, because the disk failed", "error", err)
	}
	d.failed = err != nil
}

func encode(k key, v []float32) []byte {
	b := make([]byte, 4, 4+4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	binary.LittleEndian.PutUint32(b, checksum(k, b[4:]))
	return b
}

func decode(k key, b []byte) ([]float32, bool) {
	if len(b) < 4 || len(b)%4 != 0 || binary.LittleEndian.Uint32(b) != checksum(k, b[4:]) {
		return nil, false
	}
	if b = b[4:]; len(b) == 0 {
		return nil, true
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v, true
}

func checksum(k key, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(k[:], castagnoli), castagnoli, b)
}

func (d *disk) stats() (entries int, bytes int64) {
	if d.db == nil {
		return 0, 0
	}
	entries, bytes, err := d.db.Stats()
	if err != nil {
		d.report(d.db.Check(err))
	}
	return entries, bytes
}

func (d *disk) close() error {
	if d.db == nil {
		return nil
	}
	err := d.db.Close()
	d.db = nil
	return err
}
