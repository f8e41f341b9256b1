package analyze

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
)

var (
	comparison = regexp.MustCompile(`(?i)\b(compare[ds]?|comparison|versus|vs\.?|differences?|differ|unlike|better|worse|older|younger|earlier|later|larger|smaller|more|less|fewer|both|same|either|common|first|last|oldest|youngest|largest|smallest)\b`)
	relation   = regexp.MustCompile(`(?i)\b(relate[ds]?|relationship|connect(s|ed|ion)?|affect(s|ed)?|influences?d?|depends?|impacts?|because of|leads? to|why|how does|how do|how did)\b`)
	broad      = regexp.MustCompile(`(?i)\b(summari[sz]e|summary|overview|main (findings|points|ideas)|explain|describe|list all|pros and cons|advantages)\b`)
	nested     = regexp.MustCompile(`(?i)\b(who|which|that|whose|where|when)\b`)
	joins      = regexp.MustCompile(`(?i)(\band\b|\bor\b|;|\?\s+\S)`)
)

// Rules is the [Analyzer] that needs no model.
type Rules struct{}

// maxRead is how many bytes of a question are analyzed.
const maxRead = 4096

// Analyze implements [Analyzer]. Each sign of complexity counts one point: length, a comparison, a relation, something
// that has to be found first, subordinate clauses, several questions in one. No point makes a simple question, one or two
// a moderate one, more a complex one. Several questions in one are decomposed, and so are comparisons. The error is always
// nil.
func (Rules) Analyze(_ context.Context, question string) (Analysis, error) {
	q := lang.Truncate(question, maxRead)
	a := Analysis{Complexity: complexity(q), Chained: chained(q), By: "rules"}
	joiners := []string{"or", "versus", "vs"}
	if comparison.MatchString(q) {
		joiners = append(joiners, "and")
	}
	switch {
	case a.take(q, short(joined(q))):
		a.Several, a.Chained = true, slices.ContainsFunc(a.Parts, chained)
	case a.take(q, sides(q, joiners)):
		a.Chained = true // the sides of the comparison may have to be found first
	default:
		a.Several = a.take(q, either(q))
	}
	return a, nil
}

// short returns the questions unless one is too long: without it, the answer would be incomplete.
func short(all []string) []string {
	if slices.ContainsFunc(all, func(s string) bool { return len(s) > maxPart }) {
		return nil
	}
	return all
}

// take adds sub-questions unless there are none.
func (a *Analysis) take(question string, all []string) bool {
	a.Parts = parts(question, all)
	if a.Parts != nil && a.Complexity == event.Simple {
		a.Complexity = event.Moderate
	}
	return a.Parts != nil
}

var (
	clause    = regexp.MustCompile(`\s(?:who|which|that|whose|where|when)\b`)
	relations = regexp.MustCompile(`\b\p{Ll}[\p{L}-]*\s+of\b|\pL['’]s?\s+\pL|in-law\b`)
	lookup    = regexp.MustCompile(`(?i)^\W*(?:who|what)(?:['’]s|\s+(?:is|was|are|were))\s`)
)

// chained reports whether part of the question has to be answered first: where somebody's father studied, or who the
// mother of a film's director is. "Who is the father of X?" takes one search.
func chained(q string) bool {
	if clause.MatchString(q) {
		return true
	}
	n := len(relations.FindAllStringIndex(lookup.ReplaceAllString(q, ""), 2))
	return n > 1 || n == 1 && !lookup.MatchString(q)
}

func complexity(q string) event.Complexity {
	words := len(lang.Words(q))
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
		chained(q),
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
