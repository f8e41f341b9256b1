package source

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// Limits of the attributes of a source, in bytes for texts.
const (
	maxAttributes     = 50
	maxAttributeName  = 100
	maxAttributeValue = 1000
)

// checkAttributes returns an error of the type [fault.Error] if documents cannot have attributes.
func checkAttributes(attributes map[string]any) error {
	if len(attributes) > maxAttributes {
		return fault.Invalid("metadata", "want at most %d attributes", maxAttributes)
	}
	for name, value := range attributes {
		ok := false
		switch v := value.(type) {
		case string:
			ok = len(v) <= maxAttributeValue && Printable(v)
		case float64:
			ok = !math.IsNaN(v) && !math.IsInf(v, 0)
		case bool:
			ok = true
		}
		if !ok || name == "" || len(name) > maxAttributeName || !Printable(name) {
			return fault.Invalid("metadata", "want names of 1 to %d bytes with texts of at most %d bytes, numbers or truth values, without control characters", maxAttributeName, maxAttributeValue)
		}
	}
	return nil
}

// attributesFor is how long the attributes of sources are kept: other servers change them too.
const attributesFor = time.Second

// attributeCache has the attributes of the sources that have some, by the ids of the sources.
type attributeCache struct {
	mu      sync.Mutex
	known   map[string]map[string]any
	until   time.Time
	changes int // how often this server has changed attributes
}

// forget makes the next call of [Service.attributes] read the store.
func (c *attributeCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until, c.changes = time.Time{}, c.changes+1
}

// attributes returns the attributes of the sources that have some, by the ids of the sources. They are at most [attributesFor] old.
func (s *Service) attributes(ctx context.Context) (map[string]map[string]any, error) {
	c := &s.attributeCache
	c.mu.Lock()
	known, until, changes := c.known, c.until, c.changes
	c.mu.Unlock()
	now := s.o.Now()
	if now.Before(until) && until.Sub(now) <= attributesFor { // otherwise the clock was set back
		return known, nil
	}
	all, err := s.o.Store.Sources(ctx)
	if err != nil {
		return nil, err
	}
	known = map[string]map[string]any{}
	for _, src := range all {
		if len(src.Attributes) > 0 {
			known[src.ID] = src.Attributes
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == changes {
		c.known, c.until = known, now.Add(attributesFor)
	}
	return known, nil
}

// Attributes returns the attributes of documents that are of sources with attributes, by the ids of the documents. They must not be changed. What another
// server has changed may be missing for [attributesFor].
func (s *Service) Attributes(ctx context.Context, documents []string) (map[string]map[string]any, error) {
	known, err := s.attributes(ctx)
	if err != nil || len(known) == 0 {
		return nil, err
	}
	of, err := s.o.Finder.SourcesOf(ctx, documents)
	out := map[string]map[string]any{}
	for id, source := range of {
		if attributes := known[source]; attributes != nil {
			out[id] = attributes
		}
	}
	return out, err
}
