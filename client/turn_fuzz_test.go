package client_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/turns"
)

// byteServer sends the bytes of a stream from the offset of a request; those of the first reply end at a cut.
type byteServer struct {
	stream []byte
	cut    int
	asked  int
}

func (s *byteServer) RoundTrip(r *http.Request) (*http.Response, error) {
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	end := len(s.stream)
	if s.asked++; s.asked == 1 {
		end = s.cut
	}
	body := s.stream[min(offset, end):end]
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{"Content-Type": {turns.ContentType}, "Sluice-Run-Id": {"run_1"}}}, nil
}

// FuzzTurn: whatever the bytes of a stream are, where a connection ends changes neither the parts nor whether they are an error.
func FuzzTurn(f *testing.F) {
	f.Add([]byte("{\"type\":\"search\",\"status\":\"started\"}\n{\"type\":\"review\"}\n\x1d h\xc3\xb6her\x1e{\"run_id\":\"run_1\"}"), 3)
	f.Add([]byte("\x1d\xe6\xbc\xa2\xff\x1e{\"run_id\":\"run_1\",\"tools_used\":[\"}\"]}"), 2)
	f.Add([]byte("\x1d\x1e{\"run_id\":\"run_1\"}}"), 21)
	f.Add([]byte("7\n\x1d\x1e[]"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		read := func(cut int) (parts int, text string, done bool) {
			c, err := client.New("http://turns.test", client.Options{HTTP: &http.Client{Transport: &byteServer{stream: stream, cut: cut}}, Backoff: 1, Retries: 1})
			require.NoError(t, err)
			for part, err := range c.SendMessage(t.Context(), "s", turns.Request{Content: "why?"}).Parts() {
				if err != nil {
					return parts, text, false
				}
				if text += part.Text; part.Text == "" {
					parts++
				}
				done = part.Trailer != nil
			}
			return parts, text, done
		}
		parts, text, done := read(len(stream))
		cutParts, cutText, cutDone := read(min(max(cut, 0), len(stream)))
		if parts != cutParts || text != cutText || done != cutDone {
			t.Errorf("%d parts, %q, complete %v; with a cut at %d: %d parts, %q, complete %v", parts, text, done, cut, cutParts, cutText, cutDone)
		}
	})
}
