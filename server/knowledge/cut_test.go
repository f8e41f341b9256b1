package knowledge_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestUploadCutOff: a chunked upload that is incomplete is an error of the client and leaves no file.
func TestUploadCutOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kind, form := multipartOf(part{field: "file", filename: "gold.md", body: gold}, part{field: "purpose", body: "qa"})
	half := form[:len(form)/2]
	for name, sent := range map[string]string{
		"nothing":            "",
		"within a size":      fmt.Sprintf("%x", len(form)),
		"within a chunk":     fmt.Sprintf("%x\r\n%s", len(form), half),
		"between chunks":     fmt.Sprintf("%x\r\n%s\r\n", len(half), half),
		"before the end":     fmt.Sprintf("%x\r\n%s\r\n", len(form), form),
		"after the form":     fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(form), form),
		"not a size":         fmt.Sprintf("%x\r\n%s\r\nzz\r\n", len(half), half),
		"end within a form":  fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(half), half),
		"within the trailer": fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(half), half),
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			require.NoError(t, err)
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%s", kind, sent)
			require.NoError(t, err)
			require.NoError(t, conn.(*net.TCPConn).CloseWrite())
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return // the client has disconnected and gets no reply
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			whole := strings.Contains(sent, string(form))
			if res.StatusCode != http.StatusBadRequest && (!whole || res.StatusCode != http.StatusOK) {
				t.Errorf("status %d: %s", res.StatusCode, body)
			}
		})
	}
}
