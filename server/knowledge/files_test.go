package knowledge_test

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the contract's hash
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/files/fetch"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/store"
)

func hash(text string) string {
	sum := md5.Sum([]byte(text)) //nolint:gosec // the contract's hash
	return hex.EncodeToString(sum[:])
}

// TestUpload uploads a file in the way of the service's client: the file first, with a percent-encoded name, followed by
// the fields.
func TestUpload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const id = "0b5f0a4e-9a3c-4f6e-8f43-0d9d8a1c2b3d"
	f := s.form(http.StatusOK,
		part{field: "file", filename: "%E6%8A%A5%20no%201.md", kind: "application/octet-stream", body: gold},
		part{field: "purpose", body: "qa"}, part{field: "id", body: id}, part{field: "md5", body: hash(gold)},
		part{field: "parse_options", body: `{"summary":"enable","vectorize":"enable"}`}, part{field: "request_id", body: "r1"})
	for key, want := range map[string]any{"id": id, "object": "file", "filename": "报 no 1.md", "bytes": float64(len(gold)), "purpose": "qa",
		"task_id": "upload-" + id, "md5": hash(gold)} {
		if f[key] != want {
			t.Errorf("%s: %v, want %v", key, f[key], want)
		}
	}
	if _, ok := f["metadata"].(map[string]any); !ok {
		t.Errorf("metadata: %v", f["metadata"])
	}
	if at, ok := f["created_at"].(float64); !ok || time.Since(time.Unix(int64(at), 0)) > time.Hour {
		t.Errorf("created_at: %v", f["created_at"])
	}
	s.await("upload-" + id)
	task := s.get("/v1/tasks/upload-" + id)
	for key, want := range map[string]any{"id": "upload-" + id, "object": "task", "status": "completed", "progress": 100.0, "resource_id": id} {
		if task[key] != want {
			t.Errorf("task: %s: %v, want %v", key, task[key], want)
		}
	}
	if _, ok := task["data"].(map[string]any); !ok {
		t.Errorf("task: data: %v", task["data"])
	}
	if f := s.get("/v1/files/" + id); f["status"] != "processed" || f["content_type"] != "text/markdown" {
		t.Errorf("status %v, type %v", f["status"], f["content_type"])
	}
	// The same bytes again: another file, unless that is not typeName, and a task that is over in either case.
	again := s.form(http.StatusOK, part{field: "file", filename: "b.md", body: gold}, part{field: "skip_exists", body: "true"})
	if again["id"] != id || again["task_id"] != "upload-"+id {
		t.Errorf("a duplicate is %v with task %v", again["id"], again["task_id"])
	}
	other := s.form(http.StatusOK, part{field: "skip_exists", body: "false"}, part{field: "file", filename: "b.md", body: gold})
	if other["id"] == id {
		t.Error("a file was skipped that was not to be")
	}
	s.await(other["task_id"].(string))
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`).MatchString(other["id"].(string)) {
		t.Errorf("id: %v", other["id"])
	}
}

// TestSlashAtTheEnd: clients may send paths with two slashes, and cannot follow a redirect of an upload.
func TestSlashAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.url += "/"
	kind, body := multipartOf(part{field: "file", filename: "a.md", body: gold})
	status, b := s.do("POST", "/v1/files", kind, io.NopCloser(bytes.NewReader(body)))
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, b)
	}
	id := object(t, b)["id"].(string)
	s.await("upload-" + id)
	s.get("/v1/files/" + id + "/content")
	s.json(http.StatusNotFound, "GET", "/v1/files/a%2Fb", "")
}

func uploadRefused(t *testing.T, s *site) {
	before := len(s.get("/v1/files")["data"].([]any))
	file := part{field: "file", filename: "a.md", body: gold}
	for name, test := range map[string]struct {
		parts  []part
		status int
		field  string
	}{
		"no file":        {[]part{{field: "purpose", body: "qa"}}, 400, "file"},
		"two files":      {[]part{file, file}, 400, "file"},
		"no name":        {[]part{{field: "file", body: gold}}, 400, "file"},
		"other part":     {[]part{{field: "upload", filename: "a.md", body: gold}}, 400, "file"},
		"file and url":   {[]part{file, {field: "url", body: "http://example.com/"}}, 400, "url"},
		"wrong md5":      {[]part{file, {field: "md5", body: hash("x")}}, 400, "md5"},
		"md5 of no form": {[]part{file, {field: "md5", body: "zz"}}, 400, "md5"},
		"options":        {[]part{file, {field: "parse_options", body: "[]"}}, 400, "parse_options"},
		"skip":           {[]part{file, {field: "skip_exists", body: "perhaps"}}, 400, "skip_exists"},
		"purpose":        {[]part{file, {field: "purpose", body: strings.Repeat("x", 100)}}, 400, "purpose"},
		"id":             {[]part{file, {field: "id", body: "../../etc"}}, 400, "id"},
		"name of folder": {[]part{{field: "file", filename: "..", body: gold}}, 400, "filename"},
		"control":        {[]part{{field: "file", filename: "a%00.md", body: gold}}, 400, "filename"},
		"unknown field":  {[]part{file, {field: "skip_exist", body: "true"}}, 400, "skip_exist: unknown field; did you mean skip_exists?"},
		"unknown first":  {[]part{{field: "zebra", body: "x"}, file}, 400, "zebra: unknown field"},
		"field twice":    {[]part{{field: "purpose", body: "a"}, file, {field: "purpose", body: "b"}}, 400, "purpose: given twice"},
		"a long field":   {[]part{file, {field: "request_id", body: strings.Repeat("x", 100<<10)}}, 413, "request_id: over the limit"},
		"fields in sum":  {[]part{{field: "id", body: strings.Repeat("x", 60<<10)}, {field: "md5", body: strings.Repeat("x", 60<<10)}, {field: "url", body: strings.Repeat("x", 60<<10)}, {field: "name", body: strings.Repeat("x", 60<<10)}, {field: "request_id", body: strings.Repeat("x", 60<<10)}}, 413, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kind, body := multipartOf(test.parts...)
			status, b := s.do("POST", "/v1/files", kind, bytes.NewReader(body))
			if status != test.status || test.field != "" && !strings.Contains(string(b), test.field) {
				t.Errorf("status %d: %s", status, b)
			}
		})
	}
	if list := s.get("/v1/files"); len(list["data"].([]any)) != before {
		t.Errorf("files are there: %v", list["data"])
	}
}

func uploadForms(t *testing.T, s *site) {
	kind, whole := multipartOf(part{field: "file", filename: "a.md", body: gold})
	urlencoded := "application/x-www-form-urlencoded"
	for name, test := range map[string]struct {
		kind   string
		body   string
		status int
	}{
		"cut in the file":    {kind, string(whole[:len(whole)-60]), 400},
		"cut in the header":  {kind, string(whole[:70]), 400},
		"nothing":            {kind, "", 400},
		"another boundary":   {"multipart/form-data; boundary=zzz", string(whole), 400},
		"no boundary":        {"multipart/form-data", string(whole), 400},
		"a long boundary":    {"multipart/form-data; boundary=" + strings.Repeat("x", 100), string(whole), 400},
		"boundary in it":     {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.md\"\r\n\r\nx --b\r\n--bb\r\n--b--\r\n", 200},
		"a header too long":  {"multipart/form-data; boundary=b", "--b\r\nX: " + strings.Repeat("x", 100<<10), 400},
		"JSON":               {"application/json", `{"url":"http://example.com/"}`, 415},
		"no type":            {"", string(whole), 415},
		"form of nothing":    {urlencoded, "", 400},
		"form without url":   {urlencoded, "name=a.md", 400},
		"form of bad bytes":  {urlencoded, "url=%zz", 400},
		"form of 1e5 fields": {urlencoded, strings.Repeat("a=1&", 50_000), 400},
		"form too long":      {urlencoded, "url=" + strings.Repeat("x", 300<<10), 413},
	} {
		t.Run(name, func(t *testing.T) {
			if status, b := s.do("POST", "/v1/files", test.kind, strings.NewReader(test.body)); status != test.status {
				t.Errorf("status %d, want %d: %s", status, test.status, b)
			}
		})
	}
}

// TestEmptyFile is accepted, its task fails with a reason, and it can be deleted.
func TestEmptyFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kind, body := multipartOf(part{field: "file", filename: "empty.md"})
	status, b := s.do("POST", "/v1/files", kind, bytes.NewReader(body))
	if status == http.StatusBadRequest {
		return // a rejection would be fine too
	}
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, b)
	}
	task := object(t, b)["task_id"].(string)
	end, err := s.files.WaitTask(t.Context(), task)
	require.NoError(t, err)
	if !end.Status.Final() {
		t.Errorf("status %s", end.Status)
	}
}

func TestUploadOfURL(t *testing.T) {
	t.Parallel()
	pages := http.NewServeMux()
	pages.HandleFunc("GET /a.md", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, gold) })
	pages.Handle("GET /away", http.RedirectHandler("/a.md", http.StatusFound))
	web := httptest.NewServer(pages)
	defer web.Close()
	here := netip.MustParsePrefix("127.0.0.0/8")
	open := newSite(t, func(p *parts) { p.files.Fetch = fetch.New(fetch.Options{Allow: []netip.Prefix{here}}) })
	closed := newSite(t, func(p *parts) { p.files.Fetch = fetch.New(fetch.Options{}) })
	none := newSite(t)
	ask := func(s *site, values url.Values) (int, map[string]any) {
		status, b := s.do("POST", "/v1/files", "application/x-www-form-urlencoded", strings.NewReader(values.Encode()))
		return status, object(t, b)
	}
	form := func(path string) url.Values {
		return url.Values{"url": {web.URL + path}, "name": {"a.md"}, "file_type": {"text/markdown"}, "purpose": {"general"}}
	}
	for path, want := range map[string]store.Status{"/a.md": store.Completed, "/away": store.Completed, "/nothing": store.Failed, "/nothing?token=secret": store.Failed} {
		status, f := ask(open, form(path))
		if status != http.StatusOK || f["filename"] != "a.md" || f["task_id"] != "upload-"+f["id"].(string) {
			t.Fatalf("%s: status %d: %v", path, status, f)
		}
		end, err := open.files.WaitTask(t.Context(), f["task_id"].(string))
		require.NoError(t, err)
		if end.Status != want {
			t.Errorf("%s: %s: %s", path, end.Status, end.Failure)
		}
		task := open.get("/v1/tasks/" + f["task_id"].(string))
		if why, _ := task["failure_reason"].(string); (why != "") != (want == store.Failed) {
			t.Errorf("%s: task: %v", path, task)
		}
		if shown := fmt.Sprint(f, open.get("/v1/files/"+f["id"].(string)), open.get("/v1/files")); strings.Contains(shown, "secret") {
			t.Errorf("%s: the query is shown: %s", path, shown)
		}
		if d := open.get("/v1/files/" + f["id"].(string) + "/content"); strings.Contains(fmt.Sprint(d), "secret") || (d["content"] == nil) != (want == store.Failed) {
			t.Errorf("%s: content: %v", path, d["content"])
		}
	}
	if status, f := ask(closed, form("/a.md")); status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(f), "url") {
		t.Errorf("an address of this machine: status %d: %v", status, f)
	}
	if status, f := ask(none, form("/a.md")); status != http.StatusBadRequest {
		t.Errorf("without a fetcher: status %d: %v", status, f)
	}
	for _, bad := range []string{"file:///etc/passwd", "ftp://example.com/a", "javascript:1", "http://", "//example.com/a", "not a url"} {
		if status, f := ask(open, url.Values{"url": {bad}}); status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %v", bad, status, f)
		}
	}
}

// content lists the keys, with their types, that the three clients of a file's content need.
var content = map[string]string{"id": "string", "object": "string", "filename": "string", "bytes": "float64", "size": "float64", "purpose": "string",
	"created_at": "string", "updated_at": "string", "md5sum": "string", "mime_type": "string", "title": "string", "author": "string", "owner": "string",
	"url": "string", "bookmarks": "[]interface {}", "highlights": "[]interface {}", "notes": "[]interface {}", "related_docs": "[]interface {}",
	"permissions": "[]interface {}", "vector_store_ids": "[]interface {}", "metadata": "map[string]interface {}", "is_favorite": "bool", "is_delete": "bool",
	"content": "map[string]interface {}"}

var inner = map[string]string{"id": "string", "abstract": "string", "summary": "string", "outline": "string", "language": "string", "file_type": "string",
	"page_count": "float64", "keywords": "[]interface {}", "metadata": "map[string]interface {}", "vector_store_ids": "[]interface {}",
	"contexts": "[]interface {}", "images": "[]interface {}", "segments": "[]interface {}"}

func typed(t *testing.T, what string, v map[string]any, want map[string]string) {
	t.Helper()
	for key, kind := range want {
		if got := fmt.Sprintf("%T", v[key]); got != kind {
			t.Errorf("%s: %s is %s, want %s", what, key, got, kind)
		}
	}
	for key, value := range v {
		if value == nil {
			t.Errorf("%s: %s is null", what, key)
		}
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.uploaded("gold.md", gold)
	s.store("vs_a", id)
	s.store("vs_b", id)
	d := s.get("/v1/files/" + id + "/content")
	typed(t, "document", d, content)
	c := d["content"].(map[string]any)
	typed(t, "content", c, inner)
	if c["id"] != hash(gold) || d["md5sum"] != hash(gold) {
		t.Errorf("ids: %v, %v", c["id"], d["md5sum"])
	}
	for _, key := range []string{"created_at", "updated_at"} {
		if at := d[key].(string); !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$`).MatchString(at) {
			t.Errorf("%s: %s", key, at)
		}
	}
	for i, seg := range c["segments"].([]any) {
		g := seg.(map[string]any)
		typed(t, "segment", g, map[string]string{"id": "string", "content": "string", "index": "float64", "metadata": "map[string]interface {}", "url": "string"})
		if want := fmt.Sprintf("%s-P%04d", hash(gold), i); g["id"] != want || g["index"] != float64(i) {
			t.Errorf("segment %d: %v, %v", i, g["id"], g["index"])
		}
	}
	if diff := cmp.Diff([]any{"vs_a", "vs_b"}, d["vector_store_ids"]); diff != "" {
		t.Error(diff)
	}
	if c["outline"] != "Gold" {
		t.Errorf("outline: %q", c["outline"])
	}
	s.json(404, "GET", "/v1/files/nothing/content", "")
}

