package chat

import (
	"errors"
	"strings"
	"unicode"
)

// word is a word of the arguments of a command. Quoted and escaped characters are literal in file patterns.
type word struct {
	text  string
	start int  // byte offset
	plain bool // no part of it is quoted
	open  rune // unclosed quote, or 0
}

var errQuote = errors.New("unclosed quote")

// words splits arguments at spaces like a shell: spaces in quotes are literal, and a backslash escapes the next character except in
// single quotes.
func words(s string) (all []word, err error) {
	var text strings.Builder
	var in rune
	w, inside, escaped := word{}, false, false
	for i, r := range s {
		switch {
		case escaped:
			text.WriteRune(r)
			escaped = false
		case in == 0 && unicode.IsSpace(r):
			if inside {
				w.text = text.String()
				all, inside = append(all, w), false
			}
			continue
		default:
			if !inside {
				w, inside = word{start: i, plain: true}, true
				text.Reset()
			}
			switch {
			case r == '\\' && in != '\'':
				escaped, w.plain = true, false
			case in == 0 && (r == '"' || r == '\''):
				in, w.plain = r, false
			case r == in && in != 0:
				in = 0
			default:
				text.WriteRune(r)
			}
		}
	}
	if inside {
		w.text, w.open = text.String(), in
		all = append(all, w)
	}
	if in != 0 {
		err = errQuote
	}
	return all, err
}

// texts returns the texts of words.
func texts(all []word) []string {
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = w.text
	}
	return out
}

// quoted returns a text in the form that words parses as one word.
func quoted(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsSpace(r) || strings.ContainsRune(`\"'*?[`, r) {
			b.WriteRune('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
