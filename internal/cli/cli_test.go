package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/tools/program"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/forge"
)

const handbook = `# Harbour handbook

## Locks

The north lock was opened in 1932 and takes ships of up to 140 metres.
Its gates are tested every spring by the harbour master.

## Fees

A ship pays 12 euros for each metre of its length. Fishing boats pay nothing.
`

// clean keeps the machine's own settings out of a test.
func clean(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "SLUICE_") {
			t.Setenv(name, "")
		}
	}
}

func docs(t *testing.T) string {
	t.Helper()
	clean(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "handbook.md"), []byte(handbook), 0o600))
	return dir
}

// run runs a command to its end.
func run(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	return runWith(t, "", args...)
}

// runWith runs a command with an input to its end.
func runWith(t *testing.T, in string, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = cli.Main(t.Context(), args, cli.Streams{In: strings.NewReader(in), Out: &o, Err: &e})
	return status, o.String(), e.String()
}

// serve starts a server and gives its address and what stops it; stop gives the exit status.
func serve(t *testing.T, args ...string) (url string, stop func() int) {
	t.Helper()
	return serveLogged(t, io.Discard, args...)
}

// serveLogged is serve that also writes the log to a writer.
func serveLogged(t *testing.T, log io.Writer, args ...string) (url string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	status := make(chan int, 1)
	go func() {
		s := cli.Main(ctx, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...), cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.MultiWriter(log, w)})
		_ = w.Close()
		status <- s
	}()
	lines := bufio.NewScanner(r)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if u, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			url = u
			break
		}
	}
	if url == "" {
		cancel()
		t.Fatalf("the server did not start (status %d):\n%s", <-status, said.String())
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	program.AwaitReady(t, url)
	stopped := false
	stop = func() int {
		stopped = true
		cancel()
		return <-status
	}
	t.Cleanup(func() {
		if !stopped {
			stop()
		}
	})
	return url, stop
}

// upload stores a file on a server.
func upload(t *testing.T, url, name, text string) {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", name)
	require.NoError(t, err)
	_, _ = io.WriteString(part, text)
	_ = w.Close()
	res, err := http.Post(url+"/v1/files", w.FormDataContentType(), &form)
	require.NoError(t, err)
	if err := res.Body.Close(); err != nil || res.StatusCode/100 != 2 {
		t.Fatalf("upload: %s, %v", res.Status, err)
	}
}

func TestServeAskRunsReplay(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	url, stop := serve(t, "--docs", dir, "--data", data)

	// A command on the same data finds the server by itself.
	status, out, errs := run(t, "ask", "--data", data, "When was the north lock opened?")
	if status != 0 || !strings.Contains(out, "1932") || !strings.Contains(out, "[1]") || !strings.Contains(out, "Locks") {
		t.Fatalf("ask: status %d\n%s\n%s", status, out, errs)
	}
	for _, step := range []string{"- Reading the question", "- Looking for passages about “", "- Judging ", "- Choosing ", "- Writing the answer", "- Checking ", "confidence"} {
		if !strings.Contains(errs, step) {
			t.Errorf("the steps lack %s:\n%s", step, errs)
		}
	}
	status, lines, _ := run(t, "ask", "--server", url, "--json", "What does a ship pay?")
	if status != 0 {
		t.Fatalf("ask --json: status %d\n%s", status, lines)
	}
	var g forge.Grammar
	for line := range strings.Lines(lines) {
		var p struct {
			Type, Tool  string
			Recoverable bool
		}
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		require.NoError(t, g.Next(p.Type, p.Tool, p.Recoverable))
	}
	if !g.Ended() {
		t.Error("the stream has no end")
	}
	_, list, _ := run(t, "runs", "--data", data, "--json")
	var newest struct {
		RunID string `json:"run_id"`
		Query string `json:"query"`
	}
	if err := json.NewDecoder(strings.NewReader(list)).Decode(&newest); err != nil || newest.Query != "What does a ship pay?" {
		t.Fatalf("runs: %v in %s", err, list)
	}
	_, live, _ := run(t, "replay", "--data", data, newest.RunID)

	if status := stop(); status != 0 {
		t.Errorf("the server's exit status is %d", status)
	}
	if _, err := os.Stat(filepath.Join(data, "server.json")); !os.IsNotExist(err) {
		t.Errorf("the server's address is still noted: %v", err)
	}
	// Without a server, the same commands work on the data.
	status, kept, errs := run(t, "replay", "--data", data, "--protocol", "forge", newest.RunID)
	if status != 0 || kept != live || !strings.Contains(kept, "event: done") {
		t.Errorf("replay: status %d %s\nserver: %s\nfolder: %s", status, errs, live, kept)
	}
	if status, out, errs := run(t, "ask", "--data", data, "What do fishing boats pay?"); status != 0 || !strings.Contains(out, "nothing") {
		t.Errorf("ask in process: status %d\n%s\n%s", status, out, errs)
	}
	if _, out, _ := run(t, "runs", "--data", data); strings.Count(out, "finished") != 3 {
		t.Errorf("runs:\n%s", out)
	}
}

