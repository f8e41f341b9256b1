//go:build linux

package sqlstore_test

import (
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
	"github.com/sluice-rag/sluice/store/sqlstore"
	"github.com/sluice-rag/sluice/store/storetest"
)

// connect opens a store with connections of its own, as another server has.
func connect(t *testing.T, url string) *sqlstore.Store {
	t.Helper()
	db := postgrestest.Open(t, url)
	s, err := sqlstore.OpenPostgres(t.Context(), db, "sluice_default")
	require.NoError(t, err)
	return s
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	storetest.TestStore(t, func(t *testing.T) (storetest.Store, func() storetest.Store) {
		url := postgrestest.URL(t)
		return connect(t, url), func() storetest.Store { return connect(t, url) }
	})
}
