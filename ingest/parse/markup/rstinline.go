package markup

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// Limits of substitutions and attributes, which can make a small document large.
const (
	maxValue    = 4 << 10 // bytes of one
	maxExpanded = 1 << 20 // of all expansions together; names after it stay as they are
	maxNames    = 10_000
	maxInline   = 256 << 10 // bytes of a paragraph; a longer one is text without marks
	maxSpan     = 2000      // bytes of text between marks, such as *emphasis*
)

// names has the substitutions, attributes and link targets that a document defines.
type names struct {
	text    map[string]string // of substitutions or attributes
	targets map[string]string // of links
	left    int               // bytes of expansions
}

func newNames() names {
	return names{text: map[string]string{}, targets: map[string]string{}, left: maxExpanded}
}

// set defines a name.
func (n *names) set(name, text string) {
	if len(n.text) < maxNames && len(text) <= maxValue && len(name) <= 200 {
		n.text[name] = text
	}
}

// expand returns the text of a name.
func (n *names) expand(name string) (string, bool) {
	s, ok := n.text[name]
	if !ok || n.left < len(s) {
		return "", false
	}
	n.left -= len(s)
	return s, true
}

var (
	substituteRE = regexp.MustCompile(`^\s*\.\. \|([^|\s][^|]{0,100})\| ([\w-]+):: ?(.*)$`)
	targetRE     = regexp.MustCompile("^\\s*\\.\\. _([^`:]{1,200}|`[^`]{1,200}`):(?: +(\\S.*))?$")
	roleRE       = regexp.MustCompile("^:[a-zA-Z][\\w.+:-]{0,60}:`")
	roleAfterRE  = regexp.MustCompile(`^:[a-zA-Z][\w.+:-]{0,60}:`)
	targetedRE   = regexp.MustCompile(`(?s)^(.*\S)\s*<([^<>]*)>$`)
)

// define reads the substitutions and the targets of links, which may be defined after their use.
func (r *rst) define() {
	for i, l := range r.lines {
		if i > 0 && isRule(l) && len(r.lines[i-1]) < 200 && len(r.names.targets) < maxNames { // a title
			if name := referenceName(r.lines[i-1]); r.names.targets[name] == "" {
				r.names.targets[name] = ""
			}
		}
		if !strings.HasPrefix(strings.TrimLeft(l, " "), ".. ") || len(l) > maxMarked {
			continue
		}
		if m := targetRE.FindStringSubmatch(l); m != nil && len(r.names.targets) < maxNames {
			r.names.targets[referenceName(strings.Trim(m[1], "`"))] = strings.TrimSpace(m[2])
		}
		m := substituteRE.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		switch m[2] {
		case "replace":
			end, _ := r.indented(i+1, min(i+20, len(r.lines)), indentOf(l))
			r.names.set(m[1], strings.TrimSpace(m[3]+" "+r.joined(i+1, end)))
		case "image", "date":
			r.names.set(m[1], "")
			if i+1 < len(r.lines) {
				if alt, ok := strings.CutPrefix(strings.TrimSpace(r.lines[i+1]), ":alt:"); ok {
					r.names.set(m[1], strings.TrimSpace(alt))
				}
			}
		}
	}
}

func referenceName(s string) string { return strings.ToLower(document.OneLine(s)) }

// inline returns the text of marked text, and its links.
func (r *rst) inline(s string) (string, []document.Link) {
	if len(s) > maxInline || !strings.ContainsAny(s, "`*|_\\") {
		return s, nil
	}
	var b strings.Builder
	var links []document.Link
	missing := map[string]bool{} // marks that are not in the rest of s
	for i := 0; i < len(s); {
		rest := s[i:]
		if rest[0] == ':' {
			if m := roleRE.FindString(rest); m != "" && opens(s, i) {
				if inner, n := between(rest[len(m)-1:], "`", missing); n > 0 {
					text, _ := splitTarget(inner)
					b.WriteString(roleText(m[1:len(m)-2], text))
					i += len(m) - 1 + n
					continue
				}
			}
		}
		switch c := rest[0]; {
		case c == '\\' && len(rest) > 1:
			_, n := utf8.DecodeRuneInString(rest[1:])
			if rest[1] != ' ' && rest[1] != '\n' {
				b.WriteString(rest[1 : 1+n])
			}
			i += 1 + n
		case c == '`' || c == '*' || c == '|' || c == '_':
			i += r.marked(&b, s, i, missing, &links)
		default:
			n := strings.IndexAny(rest[1:], "`*|_\\:")
			if n < 0 {
				n = len(rest) - 1
			}
			b.WriteString(rest[:n+1])
			i += n + 1
		}
	}
	return b.String(), links
}

