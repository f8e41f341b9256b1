package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/auth"
	keydb "github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/internal/config"
	ledgerdb "github.com/sluice-rag/sluice/ledger/sqlstore"
	sessiondb "github.com/sluice-rag/sluice/session/sqlstore"
	"github.com/sluice-rag/sluice/sqldb"
	"github.com/sluice-rag/sluice/sqldb/postgres"
	filedb "github.com/sluice-rag/sluice/store/sqlstore"
)

// Records opens the records of all tenants of a data folder: in SQLite files, or in a PostgreSQL database. Each tenant has a schema there. Close it after
// what it has opened.
type Records struct {
	Data string             // the data folder
	db   *postgres.Database // nil: files
}

// The files of a tenant, and the database of all tenants.
const (
	filesFile    = "files.db"
	sessionsFile = "sessions.db"
	ledgerFile   = "ledger.db"
	callsFile    = "calls.db"
	keysFile     = "keys.db" // of all tenants
)

// recordsMark exists in a data folder whose records are in a database.
const recordsMark = "records.elsewhere"

// OpenRecords opens the records of the settings. It does not create the data folder. The records of a folder are either in its files or in a database.
func OpenRecords(ctx context.Context, s config.Store) (*Records, error) {
	r := &Records{Data: s.Data}
	if err := checkPlace(s); err != nil {
		return nil, fmt.Errorf("open records: %w", err)
	}
	if s.Records == "" {
		return r, nil
	}
	var err error
	r.db, err = postgres.Open(ctx, s.Records.Reveal())
	return r, err
}

// checkPlace returns an error if the records of the data folder are not where the settings have them.
func checkPlace(s config.Store) error {
	if s.Records == "" {
		mark := filepath.Join(s.Data, recordsMark)
		if _, err := os.Stat(mark); err == nil {
			return fmt.Errorf("those of %s are in a database: set --store to its URL, or remove %s to begin with empty ones", s.Data, mark)
		}
		return nil
	}
	for _, name := range []string{filesFile, sessionsFile, ledgerFile, keysFile} {
		if path := filepath.Join(s.Data, name); !errors.Is(second(os.Stat(path)), fs.ErrNotExist) {
			return fmt.Errorf("%s has records of a server without --store; use another data folder", path)
		}
	}
	return nil
}

// mark makes the mark of a folder whose records are in a database.
func (r *Records) mark() error {
	if r.db == nil {
		return nil
	}
	return atomicfile.WriteSync(filepath.Join(r.Data, recordsMark), nil, 0o600)
}

// Close closes the connections.
func (r *Records) Close() {
	if r.db != nil {
		r.db.Close()
	}
}

// External reports whether the records are in a database.
func (r *Records) External() bool { return r.db != nil }

// Check returns an error if the database cannot be reached. It returns nil for files.
func (r *Records) Check(ctx context.Context) error {
	if r.db == nil {
		return nil
	}
	return second(r.db.Status(ctx))
}

// path returns the path of a file of a tenant.
func (r *Records) path(tenant, name string) string {
	return filepath.Join(Folder(r.Data, tenant), name)
}

// The schemas: keysSchema has the keys, and schemaPrefix begins the names of the schemas of tenants.
const (
	keysSchema   = "sluice"
	schemaPrefix = "sluice_"
	cachePrefix  = "sluicecache_" // of the schemas with the cached answers of tenants
	maxSchema    = 63             // the length of the longest name in PostgreSQL
)

// schemaOf returns the name of the schema of a tenant. That of a long name ends in its hash; names of tenants have no underscores.
func schemaOf(tenant string) string { return schemaName(schemaPrefix + tenant) }

func schemaName(name string) string {
	if len(name) > maxSchema {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		name = fmt.Sprintf("%s_%016x", name[:maxSchema-17], h.Sum64())
	}
	return name
}

// files opens the records of the files of a tenant.
func (r *Records) files(ctx context.Context, tenant string) (*filedb.Store, error) {
	if r.db != nil {
		return filedb.OpenPostgres(ctx, r.db, schemaOf(tenant))
	}
	return filedb.Open(ctx, r.path(tenant, filesFile))
}

