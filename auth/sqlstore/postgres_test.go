//go:build linux

package sqlstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

func init() { engines["postgres"] = openPostgres }

// openPostgres opens a store twice, with connections of their own.
func openPostgres(t *testing.T) (server, command *sqlstore.Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "keys.db")
	url := postgrestest.URL(t)
	return connect(t, url, path), connect(t, url, path), path
}

func connect(t *testing.T, url, path string) *sqlstore.Store {
	t.Helper()
	db := postgrestest.Open(t, url)
	s, err := sqlstore.OpenPostgres(t.Context(), db, "sluice", path)
	require.NoError(t, err)
	return s
}

// TestPostgresLostKeys: a database that lost its keys still has had some, and its check fails. Each server has a marker of its own.
func TestPostgresLostKeys(t *testing.T) {
	t.Parallel()
	url, path := postgrestest.URL(t), filepath.Join(t.TempDir(), "keys.db")
	create(t, connect(t, url, path), auth.Key{})
	other := filepath.Join(t.TempDir(), "keys.db")
	server := connect(t, url, other)
	if _, err := os.Stat(strings.TrimSuffix(other, ".db") + ".required"); err != nil {
		t.Error(err)
	}
	if err := server.Check(t.Context()); err != nil {
		t.Error(err)
	}
	postgrestest.Exec(t, url, "DELETE FROM sluice.keys")
	for _, s := range []*sqlstore.Store{server, connect(t, url, other), connect(t, url, path)} {
		if exist, err := s.Any(t.Context()); err != nil || !exist || !errors.Is(s.Check(t.Context()), auth.ErrLost) {
			t.Errorf("%v, %v", exist, err)
		}
	}
}
