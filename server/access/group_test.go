//go:build linux

package access_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server/access"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// member is a server of a group that shares a database. Each of its requests is a question.
type member struct {
	keys    *sqlstore.Store
	handler http.Handler
}

func joinGroup(t testing.TB, url string, shared bool) member {
	t.Helper()
	db := postgrestest.Open(t, url)
	keys, err := sqlstore.OpenPostgres(t.Context(), db, "sluice", filepath.Join(t.TempDir(), "keys.db"))
	require.NoError(t, err)
	o := access.Options{Protocols: protocols}
	if shared {
		o.Rates = sqlstore.NewRates(db, "sluice")
	}
	a, err := access.New(keys, o)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return member{keys, a.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if auth.CountQuestion(r.Context()) != nil {
			w.WriteHeader(http.StatusTooManyRequests)
		} else if r.Method == http.MethodDelete { // a question that does not begin
			if err := auth.ReturnQuestion(r.Context()); err != nil {
				t.Error(err)
			}
		}
	}))}
}

func (m member) request(method, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/api/query", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, r)
	return w
}

func (m member) key(t testing.TB, k auth.Key) string {
	t.Helper()
	k.Tenant, k.Account, k.Scopes = "default", "a", []auth.Scope{auth.Ask}
	text, _, err := auth.Create(context.Background(), m.keys, k, time.Now())
	require.NoError(t, err)
	return text
}

// TestGroup: servers of a group together accept no more than the rate and the quota of a key.
func TestGroup(t *testing.T) {
	t.Parallel()
	server := postgrestest.New(t)
	url := server.URL(t)
	group := []member{joinGroup(t, url, true), joinGroup(t, url, true)}
	all := func(key string, requests int) (statuses map[int]int) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		statuses = map[int]int{}
		for i := range requests {
			wg.Go(func() {
				w := group[i%2].request(http.MethodPost, key)
				mu.Lock()
				defer mu.Unlock()
				statuses[w.Code]++
				if after, err := strconv.Atoi(w.Header().Get("Retry-After")); w.Header().Get("Retry-After") != "" && (err != nil || after < 1 || after > 360) {
					t.Errorf("Retry-After: %q", w.Header().Get("Retry-After"))
				}
			})
		}
		wg.Wait()
		return statuses
	}
	for name, k := range map[string]auth.Key{"rate": {Rate: auth.Limit{N: 10, Unit: "h"}}, "quota": {Quota: auth.Limit{N: 10, Unit: "month"}}} {
		key := group[0].key(t, k)
		if got := all(key, 40); got[200] != 10 || got[429] != 30 {
			t.Errorf("%s: replies by status: %v", name, got)
		}
	}
	key := group[0].key(t, auth.Key{Quota: auth.Limit{N: 10, Unit: "month"}})
	for i := range 6 {
		group[i%2].request(http.MethodDelete, key)
	}
	if got := all(key, 40); got[200] != 10 || got[429] != 30 {
		t.Errorf("after questions that were given back: replies by status: %v", got)
	}
	server.Stop()
	if w := group[0].request(http.MethodPost, key); w.Code != http.StatusServiceUnavailable {
		t.Errorf("without the database: status %d", w.Code)
	}
}

// BenchmarkRate measures a request of a key with a rate, and the refusal of one, with keys in PostgreSQL: the rate is counted in memory, or in the database.
func BenchmarkRate(b *testing.B) {
	url := postgrestest.URL(b)
	for name, shared := range map[string]bool{"memory": false, "shared": true} {
		m := joinGroup(b, url, shared)
		for what, rate := range map[string]auth.Limit{"accepted": {N: 1_000_000_000, Unit: "s"}, "refused": {N: 1, Unit: "h"}} {
			key := m.key(b, auth.Key{Rate: rate})
			b.Run(what+"/"+name, func(b *testing.B) {
				for b.Loop() {
					m.request(http.MethodPost, key)
				}
			})
		}
	}
}
