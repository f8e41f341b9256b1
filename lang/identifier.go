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

// identifierRE matches an option of a command, a name with an underscore, a call of a function, and the name of a file.
var identifierRE = regexp.MustCompile("(?:^|[\\s(\"'`“‘„«])(--?[A-Za-z][\\w-]*|[A-Za-z_]\\w*_\\w+|[A-Za-z_][\\w.]*\\(\\)|[\\w-]+\\.(?:md|rst|txt|ya?ml|json|toml|ini|conf|cfg|env|csv|tsv|xml|html?|pdf|docx?|xlsx?|pptx?|sql|db|log|lock|go|py|rs|sh|service))(?:$|[\\s)\"'`”’“»?!.,:;=])")

// Identifiers returns the options, names of variables and functions, and files that a question names literally: --retry, -v, max_rows, dump(),
// settings.yaml.
func Identifiers(question string) (out []string) {
	for s := Truncate(question, 2000); len(out) < maxIdentifiers; {
		at := identifierRE.FindStringSubmatchIndex(s)
		if at == nil {
			return out
		}
		id := s[at[2]:at[3]]
		if !slices.Contains(out, id) {
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