// marked writes the text at i, which begins with a mark, and returns how many bytes of s it is.
func (r *rst) marked(b *strings.Builder, s string, i int, missing map[string]bool, links *[]document.Link) int {
	rest := s[i:]
	if strings.HasPrefix(rest, "``") && opens(s, i) {
		if inner, n := between(rest, "``", missing); n > 0 {
			b.WriteString(inner)
			return n
		}
	}
	if rest[0] == '_' {
		return r.reference(b, s, i, links)
	}
	for _, mark := range []string{"**", "*", "`", "|"} {
		if !strings.HasPrefix(rest, mark) {
			continue
		}
		inner, n := between(rest, mark, missing)
		if n == 0 || !opens(s, i) {
			break
		}
		after := rest[n:]
		switch {
		case mark == "|":
			if text, ok := r.names.expand(inner); ok {
				b.WriteString(plain(text))
			} else if _, known := r.names.text[inner]; !known && !strings.Contains(inner, " ") {
				b.WriteString(inner)
			} else {
				b.WriteString(rest[:n])
			}
			return n + underscores(after)
		case mark == "`":
			text, target := splitTarget(inner)
			if role := roleAfterRE.FindString(after); role != "" {
				b.WriteString(roleText(role[1:len(role)-1], text))
				return n + len(role)
			}
			under := underscores(after)
			if under > 0 {
				if target == "" {
					target = r.names.targets[referenceName(text)]
				}
				*links = append(*links, document.Link{Text: text, Target: strings.TrimSuffix(target, "_")})
			}
			b.WriteString(text)
			return n + under
		default:
			b.WriteString(inner)
			return n
		}
	}
	b.WriteByte(rest[0])
	return 1
}

// underscores returns the number of underscores that end a reference.
func underscores(s string) int { return min(len(s)-len(strings.TrimLeft(s, "_")), 2) }

// reference handles an underscore: the end of a reference, the beginning of a target within text, or a character.
func (r *rst) reference(b *strings.Builder, s string, i int, links *[]document.Link) int {
	n := 1
	if strings.HasPrefix(s[i:], "__") {
		n = 2
	}
	next, _ := utf8.DecodeRuneInString(s[i+n:])
	before := b.String()
	switch {
	case n == 1 && next == '`' && opens(s, i):
		return 1
	case len(s) > i+n && (unicode.IsLetter(next) || unicode.IsDigit(next) || next == '_'):
	case strings.HasSuffix(before, "]"): // a footnote
		return n
	default:
		at := len(before)
		for at > 0 && len(before)-at < 200 && (before[at-1] >= 0x80 || before[at-1] == '-' || before[at-1] == '.' || before[at-1] == '_' || unicode.IsLetter(rune(before[at-1])) || unicode.IsDigit(rune(before[at-1]))) {
			at--
		}
		if target, ok := r.names.targets[referenceName(before[at:])]; ok && at < len(before) {
			*links = append(*links, document.Link{Text: before[at:], Target: target})
			return n
		}
	}
	b.WriteString(s[i : i+n])
	return n
}

// opens reports whether a mark at i can begin marked text: after white space or punctuation, and before other text.
func opens(s string, i int) bool {
	if i == 0 {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	if k := strings.IndexRune(`"'([{<`, before); k >= 0 { // not "*"
		rest := strings.TrimLeft(s[i:min(len(s), i+3)], "*`|_")
		return rest == "" || rest[0] != `"')]}>`[k]
	}
	return !unicode.IsLetter(before) && !unicode.IsDigit(before)
}

// between returns the text between a mark at the beginning of s and the next one, and the length with both. N is 0 if there is none.
func between(s, mark string, missing map[string]bool) (inner string, n int) {
	if missing[mark] || len(s) <= len(mark) || mark != "``" && s[len(mark)] == ' ' {
		return "", 0
	}
	from := len(mark)
	for range 4 {
		window := s[from:min(len(s), len(mark)+maxSpan)]
		i := strings.Index(window, mark)
		if i < 0 {
			if len(window) == len(s)-from {
				missing[mark] = true
			}
			return "", 0
		}
		end := from + i
		if end > len(mark) && s[end-1] != ' ' && (s[end-1] != '\\' || mark == "``") {
			if mark == "``" && strings.HasPrefix(s[end+2:], "`") {
				end++
			}
			return s[len(mark):end], end + len(mark)
		}
		from = end + len(mark)
	}
	return "", 0
}

// splitTarget returns the text and the target of: text <target>.
func splitTarget(s string) (text, target string) {
	if m := targetedRE.FindStringSubmatch(s); m != nil {
		return m[1], m[2]
	}
	if strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">") && len(s) > 2 {
		return s[1 : len(s)-1], s[1 : len(s)-1]
	}
	return s, ""
}

// roleText returns what a role shows of its text.
func roleText(role, text string) string {
	role = strings.ToLower(role[strings.LastIndexByte(role, ':')+1:])
	switch {
	case strings.HasPrefix(text, "!"):
		return text[1:]
	case strings.HasPrefix(text, "~"):
		return text[strings.LastIndexByte(text, '.')+1:]
	case role == "pep":
		return "PEP " + text
	case role == "rfc":
		return "RFC " + text
	}
	return strings.TrimPrefix(text, ".")
}

var marksRE = regexp.MustCompile("[*`]+")

// plain removes the marks of a short text.
func plain(s string) string {
	if m := targetedRE.FindStringSubmatch(strings.Trim(s, "`_")); m != nil {
		s = m[1]
	}
	return marksRE.ReplaceAllString(s, "")
}
