package cache

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/cache/meaning"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// Options are a [Cache]'s. The zero value works.
type Options struct {
	MaxBytes int64               // of the file; default [DefaultBytes]
	MaxAge   time.Duration       // of an answer; default [DefaultAge]
	Counted  func(result Result) // called with what comes of each lookup; may be called at once; nil: not
	Logger   *slog.Logger        // damage and failures of the disk are told here; nil: nowhere
	Now      func() time.Time    // default time.Now
}

// The bounds where none are set.
const (
	DefaultBytes = 64 << 20
	DefaultAge   = 7 * 24 * time.Hour
)

// Result is what came of a lookup.
type Result string

// The results.
const (
	Hit   Result = "hit"
	Miss  Result = "miss"
	Stale Result = "stale" // there was an answer, and the documents are not what they were
)

// Stats are what a cache holds.
type Stats struct {
	Entries int
	Bytes   int64 // of the file
}

// Cache keeps answers in one file. All methods may be called at once; one process at a time may have a file open. A kill of the
// process loses nothing, a loss of power perhaps the newest answers.
type Cache struct {
	path string
	o    Options

	mu      sync.Mutex
	file    *os.File // nil once closed
	size    int64
	items   map[key]*item
	clock   uint64    // counts uses
	forgets uint64    // counts calls of Forget
	expired time.Time // when what is too old was looked for last
	failed  bool      // the disk failed, and that was told
}

// item is an entry of the file.
type item struct {
	at      int64
	size    int
	created int64  // microseconds since 1970
	version uint64 // of the collection, for which the entry is known to stand
	used    uint64
	rests   []uint64
}

// Open opens the cache in a file, making it if there is none. What is damaged is forgotten, with a warning.
func Open(path string, o Options) (*Cache, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultBytes
	}
	if o.MaxAge <= 0 {
		o.MaxAge = DefaultAge
	}
	if o.Counted == nil {
		o.Counted = func(Result) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Cache{path: path, o: o, items: map[key]*item{}}
	if err := os.Remove(c.path + ".new"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open answer cache: %w", err)
	}
	file, size, lost, err := openFile(path, func(h head, at int64, size int) {
		delete(c.items, h.key)
		if h.kind == kindPut {
			c.clock++
			c.items[h.key] = &item{at: at, size: size, created: h.created, version: h.version, used: c.clock, rests: h.rests}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("open answer cache: %w", err)
	}
	if lost > 0 {
		o.Logger.Warn("part of the answer cache is damaged and begun anew", "bytes", lost)
	}
	c.file, c.size = file, size
	if c.size > c.o.MaxBytes {
		c.compact(0)
	}
	c.expire()
	return c, nil
}

// Close closes the file. What is called afterwards finds nothing and keeps nothing.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	err := c.file.Close()
	c.file, c.items = nil, map[key]*item{}
	return err
}

// Stats gives what the cache holds.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{Entries: len(c.items), Bytes: c.size}
}

// Lookup gives the answer that was kept for a question of the same meaning in the same scope, and how alike the two are
// worded, 0..1; nil if there is none that stands. An answer stands while the collection has not changed, and when it has, while
// the documents that it rests on are as they were and the searches that it was made by bring no passage of weight that was not
// among the best then. That the documents hold no answer stands only while nothing has changed. What does not stand is forgotten.
func (c *Cache) Lookup(ctx context.Context, docs Documents, s Scope, question string) (*Entry, float64, error) {
	q := meaning.Of(question)
	k := keyOf(s, q.Key())
	e, it := c.find(k)
	if e == nil || e.Scope != s || !q.Same(meaning.Of(e.Question)) {
		c.o.Counted(Miss)
		return nil, 0, nil
	}
	version, err := docs.Version(ctx, s.Collection)
	if err == nil {
		var stands bool
		if stands, err = check(ctx, docs, e, version != it.version); err == nil && !stands {
			c.drop(k, it)
			c.o.Counted(Stale)
			return nil, 0, nil
		}
	}
	if err != nil {
		c.o.Counted(Miss)
		return nil, 0, fmt.Errorf("check cached answer: %w", err)
	}
	c.use(k, it, version)
	c.o.Counted(Hit)
	return e, q.Similarity(meaning.Of(e.Question)), nil
}

