package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// When the index works in the background.
const (
	maintainEvery = 15 * time.Second
	compactQuiet  = time.Minute      // since the last deletion
	compactLatest = 10 * time.Minute // since the first deletion that is not erased
	compactRest   = 4                // times as long as the last compaction took, until the next
	compactRetry  = 5 * time.Minute  // after a compaction that failed
	verifyEvery   = 24 * time.Hour
)

// deletions are the times of the first and the last deletion that is not erased yet; zero: none.
type deletions struct{ first, last time.Time }

// maintain works in the background until ctx ends: it repairs what a full disk left, rebuilds lexical indexes in which a read found
// damage, erases what was deleted, and verifies the files. One thing is done at a time, and compactions rest longer than they take.
func (x *Index) maintain(ctx context.Context) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	verified, rested, certain := time.Now(), time.Time{}, false
	repair, wait := time.Time{}, maintainEvery/2
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		if now.After(repair) {
			wait = min(2*wait, compactRetry)
			if x.repairAll() {
				wait = maintainEvery / 2
			}
			repair = now.Add(wait)
		}
		if now.After(rested) && x.compactDue(now) {
			rest := maintainEvery
			if err := x.compact(ctx); err != nil && ctx.Err() == nil {
				x.opts.Logger.Warn("deleted text is not erased yet: compacting the index failed", "error", err)
				rest = compactRetry
			}
			rested = time.Now().Add(max(rest, compactRest*time.Since(now)))
		}
		if suspected := !certain && x.damaged(); suspected || now.Sub(verified) >= verifyEvery {
			err := x.verify(ctx)
			if err != nil && ctx.Err() == nil {
				x.opts.Logger.Error("the index is damaged", "error", err)
			}
			certain = errors.Is(err, errDamaged) // that documents.db is
			if suspected && !certain && ctx.Err() == nil {
				x.clearDamage()
			}
			verified = now
		}
	}
}

func (x *Index) compactDue(now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.deletions
	return !d.last.IsZero() && (now.Sub(d.last) >= compactQuiet || now.Sub(d.first) >= compactLatest)
}

// noteDeletions records deletions that have to be erased.
func (x *Index) noteDeletions(d deletions) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.deletions.first.IsZero() || !d.first.IsZero() && d.first.Before(x.deletions.first) {
		x.deletions.first = d.first
	}
	if d.last.After(x.deletions.last) {
		x.deletions.last = d.last
	}
}

// takeDeletions returns what is recorded, and resets it.
func (x *Index) takeDeletions() (d deletions) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d, x.deletions = x.deletions, deletions{}
	return d
}

// untilClosed returns a context that ends with ctx, or when the index is being closed.
func (x *Index) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(x.lifetime, cancel)
	return ctx, func() { stop(); cancel() }
}

// guardLexical runs do, which reads the lexical indexes of a collection. Damage is repaired in the background.
func (x *Index) guardLexical(c *collection, do func() error) error {
	err := guard(x.path(folderLexical), do)
	if errors.Is(err, errDamaged) {
		x.suspect(c, err)
	}
	return err
}

// suspect schedules a collection's lexical indexes to be opened again, which rebuilds damaged ones.
func (x *Index) suspect(c *collection, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.behind[c] == nil {
		x.behind[c] = err
	}
}

// verifyLexical reads the segments of the lexical indexes that are in use.
func (x *Index) verifyLexical(ctx context.Context, c *collection) error {
	s := c.acquire()
	defer c.release(s)
	for i := range levels {
		snapshot, ok := s.levels[i].reader.(*scorch.IndexSnapshot)
		if !ok {
			continue
		}
		for _, seg := range snapshot.Segments() {
			file, ok := seg.Segment().(segment.PersistedSegment)
			if !ok {
				continue
			}
			err := errors.Join(ctx.Err(), verifySegment(file.Path()))
			if errors.Is(err, os.ErrNotExist) { // a compaction removed it
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", file.Path(), err)
			}
		}
	}
	return nil
}

func (x *Index) names() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(maps.Keys(x.numbers))
}

// loadedCollections returns the collections that were loaded. Others may be loading, or failed to load.
func (x *Index) loadedCollections() (out []*collection) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.collections {
		c.mu.Lock()
		if c.cur != nil {
			out = append(out, c)
		}
		c.mu.Unlock()
	}
	return out
}

// stale records that a collection's lexical indexes or readers lack a change that is in documents.db, and returns err. Searches see the
// state before it. The next write or the background work repairs the collection; see [Index.Health].
func (x *Index) stale(c *collection, err error) error {
	c.stale = err
	for i, l := range c.lex {
		if l != nil {
			_ = l.close() // a lexical index that could not be written tries again without end
			c.lex[i] = nil
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.behind[c] = err
	return err
}

// repair reloads a collection that lacks a change from documents.db.
func (x *Index) repair(c *collection) error {
	if c.stale == nil {
		return nil
	}
	if err := x.loadCollection(c); err != nil {
		_ = x.stale(c, err)
		return fmt.Errorf("an earlier change is incomplete: %w", err)
	}
	for _, r := range c.records {
		if len(r.Removed) > 0 {
			c.retired = append(c.retired, retired{c.seq, r.Removed})
		}
	}
	c.stale = nil
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.behind, c)
	x.opts.Logger.Info("index repaired", "collection", c.id)
	return nil
}

// repairAll repairs the collections that lack a change, and those whose lexical indexes are damaged. It reports whether all are repaired.
func (x *Index) repairAll() bool {
	x.mu.Lock()
	behind := maps.Clone(x.behind)
	x.mu.Unlock()
	for c, err := range behind {
		x.write.Lock()
		if c.stale == nil {
			_ = x.stale(c, err)
		}
		_ = x.repair(c) // on failure, Health reports it and the next call tries again
		x.write.Unlock()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.behind) == 0
}
