package generate

import (
	"strings"
	"unicode/utf8"
)

// escapes are the brackets of citations, and the rare characters that replace them in the text that models read.
// [restored] reverses the replacement in replies.
var escapes = map[string]string{"[": "⁅", "]": "⁆", "⟦": "⟬", "⟧": "⟭", "〚": "❲", "〛": "❳", "【": "⦗", "】": "⦘"}

var (
	brackets = strings.NewReplacer("⟦", "⟬", "⟧", "⟭", "〚", "❲", "〛", "❳")
	restored = func() *strings.Replacer {
		var pairs []string
		for bracket, escape := range escapes {
			pairs = append(pairs, escape, bracket)
		}
		return strings.NewReplacer(pairs...)
	}()
)

// unmarked escapes the brackets in a document's text that look like citations, such as [12], so that a model that repeats
// them does not create citations; the answer gets the original brackets back. Markdown code is unchanged, because it would
// be wrong otherwise.
func unmarked(s string) string {
	s = brackets.Replace(s)
	if !strings.ContainsAny(s, "[【") {
		return s
	}
	var out strings.Builder
	var in code
	var k marker
	done := 0 // everything before is written
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if k.open() {
			switch k.add(s[i : i+n]) {
			case pending:
				i += n
				continue
			case complete:
				out.WriteString(s[done : i-k.n])
				out.WriteString(escapes[string(k.raw[:k.textStart])] + string(k.raw[k.textStart:k.n]) + escapes[s[i:i+n]])
				i += n
				done = i
				k.end()
				in.next(')')
				continue
			}
			k.end()
		}
		if (r == '[' || r == '【') && !in.in() {
			k.start(s[i : i+n])
		}
		in.next(s[i])
		i += n
	}
	return out.String() + s[done:]
}
