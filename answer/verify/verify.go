// Package verify checks whether what an answer claims is supported by what it cites.
package verify

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/text"
)

// Claim is one statement of an answer with the passages that it cites.
type Claim struct {
	Text  string
	Cited []corpus.Chunk
}

// Verdict is what was found about a claim.
type Verdict struct {
	Claim   string
	Verdict event.Verdict
	Score   float64          // 0..1
	Chunks  []corpus.ChunkID // the cited passages that bear the claim out, in the order cited; empty if unsupported
	// Contradicted says that what the claim cites speaks against it: the verdict is [event.Unsupported].
	Contradicted bool
}

// Check is what was found about some claims.
type Check struct {
	Verdicts []Verdict // in the order of the claims
	By       string    // the form that judged: overlap, or a model's name
}

// Verifier checks claims. Calls may run at once. A form that asks a model falls back on one that does not and tells the
// trace of ctx (see [model.Failed]); its only error is then that of ctx.
type Verifier interface {
	// Verify gives each claim of an answer to the question a verdict. What is no claim ([IsClaim]) should not be given.
	Verify(ctx context.Context, question string, claims []Claim) (Check, error)
}

// Confidence is (supported + partially/2) / checked, and 0 where nothing was checked.
func Confidence(verdicts []Verdict) float64 {
	if len(verdicts) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range verdicts {
		switch v.Verdict {
		case event.Supported:
			sum++
		case event.PartiallySupported:
			sum += 0.5
		}
	}
	return sum / float64(len(verdicts))
}

// flaggedBelow is the confidence under which an answer is flagged: more of its claims are left in the air than borne out.
const flaggedBelow = 0.5

// Flagged says whether the sources fail to carry an answer: one of its claims is contradicted by what it cites, or the
// [Confidence] in it is below a half. An answer without claims says nothing that sources could carry, and is not flagged.
func Flagged(verdicts []Verdict) bool {
	return len(verdicts) > 0 && (Confidence(verdicts) < flaggedBelow ||
		slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Contradicted }))
}

var silentRE = regexp.MustCompile(`(?i)\b(?:do(?:es)?(?: not|n't) (?:seem to |appear to )?(?:hold|contain|provide|include|mention|have|give|say|answer|specify)\b.*\b(?:answer|information|details?|question|evidence)|(?:cannot|can't|could not|couldn't|unable to) (?:be )?(?:find|answer|determine)|(?:i|we) (?:do not|don't) know|no (?:answer|information)\b.*\b(?:found|available|given|provided))`)

// IsClaim says whether a sentence states something that sources could bear out: it is no question, not the admission that
// the documents hold no answer, and has at least two words that carry meaning, or one among three words: "There is no
// authentication yet."
func IsClaim(s string) bool {
	s = strings.TrimSpace(s)
	if len(s) > 2000 {
		return true
	}
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") || silentRE.MatchString(s) {
		return false
	}
	return len(text.Unique(s)) >= 2 || len(text.Words(s)) >= 3
}

// Overlap is the [Verifier] that needs no model. A claim's score is the share of its weighted terms in the best run of up
// to three sentences of each passage it cites, or of a list's lead and items. A number of the claim that the passages do not hold, a negation on one side
// only, and an opposite in place of a word (rose, fell) make it unsupported however high its score; a name that the
// passages do not hold leaves it at best partially supported.
type Overlap struct {
	Stats index.TermStats // weighs terms, as written or stemmed; where it is zero, all weigh the same
}

// The scores from which a claim is supported and partially supported, and the most that a claim with a veto gets.
const (
	supportedFrom = 0.75
	partiallyFrom = 0.45
	vetoed        = 0.3
)

// Verify implements [Verifier]. The only error is that of ctx.
func (o Overlap) Verify(ctx context.Context, _ string, claims []Claim) (Check, error) {
	out := make([]Verdict, len(claims))
	read := passages{}
	for i, c := range claims {
		if err := ctx.Err(); err != nil {
			return Check{}, err
		}
		out[i] = o.judge(c, read)
	}
	return Check{out, "overlap"}, nil
}

