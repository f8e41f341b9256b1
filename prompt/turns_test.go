package prompt_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

func TestConverse(t *testing.T) {
	for _, s := range hostile {
		ms, err := tagged().Converse(prompt.Planning{Question: "Why?", Rounds: 2, Complaint: s, Turns: []prompt.ToolRound{{
			{ID: "a", Tool: "hybrid_search", Input: map[string]any{"query": s, "entities": []string{s}}, Note: s,
				Findings: []prompt.Finding{{Passage: prompt.Passage{ID: 1, Heading: s, Text: s}, Grade: "CORRECT", Path: []string{s}}}},
			{ID: "b", Tool: "decompose_query", Input: map[string]any{}, Parts: []string{s}},
		}}})
		require.NoError(t, err)
		roles := ""
		for _, m := range ms {
			roles += string(m.Role) + " "
			if n := strings.Count(strings.ToLower(m.Text), tag); m.Role == model.ToolResult && n != 2 {
				t.Errorf("%.40q: it contains the tag %d times", s, n)
			}
			for _, bad := range []string{"<|", "⟦", "\x00", "</think>"} {
				if strings.Contains(m.Text, bad) {
					t.Errorf("%.40q: %q is not neutralized", s, bad)
				}
			}
			for _, c := range m.ToolCalls {
				if !json.Valid(c.Input) || len(c.Input) > 16<<10 || strings.Contains(strings.ToLower(string(c.Input)), tag) {
					t.Errorf("%.40q: arguments of %d bytes: %.100s", s, len(c.Input), c.Input)
				}
			}
		}
		if roles != "system user assistant tool tool " {
			t.Errorf("messages of %s", roles)
		}
		if last := ms[4]; last.ToolCallID != "b" || !strings.Contains(last.Text, "cannot be used: ") || len(last.Text) > 8<<10 {
			t.Errorf("%.40q: the last message is %+v", s, last)
		}
	}
}

func TestForm(t *testing.T) {
	f, err := prompt.NewForm(json.RawMessage(`{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}`))
	require.NoError(t, err)
	for raw, want := range map[string]string{
		`{"a": "b"}`: "", `{}`: "missing property 'a'", `{"A": "b"}`: "missing property 'a'", `{"a": 1}`: "got number, want string", `null`: "no JSON object",
		`"a"`: "no JSON object", `{`: "no JSON object", `{"a": "` + strings.Repeat("x", 16<<10) + `"}`: "too long",
	} {
		object, complaint := f.Read(json.RawMessage(raw))
		if (want == "") != (complaint == "") || !strings.Contains(complaint, want) || (complaint == "") != (object["a"] == "b") {
			t.Errorf("%.40s: %v, %q", raw, object, complaint)
		}
	}
	for _, schema := range []string{`{`, `{"type": "array"}`, `{"type": "object", "$ref": "http://x/y"}`} {
		if _, err := prompt.NewForm(json.RawMessage(schema)); err == nil {
			t.Errorf("%s is accepted", schema)
		}
	}
}
