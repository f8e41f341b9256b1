// Package blobstest is the conformance suite of stores of bytes.
package blobstest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-rag/sluice/blobs"
)

// Exercise tests the stores of tenants, which must be empty. They send bodies in parts of the given number of bytes. The function damage
// changes a stored byte of a blob of a tenant.
func Exercise(t *testing.T, all blobs.Tenants, part int, damage func(t *testing.T, tenant, sum string)) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"PutOpenRemove", putOpenRemove}, {"WrongBytes", wrongBytes}, {"Concurrent", concurrent}, {"Tenants", tenants},
		{"Cut", func(t *testing.T, s *suite) { cut(t, s, part) }},
		{"Damaged", func(t *testing.T, s *suite) { damaged(t, s, damage) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			name := fmt.Sprintf("t-%x", rand.Uint64())
			one, err := all.Open(t.Context(), name)
			must(t, err)
			test.run(t, &suite{all: all, tenant: name, Store: one})
		})
	}
}

type suite struct {
	blobs.Store
	all    blobs.Tenants
	tenant string
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Blob returns n random bytes and their hash.
func Blob(seed uint64, n int) (data []byte, sum string) {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	data = make([]byte, n)
	_, _ = rand.NewChaCha8(key).Read(data)
	h := sha256.Sum256(data)
	return data, hex.EncodeToString(h[:])
}

// want checks that a store has a blob.
func want(t testing.TB, s blobs.Store, data []byte, sum string) {
	t.Helper()
	r, err := s.Open(t.Context(), sum)
	must(t, err)
	got, err := io.ReadAll(r)
	must(t, errors.Join(err, r.Close()))
	if !bytes.Equal(got, data) {
		t.Errorf("blob %s has %d bytes, want %d", sum, len(got), len(data))
	}
	must(t, blobs.Verify(t.Context(), s, sum))
}

// wantNone checks that a store has no such blob.
func wantNone(t testing.TB, s blobs.Store, sum string) {
	t.Helper()
	if r, err := s.Open(t.Context(), sum); !errors.Is(err, blobs.ErrNotFound) {
		t.Errorf("open blob %s that is not stored: %v, %v", sum, r, err)
	}
	if slices.Contains(list(t, s), sum) {
		t.Errorf("blob %s is listed", sum)
	}
}

func list(t testing.TB, s blobs.Store) (out []string) {
	t.Helper()
	for sum, err := range s.List(t.Context()) {
		must(t, err)
		out = append(out, sum)
	}
	slices.Sort(out)
	return out
}

func putOpenRemove(t *testing.T, s *suite) {
	must(t, s.Check(t.Context()))
	var sums []string
	for i, n := range []int{1, 1000, 128 << 10, 128<<10 + 1, 500 << 10} {
		data, sum := Blob(uint64(i), n)
		wantNone(t, s, sum)
		for range 2 { // the second one replaces it
			must(t, s.Put(t.Context(), sum, bytes.NewReader(data), int64(n)))
			want(t, s, data, sum)
		}
		sums = append(sums, sum)
	}
	slices.Sort(sums)
	if got := list(t, s); !slices.Equal(got, sums) {
		t.Errorf("blobs %v, want %v", got, sums)
	}
	for range 2 {
		must(t, s.Remove(t.Context(), sums[0]))
		wantNone(t, s, sums[0])
	}
	if got := list(t, s); !slices.Equal(got, sums[1:]) {
		t.Errorf("blobs %v after a removal, want %v", got, sums[1:])
	}
}

func wrongBytes(t *testing.T, s *suite) {
	data, sum := Blob(1, 5000)
	other, _ := Blob(2, 5000)
	if err := s.Put(t.Context(), sum, bytes.NewReader(other), 5000); !errors.Is(err, blobs.ErrDamaged) {
		t.Errorf("put other bytes: %v", err)
	}
	wantNone(t, s, sum)
	must(t, s.Put(t.Context(), sum, bytes.NewReader(data), 5000))
	if err := s.Put(t.Context(), sum, bytes.NewReader(other), 5000); !errors.Is(err, blobs.ErrDamaged) {
		t.Errorf("replace by other bytes: %v", err)
	}
	want(t, s, data, sum)
}

// failing is a body whose last quarter cannot be read, except for the first times that it is read.
type failing struct {
	data   *bytes.Reader
	good   int // how often it can still be read to the end
	then   func()
	failed bool
}

var errCut = errors.New("the test cuts the body")

func (f *failing) Read(p []byte) (int, error) {
	if f.good == 0 && f.data.Len() < int(f.data.Size()/4) {
		f.failed = true
		f.then()
		return 0, errCut
	}
	n, err := f.data.Read(p)
	if err == io.EOF {
		f.good--
	}
	return n, err
}

func (f *failing) Seek(offset int64, whence int) (int64, error) { return f.data.Seek(offset, whence) }

// cut puts bodies that fail in the first or in the second pass, in their second part. Stores that read bodies once do not notice the latter.
func cut(t *testing.T, s *suite, part int) {
	data, sum := Blob(1, part+part/2)
	stored := false
	for good := range 2 {
		for _, cancels := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			body := &failing{data: bytes.NewReader(data), good: good, then: func() {}}
			if cancels {
				body.then = cancel
			}
			err := s.Put(ctx, sum, body, int64(len(data)))
			if stored = stored || err == nil; err == nil && body.failed {
				t.Errorf("a body that is cut is stored; it can be read %d times", good)
			}
			if stored {
				want(t, s, data, sum)
			} else {
				wantNone(t, s, sum)
			}
		}
	}
	must(t, s.Put(t.Context(), sum, bytes.NewReader(data), int64(len(data))))
	again := &failing{data: bytes.NewReader(data), good: 1, then: func() {}}
	if err := s.Put(t.Context(), sum, again, int64(len(data))); err == nil && again.failed {
		t.Error("a body that is cut replaces another one")
	}
	want(t, s, data, sum)
}

