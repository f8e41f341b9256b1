package prompt

import (
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// maxClipped is the maximum number of bytes of a text that are searched for the best part.
const maxClipped = 256 << 10

// Clip returns at most the given number of bytes of s, with an ellipsis where it was cut: the consecutive sentences that
// contain the most distinct terms of about. Of several, it returns the first.
func Clip(s, about string, most int) string {
	if len(s) <= most {
		return s
	}
	s = lang.Truncate(s, maxClipped)
	spans := lang.Sentences(s)
	terms := termsOf(s, spans, about)
	from, best := 0, 0
	for i, first := range spans {
		seen := map[string]struct{}{}
		for k := i; k < len(spans) && (k == i || spans[k].End-first.Start <= most); k++ {
			for _, t := range terms[k] {
				seen[t] = struct{}{}
			}
			if len(seen) > best {
				from, best = i, len(seen)
			}
		}
	}
	if best == 0 {
		return lang.Truncate(s, most) + " …"
	}
	to := from
	for to+1 < len(spans) && spans[to+1].End-spans[from].Start <= most {
		to++
	}
	out := lang.Truncate(s[spans[from].Start:spans[to].End], most)
	if from > 0 {
		out = "… " + out
	}
	if to < len(spans)-1 {
		out += " …"
	}
	return out
}

// termsOf returns the distinct terms of about in each span of s.
func termsOf(s string, spans []lang.Span, about string) [][]string {
	wanted := lang.TermSet(lang.Truncate(about, maxQuestion))
	found := make([][]string, len(spans))
	for i, sp := range spans {
		for t := range lang.TermSet(s[sp.Start:sp.End]) {
			if _, ok := wanted[t]; ok {
				found[i] = append(found[i], t)
			}
		}
	}
	return found
}

const (
	maxBudget     = 12000 // bytes of passages in one request, also for unknown limits
	minBudget     = 1500
	fixedTokens   = 1500 // of a request without passages: the rules, the question, the reply
	bytesPerToken = 2    // a low estimate, because a request that is too long fails or is cut silently
)

// PassageBudget returns how many bytes of passages a grading or verification request may contain, given the limits of a model.
func PassageBudget(l model.Limits) int {
	if l.Context <= 0 {
		return maxBudget
	}
	return max(minBudget, min(maxBudget, bytesPerToken*(l.Context-fixedTokens)))
}
