package weaviate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluice-rag/sluice/index/prepare"
)

// classPrefix begins the names of the classes of this package.
const classPrefix = "Sluice_"

// collection is a collection of one tenant.
type collection struct {
	name, class string
	cache       counts
	checked     atomic.Int64 // [client.epoch] in which the heads were read from most replicas

	mu     sync.Mutex
	newest map[string]head // by writer; see remember
}

// className returns the name of a collection's class. The readable part is for people; the key makes it unique.
func className(collection string) string {
	readable := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, collection[:min(len(collection), 32)])
	return classPrefix + readable + "_" + key(collection)
}

var plainTenant = regexp.MustCompile(`^[a-z0-9-]{1,60}$`)

// tenantName returns the name that a tenant has in Weaviate.
func tenantName(tenant string) string {
	if plainTenant.MatchString(tenant) {
		return tenant
	}
	return "h_" + key(tenant)
}

// description is stored in a class: it holds the name of the collection, of which the name of the class is a hash.
func description(collection string) string {
	return "Sluice collection " + base64.StdEncoding.EncodeToString([]byte(collection))
}

func named(description string) (string, bool) {
	text, ok := strings.CutPrefix(description, "Sluice collection ")
	name, err := base64.StdEncoding.DecodeString(text)
	return string(name), ok && err == nil
}

func property(name, dataType string, with map[string]any) map[string]any {
	p := map[string]any{"name": name, "dataType": []string{dataType}, "indexFilterable": true}
	if strings.HasPrefix(dataType, "text") {
		p["tokenization"], p["indexSearchable"] = "field", false
	}
	maps.Copy(p, with)
	return p
}

// vectorSlot is the configuration of a vector space in a class.
var vectorSlot = map[string]any{
	"vectorizer": map[string]any{"none": map[string]any{}}, "vectorIndexType": "hnsw",
	"vectorIndexConfig": map[string]any{"distance": "cosine"},
}

// schema returns a class that some servers store. Spaces are added to it when they get their first vector; a class needs one from the start.
func schema(collection string, replicas int) map[string]any {
	ranged := map[string]any{"indexRangeFilters": true}
	properties := []map[string]any{property(propKind, "int", nil), property(propSeq, "int", ranged), property(propRow, "int", ranged), property(propOrdinal, "int", ranged),
		property(propData, "text", map[string]any{"indexFilterable": false})}
	for _, name := range []string{propDocument, propChunk, propRevision, propWriter, propOrder, propSet} {
		properties = append(properties, property(name, "text", nil))
	}
	for _, name := range []string{propSpaces, propNamed, propAbout, propTitled} {
		properties = append(properties, property(name, "text[]", nil))
	}
	for _, level := range []string{"1", "2", "3"} {
		properties = append(properties, property(propTerms+level, "text", map[string]any{"tokenization": "whitespace", "indexSearchable": true}))
	}
	class := map[string]any{
		"class": className(collection), "description": description(collection), "properties": properties,
		"multiTenancyConfig":  map[string]any{"enabled": true, "autoTenantActivation": true},
		"vectorConfig":        map[string]any{"none": vectorSlot},
		"invertedIndexConfig": map[string]any{"bm25": map[string]any{"k1": scoring.k1, "b": scoring.b}, "stopwords": map[string]any{"preset": "none"}},
	}
	if replicas > 1 {
		// A server that was away copies what it missed, and erased objects do not come back from it.
		class["replicationConfig"] = map[string]any{"factor": replicas, "asyncEnabled": true, "deletionStrategy": "TimeBasedResolution"}
	}
	return class
}

