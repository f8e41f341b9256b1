package answer

import (
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/text"
)

var (
	comparison = regexp.MustCompile(`(?i)\b(compare[ds]?|comparison|versus|vs\.?|differences?|differ|unlike|better|worse|older|younger|earlier|later|larger|smaller|more|less|fewer|both|same|either)\b`)
	relation   = regexp.MustCompile(`(?i)\b(relate[ds]?|relationship|connect(s|ed|ion)?|affect(s|ed)?|influences?d?|depends?|impacts?|because of|leads? to|why|how does|how do|how did)\b`)
	broad      = regexp.MustCompile(`(?i)\b(summari[sz]e|summary|overview|main (findings|points|ideas)|explain|describe|list all|pros and cons|advantages)\b`)
	nested     = regexp.MustCompile(`(?i)\b(who|which|that|whose|where|when)\b`)
	joins      = regexp.MustCompile(`(?i)(\band\b|\bor\b|;|\?\s+\S)`)
)

// Analyze tells by rules how complex a question is. Each sign of work beyond one look-up is a point: length, a comparison,
// a relation between things, clauses that hang on others, several questions in one. None makes a simple question, one or
// two a moderate one.
func Analyze(question string) event.Complexity {
	words := len(text.Words(head(question, 4096)))
	q := head(question, 4096)
	points := 0
	for _, sign := range []bool{
		words > 12,
		words > 24,
		comparison.MatchString(q),
		relation.MatchString(q),
		broad.MatchString(q),
		len(nested.FindAllStringIndex(q, 3)) > 1,
		len(joins.FindAllStringIndex(q, 3)) > 1,
		strings.Count(q, "?") > 1,
	} {
		if sign {
			points++
		}
	}
	switch {
	case points == 0:
		return event.Simple
	case points <= 2:
		return event.Moderate
	}
	return event.Complex
}

// head gives at most n bytes of s, cut where a character ends.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
