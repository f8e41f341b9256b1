package markup

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

var (
	attributeRefRE = regexp.MustCompile(`\\?\{([a-zA-Z0-9_][\w-]{0,60})\}`)
	adocMacroRE    = regexp.MustCompile(`^(https?://|ftp://|irc://|mailto:|link:|xref:|image:|icon:|kbd:|btn:|menu:|footnote:|footnoteref:|pass:\w*|indexterm:|indexterm2:|anchor:|stem:|latexmath:|asciimath:|[a-z]{3,12}:)([^\s\[\]<>]{0,1000})\[`)
	quotedRE       = regexp.MustCompile("\"`|`\"|'`|`'")
)

// attributes replaces the names of attributes in braces.
func (a *adoc) attributes(s string) string {
	if !strings.Contains(s, "{") {
		return s
	}
	return attributeRefRE.ReplaceAllStringFunc(s, func(m string) string {
		if m[0] == '\\' {
			return m[1:]
		}
		if text, ok := a.names.expand(strings.ToLower(m[1 : len(m)-1])); ok {
			return text
		}
		return m
	})
}

// inline returns the text of marked text, and its links.
func (a *adoc) inline(s string) (string, []document.Link) {
	if len(s) > maxInline {
		return s, nil
	}
	s = a.attributes(s)
	if !strings.ContainsAny(s, "*_`#+^~[<(\\\"'") {
		return s, nil
	}
	s = quotedRE.ReplaceAllStringFunc(s, func(m string) string {
		return map[string]string{"\"`": "“", "`\"": "”", "'`": "‘", "`'": "’"}[m]
	})
	w := adocText{a: a, missing: map[string]bool{}}
	for i := 0; i < len(s); {
		i += w.next(s, i)
	}
	return w.String(), w.links
}

// adocText collects text and its links.
type adocText struct {
	strings.Builder
	a       *adoc
	links   []document.Link
	missing map[string]bool // marks that are not in the rest of the text
}

// next writes the text at i, and returns how many bytes of s it is.
func (w *adocText) next(s string, i int) int {
	rest := s[i:]
	switch c := rest[0]; {
	case c == '\\' && len(rest) > 1 && strings.ContainsRune("*_`#+^~[{<\\", rune(rest[1])):
		w.WriteString(rest[1:2])
		return 2
	case c >= 'a' && c <= 'z' && wordBegins(s, i):
		if n := w.macro(rest); n > 0 {
			return n
		}
	case strings.HasPrefix(rest, "<<"):
		if end := strings.Index(rest[:min(len(rest), maxSpan)], ">>"); end > 2 {
			id, text, ok := strings.Cut(rest[2:end], ",")
			if !ok {
				text = strings.TrimPrefix(id, "_")
			}
			w.link(strings.TrimSpace(text), "#"+strings.TrimSpace(id))
			return end + 2
		}
	case strings.HasPrefix(rest, "(((") || strings.HasPrefix(rest, "(("):
		if end := strings.Index(rest[:min(len(rest), maxSpan)], "))"); end > 2 {
			if rest[2] == '(' { // an index term that is not shown
				return end + min(3, len(rest[end:])-len(strings.TrimLeft(rest[end:], ")")))
			}
			w.WriteString(rest[2:end])
			return end + 2
		}
	case strings.HasPrefix(rest, "[["):
		if end := strings.Index(rest[:min(len(rest), maxSpan)], "]]"); end > 0 && !strings.Contains(rest[:end], " ") {
			return end + 2
		}
	case c == '[':
		if end := strings.Index(rest[:min(len(rest), 100)], "]"); end > 0 && end+1 < len(rest) && rest[end+1] == '#' && (rest[1] == '.' || rest[1] == '#' || unicode.IsLetter(rune(rest[1]))) {
			if n := w.span(s, i+end+1); n > 0 {
				return end + 1 + n
			}
		}
	case strings.IndexByte("*_`#+^~", c) >= 0:
		if n := w.span(s, i); n > 0 {
			return n
		}
	}
	if n := strings.IndexAny(rest[1:], "*_`#+^~[<(\\: \n"); n >= 0 && (rest[0] == ' ' || rest[0] == '\n') {
		w.WriteByte(rest[0])
		return 1
	} else if n >= 0 {
		w.WriteString(rest[:n+1])
		return n + 1
	}
	w.WriteString(rest)
	return len(rest)
}

