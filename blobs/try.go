package blobs

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"
)

// Try writes, reads and removes a blob of a tenant that does not exist yet, and removes the tenant. It returns how long that took.
func Try(ctx context.Context, place Tenants, tenant string) (took time.Duration, err error) {
	began := time.Now()
	s, err := place.Open(ctx, tenant)
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, place.Delete(context.WithoutCancel(ctx), tenant))
		took = time.Since(began)
	}()
	data := []byte(rand.Text())
	hash := sha256.Sum256(data)
	sum := hex.EncodeToString(hash[:])
	if err := s.Put(ctx, sum, bytes.NewReader(data), int64(len(data))); err != nil {
		return 0, err
	}
	return 0, errors.Join(Verify(ctx, s, sum), s.Remove(ctx, sum))
}
