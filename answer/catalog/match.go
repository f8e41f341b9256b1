package catalog

import (
	"path"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// maxName is how many bytes of a name are compared.
const maxName = 300

// separators are characters used for spaces in file names.
var separators = strings.NewReplacer("_", " ", "-", " ", ".", " ", "/", " ", "\\", " ", "+", " ", "%20", " ")

// plain returns a name or a question in the form used for comparison: without case, accents and separators.
func plain(s string) string {
	return lang.NormalizeName(separators.Replace(lang.Truncate(lang.Clean(s), 4*maxName)))
}

// Match scores how well a question names a document by its title or file name; 0 means not at all. Longer names score
// higher, and a name with its extension higher than without. The name must be complete. A document's id names it too.
func Match(question string, d corpus.Document, name string) int {
	if len(d.ID) >= 8 && strings.Contains(question, string(d.ID)) {
		return 1 << 20
	}
	asked := " " + plain(question) + " "
	best := 0
	base := strings.TrimSuffix(name, path.Ext(name))
	for i, n := range []string{name, base, d.Title} {
		if n = plain(lang.Truncate(n, maxName)); len(n) < 2 || !strings.Contains(asked, " "+n+" ") {
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

// IsName reports whether a text is exactly the name of a document, ignoring case and the extension.
func IsName(said string, d corpus.Document, name string) bool {
	s := plain(said)
	for _, n := range []string{name, strings.TrimSuffix(name, path.Ext(name)), d.Title} {
		if n = plain(lang.Truncate(n, maxName)); n != "" && n == s {
			return true
		}
	}
	return said == string(d.ID)
}
