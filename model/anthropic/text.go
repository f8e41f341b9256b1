package anthropic

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/model/transport"
)

// joiner reads a text that comes as JSON strings, and joins the code points that were cut between them: bytes of UTF-8, and
// halves of surrogate pairs. What is no UTF-8 becomes U+FFFD.
type joiner struct{ held []byte } // the end of the last string, as it was written in JSON

// push reads the next string; null and nothing are empty.
func (j *joiner) push(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] != '"' || len(raw) < 2 {
		return "", transport.ErrUnreadable
	}
	inner := raw[1 : len(raw)-1]
	if len(j.held) > 0 {
		inner = append(j.held, inner...)
	}
	end := whole(inner)
	quoted := make([]byte, 0, end+2)
	quoted = append(append(append(quoted, '"'), inner[:end]...), '"')
	j.held = append([]byte(nil), inner[end:]...)
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return "", transport.ErrUnreadable
	}
	return text, nil
}

// whole says how much of the inside of a JSON string ends in a whole code point.
func whole(s []byte) int {
	const half = len(`\ud83d`)
	if at := len(s) - half; at >= 0 && s[at] == '\\' && s[at+1] == 'u' && (s[at+2] == 'd' || s[at+2] == 'D') &&
		strings.IndexByte("89abAB", s[at+3]) >= 0 && !escaped(s, at) {
		return at
	}
	for back := 1; back < utf8.UTFMax && back <= len(s); back++ {
		at := len(s) - back
		if utf8.RuneStart(s[at]) {
			if !utf8.FullRune(s[at:]) {
				return at
			}
			break
		}
	}
	return len(s)
}

// escaped tells whether the backslash there is itself what a backslash stands before.
func escaped(s []byte, at int) bool {
	n := 0
	for at-n-1 >= 0 && s[at-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// clean makes a name valid UTF-8.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
