package parse

import (
	"slices"
	"strings"
	"testing"
)

func TestIsSession(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"$ tide get":           true,
		"$ tide get\n  $ tide": true,
		"$ tide get\ndone":     false,
		"$5 for a boat":        false,
		"$":                    false,
		"":                     false,
		"$ tide get\n\n$ tide": false,
		strings.Repeat("$ a\n", maxSession-1) + "$ a": true,
		strings.Repeat("$ a\n", maxSession) + "$ a":   false,
	} {
		if got := isSession(strings.Split(text, "\n")); got != want {
			t.Errorf("%.40q: %v, want %v", text, got, want)
		}
	}
	if isSession(nil) {
		t.Error("no lines are a session")
	}
}

// TestOnlyCode checks which paragraphs of Markdown are code.
func TestOnlyCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"`tide get`":            true,
		"  `tide get`  ":        true,
		"Run `tide get`":        false,
		"`tide get` and more":   false,
		"`tide` `get`":          false,
		"[`tide`](https://a.b)": false,
		"**`tide get`**":        false,
		"tide get":              false,
		"- `tide get`":          false,
	} {
		p, err := Parse(t.Context(), "a.md", []byte("# Tides\n\n"+text+"\n"), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(p.Blocks, func(b Block) bool { return b.Kind == Code }); got != want {
			t.Errorf("%q: code %v, want %v in %+v", text, got, want, p.Blocks)
		}
	}
}