// Keep keeps a whole answer that was made while the collection was at the version, in place of one to a question of the same
// meaning. If the collection has changed since, it is not kept, which is no error.
func (c *Cache) Keep(ctx context.Context, docs Documents, e Entry, version uint64) error {
	c.mu.Lock()
	forgets := c.forgets
	c.mu.Unlock()
	if err := fill(ctx, docs, &e); err != nil {
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
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	if size := int64(recordHead + 8*len(e.Rests) + len(body)); size > maxBody || size > c.o.MaxBytes/4 {
		return nil
	}
	h := head{kind: kindPut, key: keyOf(e.Scope, meaning.Of(e.Question).Key()), created: e.Created.UnixMicro(), version: version}
	for _, r := range e.Rests {
		h.rests = append(h.rests, restOf(r.Document))
	}
	h.rests = append(h.rests, runHash(e.Run))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgets != forgets {
		return nil // it may rest on what is gone
	}
	c.expire()
	if old := c.items[h.key]; old != nil {
		c.wipe(h.key, old)
	}
	c.clock++
	it := &item{created: h.created, version: version, used: c.clock, rests: h.rests}
	if c.write(appendRecord(nil, h, body), it) {
		c.items[h.key] = it
	}
	return nil
}

// Forget wipes the answers that rest on documents out of the file, whatever part of them was asked. It is to be called when these
// have changed or gone; answers that are being made meanwhile are not kept.
func (c *Cache) Forget(ids []corpus.DocumentID) {
	gone := make(map[uint64]bool, len(ids))
	for _, id := range ids {
		gone[restOf(id)] = true
	}
	c.forget(gone)
}

// ForgetRun overwrites the answer of a deleted run in the file.
func (c *Cache) ForgetRun(run event.RunID) { c.forget(map[uint64]bool{runHash(run): true}) }

func (c *Cache) forget(gone map[uint64]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	for k, it := range c.items {
		if slices.ContainsFunc(it.rests, func(r uint64) bool { return gone[r] }) {
			c.wipe(k, it)
		}
	}
}

// Clear forgets everything.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items = map[key]*item{}
	c.compact(0)
}

// find reads an entry that is not too old.
func (c *Cache) find(k key) (*Entry, *item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.items[k]
	if it == nil || c.file == nil {
		return nil, nil
	}
	if c.old(it) {
		c.wipe(k, it)
		return nil, nil
	}
	buf := make([]byte, it.size)
	_, err := c.file.ReadAt(buf, it.at)
	h, body, ok := parseRecord(buf)
	e := new(Entry)
	if err != nil || !ok || h.key != k || json.Unmarshal(body, e) != nil {
		c.warn("an answer in the cache cannot be read", err)
		c.wipe(k, it)
		return nil, nil
	}
	copied := *it
	return e, &copied
}

// old tells whether an answer is older than answers may be. A clock that was set back makes none of them young for ever.
func (c *Cache) old(it *item) bool {
	age := c.o.Now().Sub(time.UnixMicro(it.created))
	return age > c.o.MaxAge || age < -c.o.MaxAge
}

// use notes that an entry was used, and that it stands for the version. Of an entry that was replaced meanwhile it does nothing.
func (c *Cache) use(k key, seen *item, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it := c.items[k]; it != nil && it.created == seen.created {
		c.clock++
		it.used = c.clock
		it.version = version // if another has seen a later one, it is checked once more
	}
}

// drop forgets an entry, unless it was replaced meanwhile.
func (c *Cache) drop(k key, seen *item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it := c.items[k]; it != nil && it.created == seen.created {
		c.wipe(k, it)
	}
}

