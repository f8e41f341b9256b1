package embedded

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/disk/atomicfile"
)

// Compact erases deleted and replaced text from the files, and shrinks files that are mostly free. Without deletions, it does nothing.
// The index also compacts in the background. Text that a running search can still see is erased by the next compaction. A crash
// loses nothing; the next compaction continues. Searches run in parallel; writers wait for short parts of the work. Compact cannot
// control what a disk keeps of removed files and overwritten blocks.
func (x *Index) Compact(ctx context.Context) error {
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	ctx, cancel := x.untilClosed(ctx)
	defer cancel()
	return failed("compact", x.compact(ctx))
}

func (x *Index) compact(ctx context.Context) error {
	x.compacting.Lock()
	defer x.compacting.Unlock()
	before := x.takeDeletions()
	left, err := x.compactParts(ctx)
	if err != nil || left {
		now := time.Now()
		x.noteDeletions(deletions{cmp.Or(before.first, now), cmp.Or(before.last, now)})
	}
	return err
}

// compactParts compacts one level at a time, and then documents.db. It reports whether deleted text is left, because a search can
// still see it or because it was deleted during the compaction.
func (x *Index) compactParts(ctx context.Context) (left bool, err error) {
	if err := x.clearDropped(ctx); err != nil {
		return false, err
	}
	pending, marked, err := x.pendingErasures()
	if err != nil || !pending {
		return false, err
	}
	for _, name := range x.names() {
		for i := range levels {
			if !marked[string(levelKey(*x.number(name), i+1))] {
				continue
			}
			c, err := x.collection(name)
			if err == nil {
				err = x.compactLevel(ctx, c, i)
			}
			if err != nil {
				return false, err
			}
		}
	}
	if left, err = x.erase(ctx); err != nil {
		return left, err
	}
	return left, x.shrink(ctx)
}

// pendingErasures reports whether anything was deleted since the last compaction, and from which levels.
func (x *Index) pendingErasures() (pending bool, levels map[string]bool, err error) {
	levels = map[string]bool{}
	err = x.view(func(tx *txn) error {
		cur := tx.Bucket(bucketMeta).Cursor()
		for k, _ := cur.Seek(keyScrub); bytes.HasPrefix(k, keyScrub); k, _ = cur.Next() {
			pending = true
			if level, ok := bytes.CutPrefix(k, keyScrubLevel); ok {
				levels[string(level)] = true
			}
		}
		return nil
	})
	return pending, levels, err
}

// compactLevel merges the segments of a lexical index that contain deleted chunks. Searches and writes continue during the merge. If a search still uses the
// old segments, or chunks were deleted during the merge, the level stays marked.
func (x *Index) compactLevel(ctx context.Context, c *collection, i int) error {
	x.write.Lock()
	err := x.repair(c)
	l := c.lex[i]
	x.write.Unlock()
	if err == nil && l != nil {
		err = l.Merge(ctx)
	}
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return err
	}
	x.write.Lock()
	defer x.write.Unlock()
	if c.lex[i] != l {
		return fmt.Errorf("%s was opened again during the merge", x.lexicalDir(c, i))
	}
	if l != nil {
		if c.publish(c.cur.vectors(), nil); !l.Erased() {
			return nil
		}
	}
	return x.update(func(tx *txn) error {
		return tx.Bucket(bucketMeta).Delete(append(bytes.Clone(keyScrubLevel), levelKey(c.id, i+1)...))
	})
}

// erase deletes texts that no search can see from documents.db, and overwrites its free pages.
func (x *Index) erase(ctx context.Context) (left bool, err error) {
	if err := x.awaitReads(ctx); err != nil { // wait for long reads before blocking writers
		return false, err
	}
	x.write.Lock()
	defer x.write.Unlock()
	return x.eraseLocked(ctx)
}

func (x *Index) eraseLocked(ctx context.Context) (left bool, err error) {
	swept := map[*collection][][2]uint64{}
	for _, c := range x.loadedCollections() {
		if rows := c.sweepable(); rows != nil {
			swept[c] = rows
		}
		left = left || len(c.retired) > 0
	}
	err = x.update(func(tx *txn) error {
		for _, rows := range swept {
			if err := sweep(tx, rows); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keyNextRow, rowKey(x.nextRow))
	})
	if err != nil {
		for c, rows := range swept {
			c.retired = append(c.retired, retired{0, rows})
		}
		return left, err
	}
	// A second transaction is needed, because the previous meta page still refers to the pages that the first one freed.
	err = x.update(func(tx *txn) error { return tx.Bucket(bucketMeta).Put(keyNextRow, rowKey(x.nextRow)) })
	if err != nil {
		return left, err
	}
	wait, cancel := context.WithTimeout(ctx, maxWriteStall)
	defer cancel()
	if x.awaitReads(wait) != nil {
		return true, ctx.Err()
	}
	err = guard(x.path(fileDocuments), func() error { return eraseFree(ctx, x.path(fileDocuments)) })
	if err != nil {
		return left, x.noteDamage(err)
	}
	_, marked, err := x.pendingErasures()
	if left = left || len(marked) > 0; err != nil || left {
		return left, err
	}
	return false, x.update(func(tx *txn) error { return tx.Bucket(bucketMeta).Delete(keyScrub) })
}

