package weaviate

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxReplicas is the default number of servers of a cluster that store a collection.
const maxReplicas = 3

// Levels of consistency, as Weaviate calls them: how many of the servers that store an object have to answer a request.
const (
	levelAll    = "ALL"
	levelQuorum = "QUORUM" // more than half
)

const (
	allTime     = 10 * time.Second // a write of new objects waits for all replicas; Weaviate itself tries a missing one for more than two minutes
	lackingTime = 30 * time.Second // after a server was missing, the time until the next check whether all servers of the cluster answer
	pauseTime   = 5 * time.Second  // less than a server of Weaviate needs to start again
	settleTime  = 30 * time.Second // a server accepts requests some seconds before it has read its collections
)

// lateTime is the time in which Weaviate may carry out a write that failed without an answer. When the leader of its cluster dies, it keeps requests that ask the leader for the schema, and carries
// them out minutes later, although the client has left and has written the same object again.
const lateTime = 10 * time.Minute

// recheckTime is the time after a commit at which it is checked again; see recheck. Weaviate compares the replicas every 30 seconds.
const recheckTime = 2 * time.Minute

// clockSkew is more than the clocks of two servers may differ. A revision that is older than a commit by less may have been written after it.
const clockSkew = 2 * time.Second

// lacksReplicas reports whether a write failed because too few replicas answered it.
func lacksReplicas(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "cannot reach enough replicas") || strings.Contains(err.Error(), "cannot achieve consistency level"))
}

// putNew writes objects with new ids to all replicas, so that each of them has a commit before its head makes it visible. If one replica does not answer, it
// writes to most of them, as all other requests do. An object that exists is never written to all replicas: a request that was given up may still be
// carried out when the missing replica is back, and would undo later changes.
func (x *Index) putNew(ctx context.Context, all []stored) error {
	c := x.client
	if c.complete(ctx) {
		bounded, cancel := context.WithTimeout(ctx, allTime)
		defer cancel()
		err := x.putObjects(bounded, all, levelAll)
		if !lacksReplicas(err) && (err == nil || bounded.Err() == nil || ctx.Err() != nil) {
			return err
		}
		c.lacking.Store(time.Now().Add(lackingTime).UnixNano())
	}
	return x.putObjects(ctx, all, levelQuorum)
}

// complete reports whether all servers of the cluster can be expected to answer.
func (c *client) complete(ctx context.Context) bool {
	now, until := time.Now(), c.lacking.Load()
	if until == 0 || now.UnixNano() < until {
		return until == 0
	}
	if !c.healthy(ctx) {
		c.lacking.Store(now.Add(lackingTime).UnixNano())
		return false
	}
	c.lacking.Store(0)
	return true
}

// healthy reports whether all servers of the cluster answer, or the user of the key may not list them.
func (c *client) healthy(ctx context.Context) bool {
	short, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var cluster struct{ Nodes []node }
	err := c.once(short, http.MethodGet, "/nodes", nil, &cluster)
	for _, n := range cluster.Nodes {
		if n.Status != healthy {
			return false
		}
	}
	return err == nil || hasStatus(err, http.StatusForbidden)
}

// settled reports whether all servers of the cluster have answered for some time, so that each of them has read its collections since its start.
func (c *client) settled(ctx context.Context) bool {
	if !c.healthy(ctx) {
		c.whole.Store(0)
		return false
	}
	now := time.Now().UnixNano()
	c.whole.CompareAndSwap(0, now)
	return now-c.whole.Load() >= int64(settleTime)
}

// factor returns the number of servers that store a new collection: want, or, if that is 0, as many as the cluster has, at most maxReplicas. It is 1 if the
// user of the key may not list the servers.
func (c *client) factor(ctx context.Context, want int) (int, error) {
	if want > 0 {
		return want, nil
	}
	nodes, err := c.nodes(ctx)
	if err != nil && !hasStatus(err, http.StatusForbidden) {
		return 0, err
	}
	return max(1, min(len(nodes), maxReplicas)), nil
}

