package documents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/index/scope"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/documents"
	"github.com/sluice-rag/sluice/store/sqlstore"
	"github.com/sluice-rag/sluice/wire/forge"
)

var words = local.New(local.Options{}) // creating it is slow

// site serves files and a folder.
type site struct {
	t        *testing.T
	handler  http.Handler
	files    *files.Service
	ingester *ingest.Ingester
	index    *embedded.Index
	asked    [2]string // collection and language of the last request for questions
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir, ctx := t.TempDir(), t.Context()
	ix, err := embedded.Open(ctx, filepath.Join(dir, "index"), embedded.Options{})
	require.NoError(t, err)
	kept, err := sqlstore.Open(ctx, filepath.Join(dir, "files.db"))
	require.NoError(t, err)
	s := &site{t: t, ingester: ingest.New(ix, words, ingest.Options{}), index: ix}
	s.files, err = files.Open(ctx, filepath.Join(dir, "files"), files.Options{Store: kept, Index: ix, Ingest: s.ingester})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.files.Close())
		require.NoError(t, kept.Close())
		require.NoError(t, ix.Close())
	})
	routes := documents.Routes(documents.Options{Files: s.files, Index: scope.New(ix, files.Collection, scope.Options{}),
		Questions: func(_ context.Context, collection, language string) ([]string, error) {
			s.asked = [2]string{collection, language}
			return nil, nil
		}})
	srv, err := server.New(engine.New(nil, engine.Options{}), server.Options{Protocols: []server.Endpoint{{API: forge.API(), StreamPath: "/api/query/stream"}}, Routes: routes, Registry: prometheus.NewRegistry()})
	require.NoError(t, err)
	s.handler = srv.Handler()
	return s
}

// upload adds a file and waits until it is indexed or has failed.
func (s *site) upload(id, name, media, text string) {
	s.t.Helper()
	_, _, err := s.files.Upload(s.t.Context(), files.Upload{ID: id, Name: name, MediaType: media, Body: strings.NewReader(text)})
	require.NoError(s.t, err)
	_, err = s.files.WaitTask(s.t.Context(), "upload-"+id)
	require.NoError(s.t, err)
}

func (s *site) do(method, path string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "http://localhost"+path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// get requests a path and decodes its reply.
func get[T any](s *site, path string) (out T) {
	s.t.Helper()
	w := s.do("GET", path)
	if w.Code != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &out))
	return out
}

func (s *site) refused(status int, method, path string) {
	s.t.Helper()
	if w := s.do(method, path); w.Code != status || !strings.Contains(w.Body.String(), "message") {
		s.t.Errorf("%s %s: %d, want %d: %s", method, path, w.Code, status, w.Body)
	}
}

func names(l documents.DocumentList) (out []string) {
	for _, d := range l.Documents {
		out = append(out, d.Name)
	}
	return out
}

