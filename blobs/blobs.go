// Package blobs stores the bytes of uploaded files by their hash. It declares the interface of a store, and has one in a folder.
package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"

	"github.com/sluice-rag/sluice/fault"
)

// Store holds the bytes of one tenant. The name of a blob is the SHA-256 of its bytes in lower case hexadecimal digits. It is safe for concurrent use, also by
// several processes. Callers take care that no blob is removed while the same one is stored.
//
// Errors: [ErrNotFound]; [ErrDamaged]; [ErrUnavailable] with the code [fault.Unavailable] if the store cannot be reached, which may be tried again.
type Store interface {
	// Put reads size bytes from the start of body and stores them durably under their hash. Existing bytes are replaced. If Put fails or the process
	// ends, later calls do not find part of the bytes. Other bytes than those of the hash are an error.
	Put(ctx context.Context, sum string, body io.ReadSeeker, size int64) error
	// Open opens a blob, from its start. The reader may be an *os.File. It does not compare the hash, except where the store does: see [Verify]. The
	// context must be valid until the reader is closed.
	Open(ctx context.Context, sum string) (io.ReadCloser, error)
	// Remove removes a blob. It is no error if there is none.
	Remove(ctx context.Context, sum string) error
	// List iterates over the names of all blobs, in any order. It ends with the first error.
	List(ctx context.Context) iter.Seq2[string, error]
	// Check returns an error if the store cannot be reached.
	Check(ctx context.Context) error
}

// Tenants opens the stores of tenants, which all are in one place. Close it after the stores.
type Tenants interface {
	// Open opens the store of a tenant, and creates it if it does not exist.
	Open(ctx context.Context, tenant string) (Store, error)
	// Delete removes all bytes of a tenant.
	Delete(ctx context.Context, tenant string) error
	Close() error
}

// Errors of stores.
var (
	ErrNotFound    = errors.New("the bytes of the file are missing")
	ErrDamaged     = errors.New("the bytes of the file are damaged")
	ErrUnavailable = errors.New("the store of uploaded files cannot be reached")
)

// Unavailable returns an error that is [ErrUnavailable], with its cause for the log.
func Unavailable(cause error) error {
	return fault.Wrap(fault.Unavailable, errors.Join(ErrUnavailable, cause), "the store of uploaded files cannot be reached; try again")
}

var sumPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ValidSum reports whether a text is the name of a blob.
func ValidSum(sum string) bool { return sumPattern.MatchString(sum) }

// Copy copies the bytes of a reader to w and compares their hash: [ErrDamaged].
func Copy(w io.Writer, r io.Reader, sum string) (int64, error) {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), r)
	if err == nil && hex.EncodeToString(h.Sum(nil)) != sum {
		err = ErrDamaged
	}
	return n, err
}

// Rewind compares the hash of a body, and goes back to its start.
func Rewind(body io.ReadSeeker, sum string) error {
	_, err := body.Seek(0, io.SeekStart)
	if err == nil {
		_, err = Copy(io.Discard, body, sum)
	}
	if err == nil {
		_, err = body.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("read file: %w", err)
	}
	return nil
}

// Verify reads a blob and compares its hash.
func Verify(ctx context.Context, s Store, sum string) error {
	r, err := s.Open(ctx, sum)
	if err != nil {
		return err
	}
	_, err = Copy(io.Discard, r, sum)
	return errors.Join(err, r.Close())
}
