package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestNoteOtherServer runs commands without --data while a server at the usual address uses another folder: they name it, and send it nothing.
func TestNoteOtherServer(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	url, _ := serve(t, "--data", data, "--docs", dir)
	t.Setenv("SLUICE_ADDR", strings.TrimPrefix(url, "http://"))
	const note, question = "uses another data folder than this command", "When was the north lock opened?"
	handbook := filepath.Join(dir, "handbook.md")
	for _, c := range []struct {
		args  []string
		noted string // how the note ends; empty: there is none
	}{
		{[]string{"ask", question}, "with --data, or add --server " + url + "\n"},
		{[]string{"sessions"}, "with --data, or add --server " + url + "\n"},
		{[]string{"ingest", handbook}, "with --data\n"},
		{[]string{"ask", "--server", url, question}, ""},
		{[]string{"ask", "--data", data, question}, ""},
		{[]string{"parse", handbook}, ""},
	} {
		_, out, errs := run(t, c.args...)
		if strings.Contains(errs, note) != (c.noted != "") || !strings.Contains(errs, c.noted) {
			t.Errorf("%v: %s\n%s", c.args, out, errs)
		}
		if c.args[0] == "ask" && strings.Contains(out, "1932") == (c.noted != "") {
			t.Errorf("%v: %s", c.args, out)
		}
	}

	lock, err := filelog.Lock(filepath.Join(config.Default().Store.Data, "runs")) // as a server does that is starting
	require.NoError(t, err)
	if _, _, errs := run(t, "sessions"); strings.Contains(errs, note) {
		t.Errorf("a server is starting: %s", errs)
	}
	require.NoError(t, lock.Unlock())

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	t.Setenv("SLUICE_ADDR", other.Listener.Addr().String())
	if _, _, errs := run(t, "sessions"); strings.Contains(errs, note) {
		t.Errorf("another program at the address: %s", errs)
	}
}

// TestNoServer names the address of a server that does not run, and not the request to it.
func TestNoServer(t *testing.T) {
	const want, at = "no server answers at http://127.0.0.1:1: connect: connection refused", "http://127.0.0.1:1"
	for _, args := range [][]string{{"ask", "--server", at, "Why?"}, {"runs", "--server", at}, {"sources", "list", "--server", at}, {"sessions", "--server", at}} {
		if status, _, errs := run(t, args...); status != 1 || !strings.HasSuffix(errs, want+"\n") {
			t.Errorf("%s: status %d: %s", args[0], status, errs)
		}
	}
	var out strings.Builder
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n")
	if cli.Main(t.Context(), []string{"mcp", "--server", at, "--data", t.TempDir()}, cli.Streams{In: in, Out: &out, Err: io.Discard}); !strings.Contains(out.String(), want) {
		t.Error(out.String())
	}
}

// TestFolderThatBecomesFree asks while another command has the data folder open. When that ends, the question is answered.
func TestFolderThatBecomesFree(t *testing.T) {
	data := t.TempDir()
	if status, _, errs := run(t, "ingest", docs(t), "--data", data); status != 0 {
		t.Fatal(errs)
	}
	lock, err := filelog.Lock(filepath.Join(data, "runs"))
	require.NoError(t, err)
	waits := writer(func(p []byte) (int, error) {
		if strings.Contains(string(p), "another process uses the data folder") {
			if err := lock.Unlock(); err != nil {
				t.Error(err)
			}
		}
		return len(p), nil
	})
	for _, args := range [][]string{{"ask", "When was the north lock opened?"}, {"sources", "list"}} {
		var out strings.Builder
		if status := cli.Main(t.Context(), append(args, "--data", data), cli.Streams{In: strings.NewReader(""), Out: &out, Err: waits}); status != 0 || out.Len() == 0 {
			t.Errorf("%s: status %d: %s", args[0], status, &out)
		}
		if lock.Locked() {
			t.Errorf("%s did not wait", args[0])
		}
		if lock, err = filelog.Lock(filepath.Join(data, "runs")); err != nil {
			t.Fatal(err)
		}
	}
}