func TestList(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.upload("b", "tariff.md", "text/markdown", "# Pool prices\n\nA locker costs €1.\n")
	s.upload("a", "notes.txt", "text/plain", "The pump is repaired.\n")
	s.upload("c", "broken.pdf", "application/pdf", "%PDF-1.4 not really")
	_, err := s.ingester.IngestDocuments(t.Context(), corpus.DefaultCollection, []ingest.Source{{URI: "rules.md", Name: "rules.md", Data: []byte("# House rules\n\nQuiet begins at 22.\n")}}, nil)
	require.NoError(t, err)
	_, err = s.files.CreateStore(t.Context(), files.StoreParams{ID: "home", Files: []string{"a"}})
	require.NoError(t, err)
	for query, want := range map[string][]string{
		"":                        {"rules.md", "broken.pdf", "notes.txt", "tariff.md"},
		"sort=name":               {"broken.pdf", "notes.txt", "rules.md", "tariff.md"},
		"sort=name&order=desc":    {"tariff.md", "rules.md", "notes.txt", "broken.pdf"},
		"sort=title":              {"broken.pdf", "rules.md", "notes.txt", "tariff.md"},
		"sort=status&limit=1":     {"broken.pdf"},
		"sort=size&order=asc":     {"broken.pdf", "notes.txt", "rules.md", "tariff.md"},
		"sort=name&offset=2":      {"rules.md", "tariff.md"},
		"offset=9":                nil,
		"q=POOL":                  {"tariff.md"},
		"q=prices%20pool":         {"tariff.md"},
		"q=locker":                nil,
		"status=failed":           {"broken.pdf"},
		"status=reading":          nil,
		"type=text/plain":         {"notes.txt"},
		"collection=home":         {"notes.txt"},
		"collection=default":      {"rules.md"},
		"collection=files&q=note": {"notes.txt"},
	} {
		l := get[documents.DocumentList](s, "/api/documents?"+query)
		if got := names(l); query != "" && !cmp.Equal(got, want) || len(got) != len(want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	l := get[documents.DocumentList](s, "/api/documents?status=failed")
	if l.Total != 1 || l.Documents[0].Error == "" || l.Documents[0].Status != documents.Failed || l.Statuses[documents.Ready] != 3 || l.Types["application/pdf"] != 1 || len(l.Types) != 1 {
		t.Errorf("%+v", l)
	}
	if d := get[documents.DocumentList](s, "/api/documents?q=rules").Documents[0]; d.Folder != corpus.DefaultCollection || d.Title != "House rules" {
		t.Errorf("%+v", d)
	}
	for _, query := range []string{"limit=0", "limit=201", "offset=-1", "offset=x", "sort=id", "order=up", "status=odd", "q=%00", "q=" + strings.Repeat("x", 201), "q=%ff"} {
		s.refused(400, "GET", "/api/documents?"+query)
	}
	s.refused(404, "GET", "/api/documents?collection=none")
}

// TestTitle: the title that a user set is the one that is listed and searched.
func TestTitle(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.upload("a", "a.md", "text/markdown", "# Old\n\nText of the file.\n")
	_, err := s.files.UpdateFile(t.Context(), "a", map[string]json.RawMessage{"dublin_core": json.RawMessage(`{"dc_title":"New","dc_creator":"Ann"}`)})
	require.NoError(t, err)
	if got := names(get[documents.DocumentList](s, "/api/documents?q=new")); !cmp.Equal(got, []string{"a.md"}) {
		t.Errorf("%q", got)
	}
	d := get[documents.DocumentView](s, "/api/documents/a")
	if d.Title != "New" || d.Given == nil || d.Given.Creator != "Ann" || d.DublinCore.Creator != "Ann" || !d.Original {
		t.Errorf("%+v", d)
	}
}

// long is a document with more passages than a reply has around a chunk.
func long() string {
	var b strings.Builder
	b.WriteString("# Register\n\n")
	for i := range 60 {
		fmt.Fprintf(&b, "## Harbour %d\n\nThe harbour %d has %d cranes.\n\n### Depth\n\nIts depth is %d metres.\n\n", i, i, i+1, i+2)
	}
	return b.String()
}

// ordinalOf returns the number of the passage with the text at an offset.
func ordinalOf(ps []documents.DocumentPassage, offset int) (n int) {
	for _, p := range ps {
		if p.Start <= offset {
			n = p.Number
		}
	}
	return n
}

func TestViewer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.upload("r", "register.md", "text/markdown", long())
	d := get[documents.DocumentView](s, "/api/documents/r")
	if len(d.Outline) < 60 || d.Outline[0].Heading != "Register" || d.Outline[0].Depth != 1 || d.Outline[2].Depth < d.Outline[1].Depth {
		t.Fatalf("outline: %+v", d.Outline[:min(3, len(d.Outline))])
	}
	whole := get[documents.DocumentText](s, "/api/documents/r/passages?limit=200")
	if whole.More || whole.Start != 0 || whole.End != 0 || len(whole.Passages) < 60 {
		t.Fatalf("%d passages, more: %v", len(whole.Passages), whole.More)
	}
	part := get[documents.DocumentText](s, "/api/documents/r/passages?from=7&limit=2")
	if diff := cmp.Diff(whole.Passages[7:9], part.Passages); diff != "" || part.From != 7 || !part.More {
		t.Errorf("from 7: %s", diff)
	}
	// A chunk of any level is found in the passages.
	for level := corpus.Section; level <= corpus.Sentence; level++ {
		chunks, err := s.index.DocumentChunks(t.Context(), files.Collection, "r", level, 0, 0)
		require.NoError(t, err)
		for _, c := range []corpus.Chunk{chunks[0], chunks[len(chunks)/2], chunks[len(chunks)-1]} {
			got := get[documents.DocumentText](s, "/api/documents/r/passages?limit=30&chunk="+string(c.ID))
			found := false
			for _, p := range got.Passages {
				found = found || p.Start <= c.Start && c.Start < p.End
			}
			if first := max(0, ordinalOf(whole.Passages, c.Start)-10); got.From != first {
				t.Errorf("chunk %d of level %d: from passage %d, want %d", c.Ordinal, level, got.From, first)
			}
			if !found || got.Start != c.Start || got.End != c.End {
				t.Errorf("chunk %d of level %d: %d to %d is not in the passages from %d", c.Ordinal, level, c.Start, c.End, got.From)
			}
		}
	}
	if got := get[documents.DocumentText](s, "/api/documents/r/passages?chunk=c_none&limit=1"); got.Start != 0 || got.End != 0 || got.From != 0 || len(got.Passages) != 1 {
		t.Errorf("a chunk that is gone: %+v", got)
	}
	s.upload("o", "other.md", "text/markdown", "# Other\n\nAnother text.\n")
	if got := get[documents.DocumentText](s, "/api/documents/o/passages?chunk="+whole.Passages[3].ChunkID); got.End != 0 {
		t.Errorf("a chunk of another document: %+v", got)
	}
	for _, query := range []string{"limit=0", "limit=201", "from=-1", "chunk=%00"} {
		s.refused(400, "GET", "/api/documents/r/passages?"+query)
	}
	for _, path := range []string{"/api/documents/none", "/api/documents/none/passages", "/api/documents/none/original", "/api/documents/%00", "/api/documents/..%2f..%2fetc"} {
		s.refused(404, "GET", path)
	}
	s.refused(404, "POST", "/api/documents/none/retry")
}

// TestOriginal: a download is the bytes, in parts too, and no browser shows or runs it as a part of this site.
func TestOriginal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const page = "<html><body><p>A page.</p><script>alert(1)</script></body></html>"
	s.upload("h", "a\"b\r\nä.html", "text/html", page)
	w := s.do("GET", "/api/documents/h/original")
	if w.Code != 200 || w.Body.String() != page {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for name, want := range map[string]string{"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'", "Cross-Origin-Resource-Policy": "same-origin"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if d := w.Header().Get("Content-Disposition"); !strings.HasPrefix(d, "attachment; filename") || strings.ContainsAny(d, "\r\n") {
		t.Errorf("disposition %q", d)
	}
	if w := s.do("GET", "/api/documents/h/original", "Range", "bytes=6-11"); w.Code != http.StatusPartialContent || w.Body.String() != page[6:12] {
		t.Errorf("range: %d %s", w.Code, w.Body)
	}
	if w := s.do("GET", "/api/documents/h/original", "If-None-Match", w.Header().Get("ETag")); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("not modified: %d", w.Code)
	}
	s.upload("s", "a.svg", "image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'><text>words here</text></svg>")
	if got := s.do("GET", "/api/documents/s/original").Header().Get("Content-Type"); got != "application/octet-stream" {
		t.Errorf("SVG as %s", got)
	}
	s.upload("p", "a.pdf", "application/pdf", "%PDF-1.4 not really")
	if got := s.do("GET", "/api/documents/p/original").Header().Get("Content-Type"); got != "application/pdf" {
		t.Errorf("PDF as %s", got)
	}
	// The folder of the server stays closed.
	_, err := s.ingester.IngestDocuments(t.Context(), corpus.DefaultCollection, []ingest.Source{{URI: "/etc/hostname", Name: "rules.md", Data: []byte("# House rules\n\nQuiet begins at 22.\n")}}, nil)
	require.NoError(t, err)
	id := get[documents.DocumentList](s, "/api/documents?collection=default").Documents[0].ID
	if d := get[documents.DocumentView](s, "/api/documents/"+id); d.Original || d.Folder == "" {
		t.Errorf("%+v", d)
	}
	_, err = s.ingester.IngestDocuments(t.Context(), corpus.DefaultCollection, []ingest.Source{{URI: "b.md", Name: "b.md", Data: []byte("# Other rules\n\nThe door closes at 20.\n")}}, nil)
	require.NoError(t, err)
	other := get[documents.DocumentList](s, "/api/documents?q=b.md").Documents[0].ID
	chunk := get[documents.DocumentText](s, "/api/documents/"+other+"/passages").Passages[0].ChunkID
	if got := get[documents.DocumentText](s, "/api/documents/"+id+"/passages?chunk="+chunk); got.End != 0 {
		t.Errorf("a chunk of another document: %+v", got)
	}
	s.refused(404, "GET", "/api/documents/"+id+"/original")
}

func TestRetry(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.upload("p", "a.pdf", "application/pdf", "%PDF-1.4 not really")
	s.upload("a", "a.md", "text/markdown", "# Text\n\nOf a file.\n")
	w := s.do("POST", "/api/documents/p/retry")
	if w.Code != 200 || strings.Contains(w.Body.String(), `"failed"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if task, err := s.files.WaitTask(t.Context(), "upload-p"); err != nil || task.Failure == "" {
		t.Errorf("%+v, %v", task, err)
	}
	s.refused(409, "POST", "/api/documents/a/retry")
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if w := s.do("GET", "/api/suggestions?collection="+url.QueryEscape(" b, a")+"&language=de"); strings.TrimSpace(w.Body.String()) != `{"questions":[]}` || s.asked != [2]string{"a,b", "de"} {
		t.Errorf("%s, asked with %q", w.Body, s.asked)
	}
	if s.do("GET", "/api/suggestions"); s.asked != [2]string{corpus.DefaultCollection, ""} {
		t.Errorf("asked with %q", s.asked)
	}
	// A key that is limited to collections gets questions about those only.
	for collection, status := range map[string]int{"b": 200, "a": 403, "a,b": 403, "": 403} {
		r := httptest.NewRequestWithContext(auth.With(t.Context(), auth.Identity{Tenant: auth.DefaultTenant, Account: "web", Key: "k", Scopes: []auth.Scope{auth.Ask}, Collections: []string{"b"}}),
			http.MethodGet, "http://localhost/api/suggestions?collection="+url.QueryEscape(collection), nil)
		w := httptest.NewRecorder()
		if s.handler.ServeHTTP(w, r); w.Code != status {
			t.Errorf("a limited key and %q: %d, want %d", collection, w.Code, status)
		}
	}
	s.refused(400, "GET", "/api/suggestions?collection=%00")
	s.refused(400, "GET", "/api/suggestions?language="+strings.Repeat("x", 300))
}
