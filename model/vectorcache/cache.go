// Package vectorcache keeps what embedders gave, so that a text is embedded once: vectors on disk, by which a document that
// is ingested again, moved or put into another collection costs nothing at the server, and vectors of tokens in memory.
package vectorcache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"slices"

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
	c := &Cache{inner: inner, disk: d, opts: o}
	c.gather.store = d
	return c, nil
}

// Space implements [model.Embedder]. It is that of the embedder behind.
func (c *Cache) Space() string { return c.inner.Space() }

// Embed implements [model.Embedder]. Texts that are not known go to the embedder behind in one call, each once; its errors
// are passed on. The vectors are the caller's. All of them are of one space, also if the embedder's space changes during the call.
func (c *Cache) Embed(ctx context.Context, texts []string, p model.Purpose) ([][]float32, error) {
	for {
		space := c.Space()
		vectors, err := c.embed(ctx, space, texts, p)
		if err != nil || c.Space() == space {
			return vectors, err
		}
	}
}

func (c *Cache) embed(ctx context.Context, space string, texts []string, p model.Purpose) ([][]float32, error) {
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

// key is the SHA-256 of all that a vector depends on.
type key [sha256.Size]byte

func keyOf(space string, p model.Purpose, text string) key {
	b := make([]byte, 0, 16+len(space)+len(text))
	b = binary.BigEndian.AppendUint64(b, uint64(len(space)))
	b = append(b, space...)
	b = binary.BigEndian.AppendUint64(b, uint64(p))
	return sha256.Sum256(append(b, text...))
}
