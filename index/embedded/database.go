package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/fault"
)

// openDocuments verifies and opens documents.db, or creates it.
func (x *Index) openDocuments(ctx context.Context) error {
	if err := atomicfile.Remove(x.path(fileCompacted)); err != nil {
		return err
	}
	path := x.path(fileDocuments)
	computed := sums{}
	switch info, err := os.Stat(path); {
	case err == nil && info.Size() > 0:
		if err := guard(path, func() error { computed, err = verifyFile(ctx, path); return err }); err != nil {
			return err
		}
	case err == nil || errors.Is(err, os.ErrNotExist):
		if derived, err := os.ReadDir(x.path(folderLexical)); err != nil || len(derived) > 0 {
			return errors.Join(err, fmt.Errorf("%s: %w: is missing or empty, although %s contains indexes derived from it", path, errDamaged, folderLexical))
		}
	default:
		return err
	}
	db, err := openDB(path)
	if err != nil {
		return err
	}
	x.db = db
	return x.prepare(computed)
}

// growBytes is by how much documents.db grows at once. bbolt's default, 16 MiB, is more than the text of many collections.
const growBytes = 2 << 20

// pageSize is that of new files. In pages of 4 KiB, a sixth of the space is empty, because most values have some hundred bytes.
const pageSize = 8 << 10

func openDB(path string) (*bolt.DB, error) {
	return openBolt(path, bolt.Options{Timeout: time.Second, FreelistType: bolt.FreelistMapType, PageSize: pageSize})
}

// HasDocuments reports whether the index in a folder has documents. It changes nothing, and creates no folder. While another process has the index open, the error is that of a timeout.
func HasDocuments(dir string) (has bool, err error) {
	path := filepath.Join(dir, fileDocuments)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	db, err := openBolt(path, bolt.Options{Timeout: 50 * time.Millisecond, ReadOnly: true})
	if err != nil {
		return false, fmt.Errorf("open index: %w", err)
	}
	err = guard(path, func() error {
		return db.View(func(tx *bolt.Tx) error {
			if b := tx.Bucket(bucketDocuments); b != nil {
				first, _ := b.Cursor().First()
				has = first != nil
			}
			return nil
		})
	})
	return has, errors.Join(err, db.Close())
}

