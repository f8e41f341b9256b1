package catalog

import (
	"path"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// maxName is how many bytes of a name count.
const maxName = 300

// separators are what stands for blanks in names of files.
var separators = strings.NewReplacer("_", " ", "-", " ", ".", " ", "/", " ", "\\", " ", "+", " ", "%20", " ")

// plain gives a name or a question as names are compared: words without case, accents and what stands for blanks.
func plain(s string) string {
	return lang.Name(separators.Replace(lang.Head(lang.Clean(s), 4*maxName)))
}

// Match tells how well a question names a document of a title and a file's name, 0 if it does not: a longer name counts more, and
// one with its ending more than one without. It must name it whole. A document's id names it, too.
func Match(question string, d corpus.Document, name string) int {
	if len(d.ID) >= 8 && strings.Contains(question, string(d.ID)) {
		return 1 << 20
	}
	asked := " " + plain(question) + " "
	best := 0
	base := strings.TrimSuffix(name, path.Ext(name))
	for i, n := range []string{name, base, d.Title} {
		if n = plain(lang.Head(n, maxName)); len(n) < 2 || !strings.Contains(asked, " "+n+" ") {
			continue
		}
		score := 2 * len(n)
		if i == 0 && base != name {
			score++
		}
		best = max(best, score)
	}
	return best
}

// Is tells whether what was said is the name of a document and nothing more, in whatever case and with or without its ending.
func Is(said string, d corpus.Document, name string) bool {
	s := plain(said)
	for _, n := range []string{name, strings.TrimSuffix(name, path.Ext(name)), d.Title} {
		if n = plain(lang.Head(n, maxName)); n != "" && n == s {
			return true
		}
	}
	return said == string(d.ID)
}
