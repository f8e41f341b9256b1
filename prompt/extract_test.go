package prompt

import (
	"encoding/json"
	"strings"
	"testing"
)

func FuzzExtract(f *testing.F) {
	for _, s := range []string{"", "{}", "{", "}{", `{"a": "}"}`, `{"a": "\"}"}`, "```json\n{\"a\": 1}\n```", "<think>{</think>{}", "a {b {c} {}", "[{}]", "{]}",
		strings.Repeat("{", 100), strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), "\ufeff{}", "{\"\xff\": 1}", "``` ```{}``` {\"a\":1}```"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw, ok := extract(s)
		if !ok {
			return
		}
		var o map[string]any
		if err := json.Unmarshal(raw, &o); err != nil && !strings.Contains(err.Error(), "cannot unmarshal number") || !strings.Contains(s, string(raw)) {
			t.Fatalf("%q gives %q: %v", s, raw, err)
		}
	})
}

func TestExtract(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "{": "", "[1]": "", "{a}": "", `{"a": 1}`: `{"a": 1}`, `x {"a": "}"} y`: `{"a": "}"}`, `{bad} {"a": {"b": [1]}} {"c": 2}`: `{"a": {"b": [1]}}`,
		"{\"no\": 1} ```json\n{\"a\": 1}\n```": `{"a": 1}`, "``` none ``` ```{\"a\": 1}": `{"a": 1}`, `{"a": "` + "```{}```" + `"}`: `{"a": "` + "```{}```" + `"}`,
		"<think>{\"no\": 1}</think>{}": "{}", strings.Repeat("{", 63) + "{}": "{}", strings.Repeat("{", 64) + "{}": "",
	} {
		if got, ok := extract(s); string(got) != want || ok != (want != "") {
			t.Errorf("%q gives %q, want %q", s, got, want)
		}
	}
}
