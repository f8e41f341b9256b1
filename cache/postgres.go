package cache

import (
	"context"
	_ "embed" // the schema

	"github.com/sluice-rag/sluice/sqldb"
)

//go:embed postgres.sql
var postgresSchema string

// Migrations make the tables of a cache in PostgreSQL, in a schema of their own: see sqldb/postgres, Database.Part.
var Migrations = []string{postgresSchema}

// OpenShared opens the cache in a PostgreSQL database with the tables of [Migrations], which several servers may share. The caller closes the database.
func OpenShared(ctx context.Context, read, write sqldb.DB, o Options) *Cache {
	o.setDefaults()
	c := &Cache{o: o, read: read, write: write, storage: tables{read, write, o.MaxBytes}, shared: true}
	c.expire(ctx)
	return c
}

// tables is the storage of a cache in PostgreSQL.
type tables struct {
	read, write sqldb.DB
	maxBytes    int64
}

func (t tables) makeRoom(ctx context.Context, bytes int64) error {
	return t.write.Change(ctx, func(tx sqldb.Querier) error {
		for limit := t.maxBytes; ; limit = t.maxBytes / 4 * 3 {
			size, err := sqldb.One(ctx, tx, sqldb.Integer, "SELECT coalesce(sum(octet_length(entry)), 0)::bigint FROM entries")
			if err != nil || size+bytes <= limit {
				return err
			}
			n, err := tx.Do(ctx, "DELETE FROM entries WHERE id <= (SELECT id FROM entries ORDER BY id LIMIT 1 OFFSET (SELECT count(*) / 16 FROM entries))")
			if err != nil || n == 0 {
				return err
			}
		}
	})
}

func (t tables) stats(ctx context.Context) (Stats, error) {
	return sqldb.One(ctx, t.read, func(scan func(...any) error) (s Stats, err error) {
		err = scan(&s.Entries, &s.Bytes)
		return s, err
	}, "SELECT count(*), coalesce(sum(octet_length(entry)), 0)::bigint FROM entries")
}

func (t tables) clear(ctx context.Context) error {
	_, err := t.write.Do(ctx, "DELETE FROM entries")
	return err
}
