package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/cache/canonical"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/disk/cachedb"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/sqldb"
)

// Options configure a [Cache]. The zero value works.
type Options struct {
	MaxBytes int64               // maximum size of the file, at least [cachedb.MinBytes], or of the answers in a database; default [DefaultBytes]
	MaxAge   time.Duration       // maximum age of an answer; default [DefaultAge]
	OnLookup func(result Result) // called with the result of each lookup, possibly by several goroutines at once; default none
	Logger   *slog.Logger        // receives damage and disk errors; default silent
	Now      func() time.Time    // default time.Now
}

// Default limits.
const (
	DefaultBytes = 64 << 20
	DefaultAge   = 7 * 24 * time.Hour
)

// Result is the result of a lookup.
type Result string

// The results.
const (
	Hit   Result = "hit"
	Miss  Result = "miss"
	Stale Result = "stale" // there was an answer, but the documents have changed
)

// Stats describes the content of a cache.
type Stats struct {
	Entries int
	Bytes   int64 // size of the file, or of the answers in a database
}

// An entry is the CRC-32C of the JSON of an [Entry] (4 bytes, little endian) and that JSON. The column question is the hash of the scope and of
// the canonical question, version is the version of the collection for which the answer is known to be fresh. A dependency is the hash of
// a document that the answer depends on, or of the run that made it. The tables in PostgreSQL are in postgres.sql.
const schema = `
CREATE TABLE entries (
	id       INTEGER PRIMARY KEY,
	question BLOB NOT NULL UNIQUE,
	created  INTEGER NOT NULL,
	version  INTEGER NOT NULL,
	entry    BLOB NOT NULL
) STRICT;
CREATE TABLE dependencies (
	hash     BLOB NOT NULL,
	question BLOB NOT NULL,
	PRIMARY KEY (hash, question)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependencies_question ON dependencies (question);
CREATE TRIGGER entries_deleted AFTER DELETE ON entries BEGIN
	DELETE FROM dependencies WHERE question = OLD.question;
END`

const maxEntry = 1 << 20 // bytes

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Cache keeps answers in an SQLite file or in a PostgreSQL database. It is safe for concurrent use. One process at a time may have a file open; several
// servers may share a database. A crash of the process loses nothing; a loss of power may lose the newest answers of a file, or all of them. While the
// database is away, lookups find nothing.
type Cache struct {
	o           Options
	read, write sqldb.DB
	storage     storage
	shared      bool // with other servers

	deletions atomic.Uint64 // calls of DeleteDependents and DeleteRun

	mu      sync.Mutex
	pending [][]byte  // hashes of dependencies whose answers could not be deleted in the database yet
	retryAt time.Time // the database is not used before
	expired time.Time // when old answers were deleted last
	warned  bool      // an error was logged
}

// storage is what SQLite and PostgreSQL do in different ways.
type storage interface {
	// makeRoom deletes the answers that were used longest ago if there is no room for so many bytes.
	makeRoom(ctx context.Context, bytes int64) error
	stats(ctx context.Context) (Stats, error)
	clear(ctx context.Context) error
}

// Times of a database that other servers share.
const (
	timeout = time.Second     // of an operation
	pause   = 5 * time.Second // after a failure
)

// Open opens the cache in the file path and creates it if it does not exist. A damaged file is replaced by an empty one, with a warning.
func Open(path string, o Options) (*Cache, error) {
	o.setDefaults()
	db, err := cachedb.Open(path, schema, o.MaxBytes, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("open answer cache: %w", err)
	}
	f := &file{db: db}
	c := &Cache{o: o, read: f, write: f, storage: f}
	c.expire(context.Background())
	return c, nil
}

