package transport_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/transport"
)

// TestUnquoteAgrees compares Unquote and Joiner with encoding/json.
func TestUnquoteAgrees(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`""`, `"plain"`, `"Zürich 🙂"`, `"\ud83d\ude00"`, `"\u00e9\n\t\r\b\f\/\\\""`, `"\ud83d"`, `"\ud83d\ud83d\ude00"`,
		`"\ude00\ud83d"`, `"a\ud83dx"`, `"\uD83D\uDE00\u6c34"`, "\"\xff\xc3\"", "\"\xf0\x9f\"", `"\u0000"`,
	} {
		var want string
		require.NoError(t, json.Unmarshal([]byte(raw), &want))
		var j transport.Joiner
		got := j.Push(transport.Unquote(raw)) + j.Rest()
		if got != want {
			t.Errorf("%s is %q, not %q", raw, got, want)
		}
	}
}

// TestJoiner splits texts at every byte.
func TestJoiner(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"aé水🙂z", "\xed\xa0\xbd\xed\xb8\x80!", "🙂\xff🙂", "\xed\x9f\xbf\xee\x80\x80", "\xf0\x9f\x99", "\xed\xa0\xbdx"} {
		want := transport.Repair(text)
		for i := range text {
			for k := i; k <= len(text); k++ {
				var j transport.Joiner
				a, b, c, d := j.Push(text[:i]), j.Push(text[i:k]), j.Push(text[k:]), j.Rest()
				if got := a + b + c + d; got != want {
					t.Errorf("%q cut at %d and %d is %q, not %q", text, i, k, got, want)
				}
				for _, s := range []string{a, b, c, d} {
					if !utf8.ValidString(s) {
						t.Errorf("%q cut at %d and %d gives %q", text, i, k, s)
					}
				}
			}
		}
	}
}