func TestSecondStartDoesNothingAgain(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	if status, out, errs := run(t, "ingest", "--data", data, dir); status != 0 || !strings.Contains(out, "added 1 ") {
		t.Fatalf("first: status %d\n%s%s", status, out, errs)
	}
	if status, out, errs := run(t, "ingest", "--data", data, dir); status != 0 || !strings.Contains(out, "added 0 (moved 0), updated 0, unchanged 1,") {
		t.Fatalf("second: status %d\n%s%s", status, out, errs)
	}
}

func TestUnreadableFileStopsNothing(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken.pdf"), []byte("%PDF-1.7 and nothing"), 0o600))
	status, out, errs := run(t, "ingest", "--data", data, dir)
	if status != 0 || errs != "not indexed: "+filepath.ToSlash(dir)+"/broken.pdf: not valid PDF: its end is missing\n" || !strings.HasPrefix(out, "collection default: added 1 ") || !strings.HasSuffix(out, "failed 1\n") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}

func TestNothingReadableFails(t *testing.T) {
	clean(t)
	path := filepath.Join(t.TempDir(), "broken.pdf")
	require.NoError(t, os.WriteFile(path, []byte("%PDF-1.7 and nothing"), 0o600))
	status, _, errs := run(t, "ingest", "--data", t.TempDir(), path)
	if status != 1 || strings.Count(errs, "broken.pdf") != 1 {
		t.Errorf("status %d\n%s", status, errs)
	}
}

func TestFailures(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	busy, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"no documents", []string{"ask", "--data", t.TempDir(), "why?"}, 1, []string{"NO_DOCUMENTS", "sluice ingest"}},
		{"empty question", []string{"ask", "--data", data, "  "}, 2, []string{"the question is empty"}},
		{"all faults at once", []string{"serve", "--data", data, "--deadline=-3s", "--max-runs", "0", "--log-level", "loud"}, 2,
			[]string{"deadline", "max-runs", "log-level"}},
		{"address in use", []string{"serve", "--data", data, "--addr", busy.Addr().String()}, 1, []string{"listen", "in use"}},
		{"docs that are not there", []string{"serve", "--data", data, "--docs", filepath.Join(dir, "none")}, 2, []string{"docs"}},
		{"path that is not there", []string{"ingest", "--data", data, filepath.Join(dir, "none")}, 1, []string{"none"}},
		{"unknown run", []string{"replay", "--data", data, "run_0"}, 1, []string{"no such run"}},
		{"mistyped data", []string{"runs", "--data", filepath.Join(dir, "none")}, 1, []string{filepath.Join(dir, "none") + " does not exist; \"sluice ingest PATH\""}},
		{"mistyped data of a question", []string{"ask", "--data", filepath.Join(dir, "none"), "why?"}, 1, []string{filepath.Join(dir, "none") + " does not exist; \"sluice ingest PATH\""}},
		{"mistyped tenant of a question", []string{"ask", "--data", data, "--tenant", "none", "why?"}, 1, []string{filepath.Join(data, "tenants", "none") + " does not exist"}},
		{"mistyped data of a repair", []string{"reconcile", "--data", filepath.Join(dir, "none")}, 1, []string{filepath.Join(dir, "none") + " does not exist"}},
		{"mistyped tenant of a repair", []string{"reconcile", "--data", data, "--tenant", "none"}, 1, []string{filepath.Join(data, "tenants", "none") + " does not exist"}},
		{"help about a command", []string{"help", "ask"}, 0, []string{"Usage: sluice ask <question>"}},
		{"unknown protocol", []string{"replay", "--data", data, "--protocol", "morse", "run_0"}, 1, []string{"morse"}},
		{"hostile run", []string{"replay", "--data", data, "../../etc"}, 1, []string{"not a run id"}},
		{"no server there", []string{"ask", "--server", "http://127.0.0.1:1", "why?"}, 1, []string{"refused"}},
		{"unknown command", []string{"dance"}, 2, []string{"dance"}},
		{"a migration to nowhere", []string{"migrate"}, 2, []string{"--from or --to is required"}},
		{"an empty folder", []string{"ingest", "--data", data, t.TempDir()}, 0, []string{"no documents were found; docs/ingest.md lists the formats"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, errs := run(t, c.args...)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			for _, s := range c.says {
				if !strings.Contains(out+errs, s) {
					t.Errorf("it does not say %q:\n%s%s", s, out, errs)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
				t.Error("the mistyped folder was created")
			}
		})
	}
}

