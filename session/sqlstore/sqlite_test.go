package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sessiontest"
	"github.com/sluice-rag/sluice/session/sqlstore"
)

func open(t testing.TB, path string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), path)
	require.NoError(t, err)
	require.CloseAfter(t, s)
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	sessiontest.TestStore(t, func(t *testing.T) (session.Store, func() session.Store) {
		path := filepath.Join(t.TempDir(), "sessions.db")
		return open(t, path), func() session.Store { return open(t, path) }
	})
}
