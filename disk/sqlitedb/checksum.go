package sqlitedb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/sqldb"
)

// [CloseVerifiable] writes a file with the checksum of the database, whose name is that of the database with sumSuffix; [Verify] removes it. It
// contains the generation and the CRC-32C of the database. Each close increments the generation, which is stored as SQLite's application id. If the
// generation differs, the database was replaced, for example by a backup, and the checksum is not used.
const (
	sumSuffix    = ".sum"
	generationAt = 68 // of the application id in a database (https://sqlite.org/fileformat.html)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the generation and the checksum of a database that no process has open.
func checksum(path string) (generation, sum uint32, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	head := make([]byte, generationAt+4)
	if _, err := io.ReadFull(f, head); err != nil {
		return 0, 0, err
	}
	h := crc32.New(castagnoli)
	_, _ = h.Write(head)
	if _, err := io.Copy(h, f); err != nil {
		return 0, 0, err
	}
	return binary.BigEndian.Uint32(head[generationAt:]), h.Sum32(), nil
}

// closed reports whether no process has the database open. The last process that closes a database removes the write-ahead log.
func closed(path string) bool {
	_, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist)
}

// Verify compares the database at a path with its checksum, if it has one of the same generation, and removes the checksum. It reports whether they
// are equal. If they differ, the error is an [ErrDamaged]. Call it before the database is opened; after a crash, there is no checksum.
func Verify(path string) (verified bool, err error) {
	raw, err := os.ReadFile(path + sumSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var generation, sum uint32
	if _, err := fmt.Sscanf(string(raw), "%08x %08x\n", &generation, &sum); err == nil && closed(path) {
		gotGeneration, gotSum, err := checksum(path)
		if err == nil && gotGeneration == generation && gotSum != sum {
			name := filepath.Base(path)
			return false, fmt.Errorf("%w: its content has changed since it was closed. If it was changed on purpose, delete %s%s", ErrDamaged, name, sumSuffix)
		}
		verified = err == nil && gotGeneration == generation
	}
	return verified, os.Remove(path + sumSuffix)
}

// CloseVerifiable closes the connections of the database at a path, which may be nil, and writes the checksum for [Verify], unless another process
// has the database open. Without a checksum, the next program should check the structure of the database.
func CloseVerifiable(path string, write, read *DB) error {
	var errs []error
	if read != nil {
		errs = append(errs, read.Close())
	}
	if write == nil {
		return errors.Join(errs...)
	}
	counted := write.incrementGeneration(context.Background()) == nil
	errs = append(errs, write.Close())
	if counted && errors.Join(errs...) == nil && closed(path) {
		if generation, sum, err := checksum(path); err == nil {
			_ = atomicfile.Write(path+sumSuffix, fmt.Appendf(nil, "%08x %08x\n", generation, sum), 0o600)
		}
	}
	return errors.Join(errs...)
}

// incrementGeneration increments the generation in the database.
func (d *DB) incrementGeneration(ctx context.Context) error {
	var generation int32
	if err := d.QueryRowContext(ctx, "PRAGMA application_id").Scan(&generation); err != nil {
		return err
	}
	_, err := d.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", generation+1))
	return err
}

// ErrDamaged says that the content of a database is wrong.
var ErrDamaged = errors.New("it is damaged")

// Check runs one of SQLite's checks of the structure of a database, quick_check or integrity_check, of one table or, if that is empty, all.
func (d *DB) Check(ctx context.Context, pragma, table string) error {
	if table != "" {
		table = "(" + table + ")"
	}
	rows, err := sqldb.All(ctx, d, sqldb.Text, "PRAGMA "+pragma+table)
	if err == nil && (len(rows) != 1 || rows[0] != "ok") {
		err = fmt.Errorf("%w: %s", ErrDamaged, rows[0])
	}
	return err
}
