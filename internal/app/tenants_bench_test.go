package app_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// fillTenant makes a tenant with one document.
func fillTenant(b *testing.B, s *app.Shared, name string) {
	b.Helper()
	a, err := s.Open(b.Context(), name)
	require.NoError(b, err)
	require.NoError(b, a.OpenFiles(b.Context()))
	if _, err := a.Ingester.IngestDocuments(b.Context(), "default", []ingest.Source{{URI: "a.md", Data: []byte(farland("Ada Brook"))}}, nil); err != nil {
		b.Fatal(err)
	}
	require.NoError(b, a.Close())
}

// openShared opens tenants of which most may be open at once.
func openShared(b *testing.B, most int) (*app.Shared, *app.Tenants) {
	b.Helper()
	cfg := config.Default()
	cfg.Store.Data, cfg.Tenants.MaxOpenTenants = b.TempDir(), most
	s, err := app.OpenShared(b.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	t, err := app.OpenTenants(b.Context(), s, "test", "test")
	require.NoError(b, err)
	b.Cleanup(func() {
		if err := t.Close(); err != nil {
			b.Error(err)
		}
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s, t
}

func query(b *testing.B, h http.Handler, tenant, path, body string) {
	b.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if body != "" {
		r = httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Identity{Tenant: tenant, Account: "ada", Key: "k", Scopes: auth.Local().Scopes})))
	if w.Code != http.StatusOK && w.Code != http.StatusUnprocessableEntity { // the latter: no documents
		b.Fatalf("%s: status %d: %s", tenant, w.Code, w.Body)
	}
}

// BenchmarkOpenTenant measures a request to a tenant that is not open: another one is closed for it.
func BenchmarkOpenTenant(b *testing.B) {
	s, t := openShared(b, 1)
	names := []string{"a", "b"}
	for _, name := range names {
		fillTenant(b, s, name)
	}
	h := t.Front(nil).Handler()
	for i := 0; b.Loop(); i++ {
		query(b, h, names[i%2], "/v1/models", "")
	}
}

// BenchmarkIdleTenant measures what a tenant takes that is open after one question.
func BenchmarkIdleTenant(b *testing.B) {
	for b.Loop() {
		const tenants = 50
		s, t := openShared(b, tenants)
		h := t.Front(nil).Handler()
		ask := func(i int) {
			name := fmt.Sprintf("t-%d", i)
			fillTenant(b, s, name)
			query(b, h, name, "/api/query", `{"query":"Who keeps Farland?"}`)
		}
		ask(0) // what all of them share
		before := usage()
		for i := range tenants - 1 {
			ask(i + 1)
		}
		usage().report(b, before, tenants-1, "tenant")
	}
}

// BenchmarkManyTenants lets 1,000 tenants ask once each, of which 16 may be open.
func BenchmarkManyTenants(b *testing.B) {
	for b.Loop() {
		_, t := openShared(b, 16)
		h := t.Front(nil).Handler()
		var before taken
		for i := range 1000 {
			if i == 100 {
				before = usage()
			}
			query(b, h, fmt.Sprintf("t-%d", i), "/api/query", `{"query":"Who keeps Farland?","collection":"default"}`)
		}
		usage().report(b, before, 1, "900-tenants")
	}
}

// BenchmarkDispatch measures a request through the front.
func BenchmarkDispatch(b *testing.B) {
	_, t := openShared(b, 16)
	front := t.Front(nil).Handler()
	own, release, err := t.Acquire(b.Context(), "acme")
	require.NoError(b, err)
	defer release()
	for name, h := range map[string]http.Handler{"front": front, "direct": own} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				query(b, h, "acme", "/v1/models", "")
			}
		})
	}
}

// taken is what the process takes.
type taken struct{ heap, resident, files, goroutines float64 } // memory in KiB

// usage returns what the process takes after a garbage collection. The resident memory and the open files are only known on Linux.
func usage() (u taken) {
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.heap, u.goroutines = float64(m.HeapAlloc)/1024, float64(runtime.NumGoroutine())
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = float64(len(open))
	}
	var pages, resident float64
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		_, _ = fmt.Sscan(string(text), &pages, &resident) // 0 if the format is another one
		u.resident = resident * float64(os.Getpagesize()) / 1024
	}
	return u
}

// report reports what the process has taken since an earlier time, for each of n.
func (u taken) report(b *testing.B, since taken, n float64, each string) {
	b.ReportMetric((u.heap-since.heap)/n, "heap-KiB/"+each)
	b.ReportMetric((u.resident-since.resident)/n, "resident-KiB/"+each)
	b.ReportMetric((u.files-since.files)/n, "files/"+each)
	b.ReportMetric((u.goroutines-since.goroutines)/n, "goroutines/"+each)
}