// find returns a collection, or nil if it does not exist.
func (x *Index) find(ctx context.Context, name string) (*collection, error) {
	if len(name) > prepare.MaxKey {
		return nil, nil //nolint:nilnil // as of any unknown collection
	}
	x.mu.Lock()
	c := x.collections[name]
	x.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c = &collection{name: name, class: className(name), newest: map[string]head{}}
	err := x.client.do(ctx, http.MethodGet, "/schema/"+c.class+"/tenants/"+url.PathEscape(x.tenant), nil, nil)
	if hasStatus(err, http.StatusNotFound, http.StatusUnprocessableEntity) {
		return nil, x.client.ready(ctx) // another server may create it any time, so this is not kept
	}
	if err != nil {
		return nil, err
	}
	return x.keep(c), nil
}

func (x *Index) keep(c *collection) *collection {
	x.mu.Lock()
	defer x.mu.Unlock()
	if have := x.collections[c.name]; have != nil {
		return have
	}
	x.collections[c.name] = c
	return c
}

// create returns a collection, and creates its class and tenant if need be.
func (x *Index) create(ctx context.Context, name string) (*collection, error) {
	c, err := x.find(ctx, name)
	if c != nil || err != nil {
		return c, err
	}
	c = &collection{name: name, class: className(name), newest: map[string]head{}}
	err = x.client.do(ctx, http.MethodGet, "/schema/"+c.class, nil, nil)
	if hasStatus(err, http.StatusNotFound) {
		replicas, ferr := x.client.factor(ctx, x.replicas)
		if ferr != nil {
			return nil, ferr
		}
		if err = x.client.do(ctx, http.MethodPost, "/schema", schema(name, replicas), nil); hasStatus(err, http.StatusUnprocessableEntity) {
			err = x.client.do(ctx, http.MethodGet, "/schema/"+c.class, nil, nil) // another server was faster, or the class is refused
		}
	}
	if err != nil {
		return nil, err
	}
	if err := x.client.do(ctx, http.MethodPost, "/schema/"+c.class+"/tenants", []map[string]string{{"name": x.tenant}}, nil); err != nil {
		return nil, err
	}
	return x.keep(c), nil
}

// addSlot adds the configuration of a vector space to a class.
func (x *Index) addSlot(ctx context.Context, class, slot string) error {
	for n := 1; ; n++ {
		var have map[string]json.RawMessage
		if err := x.client.do(ctx, http.MethodGet, "/schema/"+class, nil, &have); err != nil {
			return err
		}
		slots := map[string]json.RawMessage{}
		if err := json.Unmarshal(have["vectorConfig"], &slots); err != nil {
			return err
		}
		if slots[slot] != nil {
			return nil
		}
		slots[slot], _ = json.Marshal(vectorSlot) // it is a constant
		have["vectorConfig"], _ = json.Marshal(slots)
		err := x.client.do(ctx, http.MethodPut, "/schema/"+class, have, nil)
		if err == nil || n == attempts || !hasStatus(err, http.StatusUnprocessableEntity) { // another server may have added one meanwhile
			return err
		}
	}
}

// names returns the names of the collections of the tenant, in order.
func (x *Index) names(ctx context.Context) (names []string, err error) {
	var all struct {
		Classes []struct{ Class, Description string }
	}
	if err := x.client.ready(ctx); err != nil {
		return nil, err
	}
	if err := x.client.do(ctx, http.MethodGet, "/schema", nil, &all); err != nil {
		return nil, err
	}
	for _, class := range all.Classes {
		name, ok := named(class.Description)
		if !ok || class.Class != className(name) {
			continue
		}
		c, err := x.find(ctx, name)
		if err != nil {
			return nil, err
		}
		if c != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// DeleteTenant deletes all that a tenant has in Weaviate. Only the URL, the key and the tenant of the options are used.
func DeleteTenant(ctx context.Context, o Options) error {
	x, err := connect(o)
	if err != nil {
		return err
	}
	defer x.client.http.CloseIdleConnections()
	names, err := x.names(ctx)
	for _, name := range names {
		if err == nil {
			err = x.client.do(ctx, http.MethodDelete, "/schema/"+className(name)+"/tenants", []string{x.tenant}, nil)
		}
	}
	return failed("delete tenant", err)
}