func (o Overlap) judge(c Claim, read passages) Verdict {
	v := Verdict{Claim: c.Text, Verdict: event.Unsupported}
	said := o.read(c.Text)
	if len(said.terms) == 0 || len(c.Cited) == 0 {
		return v
	}
	covered := make([]bool, len(said.terms))
	var proof []window
	cited := read.all(c.Cited)
	for k, chunk := range c.Cited {
		w := said.best(cited[k])
		for i, ok := range w.covered {
			covered[i] = covered[i] || ok
		}
		if said.share(w.covered) >= partiallyFrom/float64(len(c.Cited)) {
			v.Chunks = append(v.Chunks, chunk.ID)
			proof = append(proof, w)
		}
	}
	v.Score = said.share(covered)
	hard, soft := said.vetoes(cited, proof)
	switch {
	case hard:
		v.Score = min(v.Score, vetoed)
	case soft:
		v.Score = min(v.Score, supportedFrom-0.01)
	}
	switch {
	case v.Score >= supportedFrom:
		v.Verdict = event.Supported
	case v.Score >= partiallyFrom:
		v.Verdict = event.PartiallySupported
	default:
		v.Chunks = nil
	}
	return v
}

// statement is a claim taken apart.
type statement struct {
	terms   []text.Term
	weights []float64
	total   float64
	at      map[string]int // of a stem among the terms
	numbers []string
	names   []string // stems
	denied  bool
}

// maxClaim is how many bytes of a claim are read.
const maxClaim = 4000

var markRE = regexp.MustCompile(`⟦[^⟧]{0,20}⟧|\[[0-9, ]{1,20}\]`)

func (o Overlap) read(claim string) statement {
	if len(claim) > maxClaim {
		claim = claim[:maxClaim]
	}
	claim = markRE.ReplaceAllString(claim, " ")
	s := statement{terms: text.Unique(claim), at: map[string]int{}}
	for i, t := range s.terms {
		df, ok := o.Stats.DF[t.Word]
		if !ok {
			df, ok = o.Stats.DF[t.Stem]
		}
		w := 1.0
		if ok {
			w = 1 + text.IDF(o.Stats.Chunks, df) // flatter than for search: common words carry a claim too
		} else if o.Stats.Chunks > 0 {
			w = 1 + text.IDF(o.Stats.Chunks, 1)
		}
		s.at[t.Stem] = i
		s.weights = append(s.weights, w)
		s.total += w
	}
	words := text.Words(claim)
	s.denied = denies(words)
	s.numbers = numbersIn(words)
	s.names = namesIn(claim, words)
	return s
}

func (s statement) share(covered []bool) float64 {
	sum := 0.0
	for i, ok := range covered {
		if ok {
			sum += s.weights[i]
		}
	}
	if s.total == 0 {
		return 0
	}
	return sum / s.total
}

// window is a run of sentences of a passage, with the claim's terms in it.
type window struct {
	covered []bool
	text    string // of the sentence in it that covers most, or of a list and what leads to it
}

const (
	maxWindow = 3 // sentences in a row that may bear a claim out together
	maxList   = 8 // of a list and what leads to it
)

var itemRE = regexp.MustCompile(`^(?:[-*+•◦▪‣·–—]|[0-9]{1,3}[.)])[ \t]`)

// best finds the run of sentences that covers most of the claim; the passage's headings count with each.
func (s statement) best(p *passage) window {
	body, spans := p.body, p.spans
	covers := make([][]bool, len(spans))
	for i, terms := range p.terms {
		covers[i] = s.covers(terms)
	}
	above := s.covers(p.above)
	out, most := window{covered: make([]bool, len(s.terms))}, 0.0
	for i := range spans {
		sum := append([]bool(nil), above...)
		lead, leadShare := i, -1.0
		list := true // all but the first are items
		for k := i; k < min(len(spans), i+maxList); k++ {
			list = list && (k == i || p.items[k])
			if k >= i+maxWindow && !list {
				break
			}
			for j, ok := range covers[k] {
				sum[j] = sum[j] || ok
			}
			if x := s.share(covers[k]); x > leadShare {
				lead, leadShare = k, x
			}
			if x := s.share(sum) - 0.02*float64(k-i); x > most { // of equals the shortest
				most = x
				from, to := spans[lead].Start, spans[lead].End
				if list && k > i {
					from, to = spans[i].Start, spans[k].End
				}
				out = window{append([]bool(nil), sum...), body[from:to]}
			}
		}
	}
	return out
}

// covers tells which of the claim's terms are among others.
func (s statement) covers(terms []string) []bool {
	out := make([]bool, len(s.terms))
	for _, t := range terms {
		if i, ok := s.at[t]; ok {
			out[i] = true
		}
	}
	return out
}
