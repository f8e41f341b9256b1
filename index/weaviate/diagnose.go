package weaviate

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/sluice-rag/sluice/doctor"
)

// LeastVersion is the first version of Weaviate with all that the index needs.
const LeastVersion = "1.33.0"

// diagnoseTime bounds each request of [Diagnose].
const diagnoseTime = 10 * time.Second

// Diagnose checks the Weaviate of the options, of which it uses URL, Key and KeyFile. It also creates a class of its own, writes, reads and deletes an
// object, and deletes the class. The settings are the names of the URL and of the key in messages.
func Diagnose(ctx context.Context, o Options, setting, keySetting string) doctor.Finding {
	f := doctor.Finding{Part: "index", Engine: "Weaviate"}
	x, err := connect(o)
	if err != nil {
		f.Fail(err.Error(), "correct "+setting+" or "+keySetting)
		return f
	}
	c := x.client
	defer c.http.CloseIdleConnections()
	c.http.Timeout = diagnoseTime
	var hosts []string
	for _, base := range c.bases {
		_, host, _ := strings.Cut(base, "//")
		hosts = append(hosts, host)
	}
	f.Address = strings.Join(hosts, ", ")
	var meta struct{ Version string }
	begin := time.Now()
	err = c.send(ctx, c.bases[0], http.MethodGet, "/meta", nil, &meta)
	switch {
	case hasStatus(err, http.StatusUnauthorized, http.StatusForbidden) && c.key == "":
		f.Fail("it needs an API key", "set "+keySetting)
	case hasStatus(err, http.StatusUnauthorized, http.StatusForbidden):
		f.Fail("it refuses the API key", "correct "+keySetting)
	case err != nil && !f.Unreachable(err, setting):
		f.Fail("it does not reply as Weaviate does: "+err.Error(), "check the address in "+setting)
	}
	if err != nil {
		return f
	}
	f.SetRoundTrip(time.Since(begin))
	for i, base := range c.bases[1:] {
		if err := c.send(ctx, base, http.MethodGet, "/meta", nil, nil); err != nil {
			f.Fail(hosts[i+1]+" does not reply", "start it, or correct "+setting)
		}
	}
	if f.Version = meta.Version; semver.Compare("v"+meta.Version, "v"+LeastVersion) < 0 {
		f.Fail(fmt.Sprintf("the server has version %s, but %s or later is needed", meta.Version, LeastVersion), "upgrade it")
		return f
	}
	c.diagnoseNodes(ctx, &f)
	c.diagnoseCopies(ctx, &f, o.Replicas)
	took, err := c.try(ctx)
	switch {
	case hasStatus(err, http.StatusForbidden):
		f.Fail("the user of the API key may not create collections and objects", "give it the rights to all collections that begin with Sluice")
	case err != nil:
		f.Fail("an object cannot be written: "+err.Error(), "see the log of Weaviate")
	default:
		f.Detail("an object was written, read and deleted in %v", took.Round(100*time.Microsecond))
	}
	return f
}

// diagnoseNodes adds the nodes of a cluster that do not work. Not all users may ask for them.
func (c *client) diagnoseNodes(ctx context.Context, f *doctor.Finding) {
	nodes, err := c.nodes(ctx)
	if err != nil {
		return
	}
	if n := len(nodes); n > 1 {
		f.Detail("%d nodes", n)
	}
	for _, n := range nodes {
		if n.Status != healthy {
			f.Fail(fmt.Sprintf("the node %s is %s", n.Name, strings.ToLower(n.Status)), "start it, and see its log")
		}
		if n.Version != "" && n.Version != f.Version {
			f.Warn(fmt.Sprintf("the node %s has version %s", n.Name, n.Version), "upgrade all nodes to the same version")
		}
	}
}

// diagnoseCopies adds the collections that fewer servers store than new ones.
func (c *client) diagnoseCopies(ctx context.Context, f *doctor.Finding, want int) {
	want, err := c.factor(ctx, want)
	var all struct {
		Classes []struct {
			Class             string
			ReplicationConfig struct{ Factor int }
		}
	}
	if err != nil || c.once(ctx, http.MethodGet, "/schema", nil, &all) != nil {
		return
	}
	for _, class := range all.Classes {
		if n := class.ReplicationConfig.Factor; strings.HasPrefix(class.Class, classPrefix) && n < want {
			f.Warn(fmt.Sprintf("%d of the servers store the collection %s, where %d would store a new one", n, class.Class, want),
				"move the index to another data folder and back with sluice migrate, or index the documents again, after removing the collection")
		}
	}
}

// try creates a class, which no server of Sluice takes for one of its own, writes, reads and deletes an object, and deletes the class.
func (c *client) try(ctx context.Context) (took time.Duration, err error) {
	const object = "5f0d3c1e-0000-4000-8000-000000000001"
	class := "SluiceDoctor" + rand.Text()
	begin := time.Now()
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), diagnoseTime)
		defer cancel()
		if e := c.do(clean, http.MethodDelete, "/schema/"+class, nil, nil); err == nil {
			took, err = time.Since(begin), e
		}
	}()
	tenant := map[string]string{"name": "trial"}
	for _, step := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, "/schema", map[string]any{"class": class, "description": "a trial of sluice doctor", "vectorizer": "none", "multiTenancyConfig": map[string]any{"enabled": true},
			"properties": []map[string]any{property("text", "text", nil)}}},
		{http.MethodPost, "/schema/" + class + "/tenants", []any{tenant}},
		{http.MethodPost, "/objects", map[string]any{"class": class, "id": object, "tenant": tenant["name"], "properties": map[string]any{"text": "trial"}, "vector": []float32{1, 0}}},
		{http.MethodGet, "/objects/" + class + "/" + object + "?tenant=" + tenant["name"], nil},
		{http.MethodDelete, "/objects/" + class + "/" + object + "?tenant=" + tenant["name"], nil},
	} {
		if err := c.do(ctx, step.method, step.path, step.body, nil); err != nil {
			return 0, err
		}
	}
	return 0, nil
}
