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
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
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
	return len(lang.Unique(s)) >= 2 || len(lang.Words(s)) >= 3
}

// Overlap is the [Verifier] that needs no model. A claim's score is the share of its weighted terms in the best run of up to
// three sentences of each passage it cites, or of a list's lead and items. A term counts in full where it or a form of it
// stands there or in the headings, in part where it stands elsewhere in the passage or where a word of like meaning does.
// Whatever the score, a claim is unsupported that has a number or a date that the passages do not hold, and contradicted where
// they hold another in its place, another name in the place of one, or its opposite: a negation or an opposite (rose, fell) on
// one side only, or the sides of a comparison exchanged. It is at best partially supported with a name that the passages lack,
// where it adds a phrase to what they say, and where it is surer than they are (is for may be, all for most).
//
// A claim that says in other words what a passage says shares half of its words with it, and so does one that says more or
// something else; no overlap can tell all of them apart. The thresholds are where both kinds of error are about as frequent,
// on claims of experts about abstracts: where it matters more, a model should verify.
type Overlap struct {
	Stats  index.TermStats     // weighs terms, as written or stemmed
	Tokens model.TokenEmbedder // static vectors of words, with weights; nil: words of like meaning do not count, and those without Stats weigh the same
}

// The scores from which a claim is supported and partially supported, and the most that a claim with a veto gets.
const (
	supportedFrom = 0.38
	partiallyFrom = 0.2
	vetoed        = 0.15
)

// Verify implements [Verifier]. The only error is that of ctx.
func (o Overlap) Verify(ctx context.Context, _ string, claims []Claim) (Check, error) {
	out := make([]Verdict, len(claims))
	read := passages{}
	for i, c := range claims {
		if err := ctx.Err(); err != nil {
			return Check{}, err
		}
		out[i] = o.judge(ctx, c, read)
	}
	return Check{out, "overlap"}, ctx.Err()
}

func (o Overlap) judge(ctx context.Context, c Claim, ps passages) Verdict {
	v := Verdict{Claim: c.Text, Verdict: event.Unsupported}
	said := read(c.Text)
	if len(said.terms) == 0 || len(c.Cited) == 0 {
		return v
	}
	covered := make([]float64, len(said.terms))
	var proof []window
	cited := ps.all(c.Cited)
	like := o.vectors(ctx, said, cited)
	said.weigh(o.Stats, like)
	for k, chunk := range c.Cited {
		w := said.best(cited[k], like)
		for i, x := range w.covered {
			covered[i] = max(covered[i], x)
		}
		if said.score(w.covered) >= partiallyFrom/float64(len(c.Cited)) {
			v.Chunks = append(v.Chunks, chunk.ID)
			proof = append(proof, w)
		}
	}
	v.Score = said.score(covered)
	veto := said.veto(cited, proof)
	if veto == none && said.adds(covered) {
		veto = unproven
	}
	switch veto {
	case against:
		v.Contradicted = len(proof) > 0
		v.Score = min(v.Score, vetoed)
	case unheld:
		v.Score = min(v.Score, vetoed)
	case unproven:
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
