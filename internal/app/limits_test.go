//go:build linux

package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// TestLimitsOfGroup: two servers with one database and one NATS together accept no more than the rate and the quota of a key.
func TestLimitsOfGroup(t *testing.T) {
	t.Parallel()
	s := natstest.New(t)
	url := config.Secret(postgrestest.URL(t))
	shared := func(cfg *config.Config) {
		withNATS(s)(cfg)
		cfg.Store.Records = url
	}
	group := []*city{openSecuredWith(t, t.TempDir(), shared), openSecuredWith(t, t.TempDir(), shared)}
	ask := func(c *city, key string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/api/query", strings.NewReader(`{"query":"Who keeps the light?"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, r)
		return w
	}
	for code, limits := range map[string]auth.Key{"OVERLOADED": {Rate: auth.Limit{N: 4, Unit: "h"}}, "QUOTA_EXCEEDED": {Quota: auth.Limit{N: 4, Unit: "month"}}} {
		limits.Tenant, limits.Account, limits.Scopes = auth.DefaultTenant, "ada", []auth.Scope{auth.Ask}
		key, _, err := auth.Create(t.Context(), group[0].keys, limits, time.Now())
		require.NoError(t, err)
		for i := range 8 {
			w := ask(group[i%2], key)
			if refused := w.Code == http.StatusTooManyRequests && strings.Contains(w.Body.String(), code); refused != (i >= 4) {
				t.Errorf("%s: question %d: status %d: %s", code, i, w.Code, w.Body)
			}
		}
	}
}
