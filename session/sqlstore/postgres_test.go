//go:build linux

package sqlstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sessiontest"
	"github.com/sluice-rag/sluice/session/sqlstore"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// connect opens a store with connections of its own, as another server has.
func connect(t testing.TB, url string) *sqlstore.Store {
	t.Helper()
	db := postgrestest.Open(t, url)
	s, err := sqlstore.OpenPostgres(t.Context(), db, "sluice_default")
	require.NoError(t, err)
	return s
}

func init() {
	benchEngines["postgres"] = benchEngine{
		open: func(b *testing.B) (*sqlstore.Store, string) {
			url := postgrestest.URL(b)
			return connect(b, url), url
		},
		fill: func(b *testing.B, url string, all []*inserts) {
			c, err := pgx.Connect(b.Context(), url+"&search_path=sluice_default")
			require.NoError(b, err)
			for _, i := range all {
				if _, err := c.CopyFrom(b.Context(), pgx.Identifier{i.table}, strings.Split(i.columns, ", "), pgx.CopyFromRows(i.rows)); err != nil {
					b.Fatal(err)
				}
			}
			_, err = c.Exec(b.Context(), "ANALYZE") // as the database does by itself some time later
			require.NoError(b, errors.Join(err, c.Close(b.Context())))
		},
	}
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	sessiontest.TestStore(t, func(t *testing.T) (session.Store, func() session.Store) {
		url := postgrestest.URL(t)
		return connect(t, url), func() session.Store { return connect(t, url) }
	})
}