// sessions opens the sessions of a tenant.
func (r *Records) sessions(ctx context.Context, tenant string) (*sessiondb.Store, error) {
	if r.db != nil {
		return sessiondb.OpenPostgres(ctx, r.db, schemaOf(tenant))
	}
	path := r.path(tenant, sessionsFile)
	return openMarked("sessions", path, r.path(tenant, sessionsMark), func() (*sessiondb.Store, error) { return sessiondb.Open(ctx, path) })
}

// ledger opens the ledger of a tenant, which may be new.
func (r *Records) ledger(ctx context.Context, tenant string) (*ledgerdb.Store, error) {
	if r.db != nil {
		return ledgerdb.OpenPostgres(ctx, r.db, schemaOf(tenant))
	}
	path := r.path(tenant, ledgerFile)
	return openMarked("ledger", path, r.path(tenant, ledgerMark), func() (*ledgerdb.Store, error) { return ledgerdb.Open(ctx, path) })
}

// calls opens the database of the calls of a tenant, with the tables of migrations, and the same database for package forrst.
func (r *Records) calls(ctx context.Context, tenant string) (sqldb.DB, *sql.DB, error) {
	if r.db != nil {
		_, db, err := r.db.Part(ctx, schemaOf(tenant), "calls", callTables)
		return db, r.db.SQL(schemaOf(tenant)), err
	}
	path := r.path(tenant, callsFile)
	db, err := sqlitedb.Writer(path)
	if err != nil {
		return nil, nil, err
	}
	if err := db.Migrate(ctx, callMigrations); err != nil {
		return nil, nil, errors.Join(sqlitedb.Explain(path, err), db.Close())
	}
	return db, db.DB, nil
}

// cache opens the cached answers of a tenant in the database.
func (r *Records) cache(ctx context.Context, tenant string, o cache.Options) (*cache.Cache, error) {
	read, write, err := r.db.Part(ctx, schemaName(cachePrefix+tenant), "cache", cache.Migrations)
	if err != nil {
		return nil, fmt.Errorf("open answer cache: %w", err)
	}
	return cache.OpenShared(ctx, read, write, o), nil
}

// Keys opens the keys of all tenants. It creates the data folder if it does not exist. A server may use the keys: changes take effect at once.
func (r *Records) Keys(ctx context.Context) (*keydb.Store, error) {
	if err := os.MkdirAll(r.Data, 0o700); err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	path := filepath.Join(r.Data, keysFile)
	if r.db != nil {
		return keydb.OpenPostgres(ctx, r.db, keysSchema, path)
	}
	return keydb.Open(ctx, path)
}

// rates returns what counts the requests of keys of all servers that use the database, or nil.
func (r *Records) rates() auth.Rates {
	if r.db == nil {
		return nil
	}
	return keydb.NewRates(r.db, keysSchema)
}

// delete deletes the records of a tenant in a database, and reports whether there were any.
func (r *Records) delete(ctx context.Context, tenant string) (existed bool, err error) {
	if r.db == nil {
		return false, nil
	}
	names, err := r.db.Schemas(ctx, schemaOf(tenant))
	if err != nil {
		return false, err
	}
	err = errors.Join(r.db.Drop(ctx, schemaOf(tenant)), r.db.Drop(ctx, schemaName(cachePrefix+tenant)))
	return slices.Contains(names, schemaOf(tenant)), err
}

// tenants returns the names of the tenants that have a folder or records in a database, without the default one.
func (r *Records) tenants(ctx context.Context) ([]string, error) {
	names, err := ListTenants(r.Data)
	if err != nil || r.db == nil {
		return names, err
	}
	schemas, err := r.db.Schemas(ctx, schemaPrefix)
	for _, schema := range schemas {
		if name := strings.TrimPrefix(schema, schemaPrefix); name != auth.DefaultTenant && auth.ValidateTenant(name) == nil {
			names = append(names, name)
		}
	}
	return names, err
}