// TestContentInPieces reads a document with more segments than fit in one reply.
func TestContentInPieces(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "## Heading %d\n\nSentence %d tells of a matter of its own, which nothing else in this text does.\n\n", i, i)
	}
	id := s.uploaded("long.md", b.String())
	whole := s.get("/v1/files/" + id + "/content")["content"].(map[string]any)
	var pieces []any
	at, more := 0.0, true
	for more {
		c := s.get(fmt.Sprintf("/v1/files/%s/content?limit=7&start_segment=%v", id, at))["content"].(map[string]any)
		if n := len(c["segments"].([]any)); n > 7 {
			t.Fatalf("%d segments", n)
		}
		pieces = append(pieces, c["segments"].([]any)...)
		if more = c["has_more"].(bool); more {
			at = c["next_segment"].(float64)
		}
	}
	if diff := cmp.Diff(whole["segments"], any(pieces)); diff != "" || len(pieces) < 8 {
		t.Errorf("%d segments: %s", len(pieces), diff)
	}
	for _, query := range []string{"limit=0", "limit=501", "start_segment=-1", "limit=x"} {
		s.json(400, "GET", "/v1/files/"+id+"/content?"+query, "")
	}
}

// frugal is an index that records how many passages were requested at once.
type frugal struct {
	files.Index
	most atomic.Int64
}

