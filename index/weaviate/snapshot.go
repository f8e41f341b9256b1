package weaviate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
)

// head is the record of a server that writes to a collection.
type head struct {
	Writer  string              `json:"writer"`
	Version int64               `json:"version"` // grows with each write of the record; microseconds since 1970
	Created uint64              `json:"created"` // microseconds since 1970; new indexes have other versions than older ones
	Seq     int64               `json:"seq"`     // the last commit
	Pending bool                `json:"pending"` // objects of commit Seq+1 may exist
	Writing int                 `json:"writing"` // documents of commit Seq+1, if Pending
	Dead    []string            `json:"dead"`    // revisions that were replaced or deleted, and may exist
	Erased  []string            `json:"erased"`  // revisions that were erased from most replicas; one that was away may have them
	Chunks  [prepare.Levels]int `json:"chunks"`  // for the average length; the sum over all heads counts
	Tokens  [prepare.Levels]int `json:"tokens"`
}

// snapshot is a state of a collection.
type snapshot struct {
	*collection
	x       *Index
	heads   []head // by writer
	exact   bool   // conditions exclude commits after the snapshot
	chunks  [prepare.Levels]int
	tokens  [prepare.Levels]int
	version uint64
	state   string // differs if any head differs
}

const maxHeads = 1000

// remember returns the newest head of each server of Sluice that this one has ever read. A server of Weaviate that was away has older ones, and each may get an older one for some seconds when a
// write that failed long ago is carried out; see rewriteHead.
func (c *collection) remember(heads []head) []head {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range heads {
		if have, ok := c.newest[h.Writer]; !ok || have.Version <= h.Version {
			c.newest[h.Writer] = h
		}
	}
	return slices.Collect(maps.Values(c.newest))
}

// own returns the newest head of a server of Sluice.
func (c *collection) own(writer string) head {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest[writer]
}

// snapshot reads the heads of a collection.
func (x *Index) snapshot(ctx context.Context, c *collection) (*snapshot, error) {
	r, err := x.client.graphql(ctx, "{Get{"+c.class+arguments(x.tenant, isKind(kindHead), limit(maxHeads))+"{data}}}")
	if err != nil {
		return nil, err
	}
	s := &snapshot{collection: c, x: x}
	epoch := x.client.epoch()
	for _, o := range r.Data.Get[c.class] {
		var h head
		if err := o.decode(&h); err != nil {
			return nil, fmt.Errorf("head: %w", err)
		}
		if c.checked.Load() != epoch {
			if err := x.stored(ctx, c, idOf("head", h.Writer), &h); err != nil {
				return nil, err
			}
		}
		s.heads = append(s.heads, h)
	}
	c.checked.Store(epoch)
	s.heads = c.remember(s.heads)
	slices.SortFunc(s.heads, func(a, b head) int { return strings.Compare(a.Writer, b.Writer) })
	var state strings.Builder
	for _, h := range s.heads {
		s.version += h.Created + uint64(h.Seq)
		s.exact = s.exact || h.Pending
		for i := range prepare.Levels {
			s.chunks[i] += h.Chunks[i]
			s.tokens[i] += h.Tokens[i]
		}
		fmt.Fprintf(&state, "%s %d %v;", h.Writer, h.Seq, h.Pending)
	}
	s.state = state.String()
	return s, nil
}

// visible is the condition of the objects that belong to the snapshot.
func (s *snapshot) visible() condition {
	dead := map[string]bool{}
	var commits []condition
	for _, h := range s.heads {
		for _, r := range slices.Concat(h.Dead, h.Erased) {
			dead[r] = true
		}
		if s.exact {
			commits = append(commits, and(is(propWriter, h.Writer), isInt(propSeq, "LessThanEqual", h.Seq)))
		}
	}
	return and(or(commits...), noneOf(propRevision, slices.Sorted(maps.Keys(dead))))
}

// get returns the objects of the snapshot for which where is true, with some properties; at most limit.
func (s *snapshot) get(ctx context.Context, where condition, properties string, more ...string) ([]object, error) {
	r, err := s.x.client.graphql(ctx, "{Get{"+s.class+arguments(s.x.tenant, and(where, s.visible()), more...)+"{"+properties+"}}}")
	if err != nil {
		return nil, err
	}
	return r.Data.Get[s.class], nil
}

// page is the number of objects that one request of all reads. Weaviate returns at most 10,000.
const page = 2000

// all returns all objects for which where is true, in no order.
func (s *snapshot) all(ctx context.Context, where condition, properties string) ([]object, error) {
	return s.between(ctx, where, properties, 0, 1<<rowBits)
}

// between returns the objects of a range of rows. It divides the range until each part has less than a page.
func (s *snapshot) between(ctx context.Context, where condition, properties string, from, to int64) ([]object, error) {
	within := where
	if from > 0 || to < 1<<rowBits {
		within = and(where, isInt(propRow, "GreaterThanEqual", from), isInt(propRow, "LessThan", to))
	}
	out, err := s.get(ctx, within, properties, limit(page))
	if err != nil || len(out) < page || to-from < 2 {
		return out, err
	}
	middle := from + (to-from)/2
	out, err = s.between(ctx, where, properties, from, middle)
	if err != nil {
		return nil, err
	}
	rest, err := s.between(ctx, where, properties, middle, to)
	return append(out, rest...), err
}

