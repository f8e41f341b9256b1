package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	keydb "github.com/sluice-rag/sluice/auth/sqlite"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/access"
)

// keysFile is the name of the key database in the data folder. It has the keys of all tenants.
const keysFile = "keys.db"

// OpenKeys opens the key database of a data folder, and creates both if they do not exist. The folder may be in use by a server, in which
// changes of keys take effect at once.
func OpenKeys(ctx context.Context, data string) (*keydb.Store, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	return keydb.Open(ctx, filepath.Join(data, keysFile))
}

// HasKeys reports whether a key was ever added to a data folder. It does not change the folder.
func HasKeys(ctx context.Context, data string) (exist bool, err error) {
	if _, err := os.Stat(filepath.Join(data, keysFile)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	keys, err := OpenKeys(ctx, data)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, keys.Close()) }()
	return keys.Any(ctx)
}

// OpenAccess opens the key database and sets Access. The servers of the tenants that are opened later have the routes of logins. The token is
// that of commands on the same machine: see [access.Options].
func (s *Shared) OpenAccess(ctx context.Context, token string) error {
	keys, err := OpenKeys(ctx, s.Config.Store.Data)
	if err != nil {
		return err
	}
	s.keys = keys
	s.Access, err = access.New(keys, access.Options{Protocols: Protocols(), Origins: s.Config.HTTP.AllowOrigin, LocalToken: token, Logger: s.logger})
	return err
}

func (s *Shared) closeKeys() error {
	if s.keys == nil {
		return nil
	}
	return s.keys.Close()
}

// loginRoutes returns the routes of logins.
func (a *App) loginRoutes() []server.Route {
	if a.access == nil {
		return nil
	}
	return a.access.Routes()
}