func concurrent(t *testing.T, s *suite) {
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			data, sum := Blob(uint64(i%4), 300<<10) // each by three at once
			if err := s.Put(t.Context(), sum, bytes.NewReader(data), int64(len(data))); err != nil {
				t.Error(err)
				return
			}
			if err := blobs.Verify(t.Context(), s, sum); err != nil && !errors.Is(err, blobs.ErrNotFound) { // it may just be replaced
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 4 {
		data, sum := Blob(uint64(i), 300<<10)
		want(t, s, data, sum)
	}
	if got := list(t, s); len(got) != 4 {
		t.Errorf("%d blobs, want 4", len(got))
	}
}

func tenants(t *testing.T, s *suite) {
	// The name of one is the beginning of the other's.
	other, err := s.all.Open(t.Context(), s.tenant+"-2")
	must(t, err)
	data, sum := Blob(1, 1000)
	must(t, s.Put(t.Context(), sum, bytes.NewReader(data), 1000))
	wantNone(t, other, sum)
	must(t, other.Put(t.Context(), sum, bytes.NewReader(data), 1000))
	must(t, s.all.Delete(t.Context(), s.tenant))
	must(t, s.all.Delete(t.Context(), s.tenant)) // it has none any more
	want(t, other, data, sum)
	again, err := s.all.Open(t.Context(), s.tenant)
	must(t, err)
	wantNone(t, again, sum)
}

func damaged(t *testing.T, s *suite, damage func(t *testing.T, tenant, sum string)) {
	data, sum := Blob(1, 1000)
	must(t, s.Put(t.Context(), sum, bytes.NewReader(data), 1000))
	damage(t, s.tenant, sum)
	if err := blobs.Verify(t.Context(), s, sum); !errors.Is(err, blobs.ErrDamaged) {
		t.Errorf("verify damaged bytes: %v", err)
	}
	must(t, s.Put(t.Context(), sum, bytes.NewReader(data), 1000))
	want(t, s, data, sum)
}

// Away tests what happens while the engine is away: stop and start stop it and start it again.
func Away(t *testing.T, all blobs.Tenants, stop, start func()) {
	s, err := all.Open(t.Context(), "away")
	must(t, err)
	data, sum := Blob(1, 100<<10)
	_, second := Blob(2, 10)
	must(t, s.Put(t.Context(), sum, bytes.NewReader(data), int64(len(data))))
	stop()
	_, opened := s.Open(t.Context(), sum)
	var listed error
	for _, listed = range s.List(t.Context()) {
		break
	}
	for what, err := range map[string]error{
		"open": opened, "list": listed, "check": s.Check(t.Context()), "remove": s.Remove(t.Context(), second),
		"put": s.Put(t.Context(), sum, bytes.NewReader(data), int64(len(data))), "open missing": func() error { _, err := s.Open(t.Context(), second); return err }(),
	} {
		if !errors.Is(err, blobs.ErrUnavailable) {
			t.Errorf("%s while the engine is away: %v", what, err)
		}
	}
	start()
	want(t, s, data, sum)
	must(t, s.Check(t.Context()))
}

// PutRemove puts a blob of several parts, which it removes again.
func PutRemove(t *testing.T, s blobs.Store) {
	data, sum := Blob(9, 1<<20)
	must(t, s.Put(t.Context(), sum, bytes.NewReader(data), int64(len(data))))
	want(t, s, data, sum)
	must(t, s.Remove(t.Context(), sum))
	wantNone(t, s, sum)
}
