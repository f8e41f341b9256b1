package ragevents_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/wire/ragevents"
)

// TestConfidenceIsMonotone raises each field of random evidence and checks that the confidence does not fall and stays in the range
// that the evidence has.
func TestConfidenceIsMonotone(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	x := func() float64 { // the ends are as likely as the inside
		return min(max(rng.Float64()*1.5-0.25, 0), 1)
	}
	for range 30_000 {
		e := ragevents.Evidence{Searched: rng.IntN(9) > 0, Found: rng.IntN(4), Relevance: x(), Contributed: rng.IntN(2) == 0, Probability: x()}
		c := e.Confidence()
		inRange(t, e, c)
		if !e.Searched {
			continue
		}
		higher := e
		switch rng.IntN(4) {
		case 0:
			higher.Found += rng.IntN(4)
		case 1:
			higher.Relevance = max(e.Relevance, x())
		case 2:
			higher.Contributed = true
		case 3:
			higher.Probability = max(e.Probability, x())
		}
		if d := higher.Confidence(); d < c {
			t.Fatalf("%+v: %d, but %+v: %d", e, c, higher, d)
		}
	}
	for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 2} {
		for _, e := range []ragevents.Evidence{{Searched: true, Found: 1, Relevance: odd}, {Searched: true, Found: 1, Contributed: true, Probability: odd}} {
			if c := e.Confidence(); c < 10 || c > 95 {
				t.Errorf("%+v: %d", e, c)
			}
		}
	}
}

func inRange(t *testing.T, e ragevents.Evidence, c int) {
	t.Helper()
	from, to := 10, 29
	switch {
	case !e.Searched:
		from, to = 30, 30
	case e.Found > 0 && e.Contributed:
		from, to = 65, 95
	case e.Found > 0 && e.Relevance >= 0.4:
		from, to = 30, 40
	}
	if c < from || c > to {
		t.Fatalf("%+v: %d is not in %d to %d", e, c, from, to)
	}
}

// TestConfidenceReachesRanges checks the ends of each range.
func TestConfidenceReachesRanges(t *testing.T) {
	t.Parallel()
	for want, e := range map[int]ragevents.Evidence{
		10: {Searched: true}, 29: {Searched: true, Found: 9, Relevance: 0.3999}, 30: {}, 40: {Searched: true, Found: 1, Relevance: 1},
		65: {Searched: true, Found: 1, Contributed: true}, 74: {Searched: true, Found: 1, Contributed: true, Probability: 0.749},
		75: {Searched: true, Found: 1, Contributed: true, Probability: 0.75}, 95: {Searched: true, Found: 1, Contributed: true, Probability: 1},
	} {
		if got := e.Confidence(); got != want {
			t.Errorf("%+v: got %d, want %d", e, got, want)
		}
	}
}

// TestContributionOfRandomRuns checks that the portions sum to 1, and that the confidence and the flag agree with the log.
func TestContributionOfRandomRuns(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		log := eventlogtest.RandomLog(rng, 20)
		s := event.Fold(log)
		got, err := chunks(log)
		require.NoError(t, err)
		var sum, percent ragevents.Decimal
		for url, portion := range got.attention.BySource {
			sum += portion
			percent += got.attention.AsPercent[url]
		}
		if sum != 0 && sum != 1_000_000 || percent != 100*sum {
			t.Fatalf("the portions sum to %d millionths, and to %d of percent", sum, percent)
		}
		if c := got.confidence; c != nil {
			if c.SourcesContributed != (sum != 0) {
				t.Fatalf("the portions sum to %d, but the sources contributed: %v", sum, c.SourcesContributed)
			}
			flagged := s.Check != nil && s.Check.Flagged
			if c.Confidence < 10 || c.Confidence > 95 || c.SourcesContributed && (len(s.Contributing()) == 0 || flagged || c.Confidence < 65) || !c.SourcesContributed && c.Confidence > 40 {
				t.Fatalf("%+v with %d citations, flagged %v", c, len(s.Citations), flagged)
			}
		}
		if tx := got.transaction; tx != nil && s.Settlement == nil && (tx.PlatformFee != 0 || tx.TransactionID != nil || tx.BalanceBefore != nil) {
			t.Fatalf("%+v without a settlement", tx)
		}
	}
}

// TestPortionsAreThoseOfTheLedger checks that the shares shown before the settlement are those that the ledger pays.
func TestPortionsAreThoseOfTheLedger(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		var sources []event.Source
		for i := range 1 + rng.IntN(12) {
			sources = append(sources, event.Source{N: i + 1, Document: corpus.DocumentID(fmt.Sprint(rng.IntN(8))), Weight: float64(rng.IntN(7)) / float64(1+rng.IntN(9)), Cited: rng.IntN(3) == 0})
		}
		log := logOf(started(), event.QueryAnalyzed{}, event.CacheChecked{Hit: true}, event.Cited{N: 1}, event.Attributed{Sources: sources}, event.RunFinished{})
		got, err := chunks(log)
		require.NoError(t, err)
		s, want := event.Fold(log), map[string]ragevents.Decimal{}
		for _, share := range ledger.Settle(1000, 60, "asker", s.Contributing()).Shares {
			if share.Portion > 0 {
				want[string(share.Document)] = ragevents.Decimal(share.Portion)
			}
		}
		if diff := cmp.Diff(want, got.attention.BySource); diff != "" {
			t.Fatalf("%+v (-ledger +shown):\n%s", sources, diff)
		}
	}
}
