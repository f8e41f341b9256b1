package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/oidc"
	keydb "github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/eval/summary"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/access"
	"github.com/sluice-rag/sluice/server/admin"
)

// openKeys is [Records.Keys] with the disk reserve for a server that starts, since a start on a full disk makes it possible to delete. The reserve may be nil.
func openKeys(ctx context.Context, r *Records, space *reserve.File) (keys *keydb.Store, err error) {
	err = space.Use(func() (err error) {
		keys, err = r.Keys(ctx)
		return err
	})
	return keys, err
}

// ErrNoKeys means that a data folder has no key database.
var ErrNoKeys = errors.New("the data folder has no keys; \"sluice keys add\" adds one")

// ExistingKeys is [Records.Keys] for a folder that has keys. Otherwise it returns [ErrNoKeys], or [auth.ErrLost] if they were lost.
func (r *Records) ExistingKeys(ctx context.Context) (*keydb.Store, error) {
	return r.existingKeys(ctx, nil)
}

func (r *Records) existingKeys(ctx context.Context, space *reserve.File) (*keydb.Store, error) {
	path := filepath.Join(r.Data, keysFile)
	if _, err := os.Stat(path); !r.External() && errors.Is(err, fs.ErrNotExist) {
		marked, err := keydb.Marked(path)
		if marked {
			return nil, r.lostKeys()
		}
		return nil, fmt.Errorf("open keys in %s: %w", r.Data, errors.Join(err, ErrNoKeys))
	}
	keys, err := openKeys(ctx, r, space)
	if err != nil {
		return nil, err
	}
	if err := keys.Check(ctx); err != nil {
		if errors.Is(err, auth.ErrLost) {
			err = r.lostKeys()
		}
		return nil, errors.Join(err, keys.Close())
	}
	return keys, nil
}

// lostKeys returns the error that tells the operator what to do.
func (r *Records) lostKeys() error {
	where := keysFile
	if r.External() {
		where = "the schema " + keysSchema
	}
	return fmt.Errorf("open keys in %s: %w: restore %s from a backup, or add new keys with \"sluice keys add\"; to serve everybody without a key again, delete keys.required",
		r.Data, auth.ErrLost, where)
}

// HasKeys reports whether a key was ever added to a data folder. If the keys were lost, the error is [auth.ErrLost]. It creates no files, but may
// release the disk reserve: only a server that starts may call it.
func HasKeys(ctx context.Context, s config.Store) (exist bool, err error) {
	r, err := OpenRecords(ctx, s)
	if err != nil {
		return false, err
	}
	defer r.Close()
	keys, err := r.existingKeys(ctx, reserve.New(filepath.Join(s.Data, reserveFile), reserve.DefaultSize))
	if errors.Is(err, ErrNoKeys) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, keys.Close()) }()
	return keys.Any(ctx)
}

// OpenAccess opens the key database and sets Access. The servers of the tenants that are opened later have the routes of logins. The token is
// that of commands on the same machine. If closed is set, requests need a key even if there is none: see [access.Options].
func (s *Shared) OpenAccess(ctx context.Context, token string, closed bool) error {
	keys, err := openKeys(ctx, s.records, s.reserve)
	if err != nil {
		return err
	}
	s.keys = keys
	provider, err := openLogin(s.Config)
	if err != nil {
		return err
	}
	s.Access, err = access.New(keys, access.Options{Protocols: Protocols(), Forms: Forms(), Origins: s.Config.HTTP.AllowOrigin, LocalToken: token, Closed: closed,
		OIDC: provider, PublicURL: s.Config.HTTP.PublicURL, Rates: s.records.rates(), Logger: s.logger})
	return err
}

// openLogin returns the client of the OpenID provider of the settings, or nil.
func openLogin(cfg config.Config) (*oidc.Client, error) {
	o := cfg.OIDC
	if o.Issuer == "" {
		return nil, nil
	}
	roles, other, err := o.Roles()
	if err != nil {
		return nil, fmt.Errorf("open login: %w", err)
	}
	return oidc.New(oidc.Options{Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: cfg.Keys.OIDC.Reveal(), Scopes: strings.Fields(o.Scopes), Name: o.Name,
		Account: o.Account, RoleClaim: o.RoleClaim, Roles: roles, Default: other}), nil
}

func (s *Shared) closeKeys() error {
	if s.keys == nil {
		return nil
	}
	if s.Access != nil {
		s.Access.Close()
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

const shownEvaluations = 50

// adminRoutes returns the routes for administrators. Without a key database, there are none of keys.
func (a *App) adminRoutes() []server.Route {
	prices, _ := a.Config.Billing.Prices() // was checked when the ledger was opened
	o := admin.Options{Book: a.ledger, Prices: prices, Percent: a.Config.Billing.Share,
		Evaluations: func() ([]summary.Evaluation, error) { return summary.Load(a.Config.Store.Data, shownEvaluations) }}
	if a.keys != nil {
		o.Keys = a.keys
		if a.tenants != nil {
			o.Tenants = tenantAdmin{a.tenants}
		}
	}
	return admin.Routes(o)
}

// permit refuses a question about collections that the key does not permit. All questions pass it, whatever their protocol.
func permit(ctx context.Context, q event.Question) error {
	i, _ := auth.From(ctx)
	return i.CheckCollection(q.Collection)
}
