package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"

	bolt "go.etcd.io/bbolt"
)

// Compact rewrites the files so that nothing that was deleted or replaced is left in them; what has changed nothing since
// costs nothing. [Index.Close] does it too, so after either the folder's files hold no deleted text; what a disk keeps of
// files that were removed is not this package's to say. Where a search that began before the deletion is still running,
// its text stays until the next Compact or Close. A crash in between loses nothing, and the next Compact or Close does
// the rest. Searches go on meanwhile, writers wait.
func (x *Index) Compact(ctx context.Context) error {
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	x.write.Lock()
	defer x.write.Unlock()
	if x.broken != nil {
		return failed("compact", fmt.Errorf("reopen the index: %w", x.broken))
	}
	return failed("compact", x.compact(ctx))
}

func (x *Index) compact(ctx context.Context) error {
	if err := x.clear(ctx, func() {}, func() {}); err != nil {
		return err
	}
	names := map[string]uint32{}
	marked := map[uint32][levels]bool{}
	pending := false
	err := x.view(func(tx *txn) error {
		meta := tx.Bucket(bucketMeta)
		pending = meta.Get(keyScrub) != nil
		return tx.Bucket(bucketCollections).ForEach(func(name, id []byte) error {
			if len(id) != 4 {
				return fmt.Errorf("%w: number of a collection", errDamaged)
			}
			n := binary.BigEndian.Uint32(id)
			var m [levels]bool
			for i := range levels {
				m[i] = meta.Get(append(bytes.Clone(keyScrubLevel), levelKey(n, i+1)...)) != nil
			}
			if m != [levels]bool{} {
				names[string(name)] = n
				marked[n] = m
			}
			return nil
		})
	})
	if err != nil || !pending {
		return err
	}
	for name, id := range names {
		c, err := x.collection(name)
		if err != nil {
			return err
		}
		if err := x.scrubCollection(ctx, c, marked[id]); err != nil {
			return err
		}
	}
	return x.exchange()
}

// scrubCollection makes the lexical indexes of the marked levels anew from what is left in them, or from the documents if
// that did not do.
func (x *Index) scrubCollection(ctx context.Context, c *collection, marked [levels]bool) error {
	var vectors [levels]spaces
	for i := range levels {
		vectors[i] = c.cur.levels[i].spaces
		if !marked[i] || c.lex[i] == nil {
			continue
		}
		l := c.lex[i]
		c.lex[i] = nil
		clean, err := l.scrub(ctx, x.queue)
		if err == nil && clean {
			c.lex[i], err = x.loadLexical(c, i)
		} else {
			level := slog.LevelInfo
			if err != nil {
				level = slog.LevelWarn
			}
			x.opts.Logger.Log(ctx, level, "index made anew from documents, so that nothing is left of what is gone", "folder", l.dir, "cause", err)
			c.lex[i], err = x.rebuild(c, i)
		}
		if err != nil {
			x.broken = err
			return err
		}
	}
	return c.publish(vectors, nil)
}

// exchange writes documents.db anew without its free pages. The marks are taken off in the new file only, so a crash
// before the exchange leaves them.
func (x *Index) exchange() error {
	left := false
	err := x.update(func(tx *txn) error {
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, c := range x.collections {
			if err := sweep(tx, c.sweepable()); err != nil {
				return err
			}
			left = left || len(c.retired) > 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	fresh := x.path(fileCompacted)
	if err := x.writeCompacted(fresh, left); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	x.dbMu.Lock()
	defer x.dbMu.Unlock()
	if err := x.db.Close(); err != nil {
		return err
	}
	renamed := os.Rename(fresh, x.path(fileDocuments))
	if x.db, err = openDB(x.path(fileDocuments)); err != nil {
		return err
	}
	return errors.Join(renamed, syncDir(x.dir))
}

func (x *Index) writeCompacted(path string, keepMarks bool) error {
	to, err := bolt.Open(path, permFile, nil)
	if err != nil {
		return err
	}
	defer to.Close()
	err = guard(x.path(fileDocuments), func() error { return bolt.Compact(to, x.db, compactTxBytes) })
	if err != nil {
		return err
	}
	if keepMarks {
		return to.Sync()
	}
	err = updateDB(to, nil, func(tx *txn) error {
		meta := tx.Bucket(bucketMeta)
		var marks [][]byte
		cur := meta.Cursor()
		for k, _ := cur.Seek(keyScrub); bytes.HasPrefix(k, keyScrub); k, _ = cur.Next() {
			marks = append(marks, bytes.Clone(k))
		}
		for _, k := range marks {
			if err := meta.Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return to.Close()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
