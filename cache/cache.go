package cache

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/cache/canonical"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/disk/cachedb"
	"github.com/sluice-rag/sluice/event"
)

// Options configure a [Cache]. The zero value works.
type Options struct {
	MaxBytes int64               // maximum size of the file, at least [cachedb.MinBytes]; default [DefaultBytes]
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
	Bytes   int64 // size of the file
}

// An entry is the CRC-32C of the JSON of an [Entry] (4 bytes, little endian) and that JSON. The column question is the hash of the scope and of
// the canonical question, version is the version of the collection for which the answer is known to be fresh. A dependency is the hash of
// a document that the answer depends on, or of the run that made it.
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

// Cache keeps answers in an SQLite file. It is safe for concurrent use. One process at a time may have a file open. A crash of the process
// loses nothing; a loss of power may lose the newest answers, or all of them.
type Cache struct {
	o Options

	mu        sync.Mutex
	db        *cachedb.DB // nil once closed
	deletions uint64      // calls of DeleteDependents and DeleteRun
	expired   time.Time   // when old answers were deleted last
	warned    bool        // a disk error was logged
}

// Open opens the cache in the file path and creates it if it does not exist. A damaged file is replaced by an empty one, with a warning.
func Open(path string, o Options) (*Cache, error) {
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
	db, err := cachedb.Open(path, schema, o.MaxBytes, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("open answer cache: %w", err)
	}
	c := &Cache{o: o, db: db}
	c.expire()
	return c, nil
}

// Close closes the file. Afterwards, lookups find nothing and answers are not kept. A second Close does nothing.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil {
		return nil
	}
	err := c.db.Close()
	c.db = nil
	return err
}

// Stats returns the number of answers and the size of the file.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil {
		return Stats{}
	}
	entries, bytes, err := c.db.Stats()
	c.warn("count cached answers", err)
	return Stats{entries, bytes}
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
	e := c.find(questionHash(s, q))
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
			c.delete(e)
			c.o.OnLookup(Stale)
			return nil, 0, nil
		}
	}
	if err != nil {
		c.o.OnLookup(Miss)
		return nil, 0, fmt.Errorf("check cached answer: %w", err)
	}
	c.touch(e, version)
	c.o.OnLookup(Hit)
	return &e.Entry, q.Similarity(cached), nil
}

// Put keeps a complete answer that was made from the given version of the collection. It replaces the answer to an equivalent question. If the
// collection has changed since, the answer is not kept, which is not an error.
func (c *Cache) Put(ctx context.Context, docs Documents, e Entry, version uint64) error {
	c.mu.Lock()
	deletions := c.deletions
	c.mu.Unlock()
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil || c.deletions != deletions { // a document that it depends on may have been deleted
		return nil
	}
	c.expire()
	if err := c.db.MakeRoom(int64(len(raw) + 100*len(e.Dependencies))); err != nil {
		c.warn("make room in the answer cache", c.db.Check(err))
		return nil
	}
	c.warn("keep an answer in the cache", c.db.Update(func() error {
		if _, err := c.db.Exec("DELETE FROM entries WHERE question = ?", question); err != nil {
			return err
		}
		if _, err := c.db.Exec("INSERT INTO entries (question, created, version, entry) VALUES (?, ?, ?, ?)",
			question, e.Created.UnixMicro(), int64(version), raw); err != nil { //nolint:gosec // find converts it back
			return err
		}
		hashes := [][]byte{runHash(e.Run)}
		for _, d := range e.Dependencies {
			hashes = append(hashes, documentHash(d.Document))
		}
		for _, h := range hashes {
			if _, err := c.db.Exec("INSERT OR IGNORE INTO dependencies VALUES (?, ?)", h, question); err != nil {
				return err
			}
		}
		return nil
	}))
	return nil
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

func (c *Cache) deleteByHash(hashes ...[]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deletions++
	for _, h := range hashes {
		c.exec("delete cached answers", "DELETE FROM entries WHERE question IN (SELECT question FROM dependencies WHERE hash = ?)", h)
	}
}

// Clear deletes all answers.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db != nil {
		c.warn("clear the answer cache", c.db.Clear())
	}
}

// find returns an entry that is not too old, or nil.
func (c *Cache) find(question []byte) *stored {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil {
		return nil
	}
	e := &stored{question: question}
	var created, version int64
	var raw []byte
	err := c.db.QueryRow("SELECT id, created, version, entry, (SELECT min(id) FROM entries) / 2 + (SELECT max(id) FROM entries) / 2 FROM entries WHERE question = ?", question).
		Scan(&e.id, &created, &version, &raw, &e.middle)
	if err != nil {
		if !errors.Is(err, sql.ErrNoRows) {
			c.warn("read a cached answer", c.db.Check(err))
		}
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
	c.exec("delete a cached answer", "DELETE FROM entries WHERE id = ?", e.id)
	return nil
}

// touch records that an entry was used and is fresh for a version of the collection. To save writes, it leaves recently used entries in their
// order. It does nothing if the entry was replaced meanwhile.
func (c *Cache) touch(e *stored, version uint64) {
	if version == e.version && e.id >= e.middle {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exec("mark a cached answer as used", "UPDATE entries SET version = ?, id = (SELECT max(id) FROM entries) + 1 WHERE id = ? AND question = ?",
		int64(version), e.id, e.question) //nolint:gosec // find converts it back
}

// delete deletes an entry, unless it was replaced meanwhile.
func (c *Cache) delete(e *stored) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exec("delete a cached answer", "DELETE FROM entries WHERE id = ? AND question = ?", e.id, e.question)
}

// expire deletes old answers from time to time. Answers from the future, made before the clock was set back, count as old.
func (c *Cache) expire() {
	if now := c.o.Now(); now.Sub(c.expired).Abs() > c.o.MaxAge/16 {
		c.expired = now
		c.exec("delete old cached answers", "DELETE FROM entries WHERE created NOT BETWEEN ? AND ?",
			now.Add(-c.o.MaxAge).UnixMicro(), now.Add(c.o.MaxAge).UnixMicro())
	}
}

func (c *Cache) exec(what, query string, args ...any) {
	if c.db == nil {
		return
	}
	_, err := c.db.Exec(query, args...)
	c.warn(what, c.db.Check(err))
}

// warn logs the first error of the disk.
func (c *Cache) warn(what string, err error) {
	if err != nil && !c.warned {
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