func TestDataInUse(t *testing.T) {
	data := t.TempDir()
	url, _ := serve(t, "--data", data)
	for _, addr := range []string{"127.0.0.1:0", strings.TrimPrefix(url, "http://")} {
		status, out, errs := run(t, "serve", "--data", data, "--addr", addr)
		if want := "sluice: open " + data + ": the data folder is in use by another process, the server at " + url + ": stop it, wait until it ends, or choose another folder with --data\n"; status != 1 || out+errs != want {
			t.Errorf("a second server at %s: status %d, %s%s, want %s", addr, status, out, errs, want)
		}
	}
	status, _, errs := run(t, "reconcile", "--data", data)
	if status != 1 || !strings.Contains(errs, "in use by another process, the server at "+url+": stop it") {
		t.Errorf("status %d\n%s", status, errs)
	}
}

func TestHelpNamesEverything(t *testing.T) {
	clean(t)
	status, out, _ := run(t, "--help")
	if status != 0 {
		t.Errorf("status %d", status)
	}
	for _, command := range []string{"serve", "ask", "ingest", "runs", "replay", "eval"} {
		if !strings.Contains(out, command) {
			t.Errorf("the help lacks %s:\n%s", command, out)
		}
	}
}

// TestOnlySettingsHaveVariables: flags that are no settings are not set by variables that another program may have set.
func TestOnlySettingsHaveVariables(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	for _, name := range []string{"SLUICE_VERSION", "SLUICE_HELP", "SLUICE_JSON", "SLUICE_TOP_K", "SLUICE_SERVER"} {
		t.Setenv(name, "tcp://10.0.0.7:8000")
	}
	for _, args := range [][]string{{"ingest", "--data", data, dir}, {"ask", "--data", data, "When was the north lock opened?"}, {"runs", "--data", data}} {
		status, out, errs := run(t, args...)
		if status != 0 || strings.HasPrefix(out, "sluice ") || strings.HasPrefix(out, "{") {
			t.Errorf("%s: status %d\n%s\n%s", args[0], status, out, errs)
		}
	}
	t.Setenv("SLUICE_VERSION", "1.2.3")
	if status, out, errs := run(t, "ask", "--data", data, "When was the north lock opened?"); status != 0 || !strings.Contains(out, "1932") {
		t.Errorf("ask with SLUICE_VERSION=1.2.3: status %d\n%s\n%s", status, out, errs)
	}
}

