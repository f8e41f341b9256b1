package rpc_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

const health = "urn:forrst:fn:health"

func TestHealth(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	got := l.call(health, object{})
	if got["status"] != "healthy" { // although ai.generate is switched off, because there is no language model
		t.Errorf("%v", got)
	}
	described := l.call("urn:forrst:fn:describe", object{"function": "ai.generate"})
	if !strings.Contains(described["description"].(string), "switched off") {
		t.Errorf("%v", described["description"])
	}
	components := got["components"].(object)
	res, err := http.Get(strings.TrimSuffix(l.url, "/forrst") + "/readyz")
	require.NoError(t, err)
	defer res.Body.Close()
	var ready struct{ Parts map[string]any }
	require.NoError(t, json.NewDecoder(res.Body).Decode(&ready))
	want := append(slices.Collect(maps.Keys(ready.Parts)), "model")
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(components))); diff != "" {
		t.Error(diff)
	}
	for name, c := range components {
		if c.(object)["status"] != "healthy" {
			t.Errorf("%s: %v", name, c)
		}
	}
}

// TestHealthOfDamage damages the bytes of a document: the store is degraded.
func TestHealthOfDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := newLibrary(t, func(c *config.Config) { c.Store.Data = dir })
	l.add("gold.md", gold, object{"id": "gold"})
	blobs, _ := filepath.Glob(filepath.Join(dir, "files", "blobs", "*", "*"))
	if len(blobs) != 1 {
		t.Fatalf("%v", blobs)
	}
	require.NoError(t, os.WriteFile(blobs[0], []byte("other"), 0o600))
	r, _, err := l.app.Files().Open(t.Context(), "gold")
	require.NoError(t, err)
	if _, err = io.ReadAll(r); err == nil {
		t.Fatal("the damage was not noticed")
	}
	require.NoError(t, r.Close())
	if got := l.call(health, object{"component": "store"}); got["status"] != "degraded" {
		t.Errorf("%v", got)
	}
}

// TestHealthOfModels has a model whose server does not reply.
func TestHealthOfModels(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	l := newLibrary(t, func(c *config.Config) { c.Models.ModelURL, c.Models.ModelName = []string{gone.URL}, []string{"m"} })
	if got := l.call(health, object{"component": "model"}); got["status"] != "unhealthy" {
		t.Errorf("%v", got)
	}
}
