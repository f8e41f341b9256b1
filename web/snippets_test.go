package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// code is a program of the protocol view.
type code struct {
	Protocol, What, Language, Code, Compiled string
	Keyed                                    bool
}

// TestSnippets runs the code that the protocol view shows against the real program. The question has characters that each language quotes in another way.
func TestSnippets(t *testing.T) {
	node, _ := programs(t)
	for _, name := range []string{"curl", "python3", "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name, " is not there")
		}
	}
	binary := filepath.Join(t.TempDir(), "sluice")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/sluice").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	keys := t.TempDir()
	key, err := exec.Command(binary, "keys", "add", "--data="+keys, "--account=alice").Output()
	require.NoError(t, err)
	p := &program{binary: binary, args: []string{"--data=" + keys, "--docs=" + writeAll(t, documents)}}
	require.NoError(t, p.start())
	t.Cleanup(p.kill)
	env := append(os.Environ(), "SLUICE_KEY="+strings.TrimSpace(string(key)))
	query := "What does a \"ship\" pay\nfor each 'metre' of its `length` \\ $length?"
	all := snippets(t, node, p.url, askRun(t, p.url, strings.TrimSpace(string(key)), query), query)
	if len(all) != 11*4*2 {
		t.Fatalf("%d programs", len(all))
	}
	compileGo(t, all)
	for _, c := range all {
		if !c.Keyed || c.Language == "go" && (c.Protocol != "turns" || c.What != "ask") && (c.Protocol != "events") {
			continue // the server needs a key, and linking many programs takes long
		}
		t.Run(fmt.Sprint(c.Protocol, " ", c.What, " ", c.Language), func(t *testing.T) {
			cmd := c.command(t, node)
			cmd.Env = env
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "euros") {
				t.Errorf("%v\n%s\n%s", err, c.Code, out)
			}
		})
	}
}

// askRun asks a question and returns the id of its run.
func askRun(t *testing.T, server, key, query string) string {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"query": query})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/api/query", strings.NewReader(string(body)))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK || !strings.Contains(string(text), "euros") {
		t.Fatalf("%s: %s", res.Status, text)
	}
	return res.Header.Get("Sluice-Run-Id")
}

func snippets(t *testing.T, node, origin, run, query string) (all []code) {
	t.Helper()
	in, _ := json.Marshal(map[string]any{"origin": origin, "run": run,
		"question": map[string]any{"query": query, "mode": "agentic", "collection": "default", "top_k": 4}})
	cmd := exec.Command(node, "e2e/snippets.mjs", string(in))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	require.NoError(t, err)
	return all
}

// compileGo compiles all programs in Go, with vet.
func compileGo(t *testing.T, all []code) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module snippets\n\ngo 1.24\n"}
	for _, c := range all {
		if c.Language == "go" {
			files[filepath.Join(fmt.Sprintf("%s_%s_%v", c.Protocol, c.What, c.Keyed), "main.go")] = c.Code
		}
	}
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command("go", "vet", "./...")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
	if out, err := exec.Command("gofmt", "-l", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %v\n%s", err, out)
	}
}

// command returns the command that runs the program.
func (c code) command(t *testing.T, node string) *exec.Cmd {
	t.Helper()
	name := map[string]string{"curl": "run.sh", "go": "main.go", "typescript": "run.mjs", "python": "run.py"}[c.Language]
	text := c.Code
	if c.Compiled != "" {
		text = c.Compiled
	}
	path := filepath.Join(writeAll(t, map[string]string{name: text}), name)
	switch c.Language {
	case "go":
		return exec.Command("go", "run", path)
	case "typescript":
		return exec.Command(node, path)
	case "python":
		return exec.Command("python3", path)
	}
	return exec.Command("bash", path)
}
