package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestBridgeReadsWhileIndexing: while documents are indexed, only the requests that use them wait. Other messages pass, and a client can cancel the
// requests that wait.
func TestBridgeReadsWhileIndexing(t *testing.T) {
	t.Parallel()
	far := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	called := make(chan string, 10)
	mcp.AddTool(far, &mcp.Tool{Name: "search"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct{ Query string }) (*mcp.CallToolResult, any, error) {
		called <- in.Query
		return &mcp.CallToolResult{}, nil, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return far }, nil))
	t.Cleanup(s.Close)
	in, client := io.Pipe()
	replies, out := io.Pipe()
	ready := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- bridge(t.Context(), in, out, remote{url: s.URL}, ready) }()
	lines := bufio.NewScanner(replies)
	send := func(message string) {
		t.Helper()
		if _, err := io.WriteString(client, message+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(id string) {
		t.Helper()
		var r struct{ ID, Error json.RawMessage }
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &r) != nil || string(r.ID) != id || r.Error != nil {
			t.Fatalf("%s %v, want the result with id %s", lines.Text(), lines.Err(), id)
		}
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	expect("1")
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"Query":"a"}}}`)
	send(`{"jsonrpc":"2.0","id":"3","method":"tools/call","params":{"name":"search","arguments":{"Query":"b"}}}`)
	send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	expect("4")
	send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	send(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
	expect("5")
	if len(called) > 0 {
		t.Error("a tool was called before the documents were indexed")
	}
	close(ready)
	expect(`"3"`)
	if got := <-called; got != "b" {
		t.Errorf("called with %q, want b", got)
	}
	require.NoError(t, client.Close())
	if err := <-ended; err != nil || len(called) > 0 {
		t.Errorf("%v, %d more calls", err, len(called))
	}
}
