package lang

import "strings"

// Truncate returns at most n bytes of s, cut at the end of a character.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
