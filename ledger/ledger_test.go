package ledger_test

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
)

func TestCredits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ledger.Credits{"0": 0, "12.50": 12_500_000, "0.000001": 1, "007": 7_000_000, "1000000000000": ledger.MaxCredits} {
		if got, err := ledger.ParseCredits(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ".", "1.", ".5", "-1", "+1", "1e3", "0.0000001", "1000000000000.000001", "99999999999999999999999", "1,5", " 1", "١"} {
		if got, err := ledger.ParseCredits(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
	for want, c := range map[string]ledger.Credits{"0.00": 0, "12.50": 12_500_000, "-0.000001": -1, "-9223372036854.775808": math.MinInt64, "0.123456": 123_456} {
		if got := ledger.FormatCredits(c); got != want {
			t.Errorf("%d: %s", c, got)
		}
	}
}

func FuzzCredits(f *testing.F) {
	f.Add("12.50")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ledger.ParseCredits(text)
		if err != nil {
			return
		}
		again, err := ledger.ParseCredits(ledger.FormatCredits(c))
		if err != nil || again != c || c < 0 || c > ledger.MaxCredits {
			t.Errorf("%q: %d, %v, %d", text, c, err, again)
		}
	})
}

func TestFee(t *testing.T) {
	t.Parallel()
	p := ledger.Price{Base: 1_000, Second: 500, Input: 150_000, Output: 600_000}
	// 1,000 + 500 · 3.4 + 0.15 · 4,000 + 0.6 · 1 = 3,300.6
	if got := p.Fee(3400*time.Millisecond, 4000, 1); got != 3301 {
		t.Errorf("fee %d", got)
	}
	if got := (ledger.Price{Input: 500_000}).Fee(0, 1, 0); got != 1 {
		t.Errorf("a half is rounded to %d", got)
	}
	if got := (ledger.Price{Output: ledger.MaxCredits, Base: ledger.MaxCredits}).Fee(time.Hour, math.MaxInt, math.MaxInt); got != ledger.MaxCredits {
		t.Errorf("the greatest fee is %d", got)
	}
	if got := (ledger.Price{Second: 1_000_000}).Fee(-time.Second, -1, -1); got != 0 {
		t.Errorf("negative use costs %d", got)
	}
}

func prices(t *testing.T, texts ...string) ledger.PriceList {
	t.Helper()
	l, err := ledger.ParsePrices(texts)
	require.NoError(t, err)
	return l
}

