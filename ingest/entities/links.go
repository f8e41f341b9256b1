package entities

import (
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// Link is a link in a passage: its text and its target, as in the document.
type Link struct {
	Text, Target string
}

// maxLinkNames limits the names of a passage that come from links, to leave room for those of the text.
const maxLinkNames = 32

var (
	// linkWords are words that do not describe the target of a link. Stop words are not listed.
	linkWords = set(`back check click continue details edit full go here home item learn less link links list more next open page pages
		previous prev read ref see show site text this top view visit website aquí hier ici mehr más plus suite tutaj`)
	// indexes are names of files that represent their folder.
	indexes = set("_index default index mod readme")
	// notes are prefixes of anchors of footnotes.
	notes = set("cite fn fnref footnote footnotes ref")
	// textExtensions are extensions of text files. The title of such a file may be its name.
	textExtensions = set(".adoc .csv .htm .html .markdown .md .pdf .rst .tsv .txt")
)

// addLinks adds the names from the links of a passage.
func (c *collector) addLinks(links []Link) {
	limit := min(len(c.Mentions)+maxLinkNames, maxMentions)
	for _, l := range links {
		for _, name := range append([]string{l.Text}, targetNames(l.Target)...) {
			if len(c.Mentions) == limit {
				return
			}
			if namesSomething(name) {
				c.add(name, corpus.Link)
			}
		}
	}
}

// namesSomething reports whether the text of a link is a name: it is short, not a number or version, and has a word that is descriptive.
func namesSomething(s string) bool {
	if len(s) > maxName || !hasWord(s) {
		return false
	}
	words := lang.Words(s)
	if len(words) > maxWords {
		return false
	}
	for _, w := range words {
		if !numeric(w.Text) && !lang.IsStopWord(w.Text) && !in(linkWords, w.Text) {
			return true
		}
	}
	return false
}

// targetNames returns the names in the target of a relative link: that of the file, without its extension, and that of the fragment.
func targetNames(target string) (out []string) {
	if len(target) > maxName || strings.HasPrefix(target, "//") || strings.ContainsAny(target, "\\") || hasScheme(target) {
		return nil
	}
	file, fragment, _ := strings.Cut(target, "#")
	file, _, _ = strings.Cut(file, "?")
	if s, err := url.PathUnescape(file); err == nil {
		file = s
	}
	if s, err := url.PathUnescape(fragment); err == nil {
		fragment = s
	}
	dir, base := path.Split(strings.TrimRight(file, "/"))
	base = trimExtension(base)
	if in(indexes, strings.ToLower(base)) {
		base = path.Base(dir)
	}
	if name := spaced(base); name != "" {
		out = append(out, name)
	}
	name := spaced(strings.TrimPrefix(fragment, "user-content-"))
	first, _, _ := strings.Cut(strings.ToLower(name), " ")
	if name != "" && !in(notes, strings.TrimRight(first, ":0123456789")) && !strings.Contains(name, ":~:") {
		out = append(out, name)
	}
	return out
}

// hasScheme reports whether a target has a URL scheme, such as https: or mailto:.
func hasScheme(target string) bool {
	for i := range len(target) {
		switch c := target[i]; {
		case c == ':':
			return i > 0
		case 'a' <= c|0x20 && c|0x20 <= 'z', i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return false
}

// trimExtension returns a file's name without its extension.
func trimExtension(base string) string {
	ext := path.Ext(base)
	if n := len(ext); n < 2 || n > 9 || n == len(base) || !strings.ContainsFunc(ext, unicode.IsLetter) {
		return base
	}
	return strings.TrimSuffix(base, ext)
}

// spaced returns the words of a file's name or a fragment, separated by spaces, or "" if it has no words.
func spaced(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '-' || r == '_' || r == '+' || unicode.IsSpace(r) }), " ")
	if !hasWord(s) {
		return ""
	}
	return s
}

// hasWord reports whether s contains two adjacent letters, as v1.2 and L10 do not.
func hasWord(s string) bool {
	letters := 0
	for _, r := range s {
		if !unicode.IsLetter(r) {
			letters = 0
		} else if letters++; letters == 2 {
			return true
		}
	}
	return false
}
