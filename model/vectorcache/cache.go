// Package vectorcache keeps what embedders gave, so that a text is embedded once: vectors on disk, by which a document that
// is ingested again, moved or put into another collection costs nothing at the server, and vectors of tokens in memory.
package vectorcache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/model"
)

// defaultBytes is the size on disk where none is set: some 160,000 vectors of 384 components.
const defaultBytes = 256 << 20

// Options are a [Cache]'s. The zero value works.
type Options struct {
	MaxBytes int64        // on disk, all together; 256 MiB
	Logger   *slog.Logger // damage and failures of the disk are told here; nil: nowhere
}

// Stats are what a cache has done since it was opened, and what it holds.
type Stats struct {
	Hits, Misses int64 // texts; one that another call is asking for at the moment is a hit
	Entries      int
	Bytes        int64
}

// Cache is an embedder that asks another for what it does not know yet. It implements [model.Embedder]; of several calls
// that want the same text at once, one asks. Vectors are kept in a folder by space, purpose and the SHA-256 of their text;
// no text is. A kill of the process loses nothing, a loss of power perhaps the newest. What is damaged is forgotten, and
// failures of the disk cost no more than asking again. Beyond the size, those go that were not used for longest, about.
type Cache struct {
	inner  model.Embedder
	gather gatherer[[]float32]
	disk   *disk
	opts   Options
	nth    int // of the embedders that had the name of inner's space
}

// Open opens the cache in the folder path, making it if there is none. One process at a time may have it open.
func Open(path string, inner model.Embedder, o Options) (*Cache, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("open vector cache: %w", err)
	}
	d, err := openDisk(path, o)
	if err != nil {
		return nil, fmt.Errorf("open vector cache: %w", err)
	}
	c := &Cache{inner: inner, disk: d, opts: o, nth: readProbes(path)[inner.Space()].Nth}
	c.gather.store = d
	return c, nil
}

// Space implements [model.Embedder]. It is that of the embedder behind, with a number where [Cache.Check] found that the name
// was another's before.
func (c *Cache) Space() string {
	if c.nth > 1 {
		return c.inner.Space() + "#" + strconv.Itoa(c.nth)
	}
	return c.inner.Space()
}

// Embed implements [model.Embedder]. Texts that are not known go to the embedder behind in one call, each once; its errors
// are passed on. The vectors are the caller's.
func (c *Cache) Embed(ctx context.Context, texts []string, p model.Purpose) ([][]float32, error) {
	space := c.Space()
	keys := make([]key, len(texts))
	for i, t := range texts {
		keys[i] = keyOf(space, p, t)
	}
	vs, err := c.gather.all(ctx, keys, func(ctx context.Context, which []int) ([][]float32, error) {
		some := make([]string, len(which))
		for k, i := range which {
			some[k] = texts[i]
		}
		vs, err := c.inner.Embed(ctx, some, p)
		if err == nil && len(vs) != len(some) {
			err = fault.New(fault.Model, "the embedder gave %d vectors for %d texts", len(vs), len(some))
		}
		return vs, err
	})
	if err != nil {
		return nil, err
	}
	for i, v := range vs {
		vs[i] = slices.Clone(v)
	}
	return vs, nil
}

// Stats counts.
func (c *Cache) Stats() Stats {
	c.gather.mu.Lock()
	defer c.gather.mu.Unlock()
	return Stats{Hits: c.gather.hits, Misses: c.gather.misses, Entries: c.disk.entries(), Bytes: c.disk.bytes()}
}

// Close closes the files. Calls that still run go on without them.
func (c *Cache) Close() error {
	c.gather.mu.Lock()
	defer c.gather.mu.Unlock()
	if err := c.disk.close(); err != nil {
		return fmt.Errorf("close vector cache: %w", err)
	}
	return nil
}

// probe is the text by which an embedder is known again, and sameModel the least cosine of its vector with the one before:
// builds and quantisations of one model differ by less.
const (
	probeText = "A sluice box washes gravel in running water and keeps the gold."
	sameModel = 0.98
)

// Check asks the embedder behind for one vector, and compares it with that of the last Check. If they differ, another model
// answers under the name by now: from here on [Cache.Space] gives another one, so its vectors and those before do not meet.
// Call it before anything else uses the cache. Where it fails, nothing has changed.
func (c *Cache) Check(ctx context.Context) (exchanged bool, err error) {
	name := c.inner.Space()
	vs, err := c.inner.Embed(ctx, []string{probeText}, model.ForPassage)
	if err == nil && (len(vs) != 1 || len(vs[0]) == 0) {
		err = fault.New(fault.Model, "the embedder gave no vector")
	}
	if err != nil {
		return false, fmt.Errorf("check embedder: %w", err)
	}
	probes := readProbes(c.disk.dir)
	last, known := probes[name]
	if exchanged = known && !(cosine(last.Vector, vs[0]) >= sameModel); exchanged {
		last.Nth = max(last.Nth, 1) + 1
		c.opts.Logger.Warn("another embedder answers under the same name: vectors are made anew", "space", name)
	}
	if known && !exchanged {
		return false, nil
	}
	probes[name] = probe{Nth: max(last.Nth, 1), Vector: vs[0]}
	if err := writeProbes(c.disk.dir, probes); err != nil {
		return false, fmt.Errorf("check embedder: %w", err)
	}
	c.nth = probes[name].Nth
	return exchanged, nil
}

// cosine is 0 for vectors that cannot be compared.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// key is the SHA-256 of all that a vector depends on.
type key [sha256.Size]byte

func keyOf(space string, p model.Purpose, text string) key {
	b := make([]byte, 0, 16+len(space)+len(text))
	b = binary.BigEndian.AppendUint64(b, uint64(len(space)))
	b = append(b, space...)
	b = binary.BigEndian.AppendUint64(b, uint64(p))
	return sha256.Sum256(append(b, text...))
}
