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

// The labels of a [LabelledClaim]. Files do not contain Unrelated; [Claims] generates such claims.
const (
	Supports    = "SUPPORT"
	Contradicts = "CONTRADICT"
	Unrelated   = "UNRELATED"
)

// LabelledClaim is a claim with evidence that supports or contradicts it, as in SciFact (Wadden et al. 2020, arXiv:2004.14974).
type LabelledClaim struct {
	Claim    string   `json:"claim"`
	Document string   `json:"doc_id"` // document of the evidence
	Label    string   `json:"label"`
	Evidence []string `json:"evidence"` // sentences
}

// Evidence is the kind of text that claims are judged by.
type Evidence string

// The kinds of evidence. Both include the title of the document, as passages of an index do.
const (
	EvidenceSentences Evidence = "sentences" // the evidence sentences
	EvidenceDocument  Evidence = "document"  // the whole document of the evidence, as answers cite whole passages; the sentences if it is missing
)

// ClaimVerdict is a claim with its verdict.
type ClaimVerdict struct {
	Claim    string        `json:"claim"`
	Document string        `json:"doc_id"`
	Label    string        `json:"label"`
	Verdict  event.Verdict `json:"verdict"`
	Score    float64       `json:"score"`
}

// Counts holds the outcomes of a binary decision. Precision is TP / (TP + FP), recall TP / (TP + FN), F1 their harmonic mean. Undefined
// values are 0.
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

// ClaimsReport measures how well a verifier recognizes evidence that supports a claim.
type ClaimsReport struct {
	Set string `json:"set"`
	By  string `json:"by"` // name of the verifier
	// Cites is the kind of evidence.
	Cites Evidence `json:"cites"`
	// Supported counts only SUPPORTED as a positive verdict, Partially also PARTIALLY_SUPPORTED.
	Supported Counts `json:"supported"`
	Partially Counts `json:"partially"`
	// Contradicted and Unrelated are like Supported, with the negatives of one label only.
	Contradicted Counts `json:"contradicted"`
	Unrelated    Counts `json:"unrelated"`
	// Confusion counts verdicts: label → verdict → pairs.
	Confusion map[string]map[event.Verdict]int `json:"confusion"`
	Results   []ClaimVerdict                   `json:"results"`
}

// Claims judges each claim of a set as a statement that cites one passage. For each supported claim, it adds an unrelated pair: the
// same claim with the evidence of another claim and document, so that a verifier that only looks at the claim gains nothing. The
// pairs are the same each time. The error is that of ctx, or reports that the set has no claims.
func Claims(ctx context.Context, v verify.Verifier, set *Set, evidence Evidence) (*ClaimsReport, error) {
	if len(set.Claims) == 0 {
		return nil, fmt.Errorf("judge claims: %s has none", set.Name)
	}
	pairs := withUnrelated(set.Claims)
	docs := make(map[string]Doc, len(set.Docs))
	for _, d := range set.Docs {
		docs[d.ID] = d
	}
	r := &ClaimsReport{Set: set.Name, Cites: evidence, Confusion: map[string]map[event.Verdict]int{}, Results: make([]ClaimVerdict, len(pairs))}
	by := make([]string, len(pairs))
	err := parallel(ctx, 0, len(pairs), func(ctx context.Context, i int) error {
		p := pairs[i]
		doc, known := docs[p.Document]
		chunk := corpus.Chunk{ID: corpus.ChunkID(p.Document), Document: corpus.DocumentID(p.Document), Level: corpus.Passage,
			Title: doc.Title, Text: strings.Join(p.Evidence, " ")}
		if known && evidence == EvidenceDocument {
			chunk.Text = doc.Text
		}
		check, err := v.Verify(ctx, "", []verify.Claim{{Text: p.Claim, Cited: []corpus.Chunk{chunk}}})
		if err != nil {
			return fmt.Errorf("judge claims of %s: %w", set.Name, err)
		}
		r.Results[i] = ClaimVerdict{p.Claim, p.Document, p.Label, check.Verdicts[0].Verdict, check.Verdicts[0].Score}
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

func (r *ClaimsReport) count(j ClaimVerdict) {
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

// maxDraws is the maximum number of tries to draw unrelated evidence for a claim.
const maxDraws = 32

// withUnrelated returns the claims, followed by one with unrelated evidence for each supported claim.
func withUnrelated(pairs []LabelledClaim) []LabelledClaim {
	out := append([]LabelledClaim(nil), pairs...)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, p := range pairs {
		if p.Label != Supports {
			continue
		}
		for range maxDraws {
			if other := pairs[r.IntN(len(pairs))]; other.Document != p.Document && other.Claim != p.Claim {
				out = append(out, LabelledClaim{Claim: p.Claim, Document: other.Document, Label: Unrelated, Evidence: other.Evidence})
				break
			}
		}
	}
	return out
}
