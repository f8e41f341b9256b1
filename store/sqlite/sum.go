package sqlite

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
	"strings"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/disk/sqlitedb"
)

// Close writes a file with the checksum of the database, whose name is that of the database with sumSuffix; Open removes it. It contains the
// generation and the CRC-32C of the database. Each Close increments the generation, which is stored as SQLite's application id. If the generation
// differs, the database was replaced, for example by a backup, and the checksum is not used.
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

// closedCleanly reports whether the write-ahead log holds no changes.
func closedCleanly(path string) bool {
	info, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// verify compares a database with its checksum, if it has one of the same generation, and removes the checksum. It reports whether they are equal.
func verify(path string) (verified bool, err error) {
	raw, err := os.ReadFile(path + sumSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var generation, sum uint32
	if _, err := fmt.Sscanf(string(raw), "%08x %08x\n", &generation, &sum); err == nil && closedCleanly(path) {
		gotGeneration, gotSum, err := checksum(path)
		if err == nil && gotGeneration == generation && gotSum != sum {
			name := filepath.Base(path)
			return false, fmt.Errorf("it is damaged: its content has changed since it was closed. If it was changed on purpose, delete %s%s", name, sumSuffix)
		}
		verified = err == nil && gotGeneration == generation
	}
	return verified, os.Remove(path + sumSuffix)
}

// incrementGeneration increments the generation in the database.
func (s *Store) incrementGeneration(ctx context.Context) error {
	var generation int32
	if err := s.write.QueryRowContext(ctx, "PRAGMA application_id").Scan(&generation); err != nil {
		return err
	}
	_, err := s.write.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", generation+1))
	return err
}

// writeChecksum writes the checksum of the closed database. If that fails, Open checks the structure of the database instead.
func (s *Store) writeChecksum() {
	if !closedCleanly(s.path) {
		return
	}
	generation, sum, err := checksum(s.path)
	if err == nil {
		_ = atomicfile.Write(s.path+sumSuffix, fmt.Appendf(nil, "%08x %08x\n", generation, sum), 0o600)
	}
}

// check runs one of SQLite's structure checks.
func (s *Store) check(ctx context.Context, db *sqlitedb.DB, pragma string) error {
	rows, err := sqlitedb.All(ctx, db, sqlitedb.Text, "PRAGMA "+pragma+"(10)")
	if err == nil && (len(rows) != 1 || rows[0] != "ok") {
		err = fmt.Errorf("it is damaged: %s", strings.Join(rows, "; "))
	}
	return err
}

// Check verifies the structure of the file: its pages, rows and indexes.
func (s *Store) Check(ctx context.Context) error {
	return wrap("check database", s.check(ctx, s.read, "integrity_check"))
}
