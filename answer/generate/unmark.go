package generate

import (
	"strings"
	"unicode/utf8"
)

// escapes are the brackets that mark citations, or that prompts make plain ones of, with the rare ones that stand for them in
// what models read. [restored] puts them back in what models say.
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

// unmarked gives text of a document in which nothing is a citation, so that a model which repeats it cites nothing that the
// document wants cited: reference marks such as [12] get other brackets, and the answer gets the document's own back. In
// Markdown's code they stay as they are, as code would be wrong without them.
func unmarked(s string) string {
	s = brackets.Replace(s)
	if !strings.ContainsAny(s, "[【") {
		return s
	}
	var out strings.Builder
	var in code
	var k mark
	done := 0 // what stands before is written
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if k.open() {
			switch k.add(s[i : i+n]) {
			case waits:
				i += n
				continue
			case whole:
				out.WriteString(s[done : i-k.n])
				out.WriteString(escapes[string(k.raw[:k.start])] + string(k.raw[k.start:k.n]) + escapes[s[i:i+n]])
				i += n
				done = i
				k.end()
				in.see(')')
				continue
			}
			k.end()
		}
		if (r == '[' || r == '【') && !in.in() {
			k.begin(s[i : i+n])
		}
		in.see(s[i])
		i += n
	}
	return out.String() + s[done:]
}
