package weaviate

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"
)

// maxDead is the number of replaced revisions of a server from which a write waits until some are erased: each search excludes them.
const maxDead = 1000

// where is a condition in the JSON of Weaviate's REST API.
type where map[string]any

func whereText(property, value string) where {
	return where{"path": []string{property}, "operator": "Equal", "valueText": value}
}

func whereInt(property, operator string, n int64) where {
	return where{"path": []string{property}, "operator": operator, "valueInt": n}
}

func whereKind(k kind) where { return whereInt(propKind, "Equal", int64(k)) }

func whereAny(property string, values []string) where {
	return where{"path": []string{property}, "operator": "ContainsAny", "valueTextArray": values}
}

func whereAll(all ...where) where { return where{"operator": "And", "operands": all} }

// maxErased is the number of revisions that are known to be erased from most replicas only. If a replica is away for longer than so many changes take, it may show the first of them when it is back.
const maxErased = 4000

// erase deletes all objects for which a condition is true, from as many replicas as the level demands.
func (x *Index) erase(ctx context.Context, c *collection, w where, level string) error {
	for {
		var out struct {
			Results struct{ Matches, Failed int }
		}
		in := map[string]any{"match": map[string]any{"class": c.class, "where": w}, "output": "minimal"}
		if err := x.client.do(ctx, "DELETE", "/batch/objects?consistency_level="+level+"&tenant="+url.QueryEscape(x.tenant), in, &out); err != nil {
			return err
		}
		if out.Results.Failed > 0 {
			return errors.New("some objects cannot be deleted")
		}
		if out.Results.Matches == 0 {
			return nil
		}
	}
}

// sweepRegularly erases replaced revisions, and what failed commits have left, until the end of ctx.
func (x *Index) sweepRegularly(ctx context.Context) {
	defer close(x.done)
	tick := time.NewTicker(sweepWait)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := x.Compact(ctx); err != nil && ctx.Err() == nil {
			x.logger.Warn("replaced documents are not erased from Weaviate yet", "error", err)
		}
	}
}

// Compact erases the documents that were replaced or deleted, unless a reader may still use them.
func (x *Index) Compact(ctx context.Context) error {
	x.mu.Lock()
	var all []*collection
	for _, c := range x.collections {
		all = append(all, c)
	}
	x.mu.Unlock()
	x.write.Lock()
	defer x.write.Unlock()
	var errs []error
	for _, c := range all {
		if x.heads[c.class] != nil || x.dead[c.class] != nil {
			errs = append(errs, x.rewriteHead(ctx, c), x.sweep(ctx, c), x.recheck(ctx, c))
		}
	}
	return failed("compact", errors.Join(errs...))
}

// sweep erases the revisions of a collection that no reader uses any more: at once from most replicas, and from all of them when all are there.
func (x *Index) sweep(ctx context.Context, c *collection) error {
	h, err := x.ownHead(ctx, c)
	if err != nil {
		return err
	}
	var ripe []string
	for _, r := range h.Dead {
		if since, ok := x.dead[c.class][r]; ok && time.Since(since) > graceTime {
			ripe = append(ripe, r)
		}
	}
	several, err := x.replicated(ctx, c)
	if err != nil || len(ripe) == 0 && len(h.Erased) == 0 {
		return err
	}
	if err := x.eraseRevisions(ctx, c, ripe, levelQuorum); err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, r := range ripe {
		gone[r] = true
	}
	h.Dead = slices.DeleteFunc(slices.Clone(h.Dead), func(r string) bool { return gone[r] })
	if several {
		before := len(h.Erased)
		if h.Erased, err = x.eraseEverywhere(ctx, c, slices.Concat(h.Erased, ripe)); err != nil || len(ripe) == 0 && len(h.Erased) == before {
			return err
		}
	}
	if err := x.putHead(ctx, c, h); err != nil {
		return err
	}
	for r := range gone {
		delete(x.dead[c.class], r)
	}
	return nil
}

// eraseEverywhere erases revisions from all replicas, and returns those that a replica may still have: all of them while one is away or a write may still be carried out. The returned ones stay invisible. Otherwise a replica that comes
// back would show them until Weaviate has compared it with the others.
func (x *Index) eraseEverywhere(ctx context.Context, c *collection, revisions []string) ([]string, error) {
	if x.client.settled(ctx) && !x.late() {
		bounded, cancel := context.WithTimeout(ctx, allTime)
		defer cancel()
		err := x.eraseRevisions(bounded, c, revisions, levelAll)
		if err == nil && x.client.settled(ctx) { // Weaviate ignores a replica that it cannot ask what it has
			return nil, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if more := len(revisions) - maxErased; more > 0 {
		x.logger.Warn("a server of Weaviate has been away for too many changes: when it is back, it may show replaced and deleted documents until Weaviate has compared its servers", "revisions", more)
		revisions = revisions[more:]
	}
	return revisions, nil
}

func (x *Index) eraseRevisions(ctx context.Context, c *collection, revisions []string, level string) error {
	for some := range slices.Chunk(revisions, askedKeys) {
		if err := x.erase(ctx, c, whereAny(propRevision, some), level); err != nil {
			return err
		}
	}
	return nil
}

// waitAndSweep waits until the older half of the replaced revisions can be erased, and erases them.
func (x *Index) waitAndSweep(ctx context.Context, c *collection) error {
	var since []time.Time
	for _, t := range x.dead[c.class] {
		since = append(since, t)
	}
	slices.SortFunc(since, time.Time.Compare)
	timer := time.NewTimer(time.Until(since[len(since)/2].Add(graceTime)) + time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	return x.sweep(ctx, c)
}
