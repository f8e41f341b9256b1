package forrst

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTable checks the limits of the memory stores.
func TestTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newTable[int, string](3, 100)
		add := func(key, size int, keep time.Duration) {
			defer m.lock()()
			m.add(key, "", time.Minute)
			m.finish(m.rows[key], size, time.Now().Add(keep))
		}
		check := func(want string, bytes int) {
			t.Helper()
			defer m.lock()()
			var got []string
			for key := range 10 {
				if m.rows[key] != nil {
					got = append(got, fmt.Sprint(key))
				}
			}
			if strings.Join(got, "") != want || m.bytes != bytes {
				t.Errorf("rows %v with %d bytes, want %s with %d", got, m.bytes, want, bytes)
			}
		}
		m.add(9, "", time.Hour) // runs, so it is not limited
		for key := range 4 {
			add(key, 10, time.Hour)
		}
		check("1239", 30) // too many
		add(4, 85, time.Hour)
		check("349", 95) // too large
		add(5, 200, time.Second)
		check("59", 200) // the last one stays
		time.Sleep(time.Second)
		if m.get(5) != nil {
			t.Error("an expired row was found")
		}
		add(6, 10, time.Second)
		add(7, 20, time.Hour)
		add(6, 30, time.Hour) // again
		time.Sleep(sweepEvery)
		check("679", 50)
		if len(m.finished) != 2 {
			t.Errorf("%d finished rows", len(m.finished))
		}
		time.Sleep(time.Hour)
		check("", 0)
	})
}
