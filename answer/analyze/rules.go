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
	comparisonRE = regexp.MustCompile(`(?i)\b(compare[ds]?|comparison|versus|vs\.?|differences?|differ|unlike|better|worse|older|younger|earlier|later|larger|smaller|more|less|fewer|both|same|either|common|first|last|oldest|youngest|largest|smallest)\b`)
	relationRE   = regexp.MustCompile(`(?i)\b(relate[ds]?|relationship|connect(s|ed|ion)?|affect(s|ed)?|influences?d?|depends?|impacts?|because of|leads? to|why|how does|how do|how did)\b`)
	broadRE      = regexp.MustCompile(`(?i)\b(summari[sz]e|summary|overview|main (findings|points|ideas)|explain|describe|list all|pros and cons|advantages)\b`)
	nestedRE     = regexp.MustCompile(`(?i)\b(who|which|that|whose|where|when)\b`)
	joinRE       = regexp.MustCompile(`(?i)(\band\b|\bor\b|;|\?\s+\S)`)
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
	if comparisonRE.MatchString(q) {
		joiners = append(joiners, "and")
	}
	switch {
	case a.setParts(q, noneTooLong(splitQuestions(q))):
		a.Several, a.Chained = true, slices.ContainsFunc(a.Parts, chained)
	case a.setParts(q, comparedNames(q, joiners)):
		a.Chained = true // the sides of the comparison may have to be found first
	default:
		a.Several = a.setParts(q, comparedThings(q))
	}
	return a, nil
}

// noneTooLong returns the questions, or nil if one is too long: without that one, the answer would be incomplete.
func noneTooLong(all []string) []string {
	if slices.ContainsFunc(all, func(s string) bool { return len(s) > maxPart }) {
		return nil
	}
	return all
}

// setParts adds sub-questions unless there are none.
func (a *Analysis) setParts(question string, all []string) bool {
	a.Parts = parts(question, all)
	if a.Parts != nil && a.Complexity == event.Simple {
		a.Complexity = event.Moderate
	}
	return a.Parts != nil
}

var (
	clauseRE    = regexp.MustCompile(`\s(?:who|which|that|whose|where|when)\b`)
	relationsRE = regexp.MustCompile(`\b\p{Ll}[\p{L}-]*\s+of\b|\pL['’]s?\s+\pL|in-law\b`)
	lookupRE    = regexp.MustCompile(`(?i)^\W*(?:who|what)(?:['’]s|\s+(?:is|was|are|were))\s`)
)

// chained reports whether part of the question has to be answered first: where somebody's father studied, or who the
// mother of a film's director is. "Who is the father of X?" takes one search.
func chained(q string) bool {
	if clauseRE.MatchString(q) {
		return true
	}
	n := len(relationsRE.FindAllStringIndex(lookupRE.ReplaceAllString(q, ""), 2))
	return n > 1 || n == 1 && !lookupRE.MatchString(q)
}

func complexity(q string) event.Complexity {
	words := len(lang.Words(q))
	points := 0
	for _, sign := range []bool{
		words > 12,
		words > 24,
		comparisonRE.MatchString(q),
		relationRE.MatchString(q),
		broadRE.MatchString(q),
		len(nestedRE.FindAllStringIndex(q, 3)) > 1,
		len(joinRE.FindAllStringIndex(q, 3)) > 1,
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
