package chat

import (
	"errors"
	"strings"
	"unicode"
)

// word is a part of a command's arguments. Parts that stood in quotes, or behind a backslash, mean themselves in patterns of files.
type word struct {
	text  string
	start int  // where it begins, in bytes
	plain bool // nothing of it was quoted
	open  rune // the quote that it ends in; 0: none
}

var errQuote = errors.New("a quote is not closed")

// words splits arguments at blanks, as shells do: quotes of both kinds hold blanks, and a backslash takes the next character as it is, but in
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

// texts gives the words alone.
func texts(all []word) []string {
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = w.text
	}
	return out
}

// quoted writes a text so that words reads it as one.
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
