package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// The labels of a [Pair]. Unrelated stands in no file: [Claims] makes such pairs.
const (
	Supports    = "SUPPORT"
	Contradicts = "CONTRADICT"
	Unrelated   = "UNRELATED"
)

// Pair is a claim with evidence, and whether the evidence supports or contradicts it, as in SciFact (Wadden et al. 2020,
// arXiv:2004.14974).
type Pair struct {
	Claim    string   `json:"claim"`
	Document string   `json:"doc_id"` // that the evidence is taken from
	Label    string   `json:"label"`
	Evidence []string `json:"evidence"` // sentences
}

// Cited is what a claim is judged against.
type Cited string

// What may be cited. Both stand below the document's title, as passages of an index do.
const (
	Sentences Cited = "sentences" // the evidence alone
	Document  Cited = "document"  // all of the document that it is from, as answers cite whole passages; the evidence where there is none
)

// Judged is a pair with the verdict on it.
type Judged struct {
	Claim    string        `json:"claim"`
	Document string        `json:"doc_id"`
	Label    string        `json:"label"`
	Verdict  event.Verdict `json:"verdict"`
	Score    float64       `json:"score"`
}

// Counts are a binary decision's outcomes, with what follows from them: precision is TP / (TP + FP), recall TP / (TP + FN), F1
// their harmonic mean; each is 0 where it is not defined.
type Counts struct {
	TP        int     `json:"tp"`
	FP        int     `json:"fp"`
	FN        int     `json:"fn"`
	TN        int     `json:"tn"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	Accuracy  float64 `json:"accuracy"`
}

func (c *Counts) add(is, said bool) {
	switch {
	case is && said:
		c.TP++
	case is:
		c.FN++
	case said:
		c.FP++
	default:
		c.TN++
	}
}

func (c *Counts) finish() {
	c.Precision, c.Recall = share(c.TP, c.TP+c.FP), share(c.TP, c.TP+c.FN)
	c.F1 = share(2*c.TP, 2*c.TP+c.FP+c.FN)
	c.Accuracy = share(c.TP+c.TN, c.TP+c.FP+c.FN+c.TN)
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// ClaimsReport is how well a verifier tells evidence that supports a claim from evidence that does not.
type ClaimsReport struct {
	Set string `json:"set"`
	By  string `json:"by"` // the form that judged
	// Cites says what the claims were judged against.
	Cites Cited `json:"cites"`
	// Supported takes SUPPORTED alone as the verdict that the evidence carries the claim, Partially also PARTIALLY_SUPPORTED.
	Supported Counts `json:"supported"`
	Partially Counts `json:"partially"`
	// Contradicted and Unrelated are Supported with the negatives of one label alone.
	Contradicted Counts `json:"contradicted"`
	Unrelated    Counts `json:"unrelated"`
	// Confusion counts verdicts: label → verdict → pairs.
	Confusion map[string]map[event.Verdict]int `json:"confusion"`
	Results   []Judged                         `json:"results"`
}

// Claims has each pair of a set judged: the claim as a statement that cites one passage. To each pair that
// supports its claim comes one of the same claim with evidence of another claim and document, always the same one: what
// knows the claim alone gains nothing. The error is that of ctx, or says that the set has no pairs.
func Claims(ctx context.Context, v verify.Verifier, set *Set, cites Cited) (*ClaimsReport, error) {
	if len(set.Claims) == 0 {
		return nil, fmt.Errorf("judge claims: %s has none", set.Name)
	}
	pairs := withUnrelated(set.Claims)
	docs := make(map[string]Doc, len(set.Docs))
	for _, d := range set.Docs {
		docs[d.ID] = d
	}
	r := &ClaimsReport{Set: set.Name, Cites: cites, Confusion: map[string]map[event.Verdict]int{}, Results: make([]Judged, len(pairs))}
	by := make([]string, len(pairs))
	err := parallel(ctx, 0, len(pairs), func(ctx context.Context, i int) error {
		p := pairs[i]
		doc, known := docs[p.Document]
		chunk := corpus.Chunk{ID: corpus.ChunkID(p.Document), Document: corpus.DocumentID(p.Document), Level: corpus.Passage,
			Title: doc.Title, Text: strings.Join(p.Evidence, " ")}
		if known && cites == Document {
			chunk.Text = doc.Text
		}
		check, err := v.Verify(ctx, "", []verify.Claim{{Text: p.Claim, Cited: []corpus.Chunk{chunk}}})
		if err != nil {
			return fmt.Errorf("judge claims of %s: %w", set.Name, err)
		}
		r.Results[i] = Judged{p.Claim, p.Document, p.Label, check.Verdicts[0].Verdict, check.Verdicts[0].Score}
		by[i] = check.By
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.By = by[0]
	for _, j := range r.Results {
		r.count(j)
	}
	for _, c := range []*Counts{&r.Supported, &r.Partially, &r.Contradicted, &r.Unrelated} {
		c.finish()
	}
	return r, nil
}

func (r *ClaimsReport) count(j Judged) {
	if r.Confusion[j.Label] == nil {
		r.Confusion[j.Label] = map[event.Verdict]int{}
	}
	r.Confusion[j.Label][j.Verdict]++
	is, full := j.Label == Supports, j.Verdict == event.Supported
	r.Supported.add(is, full)
	r.Partially.add(is, full || j.Verdict == event.PartiallySupported)
	if j.Label != Unrelated {
		r.Contradicted.add(is, full)
	}
	if j.Label != Contradicts {
		r.Unrelated.add(is, full)
	}
}

// maxDraws is how often evidence is drawn for a claim before it goes without an unrelated pair.
const maxDraws = 32

// withUnrelated gives the pairs, and after them one with unrelated evidence for each that supports.
func withUnrelated(pairs []Pair) []Pair {
	out := append([]Pair(nil), pairs...)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, p := range pairs {
		if p.Label != Supports {
			continue
		}
		for range maxDraws {
			if other := pairs[r.IntN(len(pairs))]; other.Document != p.Document && other.Claim != p.Claim {
				out = append(out, Pair{Claim: p.Claim, Document: other.Document, Label: Unrelated, Evidence: other.Evidence})
				break
			}
		}
	}
	return out
}