func (f *frugal) DocumentChunks(ctx context.Context, collection string, id corpus.DocumentID, level corpus.Level, from, limit int) ([]corpus.Chunk, error) {
	if level == corpus.Passage {
		f.most.Store(max(f.most.Load(), int64(limit)))
	}
	return f.Index.DocumentChunks(ctx, collection, id, level, from, limit)
}

// TestContentReadsWhatIsWanted: of a long document, only the passages of the reply and one more are read.
func TestContentReadsWhatIsWanted(t *testing.T) {
	t.Parallel()
	asked := &frugal{}
	s := newSite(t, func(p *parts) { asked.Index = p.files.Index; p.files.Index = asked })
	id := s.uploaded("long.md", strings.Repeat(gold+tide, 20))
	if c := s.get("/v1/files/" + id + "/content?limit=1&start_segment=3")["content"].(map[string]any); c["next_segment"] != 4.0 || c["has_more"] != true {
		t.Errorf("%v", c)
	}
	if n := asked.most.Swap(0); n > 2 {
		t.Errorf("%d passages were read for one", n)
	}
	s.post("/v1/files/"+id+"/content", `{"title": "Long", "vector_store_ids": []}`)
	if n := asked.most.Load(); n > 0 {
		t.Errorf("%d passages were read for a note", n)
	}
}

