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

	"github.com/sluice-rag/sluice/internal/atomicfile"
)

// The file with the checksum of a database that was closed cleanly is named as the database with sumSuffix. It holds the CRC-32C of the database
// and its generation, which each Close increments and which is kept as SQLite's application id: a database of another generation is a
// backup, of which the checksum says nothing. While the database is open there is no such file.
const (
	sumSuffix    = ".sum"
	generationAt = 68 // of the application id in a database (https://sqlite.org/fileformat.html)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum gives the generation and the checksum of a database that no process has open.
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

// closedCleanly tells whether no changes are waiting in a write-ahead log.
func closedCleanly(path string) bool {
	info, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// verify compares a database with its checksum, if there is one that fits, and removes it. It returns whether they were equal.
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
		is, got, err := checksum(path)
		if err == nil && is == generation && got != sum {
			name := filepath.Base(path)
			return false, fmt.Errorf("it is damaged: its bytes are not those that were there when it was closed. If it was changed on purpose, delete %s%s", name, sumSuffix)
		}
		verified = err == nil && is == generation
	}
	return verified, os.Remove(path + sumSuffix)
}

// raise increments the generation.
func (s *Store) raise(ctx context.Context) error {
	var generation int32
	if err := s.write.QueryRowContext(ctx, "PRAGMA application_id").Scan(&generation); err != nil {
		return err
	}
	_, err := s.write.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", generation+1))
	return err
}

// note writes the checksum of the closed database. Without it the database is not verified when it is opened.
func (s *Store) note() {
	if !closedCleanly(s.path) {
		return
	}
	generation, sum, err := checksum(s.path)
	if err == nil {
		_ = atomicfile.Write(s.path+sumSuffix, fmt.Appendf(nil, "%08x %08x\n", generation, sum), 0o600)
	}
}

// check runs one of SQLite's checks of the structure of the file.
func (s *Store) check(ctx context.Context, db *database, pragma string) error {
	rows, err := all(ctx, db, texts, "PRAGMA "+pragma+"(10)")
	if err == nil && (len(rows) != 1 || rows[0] != "ok") {
		err = fmt.Errorf("it is damaged: %s", strings.Join(rows, "; "))
	}
	return err
}

// Check verifies the structure of the file: its pages, rows and indexes.
func (s *Store) Check(ctx context.Context) error {
	return wrap("check database", s.check(ctx, s.read, "integrity_check"))
}
