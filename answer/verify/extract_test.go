package verify_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestFloorExtracts checks that a passage supports the sentences that the local model takes from it. Nothing was fitted to this.
func TestFloorExtracts(t *testing.T) {
	race.Measure(t)
	s := beir.Load(t, "squad")
	m := local.New(local.Options{Patience: -1})
	checked, supported := 0, 0
	for i, q := range s.Queries {
		if i%4 != 0 { // a quarter suffices
			continue
		}
		var ps []model.Passage
		for n, h := range s.Search(q.Text, 5) {
			ps = append(ps, model.Passage{N: n + 1, Chunk: h.Chunk, Score: h.Score})
		}
		var claims []verify.Claim
		var b strings.Builder
		for d, err := range m.Generate(context.Background(), model.Task{Question: q.Text, Passages: ps}) {
			require.NoError(t, err)
			b.WriteString(d.Text)
			if d.Cite > 0 {
				claims = append(claims, verify.Claim{Text: strings.TrimSpace(b.String()), Cited: []corpus.Chunk{ps[d.Cite-1].Chunk}})
				b.Reset()
			}
		}
		got, err := verify.Overlap{}.Verify(context.Background(), "", claims)
		require.NoError(t, err)
		for _, v := range got.Verdicts {
			checked++
			if v.Verdict == event.Supported {
				supported++
			} else {
				t.Logf("%s %.2f %s", v.Verdict, v.Score, v.Claim)
			}
		}
	}
	t.Logf("%d of %d extracted sentences are supported", supported, checked)
	if supported*100 < checked*99 {
		t.Error("extracts are not supported by their own source")
	}
}