// Sizes of requests for counts.
const (
	countsPerRequest = 25
	countRequests    = 4
)

// count returns how many objects of the snapshot each condition is true for.
func (s *snapshot) count(ctx context.Context, conditions []condition) ([]int, error) {
	out := make([]int, len(conditions))
	visible := s.visible()
	parts := slices.Collect(slices.Chunk(conditions, countsPerRequest))
	err := parallel(ctx, len(parts), countRequests, func(ctx context.Context, part int) error {
		var b strings.Builder
		b.WriteString("{Aggregate{")
		for i, c := range parts[part] {
			fmt.Fprintf(&b, "a%d:%s%s{meta{count}}", i, s.class, arguments(s.x.tenant, and(c, visible)))
		}
		b.WriteString("}}")
		r, err := s.x.client.graphql(ctx, b.String())
		if err != nil {
			return err
		}
		for i := range parts[part] {
			counted := r.Data.Aggregate[fmt.Sprintf("a%d", i)]
			if len(counted) != 1 {
				return errors.New("a count is missing in the reply")
			}
			out[part*countsPerRequest+i] = counted[0].Meta.Count
		}
		return nil
	})
	return out, err
}

// view is a snapshot restricted to a scope.
type view struct {
	*snapshot
	scope  index.Scope
	within condition       // for documents and chunks
	only   map[string]bool // keys of the documents; nil: all
}

// has reports whether a document belongs to the view.
func (v *view) has(id corpus.DocumentID) bool { return v.only == nil || v.only[key(string(id))] }

// empty reports whether the view has no documents.
func (v *view) empty() bool { return v.only != nil && len(v.only) == 0 }

// restrict restricts the view to documents.
func (v *view) restrict(keys map[string]bool) {
	if v.only != nil {
		maps.DeleteFunc(keys, func(k string, _ bool) bool { return !v.only[k] })
	}
	v.only = keys
	v.within = oneOf(propDocument, slices.Sorted(maps.Keys(keys)))
}

// maxReads is how often a read is repeated because a server wrote meanwhile.
const maxReads = 3

// read runs do with one state of a collection or scope. It does nothing if the collection does not exist. do runs again if it took too long, or if
// another state began while it did not exclude later commits: the second run does.
func (x *Index) read(ctx context.Context, op, name string, do func(context.Context, *view) error) error {
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	scope, err := prepare.Scope(name)
	if err != nil {
		return err
	}
	c, err := x.find(ctx, scope.Collection)
	if err != nil || c == nil {
		return failed(op, err)
	}
	exact := false
	for n := 1; ; n++ {
		again, err := x.readOnce(ctx, c, scope, exact, do)
		switch {
		case err == nil && !again:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (!again || n == maxReads):
			return failed(op, err)
		case n == maxReads:
			return fault.New(fault.Unavailable, "the index, Weaviate, is too slow")
		}
		exact = true
	}
}

// readOnce runs do once, and reports whether the result must not be used.
func (x *Index) readOnce(ctx context.Context, c *collection, scope index.Scope, exact bool, do func(context.Context, *view) error) (again bool, err error) {
	reading, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	s, err := x.snapshot(reading, c)
	if err != nil {
		return false, err
	}
	s.exact = s.exact || exact
	v := &view{snapshot: s, scope: scope}
	if err := v.resolve(reading); err != nil {
		return false, err
	}
	if err := do(reading, v); err != nil {
		return reading.Err() != nil, err
	}
	if reading.Err() != nil {
		return true, nil
	}
	if s.exact {
		return false, nil
	}
	after, err := x.snapshot(reading, c)
	if err != nil {
		return reading.Err() != nil, err
	}
	if after.state != s.state {
		c.cache.clear() // counts of this read may include a part of a commit
		return true, nil
	}
	return false, nil
}

// resolve reads the members of the scope.
func (v *view) resolve(ctx context.Context) error {
	if v.scope.Whole() {
		return nil
	}
	keys := map[string]bool{}
	for _, id := range v.scope.Documents {
		keys[key(string(id))] = true
	}
	if len(v.scope.Sets) > 0 {
		members, err := (&snapshot{collection: v.collection, x: v.x}).all(ctx, and(isKind(kindMember), oneOf(propSet, v.scope.Sets)), propDocument)
		if err != nil {
			return err
		}
		for _, m := range members {
			keys[m.Document] = true
		}
	}
	v.restrict(keys)
	return nil
}

// clamp returns a limit between 1 and most.
func clamp(n, standard, most int) int {
	if n <= 0 {
		n = standard
	}
	return min(n, most)
}

func levelTerms(l corpus.Level) string { return propTerms + string(rune('0'+int(l))) }

func idf(n, df float64) float64 { return math.Log1p((max(n-df, 0) + 0.5) / (df + 0.5)) }
