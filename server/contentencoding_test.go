package server_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
)

// encoded compresses a body.
func encoded(t testing.TB, coding, body string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b)
		require.NoError(t, err)
		w = z
	default:
		return body
	}
	if _, err := io.WriteString(w, body); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

func TestEncodedBodiesAreDecoded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(1, 1)...), engine.Options{}, server.Options{})
		defer s.close()
		for _, coding := range []string{"gzip", "x-gzip", "deflate", "zstd", "GZIP", "identity", ""} {
			body := encoded(t, strings.ToLower(coding), question("why?"))
			whole(t, s.do("POST", "/api/query/stream", body, "Content-Type", "application/json", "Content-Encoding", coding))
			res := s.do("POST", "/api/query", body, "Content-Type", "application/json", "Content-Encoding", coding)
			if reply := slurp(t, res.Body); res.StatusCode != http.StatusOK {
				t.Errorf("%s: %s: %s", coding, res.Status, reply)
			}
		}
	})
}

func TestEncodedBodiesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(1, 1)...), engine.Options{}, server.Options{MaxBody: 48 << 10})
		defer s.close()
		big := question("x") + strings.Repeat(" ", 8<<20)
		for _, coding := range []string{"gzip", "deflate", "zstd"} {
			body := encoded(t, coding, question("x"))
			for name, c := range map[string]struct {
				body   string
				status int
				field  string
			}{
				"bomb":      {encoded(t, coding, big), http.StatusRequestEntityTooLarge, ""},
				"plain":     {question("x"), http.StatusBadRequest, "body"},
				"truncated": {body[:len(body)-3], http.StatusBadRequest, "body"},
				"trailing":  {body + "more", http.StatusBadRequest, "body"},
				"no JSON":   {encoded(t, coding, "{"), http.StatusBadRequest, "body"},
			} {
				for _, path := range asking {
					refused(t, coding+" "+name, s.do("POST", path, c.body, "Content-Encoding", coding), c.status, c.field)
				}
			}
		}
		for _, coding := range []string{"br", "gzip, gzip", "zstd,gzip", "gzip;q=1", "compress"} {
			for _, path := range asking {
				res := s.do("POST", path, encoded(t, "gzip", question("x")), "Content-Encoding", coding)
				if got := res.Header.Get("Accept-Encoding"); got != "gzip, zstd, deflate" {
					t.Errorf("%s: Accept-Encoding %q", coding, got)
				}
				refused(t, coding, res, http.StatusUnsupportedMediaType, "Content-Encoding")
			}
		}
		if s.engine.Live() != 0 {
			t.Errorf("%d runs", s.engine.Live())
		}
	})
}

// TestEmptyEncodedDataIsBounded sends data that decodes to nothing, followed by a body that is within its limit.
func TestEmptyEncodedDataIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 48 << 10
		s := inMemory(t, saying(everything(1, 1)...), engine.Options{}, server.Options{MaxBody: most})
		defer s.close()
		padded := question("x") + strings.Repeat(" ", most-len(question("x")))
		var stored bytes.Buffer
		w, err := gzip.NewWriterLevel(&stored, gzip.NoCompression)
		require.NoError(t, err)
		if _, err := io.WriteString(w, padded); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, w.Close())
		empty := func(of string, bytes int) string { return strings.Repeat(of, bytes/len(of)) }
		member, frame := encoded(t, "gzip", ""), "\x50\x2a\x4d\x18\x08\x00\x00\x00skipped!"
		deflated := encoded(t, "deflate", question("x"))
		for name, c := range map[string]struct {
			coding, body string
			status       int
		}{
			"gzip members over the limit":  {"gzip", empty(member, 2*most) + encoded(t, "gzip", question("x")), http.StatusRequestEntityTooLarge},
			"gzip members in the limit":    {"gzip", empty(member, most/2) + encoded(t, "gzip", question("x")), http.StatusOK},
			"zstd frames over the limit":   {"zstd", empty(frame, 2*most) + encoded(t, "zstd", question("x")), http.StatusRequestEntityTooLarge},
			"zstd frames in the limit":     {"zstd", empty(frame, most/2) + encoded(t, "zstd", question("x")), http.StatusOK},
			"deflate blocks over":          {"deflate", deflated[:2] + empty("\x00\x00\x00\xff\xff", 2*most) + deflated[2:], http.StatusRequestEntityTooLarge},
			"a body of the most, unpacked": {"gzip", stored.String(), http.StatusOK},
		} {
			res := s.do("POST", "/api/query", c.body, "Content-Type", "application/json", "Content-Encoding", c.coding)
			if reply := slurp(t, res.Body); res.StatusCode != c.status {
				t.Errorf("%s: status %d, want %d: %s", name, res.StatusCode, c.status, reply)
			}
		}
	})
}
