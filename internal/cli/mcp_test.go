package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice-rag/sluice/internal/tools/program"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestMCP calls tools of the command with the client of the Go SDK: with a server of its own, and with one that runs.
func TestMCP(t *testing.T) {
	folder, data := docs(t), t.TempDir()
	call := func(t *testing.T, cmd *exec.Cmd) {
		t.Helper()
		progress := make(chan string, 1000)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Message }})
		s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		require.NoError(t, err)
		tool := func(name string, arguments map[string]any) string {
			p := &mcp.CallToolParams{Name: name, Arguments: arguments}
			p.SetProgressToken(name)
			r, err := s.CallTool(t.Context(), p)
			if err != nil || r.IsError {
				t.Fatalf("%s: %v %+v", name, err, r)
			}
			return r.Content[0].(*mcp.TextContent).Text
		}
		if text := tool("list_documents", nil); !strings.Contains(text, "handbook.md") { // it waits until they are indexed
			t.Errorf("documents %q", text)
		}
		if text := tool("ask", map[string]any{"query": "When was the north lock opened?"}); !strings.Contains(text, "1932") || !strings.Contains(text, "Harbour handbook") {
			t.Errorf("answer %q", text)
		}
		if len(progress) == 0 {
			t.Error("no progress")
		}
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "nothing"}); err == nil {
			t.Error("an unknown tool was called")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Run("own server", func(t *testing.T) { call(t, program.Command(t, "mcp", "--docs="+folder, "--data="+data)) })
	s := program.Serve(t, program.Command(t, "serve", "--addr=127.0.0.1:0", "--docs="+folder, "--data="+data))
	t.Run("server of the data folder", func(t *testing.T) { call(t, program.Command(t, "mcp", "--data="+data)) })
	t.Run("documents for the server of the data folder", func(t *testing.T) {
		more := t.TempDir()
		write(t, filepath.Join(more, "cranes.md"), "# Cranes\n\nThe crane Olga lifts 40 tonnes.\n")
		call(t, program.Command(t, "mcp", "--data="+data, "--docs="+more))
		if _, out, _ := run(t, "sources", "list", "--data", data); !strings.Contains(out, more) {
			t.Errorf("sources: %s", out)
		}
	})
	t.Run("server at a URL", func(t *testing.T) {
		cmd := program.Command(t, "mcp", "--server="+s.URL, "--data="+t.TempDir())
		call(t, cmd)
	})
}

// TestMCPLines sends lines to the command. What is not a message or is refused gets an error, and the next message is answered. After the end of
// the input the responses that are missing are written.
func TestMCPLines(t *testing.T) {
	cmd := program.Command(t, "mcp", "--docs="+docs(t), "--data="+t.TempDir())
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	exchange := func(message string) (reply struct {
		ID     any
		Result map[string]any
		Error  struct {
			Code    int
			Message string
		}
	},
	) {
		t.Helper()
		if message != "" {
			if _, err := io.WriteString(in, message+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		if !lines.Scan() {
			t.Fatalf("no reply to %s: %v", message, lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &reply); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		return reply
	}
	if r := exchange(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`); r.Result["protocolVersion"] != "2025-06-18" {
		t.Errorf("initialize: %+v", r)
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if r := exchange(`no message`); r.ID != nil || r.Error.Code != -32700 {
		t.Errorf("no message: %+v", r)
	}
	if r := exchange(`{"jsonrpc":"2.0","id":2,"method":"` + strings.Repeat("x", 3<<20) + `"}`); r.ID != nil || r.Error.Code != -32600 {
		t.Errorf("a line that is too long: %+v", r)
	}
	if r := exchange("\n" + `{"jsonrpc":"2.0","id":"a","method":"nothing"}`); r.ID != "a" || !strings.Contains(r.Error.Message, `"nothing"`) {
		t.Errorf("unknown method: %+v", r)
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"search","arguments":{"query":"lock"}}}`)
	require.NoError(t, in.Close())
	if r := exchange(""); r.ID != "b" || r.Result["structuredContent"] == nil {
		t.Errorf("search: %+v", r)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
