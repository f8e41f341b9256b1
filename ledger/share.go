package ledger

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// Settle computes the shares of documents in a fee. The sources are those on which the answer rests: see [event.State.Contributing]. Of the fee,
// percent are distributed, rounded down: by the portions of the documents in the answer, which are the sums of the weights of their sources. Portions sum to [event.PortionUnit] and shares to the amount, by largest
// remainder. The shares of the asker's own documents stay with the platform, and so does everything if no source has a weight.
func Settle(fee Credits, percent int, asker string, sources []event.Source) event.Settled {
	out := event.Settled{Fee: fee, Shares: []event.Share{}}
	var weights []float64
	at := map[corpus.DocumentID]int{}
	for _, s := range sources {
		if !(s.Weight > 0) || math.IsInf(s.Weight, 1) {
			continue
		}
		i, known := at[s.Document]
		if !known {
			i = len(out.Shares)
			at[s.Document] = i
			out.Shares = append(out.Shares, event.Share{Document: s.Document, Contributor: contributor(s.Contributor)})
			weights = append(weights, 0)
		}
		weights[i] += min(s.Weight, 1e9) // sums stay exact enough and finite
		out.Shares[i].Chunks++
	}
	portions := portions(weights)
	for i := range out.Shares {
		out.Shares[i].Portion = portions[i]
	}
	slices.SortStableFunc(out.Shares, func(a, b event.Share) int { return cmp.Compare(b.Portion, a.Portion) })
	for i, earned := range allocate(mulDiv(fee, percent, 100), out.Shares) {
		if s := &out.Shares[i]; s.Contributor != asker {
			s.Earned = &earned
			out.Distributed += earned
		}
	}
	return out
}

// contributor returns the account of a contributor. Names come from documents: those that no account can have stand for the owner.
func contributor(name string) string {
	if !corpus.ValidAccount(name) {
		return auth.Owner
	}
	return name
}

// portions divides [event.PortionUnit] in proportion to weights above zero.
func portions(weights []float64) []int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	out, remainders := make([]int, len(weights)), make([]float64, len(weights))
	left := event.PortionUnit
	for i, w := range weights {
		exact := w / total * event.PortionUnit
		out[i] = min(int(exact), left) // rounding of floats may exceed the sum by one
		remainders[i] = exact - float64(out[i])
		left -= out[i]
	}
	distribute(left, out, remainders)
	return out
}

// allocate divides an amount by the portions of shares, which sum to [event.PortionUnit].
func allocate(amount Credits, shares []event.Share) []Credits {
	out, remainders := make([]Credits, len(shares)), make([]uint64, len(shares))
	left := amount
	for i, s := range shares {
		hi, lo := bits.Mul64(uint64(amount), uint64(s.Portion)) //nolint:gosec // both are at least 0
		q, r := bits.Div64(hi, lo, event.PortionUnit)
		out[i], remainders[i] = Credits(q), r //nolint:gosec // at most the amount
		left -= out[i]
	}
	if len(shares) > 0 {
		distribute(int(left), out, remainders)
	}
	return out
}

// distribute adds 1 to the parts with the largest remainders, the first of equal ones, until left is used up.
func distribute[T int | Credits, R float64 | uint64](left int, parts []T, remainders []R) {
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for i := 0; left > 0 && len(order) > 0; i, left = i+1, left-1 {
		parts[order[i%len(order)]]++
	}
}

// mulDiv returns amount * part / whole, rounded down, for part ≤ whole.
func mulDiv(amount Credits, part, whole int) Credits {
	hi, lo := bits.Mul64(uint64(amount), uint64(part)) //nolint:gosec // all are at least 0
	q, _ := bits.Div64(hi, lo, uint64(whole))          //nolint:gosec // above 0
	return Credits(q)                                  //nolint:gosec // at most the amount
}
