// Package vectorcache caches the results of embedders, so that each text is embedded once: vectors of texts on disk, and vectors of tokens in
// memory. A document that is ingested again, moved or put into another collection then needs no call of the embedding server.
package vectorcache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/model"
)

// defaultBytes is the default size limit on disk: about 150,000 vectors of 384 components.
const defaultBytes = 256 << 20

// Options configure a [Cache]. The zero value works.
type Options struct {
	MaxBytes int64        // maximum size of the file, at least [cachedb.MinBytes]; default 256 MiB
	Logger   *slog.Logger // receives damage and disk errors; default silent
}

// Stats are the lookups since the cache was opened, and its content.
type Stats struct {
	Hits, Misses int64 // texts; a text that another call is embedding at the moment is a hit
	Entries      int
	Bytes        int64
}

// Cache is a [model.Embedder] that passes unknown texts to another embedder. If several calls need the same text at once, one of them
// embeds it. Vectors are kept in an SQLite file by the SHA-256 of space, purpose and text; the file holds no text. If the process is killed,
// nothing is lost. Damaged vectors and files are dropped. If the disk fails, texts are embedded again. When the file is full, the vectors that
// were used longest ago, approximately, are dropped.
type Cache struct {
	inner  model.Embedder
	gather gatherer[[]float32]
	disk   *disk
}

// Open opens the cache in the file path and creates it if it does not exist. One process at a time may have it open.
func Open(path string, inner model.Embedder, o Options) (*Cache, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d, err := openDisk(path, o)
	if err != nil {
		return nil, fmt.Errorf("open vector cache: %w", err)
	}
	c := &Cache{inner: inner, disk: d}
	c.gather.store = d
	return c, nil
}

// Space implements [model.Embedder]. It returns the space of the inner embedder.
func (c *Cache) Space() string { return c.inner.Space() }

// Embed implements [model.Embedder]. It passes the unknown texts to the inner embedder in one call, each once, and returns its errors. The
// caller owns the vectors. All of them are of one space, even if the embedder's space changes during the call.
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
			err = fault.New(fault.Model, "the embedder returned %d vectors for %d texts", len(vs), len(some))
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

// Stats returns the lookups since the cache was opened, and its content.
func (c *Cache) Stats() Stats {
	c.gather.mu.Lock()
	defer c.gather.mu.Unlock()
	entries, bytes := c.disk.stats()
	return Stats{Hits: c.gather.hits, Misses: c.gather.misses, Entries: entries, Bytes: bytes}
}

// Close closes the file. Calls that still run continue without it.
func (c *Cache) Close() error {
	c.gather.mu.Lock()
	defer c.gather.mu.Unlock()
	if err := c.disk.close(); err != nil {
		return fmt.Errorf("close vector cache: %w", err)
	}
	return nil
}

// key is the SHA-256 of everything that a vector depends on.
type key [sha256.Size]byte

func keyOf(space string, p model.Purpose, text string) key {
	b := make([]byte, 0, 16+len(space)+len(text))
	b = binary.BigEndian.AppendUint64(b, uint64(len(space)))
	b = append(b, space...)
	b = binary.BigEndian.AppendUint64(b, uint64(p))
	return sha256.Sum256(append(b, text...))
}