// healthy is the status of a server of the cluster that works.
const healthy = "HEALTHY"

// node is a server of the cluster.
type node struct{ Name, Status, Version string }

func (c *client) nodes(ctx context.Context) ([]node, error) {
	var cluster struct{ Nodes []node }
	err := c.do(ctx, http.MethodGet, "/nodes", nil, &cluster)
	return cluster.Nodes, err
}

// stored decodes the record of an object, as most of the replicas have it, if there is one. So it finds the newest record even if one replica lags.
func (x *Index) stored(ctx context.Context, c *collection, id string, out any) error {
	var o struct{ Properties object }
	path := "/objects/" + c.class + "/" + id + "?consistency_level=" + levelQuorum + "&tenant=" + url.QueryEscape(x.tenant)
	err := x.client.do(ctx, http.MethodGet, path, nil, &o)
	if hasStatus(err, http.StatusNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return o.Properties.decode(out)
}

// replicated reports whether several servers store a collection.
func (x *Index) replicated(ctx context.Context, c *collection) (bool, error) {
	if n := x.factors[c.class]; n > 0 {
		return n > 1, nil
	}
	var class struct{ ReplicationConfig struct{ Factor int } }
	if err := x.client.do(ctx, http.MethodGet, "/schema/"+c.class, nil, &class); err != nil {
		return false, err
	}
	x.factors[c.class] = class.ReplicationConfig.Factor
	return class.ReplicationConfig.Factor > 1, nil
}

// late reports whether Weaviate may still carry out a write that failed.
func (x *Index) late() bool { return time.Now().UnixNano()-x.uncertain.Load() < int64(x.lateTime) }

// rewriteHead writes the head of this server again while an older one may replace it.
func (x *Index) rewriteHead(ctx context.Context, c *collection) error {
	several, err := x.replicated(ctx, c)
	if err != nil || !several || !x.late() || x.heads[c.class] == nil {
		return err
	}
	return x.putHead(ctx, c, *x.heads[c.class])
}

// recheck drops the revisions of documents that were replaced or deleted by this server some time ago and are visible nevertheless. The replica that it used
// for the commit did not know them, because it was away when they were written; or another server replaced the document at the same time, and died.
func (x *Index) recheck(ctx context.Context, c *collection) error {
	var keys []string
	for k, at := range x.changed[c.class] {
		if time.Since(time.UnixMicro(at)) > x.recheckTime {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if err := x.dropOlder(ctx, c, keys); err != nil {
		return err
	}
	for _, k := range keys {
		delete(x.changed[c.class], k)
	}
	return nil
}

// dropOlder drops the revisions of documents that are older than their last change by this server by more than clockSkew, and all but the newest one.
func (x *Index) dropOlder(ctx context.Context, c *collection, keys []string) error {
	w, err := x.begin(ctx, c)
	if err != nil {
		return err
	}
	older := false
	for some := range slices.Chunk(keys, askedKeys) {
		found, err := w.revisions(ctx, some)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, r := range found {
			if seen[r.Document] || r.time < x.changed[c.class][r.Document]-clockSkew.Microseconds() {
				older = true
				if err := w.drop(r.object); err != nil {
					return err
				}
			}
			seen[r.Document] = true
		}
	}
	if !older {
		return nil
	}
	return w.commit(ctx)
}

// revision is the object of a document with the time of its commit.
type revision struct {
	object
	time int64
}

// revisions returns the revisions of documents, the newest ones first.
func (w *commitWriter) revisions(ctx context.Context, keys []string) (out []revision, err error) {
	found, err := w.snapshot.all(ctx, and(isKind(kindDocument), oneOf(propDocument, keys)), "document revision data")
	for _, o := range found {
		var r documentRecord
		if err := o.decode(&r); err != nil {
			return nil, err
		}
		out = append(out, revision{o, r.Time})
	}
	slices.SortFunc(out, func(a, b revision) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(b.Revision, a.Revision))
	})
	return out, err
}
