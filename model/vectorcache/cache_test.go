package vectorcache_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/vectorcache"
)

// hashing computes vectors by hashing text and purpose, and records the texts of its calls.
type hashing struct {
	space string
	dim   int
	salt  string
	wait  chan struct{} // each call receives from it, unless it is nil
	mu    sync.Mutex
	calls [][]string
	err   error
}

func (h *hashing) Space() string { return h.space }

func (h *hashing) vector(text string, p model.Purpose) []float32 {
	if text == "unknown" {
		return nil
	}
	v := make([]float32, h.dim)
	f := fnv.New32a()
	for i := range v {
		fmt.Fprint(f, h.salt, text, p)
		v[i] = float32(f.Sum32()%1000)/1000 - 0.5
	}
	return v
}

func (h *hashing) Embed(ctx context.Context, texts []string, p model.Purpose) ([][]float32, error) {
	h.mu.Lock()
	h.calls = append(h.calls, slices.Clone(texts))
	err := h.err
	h.mu.Unlock()
	if h.wait != nil {
		select {
		case <-h.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = h.vector(t, p)
	}
	return out, nil
}

// takeCalls returns the texts of the calls since it was last called.
func (h *hashing) takeCalls() [][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	calls := h.calls
	h.calls = nil
	return calls
}

func open(t testing.TB, file string, e model.Embedder, o vectorcache.Options) *vectorcache.Cache {
	t.Helper()
	c, err := vectorcache.Open(file, e, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// embed checks that the cache returns the vectors of the embedder.
func embed(t testing.TB, c *vectorcache.Cache, h *hashing, p model.Purpose, texts ...string) {
	t.Helper()
	got, err := c.Embed(t.Context(), texts, p)
	if err != nil {
		t.Error(err)
		return
	}
	for i, s := range texts {
		if d := cmp.Diff(h.vector(s, p), got[i]); d != "" {
			t.Errorf("vector of %q (-want +got):\n%s", s, d)
		}
	}
}

func wantCalls(t *testing.T, h *hashing, want ...[]string) {
	t.Helper()
	if d := cmp.Diff(want, h.takeCalls()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

func TestHitsDoNotCallTheEmbedder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vectors.db")
	h := &hashing{space: "s", dim: 8}
	c := open(t, file, h, vectorcache.Options{})
	embed(t, c, h, model.ForPassage, "a", "b", "a", "unknown")
	wantCalls(t, h, []string{"a", "b", "unknown"})
	embed(t, c, h, model.ForPassage, "unknown", "c", "b", "d")
	wantCalls(t, h, []string{"c", "d"})
	embed(t, c, h, model.ForQuery, "a")
	wantCalls(t, h, []string{"a"})
	if s := c.Stats(); s.Hits != 2 || s.Misses != 6 || s.Entries != 6 {
		t.Errorf("stats %+v", s)
	}
	require.NoError(t, c.Close())
	embed(t, c, h, model.ForPassage, "a") // continues without the file
	h.takeCalls()

	c = open(t, file, h, vectorcache.Options{})
	embed(t, c, h, model.ForPassage, "a", "b", "c", "d", "unknown")
	wantCalls(t, h)
	v, err := c.Embed(t.Context(), []string{"a"}, model.ForPassage)
	require.NoError(t, err)
	clear(v[0]) // the caller owns it
	embed(t, c, h, model.ForPassage, "a")
	require.NoError(t, c.Close())

	other := &hashing{space: "other", dim: 8}
	c = open(t, file, other, vectorcache.Options{})
	embed(t, c, other, model.ForPassage, "a")
	wantCalls(t, other, []string{"a"})
}

func TestFailuresAreNotCached(t *testing.T) {
	boom := errors.New("boom")
	h := &hashing{space: "s", dim: 2, err: boom}
	c := open(t, filepath.Join(t.TempDir(), "vectors.db"), h, vectorcache.Options{})
	if _, err := c.Embed(t.Context(), []string{"a"}, model.ForQuery); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	h.err = nil
	embed(t, c, h, model.ForQuery, "a")
	short := open(t, filepath.Join(t.TempDir(), "vectors.db"), tooFew{h}, vectorcache.Options{})
	if _, err := short.Embed(t.Context(), []string{"a", "b"}, model.ForQuery); err == nil {
		t.Error("one vector for two texts")
	}
}

type tooFew struct{ *hashing }

func (tooFew) Embed(context.Context, []string, model.Purpose) ([][]float32, error) {
	return [][]float32{{1}}, nil
}

func TestConcurrentCallsEmbedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vectors.db")
	synctest.Test(t, func(t *testing.T) {
		h := &hashing{space: "s", dim: 4, wait: make(chan struct{})}
		c := open(t, file, h, vectorcache.Options{})
		leader, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Embed(leader, []string{"a", "b"}, model.ForPassage); !errors.Is(err, context.Canceled) {
				t.Errorf("leader: %v", err)
			}
		})
		synctest.Wait()
		for range 5 {
			wg.Go(func() { embed(t, c, h, model.ForPassage, "b", "a") })
		}
		hasty, giveUp := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := c.Embed(hasty, []string{"a"}, model.ForPassage); !errors.Is(err, context.Canceled) {
				t.Errorf("hasty: %v", err)
			}
		})
		synctest.Wait()
		wantCalls(t, h, []string{"a", "b"})
		giveUp()
		synctest.Wait()
		stop() // when the leader is cancelled, another call embeds
		synctest.Wait()
		var texts []string
		for _, q := range h.takeCalls() {
			texts = append(texts, q...)
		}
		slices.Sort(texts)
		if d := cmp.Diff([]string{"a", "b"}, texts); d != "" {
			t.Errorf("second calls (-want +got):\n%s", d)
		}
		close(h.wait)
		wg.Wait()
		wantCalls(t, h)
	})
}

