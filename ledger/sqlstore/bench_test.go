package sqlstore_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ledger"
)

// BenchmarkCharge holds and posts the fee of a run with two contributors. A free run is only posted.
func BenchmarkCharge(b *testing.B) {
	for _, askers := range []int{1, 16} {
		for name, fee := range map[string]event.Credits{"paid": 1_000_000, "free": 0} {
			b.Run(fmt.Sprintf("%s/askers=%d", name, askers), func(b *testing.B) {
				s := open(b, filepath.Join(b.TempDir(), "ledger.db"))
				credit(b, s, "1", "ann", ledger.MaxCredits)
				var n atomic.Int64
				b.SetParallelism(askers)
				b.ResetTimer()
				run := func() {
					id := event.RunID(fmt.Sprint("r", n.Add(1)))
					if fee > 0 {
						if err := s.Hold(b.Context(), id, "ann", 2*fee, now); err != nil {
							b.Error(err)
						}
					}
					c := charge(id, "ann", fee, event.Source{Document: "d", Contributor: "bob", Weight: 2}, event.Source{Document: "e", Contributor: "cid", Weight: 1})
					if _, err := s.Post(b.Context(), c); err != nil {
						b.Error(err)
					}
				}
				if askers == 1 {
					for range b.N {
						run()
					}
					return
				}
				b.RunParallel(func(p *testing.PB) {
					for p.Next() {
						run()
					}
				})
			})
		}
	}
}
