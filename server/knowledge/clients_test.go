package knowledge_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func run(t *testing.T, s *site, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "SLUICE_URL="+s.url, "PYTHONIOENCODING=utf-8", "no_proxy=*")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestStrictClient runs a client that checks as strictly as the public one of the service.
func TestStrictClient(t *testing.T) {
	t.Parallel()
	python := needs.Python(t, "httpx")
	for name, set := range map[string]setting{
		"as it is":      func(*parts) {},
		"one at a time": func(p *parts) { p.files.Workers = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, set)
			run(t, s, python, "testdata/clients/forge.py", s.url)
		})
	}
}

// TestExamples runs the examples that upload a file and ask about it.
func TestExamples(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "notes on gold.md")
	require.NoError(t, os.WriteFile(file, []byte(gold), 0o600))
	const question = "Why does gold settle behind the riffles?"
	for name, cmd := range map[string][]string{
		"knowledge.sh": {needs.Program(t, "bash"), "../../examples/knowledge.sh", file, question},
		"knowledge.py": {needs.Python(t, "urllib.request"), "../../examples/knowledge.py", file, question, "And what carries the gravel away?"},
		"knowledge.go": {needs.Program(t, "go"), "run", "../../examples/knowledge", file, question, "And what carries the gravel away?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "knowledge.sh" {
				needs.Program(t, "curl")
			}
			s := newSite(t)
			out := run(t, s, cmd[0], cmd[1:]...)
			if !strings.Contains(out, "because it is heavier than gravel. ") || !strings.Contains(out, "notes on gold.md") {
				t.Errorf("output: %s", out)
			}
			if list := s.get("/v1/files")["data"].([]any); len(list) != 0 {
				t.Errorf("files are left: %v", list)
			}
			if list := s.get("/v1/vector_stores")["data"].([]any); strings.Contains(fmt.Sprint(list), "name:example") {
				t.Errorf("vector stores are left: %v", list)
			}
		})
	}
}
