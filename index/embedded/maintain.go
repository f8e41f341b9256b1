package embedded

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
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

// deletions are when something was deleted that may still be in the files; zero: nothing was.
type deletions struct{ first, last time.Time }

// maintain works in the background until ctx ends: it repairs what a full disk left, erases what was deleted, and verifies
// documents.db. One thing is done at a time, and compactions rest longer than they take.
func (x *Index) maintain(ctx context.Context) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	verified, rested := time.Now(), time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		x.repairAll()
		now := time.Now()
		if now.After(rested) && x.compactDue(now) {
			rest := maintainEvery
			if err := x.compact(ctx); err != nil && ctx.Err() == nil {
				x.opts.Logger.Warn("deleted text is not erased yet: compacting the index failed", "error", err)
				rest = compactRetry
			}
			rested = time.Now().Add(max(rest, compactRest*time.Since(now)))
		}
		if now.Sub(verified) >= verifyEvery {
			if err := x.verify(ctx); err != nil && ctx.Err() == nil {
				x.opts.Logger.Error("the index is damaged", "error", err)
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

// noteDeletions adds to what is to be erased.
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

// takeDeletions gives what is to be erased, and begins anew.
func (x *Index) takeDeletions() (d deletions) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d, x.deletions = x.deletions, deletions{}
	return d
}

// untilClosed gives a context that ends with ctx and when the index is to be closed.
func (x *Index) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(x.lifetime, cancel)
	return ctx, func() { stop(); cancel() }
}

func (x *Index) names() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(maps.Keys(x.numbers))
}

func (x *Index) loadedCollections() []*collection {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Values(x.collections))
}

// stale records that a collection's lexical indexes or readers lack a change that is in documents.db, and gives the error for it.
// Searches see the state before. The next write, or the next look in the background, repairs it; see [Index.Health].
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

// repair brings a collection that lacks a change to what documents.db holds.
func (x *Index) repair(c *collection) error {
	if c.stale == nil {
		return nil
	}
	c.gate.Lock()
	defer c.gate.Unlock()
	if err := x.loadCollection(c); err != nil {
		_ = x.stale(c, err)
		return fmt.Errorf("an earlier change is half done: %w", err)
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

// repairAll repairs the collections that lack a change.
func (x *Index) repairAll() {
	x.mu.Lock()
	behind := slices.Collect(maps.Keys(x.behind))
	x.mu.Unlock()
	for _, c := range behind {
		x.write.Lock()
		_ = x.repair(c) // it stays behind, which Health tells
		x.write.Unlock()
	}
}
