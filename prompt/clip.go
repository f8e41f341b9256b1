package prompt

import (
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// maxClipped is how many bytes of a text are read to find the part of it that counts.
const maxClipped = 256 << 10

// Clip gives at most so many bytes of s, and the dots where it was cut: the sentences in a row that hold most of the distinct
// terms of about, the first of several that hold as many.
func Clip(s, about string, most int) string {
	if len(s) <= most {
		return s
	}
	s = lang.Head(s, maxClipped)
	spans := lang.Sentences(s)
	held := termsOf(s, spans, about)
	from, best := 0, 0
	for i, first := range spans {
		seen := map[string]struct{}{}
		for k := i; k < len(spans) && (k == i || spans[k].End-first.Start <= most); k++ {
			for _, t := range held[k] {
				seen[t] = struct{}{}
			}
			if len(seen) > best {
				from, best = i, len(seen)
			}
		}
	}
	if best == 0 {
		return lang.Head(s, most) + " …"
	}
	to := from
	for to+1 < len(spans) && spans[to+1].End-spans[from].Start <= most {
		to++
	}
	out := lang.Head(s[spans[from].Start:spans[to].End], most)
	if from > 0 {
		out = "… " + out
	}
	if to < len(spans)-1 {
		out += " …"
	}
	return out
}

// termsOf gives the distinct terms of about that each span of s holds.
func termsOf(s string, spans []lang.Span, about string) [][]string {
	wanted := lang.Set(lang.Head(about, maxQuestion))
	held := make([][]string, len(spans))
	for i, sp := range spans {
		for t := range lang.Set(s[sp.Start:sp.End]) {
			if _, ok := wanted[t]; ok {
				held[i] = append(held[i], t)
			}
		}
	}
	return held
}

// The bytes of passages in one request: where nothing is known of a model's limits, and at least.
const (
	mostRoom  = 12000
	leastRoom = 1500
	fixed     = 1500 // tokens of a request that are no passages: the rules, the question, the answer
	perToken  = 2    // bytes, fewer than most texts have, as a request that is too long fails or is cut silently
)

// Room is how many bytes of passages a request for a judgement may hold, so that it fits a model of these limits.
func Room(l model.Limits) int {
	if l.Context <= 0 {
		return mostRoom
	}
	return max(leastRoom, min(mostRoom, perToken*(l.Context-fixed)))
}
