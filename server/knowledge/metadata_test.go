package knowledge_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/knowledge"
)

// TestMetadata uploads a file with metadata, in fields before and after the file, edits it, and reads it with the file and with the
// sources of answers.
func TestMetadata(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := s.form(http.StatusOK, part{field: "dc_creator", body: "Ada Brook"}, part{field: "contributor", body: "ada"},
		part{field: "file", filename: "a.md", body: "---\ntitle: Of Gold\npublisher: Acme\n---\n" + gold}, part{field: "dc_identifier", body: "doi:1"})
	id := f["id"].(string)
	s.await("upload-" + id)
	shown := func(what string, got any, want map[string]any) {
		t.Helper()
		if d := cmp.Diff(any(want), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	shown("reply to the upload", f["dublin_core"], map[string]any{"dc_creator": "Ada Brook", "dc_identifier": "doi:1"})
	whole := map[string]any{"dc_title": "Of Gold", "dc_creator": "Ada Brook", "dc_publisher": "Acme", "dc_identifier": "doi:1"}
	shown("file", s.get("/v1/files/" + id)["dublin_core"], whole)
	shown("content", s.get("/v1/files/" + id + "/content")["dublin_core"], whole)
	s.store("vs", id)
	for _, step := range []struct{ edit, title string }{
		{`{"dublin_core":{"dc_title":"Of Gold, revised"},"contributor":"bob"}`, "Of Gold, revised"}, {`{"dublin_core":{}}`, "Of Gold"},
	} {
		shown("edited", s.post("/v1/files/"+id+"/content", step.edit)["dublin_core"], map[string]any{"dc_title": step.title, "dc_publisher": "Acme"})
		_, response := s.answered("vs", "Why does gold settle behind the riffles of a sluice box?")
		raw, err := json.Marshal(response)
		require.NoError(t, err)
		if !strings.Contains(string(raw), `"dublin_core":{"dc_publisher":"Acme","dc_title":"`+step.title+`"}`) {
			t.Errorf("no metadata %q in %s", step.title, raw)
		}
	}
	if f := s.get("/v1/files/" + id); f["contributor"] != "bob" {
		t.Errorf("contributor %v", f["contributor"])
	}
	for field, body := range map[string]string{"dc_title": `{"dublin_core":{"dc_title":"a\u0007"}}`, "dublin_core.dc_other": `{"dublin_core":{"dc_other":"x"}}`,
		"contributor": `{"contributor":"platform"}`} {
		if e := s.json(http.StatusBadRequest, "POST", "/v1/files/"+id+"/content", body); e["detail"].(map[string]any)["field"] != field {
			t.Errorf("%s: %v", body, e)
		}
	}
	e := s.form(http.StatusBadRequest, part{field: "dc_date", body: strings.Repeat("1", 2001)}, part{field: "file", filename: "a.md", body: gold})
	if e["detail"].(map[string]any)["field"] != "dc_date" {
		t.Errorf("%v", e)
	}
}

// TestContributor: the account of the key is the contributor of an upload, and only it or an administrator can name another one.
func TestContributor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	routes := knowledge.Routes(knowledge.Options{Files: s.files, Engine: s.engine})
	do := func(by auth.Identity, method, pattern, id, kind string, body []byte) (map[string]any, error) {
		r := routes[slices.IndexFunc(routes, func(r server.Route) bool { return r.Method == method && r.Path == pattern })]
		req := httptest.NewRequestWithContext(auth.With(t.Context(), by), method, "/v1/files", bytes.NewReader(body))
		req.SetPathValue("id", id)
		req.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		if err := r.Serve(w, req); err != nil {
			return nil, err
		}
		return object(t, w.Body.Bytes()), nil
	}
	account := func(name string, scopes ...auth.Scope) auth.Identity {
		return auth.Identity{Tenant: auth.DefaultTenant, Account: name, Key: "k_" + name, Scopes: scopes}
	}
	ada, bob, root := account("ada", auth.Write), account("bob", auth.Write), account("root", auth.Admin)
	kind, body := multipartOf(part{field: "file", filename: "a.md", body: gold})
	f, err := do(ada, "POST", "/v1/files", "", kind, body)
	if err != nil || f["contributor"] != "ada" {
		t.Fatalf("%v, %v", f, err)
	}
	id := f["id"].(string)
	s.await("upload-" + id)
	update := func(by auth.Identity, to string) (map[string]any, error) {
		return do(by, "POST", "/v1/files/{id}/content", id, "application/json", []byte(`{"contributor":"`+to+`"}`))
	}
	if _, err := update(bob, "bob"); err == nil || fault.Public(err).Field != "contributor" {
		t.Errorf("another account claims a file: %v", err)
	}
	for _, step := range []struct {
		by auth.Identity
		to string
	}{{ada, "bob"}, {root, "ada"}, {ada, "carol"}} {
		if f, err := update(step.by, step.to); err != nil || f["contributor"] != step.to {
			t.Errorf("%s names %s: %v, %v", step.by.Account, step.to, f, err)
		}
	}
	kind, body = multipartOf(part{field: "file", filename: "b.md", body: gold + " And silver."}, part{field: "contributor", body: "dave"})
	if f, err := do(ada, "POST", "/v1/files", "", kind, body); err != nil || f["contributor"] != "dave" {
		t.Errorf("%v, %v", f, err)
	}
}
