// Package verify checks whether the passages that an answer cites support its claims.
package verify

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// Claim is one statement of an answer with the passages that it cites.
type Claim struct {
	Text  string
	Cited []corpus.Chunk
}

// Verdict is the result for one claim.
type Verdict struct {
	Claim   string
	Verdict event.Verdict
	Score   float64          // 0..1
	Chunks  []corpus.ChunkID // the cited passages that support the claim, in order of citation; empty if unsupported
	// Contradicted means that a cited passage contradicts the claim. The verdict is [event.Unsupported].
	Contradicted bool
}

// Check is the result for several claims.
type Check struct {
	Verdicts []Verdict // in the order of the claims
	By       string    // who checked: "overlap" or the name of a model
}

// Verifier checks claims. It is safe for concurrent use. An implementation that asks a model falls back to one that does
// not and reports the failure to the trace of ctx (see [model.Failed]). The only error is that of ctx.
type Verifier interface {
	// Verify returns a verdict for each claim of an answer to the question. Sentences that are not claims (see [IsClaim])
	// should not be passed.
	Verify(ctx context.Context, question string, claims []Claim) (Check, error)
}

// ClaimSupport is (supported + partially/2) / checked, and 0 without claims.
func ClaimSupport(verdicts []Verdict) float64 {
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

// flaggedBelow is the claim support below which an answer is flagged: more of its claims are unsupported than supported.
const flaggedBelow = 0.5

// Flagged reports whether the sources do not support an answer: one of its claims is contradicted, or its [ClaimSupport] is
// below a half. An answer without claims is not flagged.
func Flagged(verdicts []Verdict) bool {
	return len(verdicts) > 0 && (ClaimSupport(verdicts) < flaggedBelow ||
		slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Contradicted }))
}

var silentRE = regexp.MustCompile(`(?i)\b(?:do(?:es)?(?: not|n't) (?:seem to |appear to )?(?:hold|contain|provide|include|mention|have|give|say|answer|specify)\b.*\b(?:answer|information|details?|question|evidence)|(?:cannot|can't|could not|couldn't|unable to) (?:be )?(?:find|answer|determine)|(?:i|we) (?:do not|don't) know|no (?:answer|information)\b.*\b(?:found|available|given|provided))`)

// IsClaim reports whether a sentence states something that sources could support: it is not a question or an abstention,
// and has at least two content words, or one among three words: "There is no authentication yet."
func IsClaim(s string) bool {
	s = strings.TrimSpace(s)
	if len(s) > 2000 {
		return true
	}
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") || silentRE.MatchString(s) {
		return false
	}
	return len(lang.UniqueTerms(s)) >= 2 || len(lang.Words(s)) >= 3
}

// Overlap is the [Verifier] that needs no model. The score of a claim is the share of its weighted terms in the best
// window of up to three sentences of each cited passage. A term counts fully if it or a
// form of it occurs in the window or the headings, and partially if it occurs elsewhere in the passage or if a word of
// similar meaning does. Independent of the score, a claim is unsupported if it has a number or a date that the passages do
// not contain, and contradicted if they contain another one in its place, another name in the place of one, or the
// reverse: a negation or an antonym (rose, fell) on one side only, or exchanged sides of a comparison.
//
// A paraphrase shares about half of its words with the passage, and so does a claim that says more or something else; no
// overlap can distinguish all of them. The thresholds make both kinds of error equally frequent on claims of experts about
// abstracts. If verification matters more, use a model.
type Overlap struct {
	Tokens model.TokenEmbedder // static word vectors with weights; nil: no words of similar meaning, and equal weights
}

// The minimum scores of supported and partially supported claims, and the maximum score of a claim with a contradiction
// check that failed.
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
	said := readClaim(c)
	if len(said.terms) == 0 || len(c.Cited) == 0 {
		return v
	}
	covered := make([]float64, len(said.terms))
	var proof []window
	cited := ps.all(c.Cited, said.language)
	like := o.vectors(ctx, said, cited)
	said.weigh(like)
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
	conflict := said.checkConflicts(cited, proof)
	switch conflict {
	case refuted:
		v.Contradicted = len(proof) > 0
		v.Score = min(v.Score, vetoed)
	case unfounded:
		v.Score = min(v.Score, vetoed)
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
