package knowledge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/store"
)

// TestVectorStores creates, changes and deletes a vector store, and checks that each reply has what the service's client
// reads.
func TestVectorStores(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id, other := s.uploaded("gold.md", gold), s.uploaded("tide.md", tide)
	vs := s.post("/v1/vector_stores", `{"name":"Mine","id":"vs_mine","description":"What I read","file_ids":["`+id+`"],"metadata":{"description":"d"}}`)
	hold := func(vs map[string]any, name string, ids ...any) {
		t.Helper()
		typed(t, "vector store", vs, map[string]string{"id": "string", "object": "string", "name": "string", "description": "string", "created_at": "float64",
			"file_ids": "[]interface {}", "metadata": "map[string]interface {}", "file_counts": "map[string]interface {}", "bytes": "float64"})
		slices.SortFunc(ids, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		if diff := cmp.Diff(append([]any{}, ids...), vs["file_ids"]); diff != "" || vs["name"] != name || vs["id"] != "vs_mine" {
			t.Errorf("%v: %s", vs, diff)
		}
		n := float64(len(ids))
		if diff := cmp.Diff(map[string]any{"in_progress": 0.0, "completed": n, "failed": 0.0, "cancelled": 0.0, "total": n}, vs["file_counts"]); diff != "" {
			t.Errorf("counts: %s", diff)
		}
	}
	hold(s.get("/v1/vector_stores/vs_mine"), "Mine", id)
	if vs["task_id"] != "create-vs_mine" || vs["description"] != "What I read" {
		t.Errorf("%v", vs)
	}
	s.post("/v1/vector_stores/vs_mine", `{"join_file_ids":["`+other+`"]}`)
	hold(s.get("/v1/vector_stores/vs_mine"), "Mine", id, other)
	s.post("/v1/vector_stores/vs_mine", `{"left_file_ids":["`+id+`"],"name":"Ours","metadata":{"k":1}}`)
	vs = s.get("/v1/vector_stores/vs_mine")
	hold(vs, "Ours", other)
	if diff := cmp.Diff(map[string]any{"k": 1.0}, vs["metadata"]); diff != "" || vs["description"] != "What I read" {
		t.Errorf("%v: %s", vs["description"], diff)
	}
	if fs := s.get("/v1/vector_stores/vs_mine/files")["data"].([]any); len(fs) != 1 || fs[0].(map[string]any)["filename"] != "tide.md" {
		t.Errorf("files: %v", fs)
	}
	if list := s.get("/v1/vector_stores"); !strings.Contains(fmt.Sprint(list["data"]), "vs_mine") {
		t.Errorf("list: %v", list)
	}
	if d := s.json(200, "DELETE", "/v1/vector_stores/vs_mine", ""); d["id"] != "vs_mine" || d["deleted"] != true || d["object"] == "" {
		t.Errorf("%v", d)
	}
	for _, r := range []string{"GET /v1/vector_stores/vs_mine", "DELETE /v1/vector_stores/vs_mine", "GET /v1/vector_stores/vs_mine/files", "GET /v1/vector_stores/vs_mine/summary"} {
		method, path, _ := strings.Cut(r, " ")
		s.json(404, method, path, "")
	}
	s.json(404, "POST", "/v1/vector_stores/vs_mine/search", `{"query":"x"}`)
	s.json(404, "POST", "/v1/vector_stores/vs_mine", `{"name":"x"}`)
	s.get("/v1/files/" + other) // the files were not deleted with the vector store
}

func TestVectorStoreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.store("vs")
	long, err := json.Marshal(map[string]any{"name": "x", "metadata": map[string]string{"x": strings.Repeat("x", 100<<10)}})
	require.NoError(t, err)
	for body, want := range map[string]int{
		`{"name":"x","id":"../x"}`: 400, `{"name":"x","id":"a b"}`: 400, `{"name":"a\u0000b"}`: 400, `{"name":"` + strings.Repeat("x", 600) + `"}`: 400,
		`{"name":1}`: 400, `{"name":"x","file_ids":["nothing"]}`: 400, `{"name":"x","file_ids":"nothing"}`: 400, `{"name":"x","metadata":[]}`: 400,
		`{"name":"x","expires_after":-1}`: 400, string(long): 400, `[]`: 400, ``: 415, `{"name":"x","id":"vs"}`: 409,
		`{"name":"` + strings.Repeat("x", 2<<20) + `"}`: 413,
	} {
		kind := "application/json"
		if body == "" {
			kind = ""
		}
		if status, b := s.do("POST", "/v1/vector_stores", kind, strings.NewReader(body)); status != want {
			t.Errorf("%.60s: status %d, want %d: %.200s", body, status, want, b)
		}
	}
	for body, want := range map[string]int{`{"name":""}`: 400, `{"join_file_ids":["nothing"]}`: 400, `{"join_file_ids":[1]}`: 400, `{"left_file_ids":["nothing"]}`: 0} {
		if status, b := s.do("POST", "/v1/vector_stores/vs", "application/json", strings.NewReader(body)); want != 0 && status != want {
			t.Errorf("%s: status %d, want %d: %s", body, status, want, b)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	g, w, n := s.uploaded("gold.md", gold), s.uploaded("tide.md", tide), s.uploaded("salt.md", salt)
	s.store("vs", g, w, n)
	s.store("one", w)
	found := s.post("/v1/vector_stores/vs/search", `{"query":"Why does gold settle behind the riffles?","top_k":2,"filters":null}`)
	typed(t, "search", map[string]any{"object": found["object"], "search_query": found["search_query"], "data": found["data"], "has_more": found["has_more"],
		"request_id": found["request_id"]}, map[string]string{"object": "string", "search_query": "string", "data": "[]interface {}", "has_more": "bool", "request_id": "string"})
	if next, there := found["next_page"]; !there || next != nil {
		t.Errorf("next_page: %v", next)
	}
	rows := found["data"].([]any)
	if len(rows) != 2 || found["has_more"] != true {
		t.Fatalf("%d rows, more: %v", len(rows), found["has_more"])
	}
	last := 1.0
	for i, row := range rows {
		r := row.(map[string]any)
		typed(t, "row", r, map[string]string{"file_id": "string", "filename": "string", "score": "float64", "attributes": "map[string]interface {}", "content": "[]interface {}"})
		if c := r["content"].([]any)[0].(map[string]any); c["type"] != "text" || c["text"] == "" {
			t.Errorf("content: %v", c)
		}
		if score := r["score"].(float64); score > last || score < 0 {
			t.Errorf("row %d: score %v after %v", i, score, last)
		} else {
			last = score
		}
	}
	if first := rows[0].(map[string]any); first["file_id"] != g || first["filename"] != "gold.md" {
		t.Errorf("first row: %v", first)
	}
	// A search is restricted to its store.
	if ids, _ := s.rows("one", `{"query":"Why does gold settle behind the riffles?"}`); len(ids) != 1 || ids[0] != w {
		t.Errorf("another store's files: %v", ids)
	}
	// Nothing matches, but each file has one row: this is how the client lists the files.
	ids, texts := s.rows("vs", `{"query":"document content text information","top_k":50}`)
	slices.Sort(ids)
	want := []string{g, w, n}
	slices.Sort(want)
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("listing: %s", diff)
	}
	if slices.Contains(texts, "") {
		t.Error("a row without text")
	}
	// Each file has one row, even if one of them has more matching passages than the page has rows.
	var many strings.Builder
	for i := range 80 {
		fmt.Fprintf(&many, "## Document %d\n\nThe content of this document is text and information number %d.\n\n", i, i)
	}
	s.post("/v1/vector_stores/vs", `{"join_file_ids":["`+s.uploaded("many.md", many.String())+`"]}`)
	ids, _ = s.rows("vs", `{"query":"document content text information","top_k":50}`)
	slices.Sort(ids)
	if len(ids) != 4 || len(slices.Compact(ids)) != 4 {
		t.Errorf("listing: %v", ids)
	}
	if ids, _ := s.rows("vs", `{"query":"zzzz qqqq"}`); len(ids) < 3 {
		t.Errorf("without a match: %v", ids)
	}
}

// TestListingShowsBestPassages checks that a listing finds the best passage of each file, even if another file has more hits than
// the page has rows.
func TestListingShowsBestPassages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var many strings.Builder
	for i := range 12 {
		fmt.Fprintf(&many, "## Document %d\n\nDocument content, text information: %d.\n\n", i, i)
	}
	long := s.uploaded("long.md", many.String())
	short := s.uploaded("short.md", "# Gold\n\n"+gold+"\n\n# Note\n\nThe last text of the page, in many other words about ponds, sun and salt.\n")
	s.store("vs", long, short)
	page := s.post("/v1/vector_stores/vs/search", `{"query":"document content text information","top_k":5}`)
	for _, row := range page["data"].([]any) {
		if r := row.(map[string]any); r["score"].(float64) == 0 {
			t.Errorf("score of %v: 0, want that of a hit", r["filename"])
		}
	}
	if n := len(page["data"].([]any)); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

func TestSearchFilters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	g, w, n := s.uploaded("gold.md", gold), s.uploaded("tide.md", tide), s.uploaded("salt.md", salt)
	s.store("vs", g, w, n)
	s.post("/v1/files/"+g+"/content", `{"metadata":{"year":1849,"tags":["ore","water"]}}`)
	s.post("/v1/files/"+n+"/content", `{"metadata":{"year":1900},"title":"Of salt"}`)
	for filter, want := range map[string][]string{
		`{"type":"eq","key":"file_id","value":"` + w + `"}`:                                                                  {w},
		`{"type":"eq","key":"filename","value":"salt.md"}`:                                                                   {n},
		`{"type":"eq","key":"title","value":"Of salt"}`:                                                                      {n},
		`{"type":"eq","key":"content_type","value":"text/markdown"}`:                                                         {g, w, n},
		`{"type":"gt","key":"year","value":1850}`:                                                                            {n},
		`{"type":"eq","key":"tags","value":"ore"}`:                                                                           {g},
		`{"type":"ne","key":"file_id","value":"` + g + `"}`:                                                                  {w, n},
		`{"type":"in","key":"filename","value":["gold.md","tide.md"]}`:                                                       {g, w},
		`{"type":"eq","key":"segment_index","value":0}`:                                                                      {g, w, n},
		`{"type":"eq","key":"segment_index","value":999}`:                                                                    {},
		`{"type":"eq","key":"filename","value":"nothing"}`:                                                                   {},
		`{"type":"and","filters":[{"type":"gte","key":"year","value":1849},{"type":"eq","key":"segment_index","value":0}]}`:  {g, n},
		`{"type":"or","filters":[{"type":"eq","key":"filename","value":"tide.md"},{"type":"eq","key":"year","value":1849}]}`: {g, w},
	} {
		ids, _ := s.rows("vs", `{"query":"Why does gold settle behind the riffles?","filters":`+filter+`}`)
		slices.Sort(ids)
		slices.Sort(want)
		if diff := cmp.Diff(append([]string{}, want...), append([]string{}, slices.Compact(ids)...)); diff != "" {
			t.Errorf("%s: %s", filter, diff)
		}
	}
	s.rows("vs", `{"query":"x","max_num_results":5,"ranking_options":{"ranker":"auto"},"rewrite_query":false}`)
	for body, field := range map[string]string{
		`{"query":"x","filters":{"type":"like","key":"a","value":1}}`: "filters.type", `{"query":"x","filters":[1]}`: "filters", `{"query":""}`: "query",
		`{"query":"x","topk":5}`: "topk: unknown field; did you mean top_k?", `{"query":"x","score_threshold":1}`: "score_threshold: unknown field", `{"query":"x","query":"y"}`: "query: given twice",
		`{"query":"x","filters":{"type":"and","filters":[{"type":"eq","key":"a","value":1,"values":2}]}}`: "filters.filters[0].values: unknown field; did you mean value?",
		`{"query":"x","top_k":101}`: "top_k", `{"query":"x","top_k":-1}`: "top_k", `{"top_k":1}`: "query", `{"query":["x"]}`: "query", `{"query":"x","top_k":"5"}`: "top_k",
		`{"query":"` + strings.Repeat("x", 40_000) + `"}`: "query",
	} {
		status, b := s.do("POST", "/v1/vector_stores/vs/search", "application/json", strings.NewReader(body))
		if status != 400 || !strings.Contains(string(b), field) {
			t.Errorf("%.60s: status %d: %s", body, status, b)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.store("vs", s.uploaded("gold.md", gold), s.uploaded("tide.md", tide), s.uploaded("salt.md", salt))
	sum := s.get("/v1/vector_stores/vs/summary?model=qwen-max&max_tokens=1000")
	typed(t, "summary", sum, map[string]string{"vector_store_id": "string", "summary_text": "string", "model_used": "string", "created_at": "float64",
		"token_count": "float64", "duration_ms": "float64"})
	text := sum["summary_text"].(string)
	if sum["model_used"] != "extractive" || text == "" {
		t.Errorf("%v", sum)
	}
	for said := range strings.SplitSeq(strings.TrimSuffix(text, "."), ". ") {
		if !strings.Contains(gold+tide+salt, said) {
			t.Errorf("nobody said %q", said)
		}
	}
	if short := s.get("/v1/vector_stores/vs/summary?max_tokens=20")["summary_text"].(string); len(short) > 80 || !strings.HasSuffix(short, ".") {
		t.Errorf("%q", short)
	}
	s.json(400, "GET", "/v1/vector_stores/vs/summary?max_tokens=0", "")
	s.store("empty")
	s.get("/v1/vector_stores/empty/summary")
}

func status(t *testing.T, s *site) {
	if list := s.get("/v1/models")["data"].([]any); len(list) != 2 || list[0].(map[string]any)["id"] != "first" {
		t.Errorf("models: %v", list)
	}
	status := s.get("/v1/serverstatus")
	typed(t, "status", status, map[string]string{"status": "string", "version": "string", "timestamp": "float64", "uptime": "float64",
		"services": "map[string]interface {}", "metrics": "map[string]interface {}", "features": "map[string]interface {}"})
	if h := s.get("/v1/serverstatus/health"); h["status"] != "healthy" || status["status"] != "healthy" || status["version"] != "test" {
		t.Errorf("%v, %v", h, status)
	}
}

func TestHealthShowsParts(t *testing.T) {
	t.Parallel()
	part := server.Part{Status: server.PartDegraded, Detail: "run sluice reconcile"}
	s := newSite(t, func(p *parts) {
		p.routes.Parts = func(context.Context) map[string]server.Part { return map[string]server.Part{"store": part} }
	})
	if h := s.get("/v1/serverstatus/health"); h["status"] != "degraded" || !cmp.Equal(h["issues"], any([]any{"run sluice reconcile"})) {
		t.Errorf("degraded: %v", h)
	}
	part = server.Part{Status: server.PartFailed, Detail: "the disk is full"}
	h := s.json(http.StatusServiceUnavailable, "GET", "/v1/serverstatus/health", "")
	if diff := cmp.Diff([]any{"the disk is full"}, h["issues"]); diff != "" || h["status"] != "unhealthy" {
		t.Errorf("%v: %s", h, diff)
	}
	if status := s.get("/v1/serverstatus"); status["status"] != "unhealthy" {
		t.Errorf("%v", status)
	}
}

func wrongMethods(t *testing.T, s *site) {
	for _, path := range []string{"/v1/files", "/v1/files/x/content", "/v1/vector_stores/x", "/v1/responses/x", "/v1/serverstatus"} {
		if status, b := s.do("PATCH", path, "", nil); status != http.StatusMethodNotAllowed || !json.Valid(b) {
			t.Errorf("%s: status %d: %s", path, status, b)
		}
	}
}

// TestFolderIsVectorStore: the collection of a folder can be used as a vector store.
func TestFolderIsVectorStore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.ingester.IngestDocuments(t.Context(), "default", []ingest.Source{{URI: "notes/gold.md", Data: []byte(gold)}}, nil)
	require.NoError(t, err)
	vs := s.get("/v1/vector_stores/default")
	if vs["id"] != "default" || vs["file_counts"].(map[string]any)["completed"] != 1.0 {
		t.Errorf("%v", vs)
	}
	found := s.post("/v1/vector_stores/default/search", `{"query":"gold settles behind riffles","filters":{"type":"eq","key":"filename","value":"gold.md"}}`)["data"].([]any)
	if len(found) != 1 || found[0].(map[string]any)["filename"] != "gold.md" {
		t.Fatalf("%v", found)
	}
	d := s.get("/v1/files/" + found[0].(map[string]any)["file_id"].(string) + "/content")
	typed(t, "document", d, content)
	if d["filename"] != "gold.md" || d["content"].(map[string]any)["outline"] != "Gold" {
		t.Errorf("%v", d)
	}
	listed := s.get("/v1/vector_stores/default/files")["data"].([]any)
	if f := listed[0].(map[string]any); len(listed) != 1 || f["filename"] != "gold.md" || f["bytes"] != float64(len(gold)) {
		t.Errorf("%v", listed)
	}
	if f := s.get("/v1/files/" + d["id"].(string)); f["filename"] != "gold.md" || f["status"] != "processed" {
		t.Errorf("%v", f)
	}
	if text := s.get("/v1/vector_stores/default/summary")["summary_text"]; text == "" {
		t.Error("no summary")
	}
	s.uploaded("tide.md", tide)
	if ids, _ := s.rows("default", `{"query":"the tide rises"}`); len(ids) != 1 {
		t.Errorf("files are in the folder: %v", ids)
	}
}

// keeping is a store with another name, since an embedded Store would hide the method Store.
type keeping interface{ files.Store }

// counting is a store that counts the requests for files, one by one and by id.
type counting struct {
	keeping
	single, many atomic.Int64
}

func (c *counting) File(ctx context.Context, id string) (store.File, error) {
	c.single.Add(1)
	return c.keeping.File(ctx, id)
}

func (c *counting) FilesByID(ctx context.Context, ids []string) ([]store.File, error) {
	c.many.Add(1)
	return c.keeping.FilesByID(ctx, ids)
}

// TestFilterAsksOnce: a filter and a list of files do not request each file from the store.
func TestFilterAsksOnce(t *testing.T) {
	t.Parallel()
	asked := &counting{}
	s := newSite(t, func(p *parts) { asked.keeping = p.files.Store; p.files.Store = asked })
	var ids []string
	for i := range 6 {
		ids = append(ids, s.uploaded(fmt.Sprintf("%d.md", i), gold))
	}
	s.store("vs", ids...)
	asked.single.Store(0)
	asked.many.Store(0)
	found, _ := s.rows("vs", `{"query":"gold","filters":{"type":"ne","key":"filename","value":"3.md"}}`)
	if len(found) != 5 || slices.Contains(found, ids[3]) {
		t.Errorf("found %v of %v", found, ids)
	}
	if list := s.get("/v1/vector_stores/vs/files"); len(list["data"].([]any)) != 6 {
		t.Errorf("%v", list)
	}
	if one, many := asked.single.Load(), asked.many.Load(); one > 0 || many > 2 {
		t.Errorf("asked %d times for one file, %d times for several", one, many)
	}
}
