package lang

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxIdentifiers is the maximum number of identifiers of a question.
const maxIdentifiers = 8

// identifierRE matches an option of a command, a name with an underscore, and a call of a function. The name of a file says in which document an answer is,
// and is rarely in its text.
var identifierRE = regexp.MustCompile("(?:^|[\\s(\"'`“‘„«])(--?[A-Za-z][\\w-]*|[A-Za-z_]\\w*_\\w+|[A-Za-z_][\\w.]*\\(\\))(?:$|[\\s)\"'`”’“»?!.,:;=])")

// Identifiers returns the options, and the names of variables and functions, that a question names literally: --retry, -v, max_rows, dump().
func Identifiers(question string) (out []string) {
	for s := Truncate(question, 2000); len(out) < maxIdentifiers; {
		at := identifierRE.FindStringSubmatchIndex(s)
		if at == nil {
			return out
		}
		id := s[at[2]:at[3]]
		if !slices.Contains(out, id) && !joinsIdentifier("", s[at[3]:]) { // a_b.pdf is the name of a file
			out = append(out, id)
		}
		s = s[at[3]:] // what follows one can precede the next
	}
	return out
}

// HoldsIdentifier reports whether a text has one of the identifiers, and not as a part of a longer one. The case of letters only counts for options.
func HoldsIdentifier(text string, identifiers []string) bool {
	if len(identifiers) == 0 {
		return false
	}
	lower := strings.ToLower(text)
	return slices.ContainsFunc(identifiers, func(id string) bool {
		text := text
		if !strings.HasPrefix(id, "-") {
			id, text = strings.ToLower(id), lower
		}
		for from := 0; ; {
			at := strings.Index(text[from:], id)
			if at < 0 {
				return false
			}
			at += from
			if !joinsIdentifier(text[:at], text[at+len(id):]) {
				return true
			}
			from = at + 1
		}
	})
}

// HasEntry reports whether a line of a text begins with one of the identifiers, after the mark of an item or a row.
func HasEntry(text string, identifiers []string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, "| \t*•#`\"")
		for _, dash := range []string{"- ", "– "} {
			line = strings.TrimLeft(strings.TrimPrefix(line, dash), "`*\" \t")
		}
		if len(line) > 0 && slices.ContainsFunc(identifiers, func(id string) bool {
			return len(line) >= len(id) && (line[:len(id)] == id || id[0] != '-' && strings.EqualFold(line[:len(id)], id)) && !joinsIdentifier("", line[len(id):])
		}) {
			return true
		}
	}
	return false
}

// joinsIdentifier reports whether the text before or after an identifier is part of a longer one.
func joinsIdentifier(before, after string) bool {
	if r, _ := utf8.DecodeLastRuneInString(before); r == '-' || inIdentifier(r) {
		return true
	}
	r, n := utf8.DecodeRuneInString(after)
	if r == '-' || r == '.' {
		r, _ = utf8.DecodeRuneInString(after[n:])
	}
	return inIdentifier(r)
}

func inIdentifier(r rune) bool {
	return r == '_' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// IdentifierParts returns the words of an identifier such as IdleTimeout or idle_timeout, lower-cased; nil for other words.
func IdentifierParts(word string) (out []string) {
	from := 0
	for i := 1; i < len(word); i++ {
		switch {
		case word[i] == '_' || word[i-1] == '_':
		case word[i] >= 'A' && word[i] <= 'Z' && word[i-1] >= 'a' && word[i-1] <= 'z':
		default:
			continue
		}
		if part := strings.Trim(word[from:i], "_"); part != "" {
			out = append(out, strings.ToLower(part))
		}
		from = i
	}
	if len(out) == 0 {
		return nil
	}
	if part := strings.Trim(word[from:], "_"); part != "" {
		out = append(out, strings.ToLower(part))
	}
	return out
}
