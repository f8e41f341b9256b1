package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/store"
)

// errDamaged reports that stored bytes no longer match their hash.
var errDamaged = errors.New("the bytes of the file are damaged")

// verifyBlob reads a file and compares its hash.
func verifyBlob(path, sum string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("verify file: %w", err)
	}
	if hex.EncodeToString(h.Sum(nil)) != sum {
		return errDamaged
	}
	return nil
}

// Open opens the bytes of a file as they were uploaded. The reader compares their hash and returns an error instead of the last bytes if they are
// damaged. The first seek to another position than the start or the end reads the whole file to verify it. A file of a folder is opened where it was
// indexed, and is verified first. The caller closes the reader.
func (s *Service) Open(ctx context.Context, id string) (io.ReadSeekCloser, store.File, error) {
	f, doc, err := s.find(ctx, id)
	if err != nil {
		return nil, f, err
	}
	if doc.ID != "" && doc.Collection != Collection {
		body, err := s.opts.Ingest.Original(doc)
		return body, f, err
	}
	if f.SHA256 == "" {
		return nil, f, fault.New(fault.NotFound, "the file is not fetched yet")
	}
	s.blobsMu.Lock()
	defer s.blobsMu.Unlock()
	body, err := os.Open(s.blobPath(f.SHA256))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f, fault.Wrap(fault.NotFound, err, "the bytes of the file are missing")
	}
	if err != nil {
		return nil, f, fmt.Errorf("open file: %w", err)
	}
	return &verified{file: body, size: f.Bytes, sum: f.SHA256, hash: sha256.New(), failed: func() error { return s.damagedFile(f) }}, f, nil
}

// damagedFile records that a file's bytes are damaged, and returns the error for the caller.
func (s *Service) damagedFile(f store.File) error {
	s.mu.Lock()
	first := !s.damaged[f.SHA256]
	s.damaged[f.SHA256] = true
	s.mu.Unlock()
	if first {
		s.opts.Logger.Error("the bytes of a file are damaged: upload the file again under its id, or delete it", "file", f.ID)
	}
	return fault.Wrap(fault.Internal, errDamaged, "the bytes of the file %s are damaged on the disk of the server", f.ID)
}

// repaired records that damaged bytes were replaced or deleted.
func (s *Service) repaired(sum string) {
	s.mu.Lock()
	delete(s.damaged, sum)
	s.mu.Unlock()
}

// verified reads a file and compares its hash before it returns the last bytes.
type verified struct {
	file   *os.File
	size   int64
	at     int64
	hash   hash.Hash // of the bytes up to at; nil: all bytes were verified
	sum    string
	failed func() error
}

// Read implements [io.Reader].
func (v *verified) Read(p []byte) (int, error) {
	n, err := v.file.Read(p)
	v.at += int64(n)
	if v.hash == nil || err != nil && err != io.EOF {
		return n, err
	}
	v.hash.Write(p[:n])
	if v.at < v.size && err == nil {
		return n, nil
	}
	if v.at != v.size || hex.EncodeToString(v.hash.Sum(nil)) != v.sum {
		return 0, v.failed()
	}
	v.hash = nil
	return n, err
}

// Seek implements [io.Seeker].
func (v *verified) Seek(offset int64, whence int) (int64, error) {
	to, err := v.file.Seek(offset, whence)
	if err != nil || v.hash == nil {
		return to, err
	}
	switch to {
	case 0:
		v.at = 0
		v.hash.Reset()
		return to, nil
	case v.at, v.size: // the end: how callers ask for the size
		if to == v.at {
			return to, nil
		}
	}
	if err := verifyBlob(v.file.Name(), v.sum); err != nil {
		if errors.Is(err, errDamaged) {
			return 0, v.failed()
		}
		return 0, err
	}
	v.at, v.hash = to, nil
	return to, nil
}

// Close implements [io.Closer].
func (v *verified) Close() error { return v.file.Close() }
