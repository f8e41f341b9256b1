package knowledge_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestRefusals sends invalid requests.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name, test := range map[string]func(*testing.T, *site){"uploads": uploadRefused, "forms": uploadForms, "bodies": hostileBodies, "paths": hostilePaths, "methods": wrongMethods, "status": status} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// hostileBodies: the server either rejects a body with the name of the field, or all clients can read what it returns.
func hostileBodies(t *testing.T, s *site) {
	id := s.uploaded("hostile.md", gold)
	s.store("hostile")
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for _, test := range []struct{ path, body, field string }{
		{"/v1/vector_stores", "{\"name\":\"x\",\"metadata\":{\"a\":\"\xff\"}}", "body"},
		{"/v1/vector_stores", `{"name":"x","metadata":{"a":` + deep + `}}`, "metadata"},
		{"/v1/vector_stores", `{"name":"x","metadata":{"a":1e999}}`, "metadata"},
		{"/v1/vector_stores", `{"name":"x","metadata":[]}`, "metadata"},
		{"/v1/vector_stores", `null`, "body: want a JSON object"},
		{"/v1/vector_stores", `{"name":"x","file_ids":[1]}`, "file_ids[0]: want a string"},
		{"/v1/vector_stores", `{"name":"x","file_ids":"a"}`, "file_ids: want a list"},
		{"/v1/vector_stores", `{"name":"x","expires_after":{"days":1}}`, "expires_after: want an integer"},
		{"/v1/vector_stores/hostile", `{"metadata":{"a":` + deep + `}}`, "metadata"},
		{"/v1/vector_stores/hostile/search", `{"query":"x","max_num_results":999}`, "max_num_results"},
		{"/v1/vector_stores/hostile/search", `{"query":"x","top_k":-1}`, "top_k"},
		{"/v1/files/" + id + "/content", "{\"title\":\"\xff\"}", "body"},
		{"/v1/files/" + id + "/content", `{"metadata":{"a":` + deep + `}}`, "metadata"},
		{"/v1/files/" + id + "/content", `{"is_favorite":"yes"}`, "is_favorite: want true or false"},
		{"/v1/files/" + id + "/content", `{"read_progress":"x"}`, "read_progress: want a number"},
	} {
		refusal := s.json(http.StatusBadRequest, "POST", test.path, test.body)
		field, _, _ := strings.Cut(test.field, ":")
		if at := refusal["detail"].(map[string]any)["field"]; at != field || !strings.HasPrefix(refusal["message"].(string), test.field) {
			t.Errorf("%.80s: %v", test.body, refusal)
		}
	}
	const half, n = `{"metadata":{"half":"\ud800","n":12345678901234567890}}`, `"half":"\ufffd","n":12345678901234567890`
	s.post("/v1/vector_stores/hostile", half)
	s.post("/v1/files/"+id+"/content", half)
	for _, path := range []string{"/v1/vector_stores/hostile", "/v1/files/" + id, "/v1/vector_stores", "/v1/files"} {
		if _, b := s.do("GET", path, "", nil); !utf8.Valid(b) || !strings.Contains(strings.ReplaceAll(string(b), "\uFFFD", `\ufffd`), n) {
			t.Errorf("%s: %s", path, b)
		}
	}
	if vs := s.post("/v1/vector_stores", `{"name":"  "}`); vs["name"] != vs["id"] {
		t.Errorf("a name of nothing: %v", vs)
	}
}

// TestBrokenUpload: an upload whose connection breaks leaves nothing behind.
func TestBrokenUpload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kind, body := multipartOf(part{field: "file", filename: "a.md", body: strings.Repeat(gold, 1000)}, part{field: "purpose", body: "qa"})
	for _, cut := range []int{10, 200, len(body) / 2, len(body) - 10} {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		_, err = fmt.Fprintf(c, "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(body), body[:cut])
		require.NoError(t, err)
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			if res.StatusCode != http.StatusBadRequest {
				t.Errorf("cut at %d: %s", cut, res.Status)
			}
			_, _ = io.Copy(io.Discard, res.Body) // only its end matters
			res.Body.Close()
		}
		c.Close()
	}
	if list := s.get("/v1/files")["data"].([]any); len(list) != 0 {
		t.Errorf("files are there: %v", list)
	}
}

