package knowledge_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestEncodedRequests: bodies with a Content-Encoding are decoded, and limits count the decoded bytes.
func TestEncodedRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(p *parts) { p.routes.MaxFileBytes = 256 << 10 })
	send := func(path, kind, coding string, body []byte) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, bytes.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", kind)
		req.Header.Set("Content-Encoding", coding)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(b)
	}
	zipped := func(body []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(body)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	kind, form := multipartOf(part{field: "file", filename: "a.md", body: gold})
	status, b := send("/v1/files", kind, "gzip", zipped(form))
	if status != http.StatusOK {
		t.Fatalf("upload: status %d: %s", status, b)
	}
	s.await(object(t, []byte(b))["task_id"].(string))
	bombKind, bomb := multipartOf(part{field: "file", filename: "a.md", body: strings.Repeat("x", 4<<20)})
	for name, c := range map[string]struct {
		path, kind, coding string
		body               []byte
		status             int
		field              string
	}{
		"store":         {"/v1/vector_stores", "application/json", "gzip", zipped([]byte(`{"name":"x"}`)), 200, ""},
		"upload bomb":   {"/v1/files", bombKind, "gzip", zipped(bomb), 413, ""},
		"bomb":          {"/v1/vector_stores/x/search", "application/json", "gzip", zipped([]byte(`{"query":"x"}` + strings.Repeat(" ", 8<<20))), 413, ""},
		"not gzip":      {"/v1/files", kind, "gzip", form, 400, `"body"`},
		"other coding":  {"/v1/files", kind, "br", form, 415, `"Content-Encoding"`},
		"question":      {"/v1/responses", "application/json", "br", []byte(`{"input":"x"}`), 415, `"Content-Encoding"`},
		"no body needs": {"/v1/vector_stores", "application/json", "br", []byte(`{"name":"x"}`), 415, `"Content-Encoding"`},
	} {
		if status, b := send(c.path, c.kind, c.coding, c.body); status != c.status || !strings.Contains(b, c.field) {
			t.Errorf("%s: status %d, want %d: %.200s", name, status, c.status, b)
		}
	}
}
