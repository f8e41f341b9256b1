package analyze

import (
	"context"
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

// Rules is the [Analyzer] that needs no model.
type Rules struct{}

// Analyze implements [Analyzer]. Each sign of work beyond one look-up is a point: length, a comparison, a relation between
// things, clauses that hang on others, several questions in one. None makes a simple question, one or two a moderate one.
// The question is not taken apart. There is no error.
func (Rules) Analyze(_ context.Context, question string) (Analysis, error) {
	return Analysis{Complexity: complexity(question), By: "rules"}, nil
}

func complexity(question string) event.Complexity {
	words := len(text.Words(text.Head(question, 4096)))
	q := text.Head(question, 4096)
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
