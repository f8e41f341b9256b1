package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/tools/program"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/internal/tools/terminal"
)

// TestMain is also the program itself, for terminals.
func TestMain(m *testing.M) {
	os.Exit(program.Main(m, func(ctx context.Context, args []string) int {
		return cli.Main(ctx, args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	}))
}

// TestAskDisplays: the same answer in each form, of a server and of an engine in this process.
func TestAskDisplays(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	if status, _, errs := run(t, "ingest", "--data", data, dir); status != 0 {
		t.Fatal(errs)
	}
	ask := func(args ...string) (out, errs string) {
		t.Helper()
		status, out, errs := run(t, append([]string{"ask", "--data", data, "--no-cache"}, append(args, "When was the north lock opened?")...)...)
		if status != 0 {
			t.Fatalf("%v: status %d\n%s\n%s", args, status, out, errs)
		}
		return out, errs
	}
	type answered struct {
		Run, Answer string
		Status      client.Status
		Abstained   bool
		Confidence  float64
		Citations   []client.Citation
		Sources     []any
		Steps       []client.Step
	}
	read := func(out string) (s answered) {
		t.Helper()
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return s
	}
	inProcess, _ := ask("--display", "json")
	here := read(inProcess)
	if here.Status != client.Completed || !strings.Contains(here.Answer, "1932") || here.Confidence <= 0.3 || here.Confidence >= 1 || len(here.Citations) != 1 || len(here.Sources) != 1 || len(here.Steps) == 0 {
		t.Errorf("%+v", here)
	}
	plain, steps := ask("--display", "plain")
	for _, display := range []string{"auto", "rich"} { // there is no terminal
		if out, errs := ask("--display", display); out != plain || strings.Contains(errs, "\x1b") || !strings.Contains(errs, "confidence") {
			t.Errorf("%s: %s\n%s\nplain: %s\n%s", display, out, errs, plain, steps)
		}
	}
	url, _ := serve(t, "--data", data)
	remote, _ := ask("--server", url, "--display", "json")
	if diff := cmp.Diff(here, read(remote), cmpopts.IgnoreFields(answered{}, "Run"), cmpopts.IgnoreFields(client.Step{}, "Took")); diff != "" {
		t.Errorf("in process and over HTTP:\n%s", diff)
	}
	states, _ := ask("--server", url, "--display", "json", "--stream")
	lines := strings.Split(strings.TrimSuffix(states, "\n"), "\n")
	if len(lines) < 4 || read(lines[0]).Status != client.Running || read(lines[len(lines)-1]).Answer != here.Answer {
		t.Errorf("%d states:\n%s", len(lines), states)
	}
	for _, at := range [][]string{nil, {"--server", url}} { // in process and over HTTP
		if out, _ := ask(append(at, "--filter", "type=markdown", "--filter", "bytes>1")...); !strings.Contains(out, "1932") {
			t.Errorf("a filter that matches: %s", out)
		}
		status, out, errs := run(t, append([]string{"ask", "--data", data, "--filter", "type=pdf", "When was the north lock opened?"}, at...)...)
		if status != 1 || !strings.Contains(out+errs, `matches the filter: type="pdf"`) {
			t.Errorf("a filter that matches nothing: status %d\n%s\n%s", status, out, errs)
		}
	}
	for _, wrong := range [][]string{{"--filter", "creator"}, {"--filter", "page=1"}, {"--stream"}, {"--display", "json", "--json"}, {"--display", "loud"}} {
		if status, out, _ := run(t, append(append([]string{"ask", "--data", data}, wrong...), "x")...); status == 0 || out != "" {
			t.Errorf("%v: status %d\n%s", wrong, status, out)
		}
	}
}

// heard calls back when something is written.
type heard struct {
	bytes.Buffer
	f func()
}

func (h *heard) Write(p []byte) (int, error) {
	h.f()
	return h.Buffer.Write(p)
}

// TestAskIsStopped: who stops the command stops the run at the server too, and is told no more than that.
func TestAskIsStopped(t *testing.T) {
	clean(t)
	cancelled := 0
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/runs/run_1/cancel" {
			cancelled++
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Sluice-Run-Id", "run_1")
		_, _ = io.WriteString(w, "id: 1\nevent: token\ndata: {\"content\":\"half of it\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errs := heard{f: cancel}, bytes.Buffer{}
	status := cli.Main(ctx, []string{"ask", "--server", h.URL, "--display", "plain", "why?"}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if status != 1 || cancelled != 1 || out.String() != "half of it\n\n" || strings.TrimSpace(errs.String()) != "sluice: stopped" {
		t.Errorf("status %d, %d cancellations\n%q\n%q", status, cancelled, out.String(), errs.String())
	}
}

// TestAskOnATerminal: there it is rich, and plain where the terminal is dumb.
func TestAskOnATerminal(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	if status, _, errs := run(t, "ingest", "--data", data, dir); status != 0 {
		t.Fatal(errs)
	}
	program, err := os.Executable()
	require.NoError(t, err)
	for term, wants := range map[string][2]string{"xterm-256color": {"✓ Looking for passages", "handbook.md › Locks"}, "dumb": {"- Looking for passages", "handbook.md › Locks"}} {
		tm := terminal.New(t, 100, 40, []string{"TEST_OF_SLUICE=" + strings.Join([]string{"ask", "--data", data, "--no-cache", "When was the north lock opened?"}, "\n")},
			"sh", "-c", "TERM="+term+" '"+program+"'; echo status $?; cat")
		screen := tm.Until("shows the status", tm.Screen, func(s string) bool { return strings.Contains(s, "status ") })
		for _, want := range append(wants[:], "status 0", "1932", "confidence 0.") {
			if !strings.Contains(screen, want) {
				t.Errorf("TERM=%s: no %q:\n%s", term, want, screen)
			}
		}
	}
}

// TestAskUnknownCollection: a mistyped collection is an error that names those that exist, with and without a server, although there are uploaded files.
func TestAskUnknownCollection(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	if status, _, errs := run(t, "ingest", "--data", data, "--collection", "work", dir); status != 0 {
		t.Fatal(errs)
	}
	url, stop := serve(t, "--data", data)
	upload(t, url, "south.md", "# South lock\n\nThe south lock was opened in 1951.\n")
	const question = "When was the south lock opened?"
	for _, out, _ := run(t, "ask", "--data", data, "--no-cache", question); !strings.Contains(out, "1951"); _, out, _ = run(t, "ask", "--data", data, "--no-cache", question) {
		<-time.After(5 * time.Millisecond) // until the file is indexed
	}
	check := func(where string) {
		t.Helper()
		for _, args := range [][]string{{"--collection", "worx"}, {"--use", "worx"}, {"--use", "worx", "--use", "files"}} {
			status, out, errs := run(t, append([]string{"ask", "--data", data, question}, args...)...)
			if status != 1 || strings.Contains(out, "1951") || !strings.Contains(errs, "no documents are in the collection worx; there are documents in files, work") {
				t.Errorf("%s, %v: status %d\n%s\n%s", where, args, status, out, errs)
			}
		}
		for _, args := range [][]string{{"--collection", "work"}, {"--use", "files,work"}, {"--use", "files"}, {}} {
			if status, out, errs := run(t, append([]string{"ask", "--data", data, question}, args...)...); status != 0 || !strings.Contains(out, "1951") {
				t.Errorf("%s, %v: status %d\n%s\n%s", where, args, status, out, errs)
			}
		}
	}
	check("a server")
	stop()
	check("no server")
}
