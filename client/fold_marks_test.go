package client_test

import (
	"testing"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestTextThatLooksLikeCitation: in forge only a token with a citation becomes a marker; text of documents does not.
func TestTextThatLooksLikeCitation(t *testing.T) {
	t.Parallel()
	var f client.Fold
	for _, data := range []string{`{"content":"a"}`, `{"content":" [1]"}`, `{"content":" [2]","citation":2}`, `{"content":" ⟦⟦1⟧⟧ ⟦"}`, `{"content":"⟦3⟧⟧"}`} {
		require.NoError(t, f.Add(client.Event{Protocol: "forge", Name: "token", Data: []byte(data)}))
	}
	want := "a [1] ⟦⟦2⟧⟧ ⟦\u2060⟦1⟧⟧ ⟦\u2060⟦3⟧⟧"
	if got := f.Snapshot().Text; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestQuotesOfCode: a quotation is one line, without the fences of code.
func TestQuotesOfCode(t *testing.T) {
	t.Parallel()
	var f client.Fold
	data := `{"sources":[{"text":"Stop it:\n\n` + "```bash" + `\nls | wc\n` + "```" + `\n\nUse ` + "```a``` or `b`" + `.","quote":"` + "````\\nls | wc\\n````" + `","cited":true}]}`
	require.NoError(t, f.Add(client.Event{Protocol: "forge", Name: "sources", Data: []byte(data)}))
	c := f.Snapshot().Citations
	if len(c) != 1 || c[0].Quote != "ls | wc" || c[0].Snippet != "Stop it: ls | wc Use ```a``` or `b`." {
		t.Errorf("%+v", c)
	}
}