func TestPriceList(t *testing.T) {
	t.Parallel()
	l := prices(t, "gpt-* base=1", "gpt-4 base=2 input=3 output=4", "org/* base=5", "default base=6", "c?ched base=9")
	for _, c := range []struct {
		model          string
		ownKey, cached bool
		want           ledger.Price
	}{
		{"gpt-4", false, false, ledger.Price{Base: 2e6, Input: 3e6, Output: 4e6}},
		{"gpt-4", true, false, ledger.Price{Base: 2e6}},
		{"gpt-4", false, true, ledger.Price{Base: 2e6, Input: 3e6, Output: 4e6}},
		{"gpt-5", false, false, ledger.Price{Base: 1e6}},
		{"org/some/model", false, false, ledger.Price{Base: 5e6}},
		{"other", false, false, ledger.Price{Base: 6e6}},
		{"", false, false, ledger.Price{Base: 6e6}},
		{"default", false, false, ledger.Price{Base: 6e6}},
	} {
		if got := l.Price(c.model, c.ownKey, c.cached); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	l = append(l, prices(t, "cached base=0.5", "byok base=0.25")...)
	if got := l.Price("gpt-4", false, true); got.Base != 500_000 {
		t.Errorf("cached: %+v", got)
	}
	if got := l.Price("gpt-4", true, false); got.Base != 250_000 {
		t.Errorf("own key: %+v", got)
	}
	if got := (ledger.PriceList)(nil).Price("gpt-4", false, false); got != (ledger.Price{}) {
		t.Errorf("without prices: %+v", got)
	}
	for _, bad := range []string{"", "gpt", "gpt base", "gpt base=", "gpt base=1 base=2", "gpt bass=1", "gpt base=-1", "[ base=1", "base=1 output=2", "gpt base=1e3"} {
		if p, err := ledger.ParsePrice(bad); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
	if _, err := ledger.ParsePrices([]string{"a base=1", "a base=2"}); err == nil || !strings.Contains(err.Error(), "two prices") {
		t.Errorf("two prices of a name: %v", err)
	}
}

func FuzzPrice(f *testing.F) {
	f.Add("gpt-4o-mini base=0.001 second=0.0005 input=0.15 output=0.60", "gpt-4o-mini", int64(3400), 4000, 100)
	f.Add("* base=1", "a/b", int64(-1), -1, math.MaxInt)
	f.Fuzz(func(t *testing.T, text, model string, millis int64, input, output int) {
		p, err := ledger.ParsePrice(text)
		if err != nil {
			return
		}
		millis %= 1e9
		d := time.Duration(millis) * time.Millisecond
		fee := p.Fee(d, input, output)
		exact := new(big.Rat)
		for _, part := range []struct {
			price ledger.Credits
			n     int64
			scale int64
		}{{p.Base, 1, 1}, {p.Second, max(millis, 0), 1000}, {p.Input, int64(max(input, 0)), 1e6}, {p.Output, int64(max(output, 0)), 1e6}} {
			product := new(big.Rat).SetInt64(int64(part.price))
			exact.Add(exact, product.Mul(product, big.NewRat(part.n, part.scale)))
		}
		off := new(big.Rat).Sub(new(big.Rat).SetInt64(int64(fee)), exact)
		if half := big.NewRat(1, 2); fee < ledger.MaxCredits && (off.Cmp(half) > 0 || off.Cmp(new(big.Rat).Neg(half)) <= 0) {
			t.Errorf("%q: the fee %d is %s off", text, fee, off.FloatString(3))
		}
		list := ledger.PriceList{p}
		most := list.Most([]string{model}, false, ledger.Limits{Deadline: d, Input: max(input, 1), Output: max(output, 1)})
		if d > 0 && list.Price(model, false, false).Fee(d, input, output) > most {
			t.Errorf("%q: a run within its limits costs more than its hold", text)
		}
	})
}

func credits(c event.Credits) *event.Credits { return &c }

func TestSettle(t *testing.T) {
	t.Parallel()
	sources := []event.Source{
		{Document: "a", Contributor: "ann", Weight: 0.2},
		{Document: "b", Contributor: "bob", Weight: 0.45},
		{Document: "a", Contributor: "ann", Weight: 0.1},
		{Document: "c", Contributor: "issuer", Weight: 0.25},
		{Document: "d", Contributor: "dan"},
	}
	got := ledger.Settle(23_600, 60, "ann", sources)
	want := event.Settled{Fee: 23_600, Distributed: 6_372 + 3_540, Shares: []event.Share{
		{Document: "b", Contributor: "bob", Portion: 450_000, Earned: credits(6_372), Chunks: 1},
		{Document: "a", Contributor: "ann", Portion: 300_000, Chunks: 2},
		{Document: "c", Contributor: "owner", Portion: 250_000, Earned: credits(3_540), Chunks: 1},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := ledger.Settle(23_600, 60, "ann", sources[4:]); got.Distributed != 0 || len(got.Shares) != 0 {
		t.Errorf("without contribution: %+v", got)
	}
	thirds := []event.Source{{Document: "a", Contributor: "x", Weight: 1}, {Document: "b", Contributor: "y", Weight: 1}, {Document: "c", Contributor: "z", Weight: 1}}
	got = ledger.Settle(100, 100, "ann", thirds)
	if got.Distributed != 100 || got.Shares[0].Portion != 333_334 || *got.Shares[0].Earned != 34 || *got.Shares[2].Earned != 33 {
		t.Errorf("thirds: %+v", got)
	}
}

// FuzzSettle checks the sums: portions to one, shares to the amount that is distributed.
func FuzzSettle(f *testing.F) {
	f.Add(int64(23_600), 60, 0.2, 0.45, 0.1, 0.25)
	f.Add(int64(1e18), 100, math.Inf(1), math.NaN(), math.MaxFloat64, math.SmallestNonzeroFloat64)
	f.Add(int64(7), 33, 1.0, 1.0, 1.0, -1.0)
	f.Fuzz(func(t *testing.T, fee int64, percent int, a, b, c, d float64) {
		if fee < 0 || fee > int64(ledger.MaxCredits) || percent < 0 || percent > 100 {
			return
		}
		weights := []float64{a, b, c, d, a, b}
		sources := make([]event.Source, len(weights))
		for i, w := range weights {
			sources[i] = event.Source{Document: corpus.DocumentID(rune('a' + i%5)), Contributor: string(rune('p' + i%3)), Weight: w}
		}
		s := ledger.Settle(event.Credits(fee), percent, "p", sources)
		portions, earned, own := 0, event.Credits(0), false
		for i, share := range s.Shares {
			if i > 0 && share.Portion > s.Shares[i-1].Portion || share.Portion < 0 || share.Chunks < 1 {
				t.Errorf("share %+v after %+v", share, s.Shares[max(i-1, 0)])
			}
			portions += share.Portion
			if (share.Earned == nil) != (share.Contributor == "p") {
				t.Errorf("share %+v of the asker p", share)
			}
			if share.Earned == nil {
				own = true
				continue
			}
			if *share.Earned < 0 {
				t.Errorf("earned %d", *share.Earned)
			}
			earned += *share.Earned
		}
		distributable := event.Credits(new(big.Int).Div(new(big.Int).Mul(big.NewInt(fee), big.NewInt(int64(percent))), big.NewInt(100)).Int64())
		switch {
		case len(s.Shares) > 0 && portions != event.PortionUnit:
			t.Errorf("portions sum to %d", portions)
		case earned != s.Distributed || s.Distributed > distributable:
			t.Errorf("earned %d, distributed %d of %d", earned, s.Distributed, distributable)
		case len(s.Shares) > 0 && !own && s.Distributed != distributable:
			t.Errorf("distributed %d of %d", s.Distributed, distributable)
		}
	})
}
