package entities

import (
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// Link is a link in a passage: the words that a reader sees, and where it leads, as the document writes it.
type Link struct {
	Text, Target string
}

// maxLinked is how many names of a passage may come from its links, so that the text's have room.
const maxLinked = 32

var (
	// pointing words say nothing of where a link leads, and stop words neither.
	pointing = set(`back check click continue details edit full go here home item learn less link links list more next open page pages
		previous prev read ref see show site text this top view visit website aquí hier ici mehr más plus suite tutaj`)
	// indexes are files that stand for their folder.
	indexes = set("_index default index mod readme")
	// notes begin the anchors of notes.
	notes = set("cite fn fnref footnote footnotes ref")
	// documents are the endings of files that are text; without a heading, such a file is named by them.
	documents = set(".adoc .csv .htm .html .markdown .md .pdf .rst .tsv .txt")
)

// link adds what the links of a passage name.
func (c *collector) link(links []Link) {
	most := min(len(c.Mentions)+maxLinked, maxMentions)
	for _, l := range links {
		for _, name := range append([]string{l.Text}, leads(l.Target)...) {
			if len(c.Mentions) == most {
				return
			}
			if telling(name) {
				c.add(name, corpus.Link)
			}
		}
	}
}

// telling says whether the words of a link name something: they are few, are no number or version, and not all of them only point.
func telling(s string) bool {
	if len(s) > maxName || !lettered(s) {
		return false
	}
	words := lang.Words(s)
	if len(words) > maxWords {
		return false
	}
	for _, w := range words {
		if !numeric(w.Text) && !lang.Stop(w.Text) && !in(pointing, w.Text) {
			return true
		}
	}
	return false
}

// leads gives the names that the target of a relative link tells: those of the file, without its ending, and of the place in it.
func leads(target string) (out []string) {
	if len(target) > maxName || strings.HasPrefix(target, "//") || strings.ContainsAny(target, "\\") || scheme(target) {
		return nil
	}
	file, place, _ := strings.Cut(target, "#")
	file, _, _ = strings.Cut(file, "?")
	if s, err := url.PathUnescape(file); err == nil {
		file = s
	}
	if s, err := url.PathUnescape(place); err == nil {
		place = s
	}
	dir, base := path.Split(strings.TrimRight(file, "/"))
	base = stem(base)
	if in(indexes, strings.ToLower(base)) {
		base = path.Base(dir)
	}
	if name := spaced(base); name != "" {
		out = append(out, name)
	}
	name := spaced(strings.TrimPrefix(place, "user-content-"))
	first, _, _ := strings.Cut(strings.ToLower(name), " ")
	if name != "" && !in(notes, strings.TrimRight(first, ":0123456789")) && !strings.Contains(name, ":~:") {
		out = append(out, name)
	}
	return out
}

// scheme says whether a target is a whole URL, or such as mailto:.
func scheme(target string) bool {
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

// stem is a file's name without its ending.
func stem(base string) string {
	ending := path.Ext(base)
	if n := len(ending); n < 2 || n > 9 || n == len(base) || !strings.ContainsFunc(ending, unicode.IsLetter) {
		return base
	}
	return strings.TrimSuffix(base, ending)
}

// spaced gives the words of a file's name or an anchor; "" where it has none.
func spaced(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '-' || r == '_' || r == '+' || unicode.IsSpace(r) }), " ")
	if !lettered(s) {
		return ""
	}
	return s
}

// lettered says whether two letters stand side by side, as they do not in v1.2 and L10.
func lettered(s string) bool {
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
