package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/store"
)

// localBytes returns the path of a verified file with the bytes of a file. The caller calls release when done.
func (s *Service) localBytes(ctx context.Context, f store.File) (path string, release func(), err error) {
	body, err := s.opts.Blobs.Open(ctx, f.SHA256)
	if errors.Is(err, blobs.ErrNotFound) {
		err = fault.Wrap(fault.NotFound, err, "the bytes of the file are missing")
	}
	if err != nil {
		return "", nil, err
	}
	local, err := s.verifiedFile(body, f)
	if err != nil {
		return "", nil, errors.Join(err, body.Close())
	}
	return local.Name(), func() { _ = local.Close() }, nil
}

// tempFile is a file that is removed when it is closed.
type tempFile struct{ *os.File }

// Close implements [io.Closer].
func (t tempFile) Close() error { return errors.Join(t.File.Close(), os.Remove(t.Name())) }

// readFile is a file that can be read.
type readFile interface {
	io.ReadSeekCloser
	Name() string
}

// verifiedFile compares the hash of a body from its start. It returns the body if that is a file, and otherwise a copy in a file, after closing the body.
func (s *Service) verifiedFile(body io.ReadCloser, f store.File) (_ readFile, err error) {
	if file, ok := body.(*os.File); ok {
		if err := blobs.Rewind(file, f.SHA256); err != nil {
			return nil, s.readError(err, f)
		}
		return file, nil
	}
	temp, err := os.CreateTemp(filepath.Join(s.dir, dirStaged), "new.") // after a crash, Open removes it
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	local := tempFile{temp}
	if _, err = blobs.Copy(local, body, f.SHA256); err == nil {
		_, err = local.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = body.Close()
	}
	if err != nil {
		return nil, errors.Join(s.readError(err, f), local.Close())
	}
	return local, nil
}

// readError returns the error of the caller for one of reading the bytes of a file.
func (s *Service) readError(err error, f store.File) error {
	if errors.Is(err, blobs.ErrDamaged) {
		return s.damagedFile(f)
	}
	return err
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
	body, err := s.opts.Blobs.Open(ctx, f.SHA256)
	if errors.Is(err, blobs.ErrNotFound) {
		return nil, f, fault.Wrap(fault.NotFound, err, "the bytes of the file are missing")
	}
	if err != nil {
		return nil, f, fmt.Errorf("open file: %w", err)
	}
	return &verified{body: body, hash: sha256.New(), file: f, service: s, reopen: func() (io.ReadCloser, error) { return s.opts.Blobs.Open(ctx, f.SHA256) }}, f, nil
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
	return fault.Wrap(fault.Internal, blobs.ErrDamaged, "the bytes of the file %s are damaged in the store of the server", f.ID)
}

// repaired records that damaged bytes were replaced or deleted.
func (s *Service) repaired(sum string) {
	s.mu.Lock()
	delete(s.damaged, sum)
	s.mu.Unlock()
}

// verified reads a file and compares its hash before it returns the last bytes.
type verified struct {
	service *Service
	file    store.File
	body    io.ReadCloser
	reopen  func() (io.ReadCloser, error)
	at      int64     // position in the file
	read    int64     // position in the body
	hash    hash.Hash // of the bytes up to read; nil: all bytes were verified, and body is a file
}

// Read implements [io.Reader].
func (v *verified) Read(p []byte) (int, error) {
	if v.at != v.read && v.at >= v.file.Bytes { // after a seek to the end
		return 0, io.EOF
	}
	if v.at != v.read {
		if err := v.restart(); err != nil {
			return 0, err
		}
	}
	n, err := v.body.Read(p)
	v.read += int64(n)
	v.at = v.read
	if v.hash == nil || err != nil && err != io.EOF {
		return n, err
	}
	v.hash.Write(p[:n])
	if v.at < v.file.Bytes && err == nil {
		return n, nil
	}
	if v.at != v.file.Bytes || hex.EncodeToString(v.hash.Sum(nil)) != v.file.SHA256 {
		return 0, v.service.damagedFile(v.file)
	}
	return n, err
}

// restart goes back to the start of the body.
func (v *verified) restart() error {
	if err := v.body.Close(); err != nil {
		return err
	}
	body, err := v.reopen()
	if err != nil {
		return err
	}
	v.body, v.at, v.read = body, 0, 0
	v.hash.Reset()
	return nil
}

// Seek implements [io.Seeker].
func (v *verified) Seek(offset int64, whence int) (int64, error) {
	to := offset + map[int]int64{io.SeekCurrent: v.at, io.SeekEnd: v.file.Bytes}[whence]
	switch {
	case to < 0:
		return 0, errors.New("seek before the start of the file")
	case v.hash != nil && (to == 0 || to == v.read || to >= v.file.Bytes): // the end: how callers ask for the size
		v.at = to
		return to, nil
	case v.hash != nil:
		if v.read > 0 {
			if err := v.restart(); err != nil {
				return 0, err
			}
		}
		local, err := v.service.verifiedFile(v.body, v.file)
		if err != nil {
			return 0, err
		}
		v.body, v.hash = local, nil
	}
	if _, err := v.body.(io.Seeker).Seek(to, io.SeekStart); err != nil {
		return 0, err
	}
	v.at, v.read = to, to
	return to, nil
}

// Close implements [io.Closer].
func (v *verified) Close() error { return v.body.Close() }
