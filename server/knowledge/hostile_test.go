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
)

// TestRefusals asks one server for what it does not do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name, test := range map[string]func(*testing.T, *site){"uploads": uploadRefused, "forms": uploadForms, "paths": hostilePaths, "methods": wrongMethods, "status": status} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// TestBrokenUpload leaves nothing behind when the connection ends in the middle of a file.
func TestBrokenUpload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kind, body := multipartOf(part{field: "file", filename: "a.md", body: strings.Repeat(gold, 1000)}, part{field: "purpose", body: "qa"})
	for _, cut := range []int{10, 200, len(body) / 2, len(body) - 10} {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		check(t, err)
		_, err = fmt.Fprintf(c, "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(body), body[:cut])
		check(t, err)
		check(t, c.(*net.TCPConn).CloseWrite())
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

// TestTooLongUpload is refused by its size, whether the sender says it or not.
func TestTooLongUpload(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(p *parts) { p.files.MaxFileBytes, p.routes.MaxFileBytes = 64<<10, 64<<10 })
	for _, size := range []int{65 << 10, 3 << 20} {
		kind, body := multipartOf(part{field: "file", filename: "a.md", body: strings.Repeat("x", size)})
		for name, r := range map[string]io.Reader{"said": bytes.NewReader(body), "unsaid": io.MultiReader(bytes.NewReader(body))} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/files", r)
			check(t, err)
			req.Header.Set("Content-Type", kind)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				continue // the server closed the connection before all of it was sent
			}
			res.Body.Close()
			if res.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%d bytes, %s: %s", size, name, res.Status)
			}
		}
	}
	if list := s.get("/v1/files")["data"].([]any); len(list) != 0 {
		t.Errorf("files are there: %v", list)
	}
}

// TestAtOnce uploads, joins, leaves, notes, searches and deletes from many clients at once; the counts are true at the end.
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