// wipe forgets an entry and writes over it in the file.
func (c *Cache) wipe(k key, it *item) {
	delete(c.items, k)
	if c.file == nil {
		return
	}
	if _, err := c.file.WriteAt(appendRecord(nil, head{kind: kindDrop, key: k}, make([]byte, it.size-recordHead)), it.at); err != nil {
		c.warn("an answer could not be removed from the cache", err)
	}
}

// expire wipes what is too old, every now and then.
func (c *Cache) expire() {
	if now := c.o.Now(); now.Sub(c.expired).Abs() > c.o.MaxAge/16 {
		c.expired = now
		for k, it := range c.items {
			if c.old(it) {
				c.wipe(k, it)
			}
		}
	}
}

// write appends a record and says in it where. When the file is full, room is made first.
func (c *Cache) write(record []byte, it *item) bool {
	if c.file == nil {
		return false
	}
	if c.size+int64(len(record)) > c.o.MaxBytes {
		c.compact(int64(len(record)))
	}
	if _, err := c.file.WriteAt(record, c.size); err != nil {
		c.warn("an answer could not be kept", err)
		return false
	}
	it.at, it.size = c.size, len(record)
	c.size += int64(len(record))
	return true
}

// compact rewrites the file with the entries that were used last, so that with what is to come at most three quarters of what
// is allowed are full.
func (c *Cache) compact(coming int64) {
	if c.file == nil {
		return
	}
	keys := make([]key, 0, len(c.items))
	for k := range c.items {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Compare(c.items[b].used, c.items[a].used) })
	room := c.o.MaxBytes/4*3 - coming - int64(len(magic))
	kept := keys[:0]
	for _, k := range keys {
		if it := c.items[k]; !c.old(it) && room >= int64(it.size) {
			room -= int64(it.size)
			kept = append(kept, k)
		}
	}
	slices.Reverse(kept) // the file's order is that of use
	file, size, items, err := c.rewrite(kept)
	if err != nil {
		c.warn("the answer cache could not be made smaller, and is begun anew", err)
		items, size = map[key]*item{}, int64(len(magic))
		if err := c.file.Truncate(size); err != nil {
			c.warn("the answer cache could not be emptied", err)
		}
	} else {
		_ = c.file.Close() // it was only read
		c.file = file
	}
	c.size, c.items = size, items
}

// rewrite writes the entries into a new file that takes the place of the old one.
func (c *Cache) rewrite(keys []key) (f *os.File, size int64, items map[key]*item, err error) {
	if f, err = os.OpenFile(c.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, 0, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(c.path+".new"))
		}
	}()
	buf := []byte(magic)
	items = make(map[key]*item, len(keys))
	flush := func() error {
		n, err := f.WriteAt(buf, size)
		size += int64(n)
		buf = buf[:0]
		return err
	}
	for _, k := range keys {
		it := *c.items[k]
		from := len(buf)
		buf = append(buf, make([]byte, it.size)...)
		if _, err := c.file.ReadAt(buf[from:], it.at); err != nil {
			return f, 0, nil, err
		}
		h, body, ok := parseRecord(buf[from:])
		if !ok {
			buf = buf[:from]
			continue
		}
		h.version = it.version
		buf = appendRecord(buf[:from], h, slices.Clone(body))
		it.at = size + int64(from)
		items[k] = &it
		if len(buf) >= 1<<20 {
			if err := flush(); err != nil {
				return f, 0, nil, err
			}
		}
	}
	if err := flush(); err != nil {
		return f, 0, nil, err
	}
	return f, size, items, os.Rename(c.path+".new", c.path)
}

// warn tells of the first failure of the disk.
func (c *Cache) warn(message string, err error) {
	if !c.failed {
		c.failed = true
		c.o.Logger.Warn(message, "error", err)
	}
}
