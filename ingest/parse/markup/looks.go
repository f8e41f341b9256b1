package markup

import (
	"bytes"
	"regexp"
)

var (
	// Directives, targets, footnotes and substitutions of reStructuredText.
	explicitRE = regexp.MustCompile(`^\.\. (?:[a-z][\w:-]*::(?:\s|$)|_[^:]+:(?:\s|$)|\[(?:#[\w-]*|\d+)\] |\|[^|]+\| [a-z]+::)`)
	// Attributes of blocks, anchors, attributes of the document, admonitions and macros of AsciiDoc.
	adocMarkRE = regexp.MustCompile(`^(?:\[\[[\w:.-]+\]\]|\[(?:source|listing|verse|quote|horizontal|qanda|NOTE|TIP|IMPORTANT|WARNING|CAUTION|discrete|abstract|appendix|preface|cols=|options=|role=|[#.%][\w.-]+)[^\]]*\]|:[a-z][\w-]*:(?: .*)?|(?:image|include|toc)::[^\s\[]*\[[^\]]*\]|(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION): \S.*|\|===)$`)
	adocLinkRE = regexp.MustCompile(`\b(?:link|xref|image|linkgit|footnote|kbd|menu):[^\s\[]+\[`)
)

// marks are what a text has of the markup languages.
type marks struct {
	titles                   int // with one to five equal signs before them
	underlined               int // titles
	explicit, roles          int
	attributes, terms, links int // of AsciiDoc
}

// count counts the marks in the lines of a text. The expressions only see lines that can match.
func count(text []byte) (m marks) {
	var before []byte
	for l := range bytes.Lines(text) {
		l = bytes.TrimRight(l, " \t\r\n")
		if len(l) == 0 {
			before = nil
			continue
		}
		switch l[0] {
		case '=', '-', '~', '^', '*', '#', '+', '"':
			if len(l) >= 4 && len(bytes.Trim(l, string(l[:1]))) == 0 {
				if len(before) > 0 && before[0] != ' ' && before[0] != '\t' {
					m.underlined++
				}
			} else if title := bytes.TrimLeft(l, "="); len(l)-len(title) <= 5 && len(title) > 1 && l[0] == '=' && title[0] == ' ' {
				m.titles++
			}
		case '.':
			if explicitRE.Match(l) {
				m.explicit++
			}
		case '[', ':', '|', 'i', 't', 'N', 'T', 'I', 'W', 'C':
			if adocMarkRE.Match(l) {
				m.attributes++
			}
		}
		if bytes.HasSuffix(l, []byte("::")) && l[0] > ' ' && l[0] != '.' {
			m.terms++
		}
		if i := bytes.Index(l, []byte(":`")); i > 0 && bytes.LastIndexByte(l[:i], ':') >= 0 {
			m.roles += bytes.Count(l, []byte(":`"))
		}
		if bytes.IndexByte(l, '[') > 0 && adocLinkRE.Match(l) {
			m.links++
		}
		before = l
	}
	return m
}

// Looks reports whether a text without a name that says so is reStructuredText, which has underlined titles, and directives or roles, or AsciiDoc, which has titles, and marks that no other
// format has.
func Looks(head []byte) (rst, asciiDoc bool) {
	m := count(head)
	if m.underlined > 0 && (m.explicit > 0 || m.roles > 1) {
		return true, false
	}
	return false, m.titles > 0 && m.attributes+m.links > 0 || m.underlined > 0 && m.links > 0 && m.attributes+m.terms > 0
}
