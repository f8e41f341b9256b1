//go:build linux

package sqlstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// ratesOf returns the rates of a database for two servers, with connections of their own.
func ratesOf(t testing.TB, url string) (servers [2]sqlstore.Rates) {
	t.Helper()
	for i := range servers {
		db := postgrestest.Open(t, url)
		if _, err := sqlstore.OpenPostgres(t.Context(), db, "sluice", filepath.Join(t.TempDir(), "keys.db")); err != nil {
			t.Fatal(err)
		}
		servers[i] = sqlstore.NewRates(db, "sluice")
	}
	return servers
}

// takeAll takes requests of a key at the same time, alternately on two servers, and returns how many were accepted. It checks the waits of the others.
func takeAll(t *testing.T, servers [2]sqlstore.Rates, key string, rate auth.Limit, requests int) int {
	t.Helper()
	var wg sync.WaitGroup
	var accepted atomic.Int32
	for i := range requests {
		wg.Go(func() {
			wait, full, err := servers[i%2].Take(context.Background(), key, rate, time.Time{})
			if left := rate.Left(full); err != nil || wait < 0 || wait > rate.Interval() || left < 0 || left > rate.N || wait > 0 && left > 0 {
				t.Errorf("wait %v, full after %v, %v", wait, full, err)
			}
			if wait == 0 {
				accepted.Add(1)
			}
		})
	}
	wg.Wait()
	return int(accepted.Load())
}

// TestRates: two servers together accept the burst of a rate, and then one request after each interval. A clock that was set back does not stop a key.
func TestRates(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	servers := ratesOf(t, url)
	rate := auth.Limit{N: 20, Unit: "h"} // the test ends within three minutes
	pass := func(d time.Duration) {
		postgrestest.Exec(t, url, fmt.Sprintf("UPDATE sluice.rates SET full_at = full_at - %d WHERE key = 'a'", d.Nanoseconds()))
	}
	for _, c := range []struct {
		name    string
		elapsed time.Duration
		want    int
	}{
		{"the burst", 0, 20},
		{"used up", 0, 0},
		{"an interval later", rate.Interval() + time.Second, 1},
		{"five intervals later", 5*rate.Interval() + time.Second, 5},
		{"after a long time", 100 * time.Hour, 20},
		{"the clock was set back", -2 * time.Hour, 20},
	} {
		pass(c.elapsed)
		if n := takeAll(t, servers, "a", rate, 40); n != c.want {
			t.Errorf("%s: %d requests are accepted, want %d", c.name, n, c.want)
		}
	}
	for key, rate := range map[string]auth.Limit{"b": {N: 1, Unit: "h"}, "c": {N: 7, Unit: "h"}} {
		if n := takeAll(t, servers, key, rate, 20); n != rate.N {
			t.Errorf("%d requests of another key are accepted, want %d", n, rate.N)
		}
	}
	if n := takeAll(t, servers, "d", auth.Limit{N: 1_000_000_000, Unit: "s"}, 40); n != 40 {
		t.Errorf("%d of 40 requests are accepted at the highest rate", n)
	}
}

// TestRatesBound: at a high rate, two servers accept no more than the burst and one request for each interval that has passed.
func TestRatesBound(t *testing.T) {
	t.Parallel()
	servers := ratesOf(t, postgrestest.URL(t))
	rate := auth.Limit{N: 50, Unit: "s"}
	begin := time.Now()
	n := 0
	for range 5 {
		n += takeAll(t, servers, "a", rate, 100)
	}
	if most := rate.N + int(time.Since(begin)/rate.Interval()) + 1; n < rate.N || n > most {
		t.Errorf("%d requests are accepted, want %d to %d", n, rate.N, most)
	}
}

// BenchmarkRates measures one request of a key, and requests of a key at the same time.
func BenchmarkRates(b *testing.B) {
	rates := ratesOf(b, postgrestest.URL(b))[0]
	rate := auth.Limit{N: 1_000_000_000, Unit: "s"}
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := rates.Take(b.Context(), "a", rate, now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("together", func(b *testing.B) {
		b.SetParallelism(8)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if _, _, err := rates.Take(b.Context(), "a", rate, now); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
