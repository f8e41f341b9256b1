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

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/vectorcache"
)

// hashing embeds by a hash of text and purpose, and writes down what it is asked.
type hashing struct {
	space string
	dim   int
	salt  string
	wait  chan struct{} // each call receives from it, unless it is nil
	mu    sync.Mutex
	asked [][]string
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
	h.asked = append(h.asked, slices.Clone(texts))
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

// questions gives what was asked since the last call.
func (h *hashing) questions() [][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.asked
	h.asked = nil
	return q
}

func open(t testing.TB, file string, e model.Embedder, o vectorcache.Options) *vectorcache.Cache {
	t.Helper()
	c, err := vectorcache.Open(file, e, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// embed checks that the cache gives what the embedder would.
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

func asked(t *testing.T, h *hashing, want ...[]string) {
	t.Helper()
	if d := cmp.Diff(want, h.questions()); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
}

func TestKnownTextsCostNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vectors.db")
	h := &hashing{space: "s", dim: 8}
	c := open(t, file, h, vectorcache.Options{})
	embed(t, c, h, model.ForPassage, "a", "b", "a", "unknown")
	asked(t, h, []string{"a", "b", "unknown"})
	embed(t, c, h, model.ForPassage, "unknown", "c", "b", "d")
	asked(t, h, []string{"c", "d"})
	embed(t, c, h, model.ForQuery, "a")
	asked(t, h, []string{"a"})
	if s := c.Stats(); s.Hits != 2 || s.Misses != 6 || s.Entries != 6 {
		t.Errorf("stats %+v", s)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	embed(t, c, h, model.ForPassage, "a") // goes on without its files
	h.questions()

	c = open(t, file, h, vectorcache.Options{})
	embed(t, c, h, model.ForPassage, "a", "b", "c", "d", "unknown")
	asked(t, h)
	v, err := c.Embed(t.Context(), []string{"a"}, model.ForPassage)
	if err != nil {
		t.Fatal(err)
	}
	clear(v[0]) // the caller's own
	embed(t, c, h, model.ForPassage, "a")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	other := &hashing{space: "other", dim: 8}
	c = open(t, file, other, vectorcache.Options{})
	embed(t, c, other, model.ForPassage, "a")
	asked(t, other, []string{"a"})
}

func TestFailuresAreNotKept(t *testing.T) {
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

func TestOneAsksForAll(t *testing.T) {
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
		asked(t, h, []string{"a", "b"})
		giveUp()
		synctest.Wait()
		stop() // whoever asks is gone: another asks
		synctest.Wait()
		var texts []string
		for _, q := range h.questions() {
			texts = append(texts, q...)
		}
		slices.Sort(texts)
		if d := cmp.Diff([]string{"a", "b"}, texts); d != "" {
			t.Errorf("asked again (-want +got):\n%s", d)
		}
		close(h.wait)
		wg.Wait()
		asked(t, h)
	})
}

func TestBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vectors.db")
	const most = 256 << 10
	h := &hashing{space: "s", dim: 100}
	c := open(t, file, h, vectorcache.Options{MaxBytes: most})
	for i := range 1000 {
		embed(t, c, h, model.ForPassage, fmt.Sprint("text", i), "used all the time")
		if s := c.Stats(); s.Bytes > most {
			t.Fatalf("%d bytes after %d texts", s.Bytes, i)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Size() > most || info.Size() < most/2 {
		t.Errorf("file of %v, %v", info, err)
	}
	times := 0
	for _, q := range h.questions() {
		if slices.Contains(q, "used all the time") {
			times++
		}
	}
	if times != 1 {
		t.Errorf("asked %d times for what is used all the time", times)
	}
	embed(t, c, h, model.ForPassage, "used all the time", "text999")
	asked(t, h)
	embed(t, c, h, model.ForPassage, "text0")
	asked(t, h, []string{"text0"})
	large := &hashing{space: "s", dim: most}
	c = open(t, filepath.Join(t.TempDir(), "vectors.db"), large, vectorcache.Options{MaxBytes: most})
	embed(t, c, large, model.ForPassage, "larger than the cache")
	if s := c.Stats(); s.Bytes > most {
		t.Errorf("%d bytes", s.Bytes)
	}
}

// TestDamagedVector changes a vector in the file: it is embedded again.
func TestDamagedVector(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vectors.db")
	h := &hashing{space: "s", dim: 50}
	c := open(t, file, h, vectorcache.Options{})
	embed(t, c, h, model.ForPassage, "a")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	one := binary.LittleEndian.AppendUint32(nil, math.Float32bits(h.vector("a", model.ForPassage)[0]))
	if bytes.Count(raw, one) == 0 {
		t.Fatal("the vector is not in the file")
	}
	if err := os.WriteFile(file, bytes.Replace(raw, one, []byte{1, 2, 3, 4}, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	c = open(t, file, h, vectorcache.Options{})
	for range 2 {
		embed(t, c, h, model.ForPassage, "a")
	}
	asked(t, h, []string{"a"}, []string{"a"})
}

// FuzzDamage opens a cache whose file holds anything: it still returns the right vectors.
func FuzzDamage(f *testing.F) {
	file := filepath.Join(f.TempDir(), "vectors.db")
	h := &hashing{space: "s", dim: 5}
	c := open(f, file, h, vectorcache.Options{})
	embed(f, c, h, model.ForPassage, "a", "b", "unknown")
	_ = c.Close()
	whole, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
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
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		h := &hashing{space: "s", dim: 5}
		c := open(t, file, h, vectorcache.Options{})
		for range 2 {
			embed(t, c, h, model.ForPassage, "a", "b", "unknown", "c")
		}
	})
}

// TestAllAtOnce asks for overlapping texts at once while files are exchanged and at last closed.
func TestAllAtOnce(t *testing.T) {
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