// span writes text between marks, such as *bold*.
func (w *adocText) span(s string, i int) int {
	rest := s[i:]
	mark := rest[:1]
	switch {
	case strings.HasPrefix(rest, "+++"):
		mark = "+++"
	case len(rest) > 1 && rest[1] == rest[0]:
		mark = rest[:2]
	}
	if len(mark) == 1 && mark != "^" && mark != "~" && !opens(s, i) {
		return 0
	}
	inner, n := between(rest, mark, w.missing)
	if n == 0 || (mark == "^" || mark == "~") && strings.Contains(inner, " ") {
		return 0
	}
	if len(mark) == 1 && mark != "^" && mark != "~" {
		next, _ := utf8.DecodeRuneInString(rest[n:])
		if unicode.IsLetter(next) || unicode.IsDigit(next) || next == '_' {
			return 0
		}
	}
	if mark[0] == '+' || mark == "``" {
		w.WriteString(strings.Trim(inner, "+"))
		return n
	}
	if len(inner) > 1 && inner[0] == '+' && inner[len(inner)-1] == '+' { // literal: `+text+`
		w.WriteString(inner[1 : len(inner)-1])
		return n
	}
	if w.a.nest++; w.a.nest > maxNest {
		w.WriteString(inner)
	} else {
		text, links := w.a.inline(inner)
		w.WriteString(text)
		w.links = append(w.links, links...)
	}
	w.a.nest--
	return n
}

func wordBegins(s string, i int) bool {
	if i == 0 {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	return !unicode.IsLetter(before) && !unicode.IsDigit(before) && before != '_' && before != ':'
}

// macro writes the text of a macro or of a URL with a text: name:target[text].
func (w *adocText) macro(s string) int {
	m := adocMacroRE.FindStringSubmatch(s[:min(len(s), maxSpan)])
	if m == nil {
		return 0
	}
	from := len(m[0])
	end := strings.IndexByte(s[from:min(len(s), from+maxSpan)], ']')
	if end < 0 {
		return 0
	}
	inner, target, name := s[from:from+end], m[2], strings.TrimSuffix(m[1], ":")
	n := from + end + 1
	text := firstAttribute(inner)
	if !strings.HasPrefix(inner, `"`) && !strings.Contains(inner, "=") {
		text = inner
	}
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\\]", "]"), "^")
	switch name {
	case "http", "https", "ftp", "irc", "http://", "https://", "ftp://", "irc://", "mailto", "link":
		url := strings.TrimPrefix(m[1], "link:") + target
		if text == "" {
			text = strings.TrimPrefix(url, "mailto:")
		}
		text, _ = w.a.inline(text)
		w.link(text, url)
	case "xref":
		if text == "" {
			text = strings.TrimPrefix(target, "#")
		}
		w.link(text, target)
	case "image", "kbd", "btn", "icon":
		w.WriteString(text)
	case "menu":
		w.WriteString(target)
		for item := range strings.SplitSeq(text, ">") {
			w.WriteString(" > " + strings.TrimSpace(item))
		}
	case "footnote", "footnoteref":
		if text, links := w.a.inline(inner); text != "" {
			w.WriteString(" (" + text + ")")
			w.links = append(w.links, links...)
		}
	case "pass", "indexterm", "anchor", "stem", "latexmath", "asciimath":
		if name != "anchor" && name != "indexterm" {
			w.WriteString(inner)
		}
	case "indexterm2":
		w.WriteString(inner)
	default: // linkgit:git-log[1]
		if strings.HasPrefix(name, "pass") {
			w.WriteString(inner)
		} else if target == "" {
			return 0
		} else if len(inner) <= 3 && inner != "" {
			w.WriteString(target + "(" + inner + ")")
		} else {
			w.WriteString(strings.TrimSpace(target + " " + text))
		}
	}
	return n
}

func (w *adocText) link(text, target string) {
	w.links = append(w.links, document.Link{Text: text, Target: target})
	w.WriteString(text)
}
