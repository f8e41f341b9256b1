package cli_test

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestSourceAttributes sets attributes of the documents of a source, in the data folder and through a server, and asks questions with filters of them.
func TestSourceAttributes(t *testing.T) {
	legal, other, data := docs(t), t.TempDir(), t.TempDir()
	write(t, filepath.Join(other, "tide.md"), "# Tides\n\nThe tide rises four metres.\n")
	sources := func(status int, want string, args ...string) {
		t.Helper()
		got, out, errs := run(t, append(append([]string{"sources"}, args...), "--data", data)...)
		if got != status || !strings.Contains(out+errs, want) {
			t.Errorf("%v: status %d, want %d and %q in %s\n%s", args, got, status, want, out, errs)
		}
	}
	sources(0, "added 1 ", "add", legal, "--attribute", "team=legal", "--attribute", "year=2024", "--attribute", "final=true")
	sources(0, "added 1 ", "add", other)
	sources(2, "KEY=VALUE", "set", legal, "--attribute", "team")
	sources(1, "metadata", "set", legal, "--attribute", "team="+strings.Repeat("x", 2000))
	sources(2, "exclude each other", "set", legal, "--attribute", "a=b", "--clear-attributes")

	url, stop := serve(t, "--data", data)
	answered := func(filter string) bool {
		t.Helper()
		res, err := http.Post(url+"/api/query", "application/json", strings.NewReader(`{"query":"When was the north lock opened?","filter":`+filter+`}`))
		require.NoError(t, err)
		defer res.Body.Close()
		var out struct{ Sources []struct{ Title string } }
		body, err := io.ReadAll(res.Body)
		if err == nil {
			err = json.Unmarshal(body, &out)
		}
		if err != nil || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusUnprocessableEntity {
			t.Fatalf("%s: %s, %v, %s", filter, res.Status, err, body)
		}
		return len(out.Sources) > 0
	}
	check := func(filter string, want bool) {
		t.Helper()
		if got := answered(filter); got != want {
			t.Errorf("%s: answered %v, want %v", filter, got, want)
		}
	}
	team := `{"type":"eq","key":"team","value":"legal"}`
	check(team, true)
	check(`{"type":"gte","key":"year","value":2020}`, true)
	const question = "When was the north lock opened?"
	const shown = `"attributes":{"final":true,"team":"legal","year":2024}`
	for path, body := range map[string]string{"/api/query": `{"query":"` + question + `"}`, "/v1/responses": `{"messages":[{"role":"user","content":"` + question + `"}]}`,
		"/functions/v1/rag": `{"question":"` + question + `"}`, "/openai/v1/responses": `{"input":"What does a ship pay?","include":["file_search_call.results"]}`,
		"/v1/vector_stores/default/search": `{"query":"` + question + `"}`} {
		res, err := http.Post(url+path, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		want := map[string]string{"/openai/v1/responses": `"level":"L2","team":"legal","year":2024}`,
			"/v1/vector_stores/default/search": `"team":"legal","title":"Harbour handbook","year":2024}`}[path]
		if err != nil || !strings.Contains(strings.ReplaceAll(string(text), `\"`, `"`), cmp.Or(want, shown)) {
			t.Errorf("%s: %s, %v: %s", path, res.Status, err, text)
		}
		if res.Header.Get("Sluice-Run-Id") == "" {
			continue // a search
		}
		if body := get(t, url+"/api/runs/"+res.Header.Get("Sluice-Run-Id")); !strings.Contains(body, shown) {
			t.Errorf("events of %s: %s", path, body)
		}
	}
	c, err := client.New(url, client.Options{})
	require.NoError(t, err)
	page, err := c.SearchStore(t.Context(), "default", client.SearchRequest{Query: question, TopK: 1})
	if err != nil || len(page.Data) != 1 {
		t.Fatalf("search: %v, %+v", err, page)
	}
	if a := page.Data[0].Attributes; a.Title != "Harbour handbook" || !maps.Equal(a.Metadata, map[string]any{"final": true, "team": "legal", "year": 2024.0}) {
		t.Errorf("attributes %+v", a)
	}
	check(`{"type":"gte","key":"year","value":2025}`, false)
	check(`{"type":"eq","key":"final","value":true}`, true)
	check(`{"type":"eq","key":"team","value":"sales"}`, false)

	if body := get(t, url+"/api/sources"); !strings.Contains(body, `"metadata":{"final":true,"team":"legal","year":2024}`) {
		t.Error(body)
	}
	var list struct{ Documents []struct{ ID, Path string } }
	require.NoError(t, json.Unmarshal([]byte(get(t, url+"/api/documents")), &list))
	for _, d := range list.Documents {
		body := get(t, url+"/api/documents/"+d.ID)
		if has := strings.Contains(body, `"metadata":{"final":true,"team":"legal","year":2024}`); has != strings.HasSuffix(d.Path, "handbook.md") {
			t.Errorf("%s: %s", d.Path, body)
		}
	}

	sources(0, "none", "set", legal, "--attribute", "team=sales")
	check(team, false)
	sources(0, "none", "set", legal, "--clear-attributes")
	check(`{"type":"eq","key":"team","value":"sales"}`, false)
	if body := get(t, url+"/api/sources"); strings.Contains(body, "metadata") {
		t.Error(body)
	}
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}