// shrink copies documents.db if more than half of it is free, or it has pages of an earlier version: smaller values that replace others leave space in the pages. The copy
// replaces the file while both are open, so that a failure leaves the old one in use. A full disk is no error.
func (x *Index) shrink(ctx context.Context) error {
	old, err := x.exchange(ctx)
	if errors.Is(err, syscall.ENOSPC) {
		x.opts.Logger.Warn("the index is not made smaller: the disk has no space for a copy", "error", err)
		return nil
	}
	if err != nil || old == nil {
		return err
	}
	if err := x.awaitReads(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return old.Close()
}

// exchange does the work of [Index.shrink]. It returns the database that was replaced, which reads may still use.
func (x *Index) exchange(ctx context.Context) (old *bolt.DB, err error) {
	x.write.Lock()
	defer x.write.Unlock()
	path, fresh := x.path(fileDocuments), x.path(fileCompacted)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	size := x.db.Info().PageSize
	if free := int64(x.db.Stats().FreePageN) * int64(size); size == pageSize && (free < minShrink || free < info.Size()/2) {
		return nil, nil
	}
	to, err := openDB(fresh)
	if err != nil {
		return nil, errors.Join(err, atomicfile.Remove(fresh))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, to.Close(), atomicfile.Remove(fresh))
		}
	}()
	if err := x.view(func(tx *txn) error { return copyBuckets(ctx, to, tx) }); err != nil {
		return nil, err
	}
	if err := guard(fresh, func() error { _, err := verifyFile(ctx, fresh); return err }); err != nil {
		return nil, x.noteDamage(err)
	}
	x.dbMu.Lock()
	defer x.dbMu.Unlock()
	if err := os.Rename(fresh, path); err != nil {
		return nil, err
	}
	old, x.db = x.db, to
	if err := atomicfile.SyncDir(x.dir); err != nil {
		x.opts.Logger.Warn("the compacted index may have to be compacted again after a loss of power", "error", err)
	}
	return old, nil
}

const (
	minShrink      = 1 << 20
	compactTxBytes = 16 << 20
	maxWriteStall  = 2 * time.Second // maximum time that erasing blocks writes while it waits for reads
)

// copyBuckets copies all buckets to a new database in several transactions.
func copyBuckets(ctx context.Context, to *bolt.DB, from *txn) error {
	for _, name := range buckets {
		src := from.Bucket(name)
		cur := src.Cursor()
		k, v := cur.First()
		for begun := false; !begun || k != nil; begun = true {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := to.Update(func(tx *bolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists(name)
				if err != nil {
					return err
				}
				b.FillPercent = 1
				for n := 0; k != nil && n < compactTxBytes; k, v = cur.Next() {
					if string(name) == string(bucketMeta) && bytes.Equal(k, keyTxID) {
						continue
					}
					if err := b.Put(k, v); err != nil {
						return err
					}
					n += len(k) + len(v)
				}
				return b.SetSequence(src.Sequence())
			})
			if err != nil {
				return err
			}
		}
	}
	return to.Update(putTxID)
}

// eraseFree overwrites with zeros the pages of a bbolt file that neither of its two states uses, and the rest of the file after the
// last page. During the call, no transaction may write, and none may read an earlier state.
func eraseFree(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	newest, before, err := readTrees(f)
	if err != nil {
		return err
	}
	free, err := newPages(ctx, newest, f).free()
	if err != nil {
		return err
	}
	was, err := newPages(ctx, before, f).free()
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	slices.Sort(was)
	free = slices.DeleteFunc(free, func(id uint64) bool { _, ok := slices.BinarySearch(was, id); return !ok })
	for id := max(newest.high, before.high); id < uint64(info.Size()/newest.pageSize); id++ {
		free = append(free, id)
	}
	page, zeros, erased := make([]byte, newest.pageSize), make([]byte, newest.pageSize), false
	for _, id := range free {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := int64(id) * newest.pageSize
		if _, err := f.ReadAt(page, at); err != nil {
			return err
		}
		if bytes.Equal(page, zeros) {
			continue
		}
		if _, err := f.WriteAt(zeros, at); err != nil {
			return err
		}
		erased = true
	}
	if !erased {
		return nil
	}
	return f.Sync()
}
