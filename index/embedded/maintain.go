package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/index/embedded/inverted"
)

// Intervals of the background work.
const (
	maintainEvery = 15 * time.Second
	compactQuiet  = time.Minute      // compact when the last deletion is this old
	compactLatest = 10 * time.Minute // or when the first deletion that is not erased is this old
	compactRest   = 4                // pause between compactions, as a multiple of the duration of the last one
	compactRetry  = 5 * time.Minute  // pause after a failed compaction
	verifyEvery   = 24 * time.Hour
)

// deletions are the times of the first and the last deletion that is not erased yet. A zero time means none.
type deletions struct{ first, last time.Time }

// maintain does the background work until ctx ends. It converts documents of earlier formats, repairs collections after a full disk, rebuilds lexical indexes in which a read
// found damage, erases deleted text, and verifies the files. It does one task at a time. Compactions pause longer than they take.
func (x *Index) maintain(ctx context.Context) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	verified, nextCompaction, confirmed := time.Now(), time.Time{}, false
	repair, wait := time.Time{}, maintainEvery/2
	var conversion conversion
	converted, nextConversion := false, time.Time{}
	for {
		if now := time.Now(); !converted && now.After(nextConversion) {
			var err error
			if converted, err = x.convert(ctx, &conversion, convertTurn); err != nil && ctx.Err() == nil {
				x.opts.Logger.Warn("converting the index failed; it is tried again", "error", err)
				nextConversion = now.Add(compactRetry)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		x.refresh()
		now := time.Now()
		if now.After(repair) {
			wait = min(2*wait, compactRetry)
			if x.repairAll() {
				wait = maintainEvery / 2
			}
			repair = now.Add(wait)
		}
		if now.After(nextCompaction) && x.compactDue(now) {
			rest := maintainEvery
			if err := x.compact(ctx); err != nil && ctx.Err() == nil {
				x.opts.Logger.Warn("deleted text is not erased yet: compacting the index failed", "error", err)
				rest = compactRetry
			}
			nextCompaction = time.Now().Add(max(rest, compactRest*time.Since(now)))
		}
		if suspected := !confirmed && x.damaged(); suspected || now.Sub(verified) >= verifyEvery {
			err := x.verify(ctx)
			if err != nil && ctx.Err() == nil {
				x.opts.Logger.Error("the index is damaged", "error", err)
			}
			confirmed = errors.Is(err, errDamaged) // documents.db is damaged
			if suspected && !confirmed && ctx.Err() == nil {
				x.clearDamage()
			}
			verified = now
		}
	}
}

// refresh makes readers use lexical indexes whose segments were merged after the last change, so that the files that went into the merge are removed.
func (x *Index) refresh() {
	for _, c := range x.loadedCollections() {
		if !x.write.TryLock() {
			return // a writer publishes the newest segments itself
		}
		outdated := false
		for i, l := range c.lex {
			outdated = outdated || l != nil && c.cur.levels[i].lexical != nil && !l.Current(c.cur.levels[i].lexical)
		}
		if outdated && c.stale == nil {
			c.publish(c.cur.vectors(), nil)
		}
		x.write.Unlock()
	}
}

func (x *Index) compactDue(now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.deletions
	return !d.last.IsZero() && (now.Sub(d.last) >= compactQuiet || now.Sub(d.first) >= compactLatest)
}

// noteDeletions records deletions whose text has to be erased.
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

// takeDeletions returns the recorded deletions, and resets them.
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

// guardLexical runs do, which reads the lexical indexes of a collection. Damage is an error, and is repaired in the background.
func (x *Index) guardLexical(c *collection, do func() error) error {
	err := guard(x.path(folderLexical), do)
	if errors.Is(err, errDamaged) || errors.Is(err, inverted.ErrDamaged) {
		x.scheduleReload(c, err)
	}
	return err
}

// scheduleReload makes the background work open a collection's lexical indexes again, which rebuilds damaged ones.
func (x *Index) scheduleReload(c *collection, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.outdated[c] == nil {
		x.outdated[c] = err
	}
}

// verifyLexical reads the segments of the lexical indexes that are in use.
func (x *Index) verifyLexical(ctx context.Context, c *collection) error {
	s := c.acquire()
	defer c.release(s)
	for _, v := range s.levels {
		if v.lexical == nil {
			continue
		}
		if err := v.lexical.Verify(ctx); err != nil {
			return err
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

// markStale records that a change in documents.db is missing in a collection's lexical indexes or snapshots, and returns err. Searches
// see the previous state. The next write or the background work repairs the collection; see [Index.Health].
func (x *Index) markStale(c *collection, err error) error {
	c.stale = err
	for i, l := range c.lex {
		if l != nil {
			l.Close()
			c.lex[i] = nil
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.outdated[c] = err
	return err
}

// repair reloads a collection that lacks a change from documents.db.
func (x *Index) repair(c *collection) error {
	if c.stale == nil {
		return nil
	}
	if err := x.loadCollection(c); err != nil {
		_ = x.markStale(c, err)
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
	delete(x.outdated, c)
	x.opts.Logger.Info("index repaired", "collection", c.id)
	return nil
}

// repairAll repairs stale collections and damaged lexical indexes. It reports whether all repairs succeeded.
func (x *Index) repairAll() bool {
	x.mu.Lock()
	outdated := maps.Clone(x.outdated)
	x.mu.Unlock()
	for c, err := range outdated {
		x.write.Lock()
		if c.stale == nil {
			_ = x.markStale(c, err)
		}
		_ = x.repair(c) // on failure, Health reports it and the next call tries again
		x.write.Unlock()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.outdated) == 0
}