func TestMaxBytes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vectors.db")
	const maxBytes = 256 << 10
	h := &hashing{space: "s", dim: 100}
	c := open(t, file, h, vectorcache.Options{MaxBytes: maxBytes})
	for i := range 1000 {
		embed(t, c, h, model.ForPassage, fmt.Sprint("text", i), "used all the time")
		if s := c.Stats(); s.Bytes > maxBytes {
			t.Fatalf("%d bytes after %d texts", s.Bytes, i)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Size() > maxBytes || info.Size() < maxBytes/2 {
		t.Errorf("file of %v, %v", info, err)
	}
	times := 0
	for _, q := range h.takeCalls() {
		if slices.Contains(q, "used all the time") {
			times++
		}
	}
	if times != 1 {
		t.Errorf("%d calls for a text that is used all the time", times)
	}
	embed(t, c, h, model.ForPassage, "used all the time", "text999")
	wantCalls(t, h)
	embed(t, c, h, model.ForPassage, "text0")
	wantCalls(t, h, []string{"text0"})
	large := &hashing{space: "s", dim: maxBytes}
	c = open(t, filepath.Join(t.TempDir(), "vectors.db"), large, vectorcache.Options{MaxBytes: maxBytes})
	embed(t, c, large, model.ForPassage, "larger than the cache")
	if s := c.Stats(); s.Bytes > maxBytes {
		t.Errorf("%d bytes", s.Bytes)
	}
}

// TestDamagedVector changes a vector in the file. The text is embedded again.
func TestDamagedVector(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vectors.db")
	h := &hashing{space: "s", dim: 50}
	c := open(t, file, h, vectorcache.Options{})
	embed(t, c, h, model.ForPassage, "a")
	require.NoError(t, c.Close())
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	one := binary.LittleEndian.AppendUint32(nil, math.Float32bits(h.vector("a", model.ForPassage)[0]))
	if bytes.Count(raw, one) == 0 {
		t.Fatal("the vector is not in the file")
	}
	require.NoError(t, os.WriteFile(file, bytes.Replace(raw, one, []byte{1, 2, 3, 4}, 1), 0o600))
	c = open(t, file, h, vectorcache.Options{})
	for range 2 {
		embed(t, c, h, model.ForPassage, "a")
	}
	wantCalls(t, h, []string{"a"}, []string{"a"})
}

// FuzzDamage opens a cache with arbitrary file content and checks that it returns the right vectors.
func FuzzDamage(f *testing.F) {
	file := filepath.Join(f.TempDir(), "vectors.db")
	h := &hashing{space: "s", dim: 5}
	c := open(f, file, h, vectorcache.Options{})
	embed(f, c, h, model.ForPassage, "a", "b", "unknown")
	_ = c.Close()
	whole, err := os.ReadFile(file)
	require.NoError(f, err)
	f.Add(whole)
	f.Add(whole[:20])
	f.Add([]byte{})
	for i := 0; i < len(whole); i += 997 {
		b := slices.Clone(whole)
		b[i] ^= 0x41
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "vectors.db")
		require.NoError(t, os.WriteFile(file, data, 0o600))
		h := &hashing{space: "s", dim: 5}
		c := open(t, file, h, vectorcache.Options{})
		for range 2 {
			embed(t, c, h, model.ForPassage, "a", "b", "unknown", "c")
		}
	})
}

// TestConcurrentUse embeds overlapping texts concurrently while the cache evicts vectors and is closed.
func TestConcurrentUse(t *testing.T) {
	h := &hashing{space: "s", dim: 20}
	c := open(t, filepath.Join(t.TempDir(), "vectors.db"), h, vectorcache.Options{MaxBytes: 128 << 10})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 150 {
				embed(t, c, h, model.ForPassage, fmt.Sprint(i*(g+1)%97), fmt.Sprint(i%31), fmt.Sprint(i%7))
				if g == 0 && i == 120 {
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
				c.Stats()
			}
		})
	}
	wg.Wait()
}