func openBolt(path string, opts bolt.Options) (db *bolt.DB, err error) {
	err = guard(path, func() error {
		db, err = bolt.Open(path, permFile, &opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	db.AllocSize = growBytes
	err = guard(path, func() error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return db.View(func(tx *bolt.Tx) error {
			if info.Size() < tx.Size() {
				return fmt.Errorf("%w: %d bytes where %d were written", errDamaged, info.Size(), tx.Size())
			}
			return nil
		})
	})
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// guard runs do, which reads a memory-mapped file. Panics and faults that damage causes become errors.
func guard(path string, do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			if !errors.Is(r, errDamaged) {
				r = fmt.Errorf("%w: %w", errDamaged, r)
			}
			err = fmt.Errorf("%s: %w", path, r)
		default:
			err = fmt.Errorf("%s: %w: %v", path, errDamaged, r)
		}
	}()
	if err := do(); err != nil {
		if fault.CodeOf(err) != "" {
			return err
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// prepare creates missing buckets and completes the work that the last process left. computed are the checksums of the buckets. It
// only writes if there is something to change, so that an index can be opened on a full disk.
func (x *Index) prepare(computed sums) error {
	err := guard(x.path(fileDocuments), func() error {
		return updateDB(x.db, computed, func(tx *txn) error {
			changed, err := x.migrate(tx)
			if err != nil {
				return err
			}
			if err := x.readMeta(tx); err != nil {
				return err
			}
			if tx.Bucket(bucketMeta).Get(keyScrub) != nil {
				now := time.Now()
				x.noteDeletions(deletions{now, now})
			}
			swept, err := sweepAll(tx)
			if err == nil && !changed && !swept {
				err = errUnchanged
			}
			return err
		})
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// errUnchanged rolls back a transaction that changes nothing.
var errUnchanged = errors.New("nothing to change")

// migrate initializes a new folder, or converts a folder of an earlier format.
func (x *Index) migrate(tx *txn) (changed bool, err error) {
	meta := tx.Bucket(bucketMeta)
	switch was := meta.Get(keyFormat); string(was) {
	case format:
		return false, nil
	case "":
		created := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMicro()))
		err = meta.Put(keyCreated, created)
	case formatFirst:
		err = dropAllVectors(tx)
	case formatSpaces, formatMentions, formatSets, formatSums, formatNested, formatComputed: // passages without mentions get them when they are put again
	default:
		err = fmt.Errorf("format %q is not %q, which this version reads", was, format)
	}
	if len(meta.Get(keyFormat)) > 0 {
		err = errors.Join(err, meta.Put(keyConvert, nil))
	}
	return true, errors.Join(err, meta.Put(keyFormat, []byte(format)))
}

// readMeta loads the metadata that the index keeps in memory.
func (x *Index) readMeta(tx *txn) error {
	meta := tx.Bucket(bucketMeta)
	if b := meta.Get(keyNextRow); len(b) == 8 {
		x.nextRow = binary.BigEndian.Uint64(b)
	}
	if b := meta.Get(keyCreated); len(b) == 8 {
		x.created = binary.BigEndian.Uint64(b)
	}
	return tx.Bucket(bucketCollections).ForEach(func(name, number []byte) error {
		if len(number) != 4 {
			return fmt.Errorf("%w: number of a collection", errDamaged)
		}
		x.numbers[string(name)] = binary.BigEndian.Uint32(number)
		return nil
	})
}

// dropAllVectors deletes all vectors of a folder of the first format, because their spaces are not known. They are computed again
// from the texts.
func dropAllVectors(tx *txn) error {
	if err := tx.DeleteBucket(bucketVectors); err != nil {
		return err
	}
	if _, err := tx.CreateBucket(bucketVectors); err != nil {
		return err
	}
	delete(tx.opened, string(bucketVectors))
	tx.sums[string(bucketVectors)] = bucketSum{}
	return tx.Bucket(bucketMeta).Put(keyScrub, nil)
}

// view runs do in a read transaction. Nothing read may be kept without a copy.
func (x *Index) view(do func(tx *txn) error) error {
	db, end := x.beginRead()
	defer end()
	return x.noteDamage(guard(x.path(fileDocuments), func() error {
		return db.View(func(tx *bolt.Tx) error { return do(&txn{Tx: tx}) })
	}))
}

// beginRead returns the database, which stays open until end is called.
func (x *Index) beginRead() (db *bolt.DB, end func()) {
	x.dbMu.Lock()
	defer x.dbMu.Unlock()
	return x.beginReadLocked()
}

func (x *Index) beginReadLocked() (db *bolt.DB, end func()) {
	done := make(chan struct{})
	x.reads[done] = struct{}{}
	return x.db, func() {
		x.dbMu.Lock()
		defer x.dbMu.Unlock()
		delete(x.reads, done)
		close(done)
	}
}

// awaitReads waits until the reads of documents.db that are running now have ended. New reads may begin in the meantime.
func (x *Index) awaitReads(ctx context.Context) error {
	x.dbMu.Lock()
	reads := slices.Collect(maps.Keys(x.reads))
	x.dbMu.Unlock()
	for _, done := range reads {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// update runs do in a write transaction. The caller holds x.write, so the database is not replaced in the meantime.
func (x *Index) update(do func(tx *txn) error) error {
	deletes := false
	err := guard(x.path(fileDocuments), func() error {
		return updateDB(x.db, nil, func(tx *txn) error {
			err := do(tx)
			deletes = tx.deletes
			return err
		})
	})
	if deletes {
		now := time.Now()
		x.noteDeletions(deletions{now, now})
	}
	return x.noteDamage(err)
}

// updateDB runs do in a write transaction of a database. computed are the sums of its buckets; nil reads the stored ones.
func updateDB(db *bolt.DB, computed sums, do func(tx *txn) error) error {
	return db.Update(func(inner *bolt.Tx) error {
		tx := &txn{Tx: inner, sums: computed}
		if computed == nil {
			if err := tx.load(); err != nil {
				return err
			}
		}
		for _, name := range buckets {
			if _, err := inner.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return errors.Join(do(tx), tx.save())
	})
}

// noteDamage keeps the first error that reports damage, for [Index.Health], and returns err.
func (x *Index) noteDamage(err error) error {
	if errors.Is(err, errDamaged) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.damage == nil {
			x.damage = err
		}
	}
	return err
}

// damaged reports whether a read or a check found damage in documents.db.
func (x *Index) damaged() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.damage != nil
}

// clearDamage removes an error that a check of the whole file did not confirm. A lexical index that was read in the same transaction may
// have caused it.
func (x *Index) clearDamage() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.opts.Logger.Info("a read failed, but documents.db is not damaged", "error", x.damage)
	x.damage = nil
}

// Health returns an error if part of the index does not work. Calls that read that part fail, and others work.
func (x *Index) Health() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.damage
	for _, cause := range x.outdated {
		err = errors.Join(err, fmt.Errorf("searches of a collection fail or lack a change: %w", cause))
	}
	return err
}

// Verify reads all files and compares them with what was written; see [Index.Health]. Lexical indexes that are damaged are rebuilt in
// the background. Other calls can read and write in the meantime.
func (x *Index) Verify(ctx context.Context) error {
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	ctx, cancel := x.untilClosed(ctx)
	defer cancel()
	return failed("verify", x.verify(ctx))
}

func (x *Index) verify(ctx context.Context) error {
	err := x.verifyDocuments(ctx)
	for _, c := range x.loadedCollections() {
		if lex := x.verifyLexical(ctx, c); lex != nil {
			if ctx.Err() == nil {
				x.scheduleReload(c, lex)
			}
			err = errors.Join(err, lex)
		}
	}
	return err
}

func (x *Index) verifyDocuments(ctx context.Context) error {
	path := x.path(fileDocuments)
	x.dbMu.Lock()
	db, end := x.beginReadLocked()
	f, err := os.Open(path) // while locked, so that it is the file of db
	x.dbMu.Unlock()
	defer end()
	if err != nil {
		return err
	}
	defer f.Close()
	return x.noteDamage(guard(path, func() error {
		return db.View(func(tx *bolt.Tx) error { return verifyTx(ctx, tx, f) })
	}))
}
