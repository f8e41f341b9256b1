package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/sse"
)

// The protocol's sample clients, in testdata/clients, are run as they were published: sse.ts, query.py and ask.sh are
// copies; run.mjs and run.py only pass them an address and print their results.

// samples are the sample clients. Each prints the payloads that it received, as JSON.
func samples(t *testing.T) map[string]func(t *testing.T, s *site, query string) []string {
	return map[string]func(*testing.T, *site, string) []string{
		"javascript": func(t *testing.T, s *site, query string) []string {
			return lines(t, exec.Command(needs.Program(t, "node"), "testdata/clients/run.mjs", s.url, query, "agentic"))
		},
		"python": func(t *testing.T, s *site, query string) []string {
			u, err := url.Parse(s.url)
			require.NoError(t, err)
			return lines(t, exec.Command(needs.Python(t, "httpx"), "testdata/clients/run.py", u.Host, query, "agentic"))
		},
	}
}

func lines(t *testing.T, cmd *exec.Cmd) []string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func TestSampleClientsReceiveEverything(t *testing.T) {
	t.Parallel()
	runs := map[string]script{
		"short":   saying(everything(20, 1)...),
		"long":    saying(everything(4000, 5)...), // several times the chunk size of decoders
		"wide":    saying(everything(20, 50)...),
		"cached":  saying(cachedRun()...),
		"failing": saying(append(analysed(), searching(1)[0])...),
	}
	s := serve(t, byQuestion(runs), engine.Options{}, server.Options{})
	for name, receive := range samples(t) {
		for run := range runs {
			t.Run(name+"/"+run, func(t *testing.T) {
				t.Parallel()
				got := receive(t, s, run+" run")
				_, evs := s.answered(run + " run")
				sameEvents(t, evs, got)
			})
		}
	}
}

// TestPythonSampleWaitsForSlowModel: the client of the sample has a read timeout of 5 s, and heartbeats prevent it. This
// needs the real clock of the client; the interval of heartbeats is tested with a virtual one.
func TestPythonSampleWaitsForSlowModel(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 6 s")
	}
	bodies := everything(20, 1)
	first := slices.IndexFunc(bodies, func(b event.Body) bool { _, is := b.(event.Token); return is })
	slow := script(func(ctx context.Context, r *answer.Recorder) error {
		if err := emit(ctx, r, bodies[:first]...); err != nil {
			return err
		}
		<-time.After(6 * time.Second)
		return emit(ctx, r, bodies[first:]...)
	})
	s := serve(t, slow, engine.Options{}, server.Options{Heartbeat: time.Second})
	got := samples(t)["python"](t, s, "why?")
	if len(got) == 0 || !strings.Contains(got[len(got)-1], `"type": "done"`) {
		t.Errorf("the sample received %d events; the last is %.200s", len(got), got[max(len(got)-1, 0):])
	}
}

// sameEvents compares the output of a client with a stream of the same script. Times may differ, and how tokens are
// combined to events.
func sameEvents(t *testing.T, want []sse.Event, got []string) {
	t.Helper()
	var texts [2]string
	var steps [2][]any
	add := func(side int, raw string) {
		var p map[string]any
		if err := json.Unmarshal([]byte(raw), &p); err != nil {
			t.Fatalf("%v: %.200q", err, raw)
		}
		if p["type"] == "token" {
			texts[side] += p["content"].(string)
			return
		}
		delete(p, "total_time_ms")
		steps[side] = append(steps[side], p)
	}
	for _, ev := range want {
		add(0, ev.Data)
	}
	for _, line := range got {
		add(1, line)
	}
	if texts[0] != texts[1] {
		t.Errorf("text: %d bytes of %d were received", len(texts[1]), len(texts[0]))
	}
	if diff := cmp.Diff(steps[0], steps[1]); diff != "" {
		t.Errorf("events (-sent +received):\n%.2000s", diff)
	}
}

// TestCurlSample runs the sample command. A configuration file sets the address of the server.
func TestCurlSample(t *testing.T) {
	t.Parallel()
	needs.Program(t, "curl")
	s := serve(t, saying(everything(300, 5)...), engine.Options{}, server.Options{})
	for name, more := range map[string]string{"plain": "", "compressed": "compressed\n"} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			u, err := url.Parse(s.url)
			require.NoError(t, err)
			rc := fmt.Sprintf("silent\nnoproxy = *\nconnect-to = \"localhost:8000:%s:%s\"\n%s", u.Hostname(), u.Port(), more)
			require.NoError(t, os.WriteFile(filepath.Join(home, ".curlrc"), []byte(rc), 0o600))
			cmd := exec.Command(needs.Program(t, "sh"), "testdata/clients/ask.sh")
			cmd.Env = append(os.Environ(), "CURL_HOME="+home)
			out, err := cmd.Output()
			require.NoError(t, err)
			var evs []sse.Event
			for ev, err := range sse.NewReader(bytes.NewReader(out), 0).All() {
				require.NoError(t, err)
				evs = append(evs, ev)
			}
			require.NoError(t, new(checker).all(evs))
			text, _ := textAndNames(evs)
			if !strings.HasPrefix(text, " word0") || !strings.HasSuffix(text, " [1]") {
				t.Errorf("text: %.80q", text)
			}
		})
	}
}

// TestCurlJoins: a client that resumes in the middle reads the rest of the run: first frames of its own, then those that it
// shares with other clients.
func TestCurlJoins(t *testing.T) {
	t.Parallel()
	curl := needs.Program(t, "curl")
	for _, coding := range compressions {
		t.Run(coding, func(t *testing.T) {
			t.Parallel()
			if version, err := exec.Command(curl, "--version").Output(); err != nil || coding == "zstd" && !bytes.Contains(version, []byte("zstd")) {
				t.Skip("curl was built without zstd")
			}
			steps := make(chan struct{})
			bodies := everything(200, 3)
			s := serve(t, stepwise(steps, bodies), engine.Options{}, server.Options{})
			first := s.ask("why?", "Accept-Encoding", coding)
			for range 100 {
				steps <- struct{}{}
			}
			// There is no sync point at this event.
			cmd := exec.Command(curl, "-sN", "--noproxy", "*", "--compressed", "-H", "Accept-Encoding: "+coding, "-H", "Last-Event-ID: 40",
				s.url+"/runs/"+first.Header.Get("Sluice-Run-Id")+"/stream")
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			late := sse.NewReader(out, 0)
			var evs []sse.Event
			next := func() bool {
				ev, err := late.Next()
				if err == nil {
					evs = append(evs, ev)
				}
				return err == nil
			}
			next() // the client reads before the rest is emitted
			go func() {
				for range len(bodies) - 100 {
					steps <- struct{}{}
				}
			}()
			for next() {
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("curl: %v", err)
			}
			all, err := readAll(first)
			text, _ := textAndNames(all)
			tail, _ := textAndNames(evs)
			if err != nil || !strings.HasSuffix(text, tail) || len(tail) < len(text)/2 || evs[len(evs)-1].Name != "done" {
				t.Errorf("%v: %d bytes after the cut, of %d", err, len(tail), len(text))
			}
		})
	}
}
