package web_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

var screenshots = flag.String("screenshots", "", "folder in which TestScreenshots writes the pictures of the documentation")

// browser is the process that runs the scenarios of e2e/*.mjs in Chromium. It reads the names of scenarios from its input, and writes a result for
// each to its output.
type browser struct {
	scenarios []scenario
	stdin     io.Writer
	mu        sync.Mutex
	waiting   map[string]chan result
}

// scenario is what a person does with the page.
type scenario struct {
	Name  string
	Alone bool // measures, so no other scenario may run meanwhile
	Image bool // makes a picture of the documentation
}

// result is the outcome of a scenario.
type result struct {
	Name, Error, Screenshot, Note string
	Console                       []string
}

// TestPage uses the built page in Chromium with the real program, as a person would. A scenario fails also if the page breaks its security policy, throws an
// error, opens a dialog of the browser, or sends a request to another server.
func TestPage(t *testing.T) {
	b := startBrowser(t)
	for _, s := range b.scenarios {
		if s.Image {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			if !s.Alone {
				t.Parallel()
			}
			b.run(t, s.Name)
		})
	}
}

// TestScreenshots makes the pictures of the documentation.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("make screenshots sets the folder of the pictures")
	}
	b := startBrowser(t)
	for _, s := range b.scenarios {
		if s.Image {
			t.Run(s.Name, func(t *testing.T) { b.run(t, s.Name) })
		}
	}
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	node, chromium := programs(t)
	stage := newStage(t)
	shots, err := os.MkdirTemp("", "sluice-page-") //nolint:usetesting // screenshots of failures stay after the test
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.Remove(shots) }) // stays if a failure has left a screenshot there
	cmd := exec.Command(node, "e2e/run.mjs")
	env, err := json.Marshal(map[string]string{
		"chromium": chromium, "main": stage.main.url, "empty": stage.empty.url, "fresh": stage.fresh.url, "library": stage.library.url, "folder": stage.folder, "keyed": stage.keyed.url, "key": stage.key, "operator": stage.operator, "fragile": stage.fragile.url, "federated": stage.federated.url, "provider": stage.provider,
		"sourced": stage.sourced.url, "places": stage.places, "keeper": stage.keeper,
		"synthetic": stage.synthetic, "site": stage.site, "stranger": stage.stranger, "control": stage.control, "screenshots": shots, "images": *screenshots,
	})
	require.NoError(t, err)
	cmd.Env = append(os.Environ(), "SLUICE_E2E="+string(env))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	b := &browser{waiting: map[string]chan result{}}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	b.stdin = stdin
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = stdin.Close() // ends it
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // its results are in its output
		if t.Failed() && stderr.Len() > 0 {
			t.Logf("e2e/run.mjs: %s", stderr.Bytes())
		}
	})
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 8<<20)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &b.scenarios) != nil {
		_ = cmd.Wait() // for the rest of the error
		t.Fatalf("e2e/run.mjs did not start: %s %s", lines.Bytes(), stderr.Bytes())
	}
	go func() {
		defer close(ended)
		for lines.Scan() {
			var r result
			if json.Unmarshal(lines.Bytes(), &r) != nil {
				continue
			}
			b.mu.Lock()
			if done := b.waiting[r.Name]; done != nil {
				done <- r
			}
			b.mu.Unlock()
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		for name, done := range b.waiting {
			select {
			case done <- result{Name: name, Error: "the browser ended"}:
			default: // it has a result
			}
		}
	}()
	return b
}

func (b *browser) run(t *testing.T, name string) {
	done := make(chan result, 1)
	b.mu.Lock()
	b.waiting[name] = done
	fmt.Fprintln(b.stdin, name)
	b.mu.Unlock()
	r := <-done
	if r.Note != "" {
		t.Log(r.Note)
	}
	if r.Error != "" {
		t.Errorf("%s\nscreenshot: %s\nconsole:\n%s", r.Error, r.Screenshot, strings.Join(r.Console, "\n"))
	}
}

// programs returns the programs that the test needs. scripts/needs.sh says why the headless shell comes first.
func programs(t *testing.T) (node, chromium string) {
	t.Helper()
	return needs.Node(t, "."), needs.Program(t, "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
}

// program is a running server.
type program struct {
	url, binary string
	args        []string
	cmd         *exec.Cmd
}

// start starts the server. If it ran before, it gets the same address.
func (p *program) start() error {
	address := "127.0.0.1:0"
	if p.url != "" {
		address = strings.TrimPrefix(p.url, "http://")
	}
	p.cmd = exec.Command(p.binary, append([]string{"serve", "--addr=" + address}, p.args...)...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	var output bytes.Buffer
	lines := bufio.NewScanner(io.TeeReader(stderr, &output))
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			p.url = url
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return p.awaitReady()
		}
	}
	return fmt.Errorf("the server did not start: %s", output.Bytes())
}

// awaitReady waits until the documents are indexed.
func (p *program) awaitReady() error {
	for until := time.Now().Add(time.Minute); time.Now().Before(until); <-time.After(20 * time.Millisecond) {
		res, err := http.Get(p.url + "/readyz")
		if err != nil {
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("%s is not ready", p.url)
}

func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
}

// documents of the server that most scenarios use.
var documents = map[string]string{
	"harbour.md": "# Harbour fees\n\nA ship pays 12 euros for each metre of its length. Fishing boats from the town pay half of that.\n\n" +
		"## Winter\n\nFrom November to March the harbour is free of charge for sailing boats. The crane is closed in winter.\n",
	"library.md": "---\nauthor: Una Vale\ndate: 2021-05\n---\n# Library\n\nThe library lends a book for four weeks. A late book costs 20 cents a day.\n\n## Opening hours\n\nThe library opens at nine and closes at six.\n",
}

// pdfOf returns a PDF with one page, which has one line.
func pdfOf(line string) string {
	content := "BT /F1 18 Tf 72 700 Td (" + line + ") Tj ET"
	out, at := "%PDF-1.4\n", []int{}
	for i, object := range []string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 1 /Kids [4 0 R] >>", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)} {
		at = append(at, len(out))
		out += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		table += fmt.Sprintf("%010d 00000 n \n", offset)
	}
	return out + table + fmt.Sprintf("trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF", len(at)+1, len(out))
}

func writeAll(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}
