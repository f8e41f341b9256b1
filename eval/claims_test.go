package eval_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestClaims(t *testing.T) {
	set := &eval.Set{Name: "s", Claims: []eval.LabelledClaim{
		{Claim: "ab", Document: "1", Label: eval.Supports, Evidence: []string{"a", "b"}}, // the two together carry it
		{Claim: "cd", Document: "2", Label: eval.Supports, Evidence: []string{"c"}},      // missed
		{Claim: "ef", Document: "3", Label: eval.Contradicts, Evidence: []string{"fe"}},  // taken in
		{Claim: "gh", Document: "4", Label: eval.Contradicts, Evidence: []string{"x"}},
	}}
	got, err := eval.Claims(t.Context(), letters{}, set, eval.EvidenceSentences)
	require.NoError(t, err)
	want := eval.Counts{TP: 1, FP: 1, FN: 1, TN: 3, Precision: 0.5, Recall: 0.5, F1: 0.5, Accuracy: 4.0 / 6}
	if d := cmp.Diff(want, got.Supported); d != "" {
		t.Error(d)
	}
	if c := got.Contradicted; c.TN != 1 || c.FP != 1 || c.F1 != 0.5 {
		t.Errorf("against contradicted ones: %+v", c)
	}
	if c := got.Unrelated; c.TN != 2 || c.FP != 0 || c.Precision != 1 {
		t.Errorf("against unrelated ones: %+v", c)
	}
	confusion := map[string]map[event.Verdict]int{eval.Supports: {event.Supported: 1, event.Unsupported: 1},
		eval.Contradicts: {event.Supported: 1, event.Unsupported: 1}, eval.Unrelated: {event.Unsupported: 2}}
	if d := cmp.Diff(confusion, got.Confusion); d != "" || got.By != "letters" {
		t.Errorf("by %s: %s", got.By, d)
	}
	for _, r := range got.Results[4:] {
		if r.Claim == "ab" && r.Document == "1" || r.Claim == "cd" && r.Document == "2" {
			t.Errorf("%q is judged against its own evidence", r.Claim)
		}
	}
	again, err := eval.Claims(t.Context(), letters{}, set, eval.EvidenceSentences)
	if err != nil || cmp.Diff(got, again) != "" {
		t.Errorf("another report the second time: %v %s", err, cmp.Diff(got, again))
	}
	set.Docs = []eval.Doc{{ID: "2", Text: "cd"}} // which holds more than the evidence
	whole, err := eval.Claims(t.Context(), letters{}, set, eval.EvidenceDocument)
	if err != nil || whole.Supported.TP != 2 || whole.Cites != eval.EvidenceDocument {
		t.Errorf("against documents: %+v, %v", whole, err)
	}
	var table strings.Builder
	if err := eval.WriteClaims(&table, got); err != nil || !strings.Contains(table.String(), "0.500") || !strings.Contains(table.String(), "UNRELATED") {
		t.Errorf("table %s, %v", &table, err)
	}
}

func TestClaimsFails(t *testing.T) {
	if _, err := eval.Claims(t.Context(), letters{}, &eval.Set{}, eval.EvidenceSentences); err == nil {
		t.Error("no error without claims")
	}
	alone := &eval.Set{} // where all evidence is of one document, nothing is unrelated
	for i := range 50 {
		alone.Claims = append(alone.Claims, eval.LabelledClaim{Claim: fmt.Sprint(i), Document: "d", Label: eval.Supports, Evidence: []string{"0123456789"}})
	}
	if r, err := eval.Claims(t.Context(), letters{}, alone, eval.EvidenceSentences); err != nil || len(r.Results) != 50 || r.Supported.F1 != 1 {
		t.Errorf("%+v %v", r.Supported, err)
	}
	gone := errors.New("gone")
	if _, err := eval.Claims(t.Context(), letters{gone}, alone, eval.EvidenceSentences); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}