func (o *Options) setDefaults() {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultBytes
	}
	if o.MaxAge <= 0 {
		o.MaxAge = DefaultAge
	}
	if o.OnLookup == nil {
		o.OnLookup = func(Result) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Close closes the file. Afterwards, lookups find nothing and answers are not kept. A second Close does nothing.
func (c *Cache) Close() error { return c.write.Close() }

// Stats returns the number of answers and their size.
func (c *Cache) Stats() (s Stats) {
	c.try(context.Background(), "count cached answers", func(ctx context.Context) (err error) {
		s, err = c.storage.stats(ctx)
		return err
	})
	return s
}

// stored is an entry with its columns.
type stored struct {
	Entry
	id       int64
	question []byte
	version  uint64
	middle   int64 // of the range of ids
}

// Lookup returns the answer to an equivalent question in the same scope, and the similarity of the wording of both questions, 0..1. It returns
// nil if there is no such answer or if it is stale. An answer is fresh while the collection has not changed. After a change it is fresh if
// the documents that it depends on are the same and if its searches find no new relevant passage among the best. An abstention is only
// fresh while nothing has changed. Stale answers are deleted.
func (c *Cache) Lookup(ctx context.Context, docs Documents, s Scope, question string) (*Entry, float64, error) {
	q := canonical.Parse(question)
	e := c.find(ctx, questionHash(s, q))
	if e == nil || e.Scope != s {
		c.o.OnLookup(Miss)
		return nil, 0, nil
	}
	cached := canonical.Parse(e.Question)
	if !q.Same(cached) {
		c.o.OnLookup(Miss)
		return nil, 0, nil
	}
	version, err := docs.Version(ctx, s.Collection)
	if err == nil {
		var ok bool
		if ok, err = fresh(ctx, docs, &e.Entry, version != e.version); err == nil && !ok {
			c.delete(ctx, e)
			c.o.OnLookup(Stale)
			return nil, 0, nil
		}
	}
	if err != nil {
		c.o.OnLookup(Miss)
		return nil, 0, fmt.Errorf("check cached answer: %w", err)
	}
	c.touch(ctx, e, version)
	c.o.OnLookup(Hit)
	return &e.Entry, q.Similarity(cached), nil
}

// Put keeps a complete answer that was made from the given version of the collection. It replaces the answer to an equivalent question. If the
// collection has changed since, the answer is not kept, which is not an error.
func (c *Cache) Put(ctx context.Context, docs Documents, e Entry, version uint64) error {
	before, ok := c.countDeletions(ctx)
	if !ok {
		return nil
	}
	if err := addDependencies(ctx, docs, &e); err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	now, err := docs.Version(ctx, e.Scope.Collection)
	if err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	if now != version {
		return nil
	}
	e.Created = c.o.Now().UTC().Truncate(time.Microsecond)
	raw, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	if len(raw) > maxEntry || int64(len(raw)) > c.o.MaxBytes/4 {
		return nil
	}
	raw = append(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(raw, castagnoli)), raw...)
	question := questionHash(e.Scope, canonical.Parse(e.Question))
	c.expire(ctx)
	room := int64(len(raw) + 100*len(e.Dependencies))
	if !c.try(ctx, "make room in the answer cache", func(ctx context.Context) error { return c.storage.makeRoom(ctx, room) }) {
		return nil
	}
	hashes := [][]byte{runHash(e.Run)}
	for _, d := range e.Dependencies {
		hashes = append(hashes, documentHash(d.Document))
	}
	c.change(ctx, "keep an answer in the cache", func(ctx context.Context, tx sqldb.Querier) error {
		if now, err := c.deletionsIn(ctx, tx); err != nil || now != before { // a document that it depends on may have been deleted
			return err
		}
		if _, err := tx.Do(ctx, "DELETE FROM entries WHERE question = ?", question); err != nil {
			return err
		}
		if _, err := tx.Do(ctx, "INSERT INTO entries (id, question, created, version, entry) VALUES ((SELECT coalesce(max(id), 0) + 1 FROM entries), ?, ?, ?, ?)",
			question, e.Created.UnixMicro(), int64(version), raw); err != nil { //nolint:gosec // find converts it back
			return err
		}
		for _, h := range hashes {
			if _, err := tx.Do(ctx, "INSERT INTO dependencies VALUES (?, ?) ON CONFLICT DO NOTHING", h, question); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// deletionCount is the number of calls that have deleted answers, of this process and in the database.
type deletionCount struct {
	here   uint64
	shared int64
}

// countDeletions returns false if the database is away.
func (c *Cache) countDeletions(ctx context.Context) (n deletionCount, ok bool) {
	ok = c.flush(ctx) && c.try(ctx, "read the answer cache", func(ctx context.Context) (err error) {
		n, err = c.deletionsIn(ctx, c.read)
		return err
	})
	return n, ok
}

func (c *Cache) deletionsIn(ctx context.Context, q sqldb.Querier) (n deletionCount, err error) {
	n.here = c.deletions.Load()
	if c.shared {
		n.shared, err = sqldb.One(ctx, q, sqldb.Integer, "SELECT n FROM deletions")
	}
	return n, err
}

// DeleteDependents deletes the answers that depend on documents and overwrites them in the file. Call it when these documents have
// changed or were deleted. Answers that are being made meanwhile are not kept.
func (c *Cache) DeleteDependents(ids []corpus.DocumentID) {
	hashes := make([][]byte, len(ids))
	for i, id := range ids {
		hashes[i] = documentHash(id)
	}
	c.deleteByHash(hashes...)
}

// DeleteRun deletes the answer of a deleted run and overwrites it in the file.
func (c *Cache) DeleteRun(run event.RunID) { c.deleteByHash(runHash(run)) }

// deleteByHash deletes answers by the hashes of their dependencies. Those that a database which is away still has are deleted before it is used again.
func (c *Cache) deleteByHash(hashes ...[]byte) {
	c.deletions.Add(1)
	c.mu.Lock()
	c.pending = append(c.pending, hashes...)
	c.mu.Unlock()
	c.flush(context.Background())
}

// flush deletes the answers whose deletion is pending. It returns false if the database is away.
func (c *Cache) flush(ctx context.Context) bool {
	c.mu.Lock()
	hashes := c.pending
	c.pending = nil
	c.mu.Unlock()
	if len(hashes) == 0 {
		return true
	}
	ok := c.change(ctx, "delete cached answers", func(ctx context.Context, tx sqldb.Querier) error {
		if c.shared {
			if _, err := tx.Do(ctx, "UPDATE deletions SET n = n + 1"); err != nil {
				return err
			}
			_, err := tx.Do(ctx, "DELETE FROM entries WHERE question IN (SELECT question FROM dependencies WHERE hash = ANY (?))", hashes)
			return err
		}
		for _, h := range hashes {
			if _, err := tx.Do(ctx, "DELETE FROM entries WHERE question IN (SELECT question FROM dependencies WHERE hash = ?)", h); err != nil {
				return err
			}
		}
		return nil
	})
	if !ok && c.shared {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pending = append(c.pending, hashes...)
	}
	return ok || !c.shared
}

// Clear deletes all answers.
func (c *Cache) Clear() { c.try(context.Background(), "clear the answer cache", c.storage.clear) }

// find returns an entry that is not too old, or nil.
func (c *Cache) find(ctx context.Context, question []byte) *stored {
	if !c.flush(ctx) {
		return nil
	}
	e := &stored{question: question}
	var created, version int64
	var raw []byte
	if !c.try(ctx, "read a cached answer", func(ctx context.Context) error {
		return c.read.Each(ctx, func(scan func(...any) error) error { return scan(&e.id, &created, &version, &raw, &e.middle) },
			"SELECT id, created, version, entry, (SELECT min(id) FROM entries) / 2 + (SELECT max(id) FROM entries) / 2 FROM entries WHERE question = ?", question)
	}) || raw == nil {
		return nil
	}
	e.version = uint64(version) //nolint:gosec // Put converted it
	age := c.o.Now().Sub(time.UnixMicro(created))
	whole := len(raw) >= 4 && binary.LittleEndian.Uint32(raw) == crc32.Checksum(raw[4:], castagnoli)
	if whole && age.Abs() <= c.o.MaxAge && json.Unmarshal(raw[4:], &e.Entry) == nil {
		return e
	}
	if !whole {
		c.warn("read a cached answer", errors.New("the entry is damaged"))
	}
	c.exec(ctx, "delete a cached answer", "DELETE FROM entries WHERE id = ?", e.id)
	return nil
}

// touch records that an entry was used and is fresh for a version of the collection. To save writes, it leaves recently used entries in their
// order. It does nothing if the entry was replaced meanwhile.
func (c *Cache) touch(ctx context.Context, e *stored, version uint64) {
	if version == e.version && e.id >= e.middle {
		return
	}
	c.exec(ctx, "mark a cached answer as used", "UPDATE entries SET version = ?, id = (SELECT max(id) FROM entries) + 1 WHERE id = ? AND question = ?",
		int64(version), e.id, e.question) //nolint:gosec // find converts it back
}

// delete deletes an entry, unless it was replaced meanwhile.
func (c *Cache) delete(ctx context.Context, e *stored) {
	c.exec(ctx, "delete a cached answer", "DELETE FROM entries WHERE id = ? AND question = ?", e.id, e.question)
}

// expire deletes old answers from time to time. Answers from the future, made before the clock was set back, count as old.
func (c *Cache) expire(ctx context.Context) {
	now := c.o.Now()
	c.mu.Lock()
	due := now.Sub(c.expired).Abs() > c.o.MaxAge/16
	if due {
		c.expired = now
	}
	c.mu.Unlock()
	if due {
		c.exec(ctx, "delete old cached answers", "DELETE FROM entries WHERE created NOT BETWEEN ? AND ?",
			now.Add(-c.o.MaxAge).UnixMicro(), now.Add(c.o.MaxAge).UnixMicro())
	}
}

func (c *Cache) exec(ctx context.Context, what, query string, args ...any) {
	c.try(ctx, what, func(ctx context.Context) error {
		_, err := c.write.Do(ctx, query, args...)
		return err
	})
}

func (c *Cache) change(ctx context.Context, what string, do func(context.Context, sqldb.Querier) error) bool {
	return c.try(ctx, what, func(ctx context.Context) error {
		return c.write.Change(ctx, func(tx sqldb.Querier) error { return do(ctx, tx) })
	})
}

// try runs an operation and reports whether it succeeded. The first failure is logged. After a failure, a database is left alone for a while.
func (c *Cache) try(ctx context.Context, what string, do func(context.Context) error) bool {
	if !c.shared {
		err := do(ctx)
		c.warn(what, err)
		return err == nil
	}
	c.mu.Lock()
	wait := c.o.Now().Before(c.retryAt)
	c.mu.Unlock()
	if wait || ctx.Err() != nil {
		return false
	}
	bounded, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	err := do(bounded)
	if err != nil && ctx.Err() == nil {
		c.mu.Lock()
		c.retryAt = c.o.Now().Add(pause)
		c.mu.Unlock()
		c.warn(what, err)
	}
	return err == nil
}

// warn logs the first error.
func (c *Cache) warn(what string, err error) {
	if err == nil || errors.Is(err, errClosed) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.warned {
		c.warned = true
		c.o.Logger.Warn("answer cache: "+what, "error", err)
	}
}

// questionHash identifies the entry of a question in a scope.
func questionHash(s Scope, q canonical.Question) []byte {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(s) // writes to a hash do not fail, and a scope can be encoded
	_, _ = h.Write([]byte(q.Key()))
	return h.Sum(nil)[:16]
}

func runHash(run event.RunID) []byte { return hash("run\x00" + string(run)) }

func documentHash(id corpus.DocumentID) []byte { return hash(string(id)) }

func hash(s string) []byte {
	h := sha256.Sum256([]byte(s))
	return h[:8]
}
