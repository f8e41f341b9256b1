package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// maxReplicas is the default number of servers of a cluster that store a collection.
const maxReplicas = 3

// Levels of consistency, as Weaviate calls them: how many of the servers that store an object have to answer a request.
const (
	levelAll    = "ALL"
	levelQuorum = "QUORUM" // more than half
)

const (
	allTime     = 10 * time.Second // a write waits for all replicas; Weaviate itself tries a missing one for more than two minutes
	lackingTime = 30 * time.Second // after which it is asked whether all servers of the cluster are there, once one of them was missing
)

// lagTime is how long a server that was away answers as before it was away: Weaviate compares replicas every 30 seconds, and copies what is missing.
const lagTime = time.Minute

var (
	errNotDeleted = errors.New("some objects cannot be deleted")
	errBehind     = errors.New("the server lacks changes that others have")
	errLags       = fault.New(fault.Unavailable, "a server of the index, Weaviate, was away and lacks the last changes; try again in a minute")
)

// lacksReplicas reports whether a write failed because too few replicas answered it.
func lacksReplicas(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "cannot reach enough replicas") || strings.Contains(err.Error(), "cannot achieve consistency level"))
}

// change writes to all replicas, so that each server of the cluster shows what was written as soon as it returns. If one of them does not answer, it writes
// to most of them. attempt sends the request with a level of consistency. It is repeated as by [retry].
func (c *client) change(ctx context.Context, attempt func(ctx context.Context, level string) error) error {
	return c.coded(ctx, retry(ctx, func() error {
		if c.complete(ctx) {
			all, cancel := context.WithTimeout(ctx, allTime)
			defer cancel()
			err := attempt(all, levelAll)
			if !lacksReplicas(err) && !errors.Is(err, errNotDeleted) && (err == nil || all.Err() == nil || ctx.Err() != nil) {
				return err
			}
			c.lacking.Store(time.Now().Add(lackingTime).UnixNano())
		}
		return attempt(ctx, levelQuorum)
	}))
}

// complete reports whether all servers of the cluster may answer.
func (c *client) complete(ctx context.Context) bool {
	now, until := time.Now(), c.lacking.Load()
	if until == 0 || now.UnixNano() < until {
		return until == 0
	}
	short, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var cluster struct{ Nodes []node }
	err := c.once(short, http.MethodGet, "/nodes", nil, &cluster)
	for _, n := range cluster.Nodes {
		if n.Status != healthy {
			err = errBehind
		}
	}
	if err != nil && !hasStatus(err, http.StatusForbidden) {
		c.lacking.Store(now.Add(lackingTime).UnixNano())
		return false
	}
	c.lacking.Store(0)
	return true
}

// merge changes some properties of an object, and adds vectors.
func (x *Index) merge(ctx context.Context, change stored) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return x.client.change(ctx, func(ctx context.Context, level string) error {
		return x.client.once(ctx, http.MethodPatch, "/objects/"+change.Class+"/"+change.ID+"?consistency_level="+level, body, nil)
	})
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

// storedHead returns the head of this server as most of the replicas have it; nil: there is none. A replica that lags cannot hide it.
func (x *Index) storedHead(ctx context.Context, c *collection) (*head, error) {
	var o struct{ Properties object }
	path := "/objects/" + c.class + "/" + idOf("head", x.writer) + "?consistency_level=" + levelQuorum + "&tenant=" + url.QueryEscape(x.tenant)
	err := x.client.do(ctx, http.MethodGet, path, nil, &o)
	if hasStatus(err, http.StatusNotFound) {
		return nil, nil //nolint:nilnil // it has not written yet
	}
	if err != nil {
		return nil, err
	}
	h := &head{}
	return h, o.Properties.decode(h)
}

// newest returns a snapshot that has all commits which this server has seen. A replica that lags may lack some: then it asks another server of the
// cluster. A write that builds on such a replica could keep two revisions of a document.
func (x *Index) newest(ctx context.Context, c *collection, own head) (s *snapshot, err error) {
	if time.Since(x.lags[c.class]) < lagTime {
		return nil, errLags
	}
	err = retry(ctx, func() error {
		var err error
		if s, err = x.snapshot(ctx, c); err == nil && x.lacks(s, own) {
			x.client.current.Add(1)
			err = errBehind
		}
		return err
	})
	if errors.Is(err, errBehind) {
		x.lags[c.class] = time.Now()
		delete(x.seen, c.class) // a backup may have been restored
		delete(x.heads, c.class)
		err = errLags
	}
	return s, err
}

// lacks reports whether a snapshot lacks a commit that this server has made or seen.
func (x *Index) lacks(s *snapshot, own head) bool {
	if x.seen[s.class] == nil {
		x.seen[s.class] = map[string]head{}
	}
	known := x.seen[s.class]
	known[own.Writer] = own
	have := map[string]head{}
	for _, h := range s.heads {
		have[h.Writer] = h
	}
	for writer, k := range known {
		if h := have[writer]; k.Seq > 0 && h.Created <= k.Created && h.Seq < k.Seq {
			return true
		}
	}
	for _, h := range s.heads {
		known[h.Writer] = head{Writer: h.Writer, Created: h.Created, Seq: h.Seq}
	}
	return false
}
