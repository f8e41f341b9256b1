package lang

import "strings"

// Head gives at most n bytes of s, cut where a character ends.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// Content gives the distinct words of s that are no stop words, at most so many.
func Content(s string, most int) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range Words(s) {
		if !Stop(w.Text) && !seen[w.Text] && len(out) < most {
			seen[w.Text] = true
			out = append(out, w.Text)
		}
	}
	return out
}
