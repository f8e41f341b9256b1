package verify

import (
	"context"

	"github.com/viterin/vek/vek32"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// Partial weights of a term that does not occur in the window itself.
const (
	otherSentenceCredit = 0.6 // it occurs in another sentence of the passage
	inflectionCredit    = 0.95
	compoundCredit      = 0.8 // a compound that contains it, or a part of it
	antonymCredit       = 0.7 // its antonym occurs there, or another word of the same polarity
	minSynonymCosine    = 0.6 // minimum cosine of a word of similar meaning; the weight is the cosine
	maxSynonymCredit    = 0.8
)

// window is a range of sentences of a passage, with the coverage of the claim's terms.
type window struct {
	covered  []float64
	lead     []word // of its best sentence
	values   []value
	from     *passage
	shares   []float64 // share of the claim that each sentence of the passage covers
	maxShare float64   // the highest of shares
}

// maxWindow is the maximum number of consecutive sentences that may support a claim together.
const maxWindow = 3

// credit is the weight of a stem of a passage for a term of the claim.
type credit struct {
	term int
	x    float64
}

// credits returns the credits of each stem of a passage.
func (s *statement) credits(p *passage, like []model.TokenVector) [][]credit {
	out := make([][]credit, len(p.stems))
	found := make([]bool, len(s.terms))
	for k, stem := range p.stems {
		if i, ok := s.at[stem]; ok {
			out[k] = []credit{{i, 1}}
			found[i] = true
		}
	}
	for i, t := range s.terms {
		if found[i] {
			continue
		}
		own, isEnd := s.pole(t.Stem)
		for k, stem := range p.stems {
			switch other, end := s.pole(stem); {
			case isEnd && end && own.axis == other.axis:
				out[k] = append(out[k], credit{i, antonymCredit}) // the polarity is checked elsewhere
			case !s.plain[i] || end || s.language.IsStopWord(p.words[k]):
			case related(t.Stem, stem):
				out[k] = append(out[k], credit{i, inflectionCredit})
			case s.language.Compounds && (lang.IsPart(t.Stem, stem) || lang.IsPart(stem, t.Stem)):
				out[k] = append(out[k], credit{i, compoundCredit})
			case like != nil && len(like[i].Vector) > 0 && k < len(p.vectors) && len(p.vectors[k].Vector) == len(like[i].Vector):
				if x := float64(vek32.Dot(like[i].Vector, p.vectors[k].Vector)); x >= minSynonymCosine {
					out[k] = append(out[k], credit{i, min(x, maxSynonymCredit)})
				}
			}
		}
	}
	return out
}

// best returns the window that covers most of the claim. The headings of the passage are part of every window.
func (s *statement) best(p *passage, like []model.TokenVector) window {
	credits := s.credits(p, like)
	covers, shares, greatest := make([][]float64, len(p.sentences)), make([]float64, len(p.sentences)), 0.0
	base := s.covers(p.headings, credits)
	for i, x := range p.sentences {
		covers[i] = s.covers(x, credits)
		shares[i] = s.share(covers[i])
		greatest = max(greatest, shares[i])
		for k, c := range covers[i] {
			base[k] = max(base[k], otherSentenceCredit*c)
		}
	}
	for _, v := range s.values { // a number may be written in another form
		if p.hasValue(v) {
			for _, w := range s.words[v.at:min(len(s.words), v.at+v.n)] {
				if k, ok := s.at[w.stem]; ok {
					base[k] = 1
				}
			}
		}
	}
	out, most := window{covered: make([]float64, len(s.terms))}, 0.0
	sum := make([]float64, len(s.terms))
	for i := range covers {
		copy(sum, base)
		lead, leadShare := i, -1.0
		for k := i; k < min(len(covers), i+maxWindow); k++ {
			for j, x := range covers[k] {
				sum[j] = max(sum[j], x)
			}
			if x := shares[k]; x > leadShare {
				lead, leadShare = k, x
			}
			if x := s.share(sum) - 0.02*float64(k-i); x > most { // of equal windows the shortest
				most = x
				out = window{covered: append(out.covered[:0], sum...), lead: p.sentences[lead].words, values: p.sentences[lead].values}
			}
		}
	}
	out.from, out.shares, out.maxShare = p, shares, greatest
	return out
}

// covers returns how much a sentence covers each of the claim's terms.
func (s *statement) covers(x sentence, credits [][]credit) []float64 {
	out := make([]float64, len(s.terms))
	for _, t := range x.terms {
		for _, c := range credits[t] {
			out[c.term] = max(out[c.term], c.x)
		}
	}
	return out
}

// vectors returns the vectors of the claim's terms and sets those of the passages. It returns nil if there are none.
func (o Overlap) vectors(ctx context.Context, s *statement, cited []*passage) []model.TokenVector {
	if o.Tokens == nil {
		return nil
	}
	words := make([]string, len(s.terms))
	for i, t := range s.terms {
		words[i] = t.Word
	}
	for _, p := range cited {
		if !p.embedded {
			p.vectors, p.embedded = o.embed(ctx, p.words[:min(len(p.words), maxVectors)]), true
		}
	}
	return o.embed(ctx, words)
}

// maxVectors is the maximum number of distinct words of a passage whose vectors are compared.
const maxVectors = 1000

// embed returns a vector for each word, empty if the word has none, or nil if the embedder fails.
func (o Overlap) embed(ctx context.Context, words []string) []model.TokenVector {
	all, err := o.Tokens.EmbedTokens(ctx, words, model.ForPassage)
	if err != nil || len(all) != len(words) {
		return nil // fall back to comparing words
	}
	out := make([]model.TokenVector, len(words))
	for i, tokens := range all {
		if len(tokens) == 1 {
			out[i] = tokens[0]
		}
	}
	return out
}
