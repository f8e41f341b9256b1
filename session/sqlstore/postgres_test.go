//go:build linux

package sqlstore_test

import (
	"testing"

	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sessiontest"
	"github.com/sluice-rag/sluice/session/sqlstore"
	"github.com/sluice-rag/sluice/sqldb/postgres"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// connect opens a store with connections of its own, as another server has.
func connect(t testing.TB, url string) *sqlstore.Store {
	t.Helper()
	db, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s, err := sqlstore.OpenPostgres(t.Context(), db, "sluice_default")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	sessiontest.TestStore(t, func(t *testing.T) (session.Store, func() session.Store) {
		url := postgrestest.URL(t)
		return connect(t, url), func() session.Store { return connect(t, url) }
	})
}
