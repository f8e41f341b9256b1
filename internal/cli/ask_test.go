package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/cli"
)

// TestMain is also the program itself, for terminals.
func TestMain(m *testing.M) {
	if args := os.Getenv("TEST_OF_SLUICE"); args != "" {
		os.Exit(cli.Main(context.Background(), strings.Split(args, "\n"), cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(m.Run())
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
	read := func(out string) (s client.Snapshot) {
		t.Helper()
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return s
	}
	inProcess, _ := ask("--display", "json")
	here := read(inProcess)
	if here.Status != client.Completed || !strings.Contains(here.Plain(), "1932") || len(here.Citations) != 1 || len(here.Steps) == 0 {
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
	if diff := cmp.Diff(here, read(remote), cmpopts.IgnoreFields(client.Snapshot{}, "Run", "Elapsed"), cmpopts.IgnoreFields(client.Step{}, "Took")); diff != "" {
		t.Errorf("in process and over HTTP:\n%s", diff)
	}
	states, _ := ask("--server", url, "--display", "json", "--stream")
	lines := strings.Split(strings.TrimSuffix(states, "\n"), "\n")
	if len(lines) < 4 || read(lines[0]).Status != client.Running || read(lines[len(lines)-1]).Text != here.Text {
		t.Errorf("%d states:\n%s", len(lines), states)
	}
	for _, wrong := range [][]string{{"--stream"}, {"--display", "json", "--json"}, {"--display", "loud"}} {
		if status, out, _ := run(t, append(append([]string{"ask", "--data", data}, wrong...), "x")...); status == 0 || out != "" {
			t.Errorf("%v: status %d\n%s", wrong, status, out)
		}
	}
}

// TestAskOnATerminal: there it is rich, and plain where the terminal is dumb.
func TestAskOnATerminal(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux")
	}
	dir, data := docs(t), t.TempDir()
	if status, _, errs := run(t, "ingest", "--data", data, dir); status != 0 {
		t.Fatal(errs)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for term, wants := range map[string][2]string{"xterm-256color": {"✓ search", "passage"}, "dumb": {"   search ", "[1] Harbour handbook"}} {
		socket := filepath.Join(t.TempDir(), "tmux")
		tmux := func(args ...string) string {
			t.Helper()
			out, err := exec.CommandContext(t.Context(), "tmux", append([]string{"-S", socket}, args...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("tmux %s: %v: %s", args, err, out)
			}
			return string(out)
		}
		tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "40", "-e", "TEST_OF_SLUICE="+strings.Join([]string{"ask", "--data", data, "--no-cache", "When was the north lock opened?"}, "\n"),
			"sh", "-c", "TERM="+term+" '"+program+"'; echo status $?; cat")
		screen := ""
		for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline) && !strings.Contains(screen, "status "); <-time.After(20 * time.Millisecond) {
			screen = tmux("capture-pane", "-p")
		}
		tmux("kill-server")
		for _, want := range append(wants[:], "status 0", "1932", "confidence 1.00") {
			if !strings.Contains(screen, want) {
				t.Errorf("TERM=%s: no %q:\n%s", term, want, screen)
			}
		}
	}
}
