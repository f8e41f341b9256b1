package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
)

// able plays a model that can count, call tools and fill in forms.
func able(_ int, request []byte) modeltest.Script {
	switch body := string(request); {
	case strings.Contains(body, `"tools"`):
		return modeltest.Script{Calls: []modeltest.ScriptCall{{ID: "1", Name: "water_level", Input: `{"gate":"North"}`}}}
	case strings.Contains(body, "json_schema"):
		return modeltest.Script{Tokens: []string{`{"metres": 3,`, ` "open": true}`}}
	}
	return modeltest.Script{Tokens: []string{"1", " 2", " 3", " 4"}, Reasoning: []string{"easy"}}
}

func TestModelsCheck(t *testing.T) {
	clean(t)
	s := modeltest.NewOpenAI(t, modeltest.Script{Next: able, Context: 8192, Dim: 48})
	status, out, errs := run(t, "models", "check", "--json", "--model-url", s.URL, "--embed-url", s.URL)
	var got []map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 || len(got) != 2 {
		t.Fatalf("status %d, %v\n%s%s", status, err, out, errs)
	}
	for name, want := range map[string]any{"kind": "chat", "name": "test-model", "answers": true, "stream": true, "tools": true, "json": true,
		"usage": true, "reasoning": true, "context_tokens": 8192.0} {
		if got[0][name] != want {
			t.Errorf("%s is %v, want %v", name, got[0][name], want)
		}
	}
	if got[1]["kind"] != "embedder" || got[1]["dimensions"] != 48.0 || got[1]["answers"] != true || got[1]["per_token"] != false {
		t.Errorf("the embedder: %v", got[1])
	}
	status, out, _ = run(t, "models", "check", "--model-url", s.URL, "--embed-url", s.URL)
	if status != 0 || !strings.Contains(out, "JSON schema     yes") || !strings.Contains(out, "8192 tokens") || !strings.Contains(out, "48") {
		t.Errorf("status %d:\n%s", status, out)
	}
}

func TestModelsCheckOfOneThatIsDown(t *testing.T) {
	clean(t)
	status, out, errs := run(t, "models", "check", "--model-url", "http://127.0.0.1:1/v1", "--model-name", "gone")
	if status != 1 || !strings.Contains(out, "gone could not be reached") {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
	if status, out, _ := run(t, "models", "check"); status != 0 || !strings.Contains(out, "no model is configured") {
		t.Errorf("without a model: status %d: %s", status, out)
	}
	if status, out, _ := run(t, "models", "check", "--json"); status != 0 || out != "[]\n" {
		t.Errorf("JSON without a model: status %d: %s", status, out)
	}
}

// TestPrompts: what is written out can be read back, changed by hand, and is never overwritten.
func TestPrompts(t *testing.T) {
	dir := filepath.Join(docs(t), "prompts")
	if status, _, errs := run(t, "prompts", dir); status != 0 {
		t.Fatal(errs)
	}
	file := filepath.Join(dir, "answer.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	changed := strings.Replace(string(text), "[system]\n", "[system]\nSpeak like a harbour master.\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	status, _, errs := run(t, "prompts", dir)
	if again, err := os.ReadFile(file); status != 0 || err != nil || string(again) != changed || !strings.Contains(errs, "skipped, file exists") {
		t.Errorf("status %d, %v: %s", status, err, errs)
	}
	s := modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{"Aye: 12 euros a metre ⟦1⟧."}})
	data := t.TempDir()
	if status, _, errs := run(t, "ingest", "--data", data, filepath.Dir(dir)); status != 0 {
		t.Fatal(errs)
	}
	status, out, errs := run(t, "ask", "--data", data, "--judge", "none", "--prompts", dir, "--model-url", s.URL, "What does a ship pay for each metre?")
	if status != 0 || !strings.HasPrefix(out, "Aye: 12 euros a metre [1].") || !strings.Contains(errs, "test-model") {
		t.Errorf("status %d: %s\n%s", status, out, errs)
	}
	if asked := string(s.Requests()[0]); !strings.Contains(asked, "Speak like a harbour master.") {
		t.Errorf("the changed prompt was not used: %s", asked)
	}
	require.NoError(t, os.WriteFile(file, []byte("{{.Nothing"), 0o600))
	status, _, errs = run(t, "ask", "--data", data, "--prompts", dir, "--model-url", s.URL, "What does a ship pay?")
	if status == 0 || !strings.Contains(errs, "answer.md") {
		t.Errorf("a broken prompt: status %d: %s", status, errs)
	}
}

// TestWarningInTheMiddleOfAnAnswer: where both outputs are one terminal, it stands on a line of its own, and is told once.
func TestWarningInTheMiddleOfAnAnswer(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	if status, _, errs := run(t, "ingest", "--data", data, dir); status != 0 {
		t.Fatal(errs)
	}
	tokens := []string{"A ship", " pays 12", " euros", "."}
	first := modeltest.NewOpenAI(t, modeltest.Script{Tokens: tokens, Fail: modeltest.Cut, After: 2})
	second := modeltest.NewOpenAI(t, modeltest.Script{Tokens: tokens[2:]})
	var terminal bytes.Buffer
	status := cli.Main(t.Context(), []string{"ask", "--data", data, "--judge=none", "--model-url", first.URL, "--model-url", second.URL,
		"--model-name=one", "--model-name=two", "What does a ship pay?"}, cli.Streams{In: strings.NewReader(""), Out: &terminal, Err: &terminal})
	shown := terminal.String()
	if status != 0 || !strings.Contains(shown, "\nwarning: one broke off; two takes over (LLM_ERROR)\n") || strings.Count(shown, "one broke off") != 1 ||
		strings.Contains(shown, `"level"`) {
		t.Errorf("status %d:\n%s", status, shown)
	}
}

// TestFlaggedAnswer: a warning follows an answer that its sources do not support, and no other.
func TestFlaggedAnswer(t *testing.T) {
	dir, data := docs(t), t.TempDir()
	if status, _, errs := run(t, "ingest", "--data", data, dir); status != 0 {
		t.Fatal(errs)
	}
	for said, flagged := range map[string]bool{"A ship pays 12 euros for each metre of its length ⟦1⟧.": false, "A ship pays 40 euros for each metre of its length ⟦1⟧.": true} {
		s := modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{said}})
		status, out, errs := run(t, "ask", "--data", data, "--judge=none", "--model-url", s.URL, "What does a ship pay for each metre?")
		if got := strings.Contains(errs, "warning: the sources do not support this answer"); status != 0 || got != flagged {
			t.Errorf("%s: status %d\n%s\n%s", said, status, out, errs)
		}
	}
}