func TestUpdateContent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.uploaded("gold.md", gold)
	s.store("vs_a", id)
	s.store("vs_b")
	path := "/v1/files/" + id + "/content"
	d := s.post(path, `{"title":"Of gold","author":"A. Miner","read_progress":0.5,"bookmarks":[1,2],"highlights":["heavier"],"notes":["n"],
		"related_docs":["x"],"is_favorite":true,"owner":"me","permissions":["read"],"metadata":{"year":1849},"vector_store_ids":["vs_b"]}`)
	if d["id"] != id || d["updated_at"] == "" {
		t.Errorf("reply: %v", d)
	}
	d = s.get(path)
	typed(t, "document", d, content)
	for key, want := range map[string]any{"title": "Of gold", "author": "A. Miner", "read_progress": 0.5, "bookmarks": []any{1.0, 2.0}, "highlights": []any{"heavier"},
		"notes": []any{"n"}, "related_docs": []any{"x"}, "is_favorite": true, "owner": "me", "permissions": []any{"read"}, "metadata": map[string]any{"year": 1849.0},
		"vector_store_ids": []any{"vs_b"}} {
		if diff := cmp.Diff(want, d[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	// What is left out stays, and what is null too.
	s.post(path, `{"title":null,"notes":[]}`)
	d = s.get(path)
	if d["title"] != "Of gold" || len(d["notes"].([]any)) != 0 || d["author"] != "A. Miner" {
		t.Errorf("%v, %v, %v", d["title"], d["notes"], d["author"])
	}
	big, err := json.Marshal(map[string]any{"metadata": map[string]string{"x": strings.Repeat("x", 100<<10)}})
	require.NoError(t, err)
	for body, want := range map[string]int{`[]`: 400, `{"titel":"x"}`: 400, `{"title":"x","title":"y"}`: 400, `{"read_progress":2}`: 400, `{"bookmarks":["a"]}`: 400, `{"title":1}`: 400, `{"metadata":[]}`: 400, string(big): 400,
		`{"vector_store_ids":["vs_nothing"]}`: 400, `{`: 400, `{"metadata":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_001): 400} {
		s.json(want, "POST", path, body)
	}
	s.json(404, "POST", "/v1/files/nothing/content", `{"title":"x"}`)
	if status, _ := s.do("POST", path, "text/plain", strings.NewReader(`{}`)); status != 415 {
		t.Errorf("status %d", status)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "Paragraph %d tells of a matter of its own, which nothing else in this text does.\n\n", i)
	}
	id := s.uploaded("long.txt", b.String())
	all := s.get("/v1/files/" + id + "/pages")
	pages := all["pages"].([]any)
	if len(pages) < 2 {
		t.Fatalf("%d pages", len(pages))
	}
	second := s.get("/v1/files/" + id + "/pages?start_page=2&end_page=2")["pages"].([]any)
	if diff := cmp.Diff(pages[1:2], second); diff != "" {
		t.Error(diff)
	}
	if p := second[0].(map[string]any); p["page_number"] != 2.0 || p["content"] == "" {
		t.Errorf("%v", p)
	}
	if past := s.get("/v1/files/" + id + "/pages?start_page=100000"); len(past["pages"].([]any)) != 0 {
		t.Errorf("%v", past)
	}
	for query, want := range map[string]int{"start_page=0": len(pages), "start_page=0&end_page=0": 1, "end_page=0": 1, "start_page=0&end_page=1": 1, "start_page=1&end_page=1": 1} {
		got := s.get("/v1/files/" + id + "/pages?" + query)["pages"].([]any)
		if len(got) != want || !cmp.Equal(got[0], pages[0]) {
			t.Errorf("%s: %d pages, want %d from the first", query, len(got), want)
		}
	}
	for _, query := range []string{"start_page=-1", "start_page=x", "start_page=3&end_page=2", "end_page=-1"} {
		s.json(400, "GET", "/v1/files/"+id+"/pages?"+query, "")
	}
	s.json(404, "GET", "/v1/files/nothing/pages", "")
}

func TestDeleteFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id, other := s.uploaded("gold.md", gold), s.uploaded("tide.md", tide)
	s.store("vs", id, other)
	if d := s.json(200, "DELETE", "/v1/files/"+id, ""); d["id"] != id || d["deleted"] != true || d["object"] == "" {
		t.Errorf("%v", d)
	}
	for _, path := range []string{"/v1/files/" + id, "/v1/files/" + id + "/content", "/v1/files/" + id + "/pages"} {
		s.json(404, "GET", path, "")
	}
	s.json(404, "DELETE", "/v1/files/"+id, "")
	if ids, _ := s.rows("vs", `{"query":"gold settles behind riffles"}`); len(ids) != 1 || ids[0] != other {
		t.Errorf("found %v", ids)
	}
	if vs := s.get("/v1/vector_stores/vs"); len(vs["file_ids"].([]any)) != 1 {
		t.Errorf("%v", vs["file_ids"])
	}
}

func TestListFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 5 {
		s.uploaded(fmt.Sprintf("f%d.md", i), fmt.Sprintf("Text number %d of five, and none of them is like another.", i))
	}
	var seen []string
	after := ""
	for more := true; more; {
		list := s.get("/v1/files?limit=2&after=" + after)
		for _, f := range list["data"].([]any) {
			seen = append(seen, f.(map[string]any)["filename"].(string))
		}
		after, more = list["last_id"].(string), list["has_more"].(bool)
	}
	if len(seen) != 5 {
		t.Errorf("%v", seen)
	}
	s.json(400, "GET", "/v1/files?limit=0", "")
	s.json(400, "GET", "/v1/files?limit=101", "")
	s.json(400, "GET", "/v1/files?after=%00", "")
}

func hostilePaths(t *testing.T, s *site) {
	for _, id := range []string{"..%2f..%2fetc%2fpasswd", "%00", "a%0d%0ab", strings.Repeat("x", 5000), "%ff", "*", "'%20OR%201=1--", "file:x", "%1f"} {
		for _, r := range []string{"GET /v1/files/%s", "GET /v1/files/%s/content", "GET /v1/files/%s/pages", "DELETE /v1/files/%s", "GET /v1/tasks/%s", "GET /v1/vector_stores/%s",
			"DELETE /v1/vector_stores/%s", "GET /v1/vector_stores/%s/files", "GET /v1/vector_stores/%s/summary", "GET /v1/responses/%s", "GET /v1/responses/%s?stream=true",
			"DELETE /v1/responses/%s", "POST /v1/responses/%s/cancel"} {
			method, path, _ := strings.Cut(fmt.Sprintf(r, id), " ")
			if status, b := s.do(method, path, "", nil); status != 404 && status != 400 {
				t.Errorf("%s %.80s: status %d: %s", method, path, status, b)
			}
		}
	}
}

// TestContentIsBounded reads a text that is too long for one reply in several parts.
func TestContentIsBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.uploaded("long.txt", strings.Repeat(strings.Repeat("x", 2000)+"\n\n", 320)) // 640 KB
	total, at, more := 0, 0.0, true
	for more {
		status, b := s.do("GET", fmt.Sprintf("/v1/files/%s/content?start_segment=%v", id, at), "", nil)
		if status != http.StatusOK || len(b) > 700<<10 {
			t.Fatalf("status %d, %d bytes", status, len(b))
		}
		c := object(t, b)["content"].(map[string]any)
		for _, seg := range c["segments"].([]any) {
			total += len(seg.(map[string]any)["content"].(string))
		}
		if more = c["has_more"].(bool); more {
			if next := c["next_segment"].(float64); next <= at {
				t.Fatalf("from %v to %v", at, next)
			}
			at = c["next_segment"].(float64)
		}
	}
	if total < 640_000 {
		t.Errorf("%d bytes of text", total)
	}
}