// TestTooLongUpload is rejected, whether or not the client declares the size.
func TestTooLongUpload(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(p *parts) { p.files.MaxFileBytes, p.routes.MaxFileBytes = 64<<10, 64<<10 })
	for _, size := range []int{65 << 10, 3 << 20} {
		kind, body := multipartOf(part{field: "file", filename: "a.md", body: strings.Repeat("x", size)})
		for name, r := range map[string]io.Reader{"said": bytes.NewReader(body), "unsaid": io.MultiReader(bytes.NewReader(body))} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/files", r)
			require.NoError(t, err)
			req.Header.Set("Content-Type", kind)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				continue // the server closed the connection before all of it was sent
			}
			text, err := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != http.StatusRequestEntityTooLarge || err == nil && !strings.Contains(string(text), "limit of 65536 bytes; the server can be started with a higher one: --max-file-bytes") {
				t.Errorf("%d bytes, %s: %s: %s", size, name, res.Status, text)
			}
		}
	}
	if list := s.get("/v1/files")["data"].([]any); len(list) != 0 {
		t.Errorf("files are there: %v", list)
	}
}

// TestExpectedUpload: clients that wait for permission to send the body learn of an error at once, or send the body.
func TestExpectedUpload(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(p *parts) { p.files.MaxFileBytes, p.routes.MaxFileBytes = 64<<10, 64<<10 })
	kind, body := multipartOf(part{field: "file", filename: "a.md", body: gold})
	for name, test := range map[string]struct {
		kind string
		size int
		want []string
	}{
		"another type": {"text/plain", len(body), []string{"HTTP/1.1 415 Unsupported Media Type"}},
		"too long":     {kind, 500 << 20, []string{"HTTP/1.1 413 Request Entity Too Large"}},
		"taken":        {kind, len(body), []string{"HTTP/1.1 100 Continue", "HTTP/1.1 200 OK"}},
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		_, err = fmt.Fprintf(c, "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", test.kind, test.size)
		require.NoError(t, err)
		r := bufio.NewReader(c)
		for _, want := range test.want {
			got, err := r.ReadString('\n')
			if err != nil || strings.TrimSpace(got) != want {
				t.Errorf("%s: %q, %v; want %s", name, got, err, want)
			}
			if want == "HTTP/1.1 100 Continue" {
				_, err = r.ReadString('\n')
				require.NoError(t, err)
				_, err = c.Write(body)
				require.NoError(t, err)
			}
		}
		c.Close()
	}
}

// TestAtOnce uploads, adds, removes, edits, searches and deletes files from many clients concurrently; the counts are
// correct at the end.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.store("vs")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			kind, body := multipartOf(part{field: "file", filename: fmt.Sprintf("f%d.md", i), body: fmt.Sprintf("%sNumber %d.\n", gold, i)})
			status, b := s.do("POST", "/v1/files", kind, bytes.NewReader(body))
			if status != http.StatusOK {
				t.Errorf("status %d: %s", status, b)
				return
			}
			id := object(t, b)["id"].(string)
			for _, r := range [][3]string{
				{"POST", "/v1/vector_stores/vs", `{"join_file_ids":["` + id + `"]}`},
				{"POST", "/v1/files/" + id + "/content", `{"title":"T","metadata":{"n":1}}`},
				{"POST", "/v1/vector_stores/vs/search", `{"query":"gold","filters":{"type":"eq","key":"n","value":1}}`},
				{"GET", "/v1/files/" + id + "/content", ""},
				{"POST", "/v1/vector_stores/vs", `{"left_file_ids":["` + id + `"]}`},
				{"POST", "/v1/vector_stores/vs", `{"join_file_ids":["` + id + `"]}`},
			} {
				kind := "application/json"
				if r[2] == "" {
					kind = ""
				}
				if status, b := s.do(r[0], r[1], kind, strings.NewReader(r[2])); status != http.StatusOK {
					t.Errorf("%s %s: status %d: %s", r[0], r[1], status, b)
				}
			}
			if i%2 == 0 {
				if status, b := s.do("DELETE", "/v1/files/"+id, "", nil); status != http.StatusOK {
					t.Errorf("status %d: %s", status, b)
				}
			}
		})
	}
	wg.Wait()
	vs := s.get("/v1/vector_stores/vs")
	if n := vs["file_counts"].(map[string]any)["total"]; n != 4.0 || len(vs["file_ids"].([]any)) != 4 {
		t.Errorf("%v", vs)
	}
}