func TestUnknownVariablesAreReported(t *testing.T) {
	clean(t)
	data := t.TempDir()
	for name, value := range map[string]string{"SLUICE_MAXRUNS": "5", "SLUICE_DATA": data, "SLUICE_TOP_K": "5", "SLUICE_PORT": "8000", // not settings
		"SLUICE_KEY": "k", "SLUICE_URL": "http://localhost:8000", "SLUICE_SOURCE_WIKI": "u:p", "SLUICE_MAX_BODY": "1MiB", "SLUICE_SERVICE_HOST": "10.0.0.7", "SLUICE_SERVICE_PORT_HTTP": "80",
		"SLUICE_PORT_8000_TCP": "tcp://10.0.0.7:8000", "SLUICE_PORT_8000_TCP_ADDR": "10.0.0.7", "SLUICE_WEB_PORT": "tcp://10.0.0.8:80"} {
		t.Setenv(name, value)
	}
	_, _, errs := run(t, "keys", "list", "--log-format", "text")
	for _, want := range []string{`"SLUICE_MAXRUNS is not a setting; did you mean SLUICE_MAX_RUNS?"`, `"SLUICE_DATA is not a setting; did you mean SLUICE_DATA_DIR?"`,
		`"SLUICE_TOP_K is not a setting"`, `"SLUICE_PORT is not a setting"`} {
		if !strings.Contains(errs, want) {
			t.Errorf("no warning %s: %s", want, errs)
		}
	}
	if n := strings.Count(errs, "is not a setting"); n != 4 {
		t.Errorf("%d warnings, want 4: %s", n, errs)
	}
	if _, _, errs := run(t, "runs", "--data", data); strings.Contains(errs, "SLUICE_DATA") {
		t.Errorf("a warning although the folder is given by the flag: %s", errs)
	}
	write(t, filepath.Join(data, "squad", "corpus.jsonl"), "{}\n")
	if _, _, errs := run(t, "keys", "list", "--log-format", "text"); strings.Contains(errs, "SLUICE_DATA") {
		t.Errorf("a warning although the folder has data sets for tests: %s", errs)
	}
}

func TestAddressInUseNamesTheFlag(t *testing.T) {
	clean(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	status, _, errs := run(t, "serve", "--addr", l.Addr().String(), "--data", t.TempDir())
	if status != 1 || !strings.Contains(errs, l.Addr().String()+" is already in use; choose another with --addr, such as --addr 127.0.0.1:") {
		t.Errorf("status %d: %s", status, errs)
	}
}

// TestInterrupted: a command that a signal ended says so, and not which of its calls noticed it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs strings.Builder
	status := cli.Main(ctx, []string{"ingest", "--data", t.TempDir(), "../../docs"}, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs})
	if status != 1 || !strings.HasSuffix(errs.String(), "sluice: stopped\n") {
		t.Errorf("%d: %s", status, errs.String())
	}
}

// TestWrongCommandLine checks what a beginner reads after a usual mistake.
func TestWrongCommandLine(t *testing.T) {
	clean(t)
	data := t.TempDir()
	list, empty := filepath.Join(data, "list.txt"), filepath.Join(data, "empty.txt")
	write(t, list, "# documents\nhttps://example.org/a.pdf\nno URL\n")
	write(t, empty, "\n")
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "sluice <command>"},
		{"serve ./docs", "unexpected argument ./docs (to index a folder or file, use --docs ./docs)"},
		{"serve --doc ./docs", `did you mean one of "--log", "--docs", "--ocr"? (see sluice serve --help)`},
		{"frobnicate", "unexpected argument frobnicate (see sluice --help)"},
		{"sources add", `expected "<location> ..." (see sluice sources add --help)`},
		{"sources add --data " + data + " git@example.org:a/b.git", `"git@example.org:a/b.git" does not exist: a Git repository is added as https://HOST/PATH.git`},
		{"sources add --data " + data + " /no/such/folder", `"/no/such/folder" does not exist: want the path of a folder, or a URL such as`},
		{"sources add --data " + data + " " + list, "list.txt: line 3: want a URL such as https://HOST/PATH"},
		{"sources add --data " + data + " " + empty, "empty.txt has no URLs"},
		{"sources add --data " + data + " cli.go", `"cli.go" is a file: "sluice ingest" adds files`},
		{"ask --data " + data + " --server localhost:8000 why", "--server: make client: want an http or https URL of a server, such as http://localhost:8000"},
	} {
		status, out, errs := run(t, strings.Fields(c.args)...)
		if !strings.Contains(out+errs, c.want) || status == 0 && c.args != "" {
			t.Errorf("%q: status %d, %s%s", c.args, status, out, errs)
		}
	}
}
