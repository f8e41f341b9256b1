// Package sqlstore implements the interfaces of package auth with an SQLite file or a PostgreSQL database. Several processes may have either open, so
// that a command can change keys while the server runs.
package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/sqldb"
)

// migrations upgrade a file from each version to the next. A released migration must not change. Rows of keys are never deleted: that a key
// was ever added closes the server for requests without one.
var migrations = []string{`
CREATE TABLE keys (
	id         TEXT PRIMARY KEY,
	tenant     TEXT NOT NULL,
	account    TEXT NOT NULL,
	name       TEXT NOT NULL,
	scopes     TEXT NOT NULL,
	origins    TEXT NOT NULL,
	rate       INTEGER NOT NULL,
	rate_unit  TEXT NOT NULL,
	quota      INTEGER NOT NULL,
	quota_unit TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	revoked_at INTEGER NOT NULL,
	used_at    INTEGER NOT NULL,
	hash       BLOB NOT NULL,
	old_hash   BLOB NOT NULL,
	old_until  INTEGER NOT NULL,
	quota_window TEXT NOT NULL DEFAULT '',
	questions  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_origins ON keys (id) WHERE origins <> '[]';

CREATE TABLE sessions (
	hash       BLOB PRIMARY KEY,
	key        TEXT NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_key ON sessions (key);
CREATE INDEX sessions_expiry ON sessions (expires_at);
`, `ALTER TABLE sessions ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;`, `ALTER TABLE keys ADD COLUMN collections TEXT NOT NULL DEFAULT '[]';`, `
ALTER TABLE sessions ADD COLUMN tenant TEXT NOT NULL DEFAULT ''; -- these three: of a login without a key
ALTER TABLE sessions ADD COLUMN account TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN scopes TEXT NOT NULL DEFAULT '[]';
`}

// readConns is the number of connections for reads.
const readConns = 4

// Store is a store of keys in a file or a database. Call [Store.Close] after use.
type Store struct {
	read, write sqldb.DB
	path        string      // beside it is the marker
	opened      fs.FileInfo // nil: PostgreSQL
}

var (
	_ auth.Store   = (*Store)(nil)
	_ auth.Manager = (*Store)(nil)
)

// Open opens the file path. It creates the file if it does not exist, and upgrades a file of an earlier version. A file of a later version
// is an error.
func Open(ctx context.Context, path string) (*Store, error) {
	write, read, err := sqlitedb.Open(ctx, path, migrations, readConns)
	if err != nil {
		return nil, wrap("open "+filepath.Base(path), err)
	}
	s := &Store{path: path, write: write, read: read}
	if s.opened, err = os.Stat(path); err == nil {
		err = s.markRows(ctx)
	}
	if err != nil {
		return nil, wrap("open "+filepath.Base(path), errors.Join(err, s.Close()))
	}
	return s, nil
}

// markRows makes the marker if there are keys: a backup may have only the database, and another server may have added the keys.
func (s *Store) markRows(ctx context.Context) error {
	exist, err := s.rows(ctx)
	if err != nil || !exist {
		return err
	}
	return s.mark()
}

// marker returns the path of the file that shows that keys were added, beside the file path of a store. So a store that was lost is not taken
// for one that never had a key.
func marker(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".required" }

const markerText = "Keys were added to this folder, so its server needs keys.db. Delete this file only to serve everybody without a key.\n"

// Marked reports whether keys were added to the store of a path, even if it was lost.
func Marked(path string) (bool, error) {
	_, err := os.Stat(marker(path))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// mark makes the marker durable, unless it exists. Several processes may do so at once.
func (s *Store) mark() error {
	if marked, err := Marked(s.path); marked || err != nil {
		return err
	}
	f, err := os.OpenFile(marker(s.path), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(markerText)
	return errors.Join(err, f.Sync(), f.Close(), atomicfile.SyncDir(filepath.Dir(s.path)))
}

// Check returns an error if the file cannot be read, was replaced since it was opened, or has lost the keys that were added: [auth.ErrLost].
func (s *Store) Check(ctx context.Context) error {
	exist, err := s.rows(ctx)
	if err != nil {
		return err
	}
	if s.opened != nil {
		info, err := os.Stat(s.path)
		if err != nil || !os.SameFile(info, s.opened) {
			return errors.Join(errors.New("check keys: the file was replaced; restart the server"), err)
		}
	}
	if exist {
		return s.mark() // another server may have added the first key
	}
	marked, err := Marked(s.path)
	if err == nil && marked {
		err = auth.ErrLost
	}
	return err
}

// Close closes the file.
func (s *Store) Close() error {
	return errors.Join(s.read.Close(), s.write.Close())
}

const keyColumns = `k.id, k.tenant, k.account, k.name, k.scopes, k.origins, k.rate, k.rate_unit, k.quota, k.quota_unit,
	k.created_at, k.expires_at, k.revoked_at, k.used_at, k.hash, k.old_hash, k.old_until, k.collections`

func scan(row func(...any) error) (c auth.Credential, err error) {
	var scopes, origins, collections []byte
	var created, expires, revoked, used, oldUntil int64
	if err := row(&c.ID, &c.Tenant, &c.Account, &c.Name, &scopes, &origins, &c.Rate.N, &c.Rate.Unit, &c.Quota.N, &c.Quota.Unit,
		&created, &expires, &revoked, &used, &c.Hash, &c.Old, &oldUntil, &collections); err != nil {
		return c, err
	}
	c.Created, c.Expires, c.Revoked = sqldb.FromMicros(created), sqldb.FromMicros(expires), sqldb.FromMicros(revoked)
	c.Used, c.OldUntil = sqldb.FromMicros(used), sqldb.FromMicros(oldUntil)
	if string(collections) != "[]" { // a key without any has none, not an empty list
		err = json.Unmarshal(collections, &c.Collections)
	}
	return c, errors.Join(err, json.Unmarshal(scopes, &c.Scopes), json.Unmarshal(origins, &c.Origins))
}

// wrap adds what failed to an error, and converts those of a missing row and a full disk.
func wrap(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		err = auth.ErrNotFound
	}
	return fmt.Errorf("%s: %w", what, sqlitedb.Explain("keys.db", err))
}

// Any implements [auth.Store]. It is true for ever after the first key, also if the file is lost.
func (s *Store) Any(ctx context.Context) (bool, error) {
	if marked, err := Marked(s.path); marked || err != nil {
		return marked, wrap("find keys", err)
	}
	return s.rows(ctx)
}

// rows reports whether the file has a key.
func (s *Store) rows(ctx context.Context) (bool, error) {
	exist, err := sqldb.One(ctx, s.read, sqldb.Bool, "SELECT EXISTS (SELECT 1 FROM keys)")
	return exist, wrap("count keys", err)
}

// Key implements [auth.Store].
func (s *Store) Key(ctx context.Context, id string) (auth.Credential, error) {
	c, err := sqldb.One(ctx, s.read, scan, "SELECT "+keyColumns+" FROM keys k WHERE k.id = ?", id)
	return c, wrap("get key", err)
}

// AllowsOrigin implements [auth.Store].
func (s *Store) AllowsOrigin(ctx context.Context, origin string, at time.Time) (bool, error) {
	allowed, err := sqldb.One(ctx, s.read, sqldb.Bool, "SELECT EXISTS (SELECT 1 FROM keys k, "+s.read.Dialect().Pick("json_each(k.origins) o", "json_array_elements_text(k.origins::json) o (value)")+
		` WHERE k.origins <> '[]' AND o.value = ? AND k.revoked_at = 0 AND (k.expires_at = 0 OR k.expires_at > ?))`, origin, sqldb.Micros(at))
	return allowed, wrap("find origin", err)
}

// Use implements [auth.Store]. One statement compares and counts, so that concurrent questions do not exceed the quota. The windows are those of the
// servers' clocks, which differ: once a server has begun a window, the others count in it, even if theirs is the one before.
func (s *Store) Use(ctx context.Context, id string, at time.Time, questions int) error {
	day, nextDay := windows("day", at)
	month, nextMonth := windows("month", at)
	n, err := s.write.Do(ctx, `UPDATE keys SET used_at = ?1, quota_window = c.name, questions = CASE WHEN c.used + c.n < 0 THEN 0 ELSE c.used + c.n END
		FROM (SELECT name, n, CASE quota_window WHEN name THEN questions ELSE 0 END AS used
			FROM (SELECT quota_window, questions, CASE WHEN ?2 <= 0 OR quota_window = next THEN quota_window ELSE this END AS name,
					CASE WHEN ?2 < 0 AND quota_window <> this THEN 0 ELSE ?2 END AS n
				FROM (SELECT quota_window, questions, CASE quota_unit WHEN 'month' THEN ?5 ELSE ?3 END AS this, CASE quota_unit WHEN 'month' THEN ?6 ELSE ?4 END AS next
					FROM keys WHERE id = ?7) AS k) AS w) AS c
		WHERE id = ?7 AND (?2 <= 0 OR quota = 0 OR c.used + c.n <= quota)`,
		sqldb.Micros(at), questions, day, nextDay, month, nextMonth, id)
	if err == nil && n == 0 {
		if _, err = s.Key(ctx, id); err == nil {
			err = auth.ErrQuota
		}
	}
	return wrap("use key", err)
}

// windows returns the name of the window of a quota at a time, and that of the next one.
func windows(unit string, at time.Time) (this, next string) {
	l := auth.Limit{Unit: unit}
	this, begin := l.Window(at)
	next, _ = l.Window(begin)
	return this, next
}

// Session implements [auth.Store].
func (s *Store) Session(ctx context.Context, hash []byte, at time.Time) (auth.Identity, auth.Key, error) {
	const live = " s.hash = ? AND s.expires_at > ?"
	i, err := sqldb.One(ctx, s.read, scanPerson, "SELECT s.key, s.tenant, s.account, s.scopes FROM sessions s WHERE"+live, hash, sqldb.Micros(at))
	if err != nil || i.Tenant != "" {
		return i, auth.Key{}, wrap("get session", err)
	}
	c, err := sqldb.One(ctx, s.read, scan, "SELECT "+keyColumns+" FROM sessions s JOIN keys k ON k.id = s.key WHERE s.tenant = '' AND"+live,
		hash, sqldb.Micros(at))
	return c.Identity(), c.Key, wrap("get session", err)
}

func scanPerson(row func(...any) error) (i auth.Identity, err error) {
	var scopes []byte
	if err := row(&i.Key, &i.Tenant, &i.Account, &scopes); err != nil {
		return i, err
	}
	return i, json.Unmarshal(scopes, &i.Scopes)
}

// PutSession implements [auth.Store]. It removes expired sessions.
func (s *Store) PutSession(ctx context.Context, v auth.Session, at time.Time) error {
	now := sqldb.Micros(at)
	return wrap("put session", s.write.Change(ctx, func(tx sqldb.Querier) error {
		if _, err := tx.Do(ctx, "DELETE FROM sessions WHERE expires_at <= ? OR hash = ?", now, v.Hash); err != nil || !v.Expires.After(at) {
			return err
		}
		add := addWithKey
		if v.Person.Key != "" {
			add = addPerson
		}
		if err := add(ctx, tx, v, now); err != nil {
			return err
		}
		_, err := tx.Do(ctx, `DELETE FROM sessions WHERE hash IN (SELECT o.hash FROM sessions o JOIN sessions n USING (key, tenant, account)
			WHERE n.hash = ?1 AND o.hash <> ?1 ORDER BY o.created_at DESC LIMIT ?2 OFFSET ?3)`, v.Hash, math.MaxInt64, auth.MaxSessions-1)
		return err
	}))
}

// addWithKey adds the session of a login with a key. The transaction compares the secret and adds the session, so that no session with an old secret is
// added after a rotation.
func addWithKey(ctx context.Context, tx sqldb.Querier, v auth.Session, now int64) error {
	until, err := sqldb.One(ctx, tx, sqldb.Integer, `SELECT CASE hash WHEN ?2 THEN CAST(?3 AS BIGINT) ELSE old_until END FROM keys
		WHERE id = ?1 AND revoked_at = 0 AND (expires_at = 0 OR expires_at > ?4) AND (hash = ?2 OR old_hash = ?2 AND old_until > ?4)`,
		v.Key, v.Secret, int64(math.MaxInt64), now)
	if err != nil {
		return err
	}
	_, err = tx.Do(ctx, "INSERT INTO sessions (hash, key, expires_at, created_at) VALUES (?, ?, ?, ?)", v.Hash, v.Key, min(until, sqldb.Micros(v.Expires)), now)
	return err
}

// addPerson adds the session of a login without a key.
func addPerson(ctx context.Context, tx sqldb.Querier, v auth.Session, now int64) error {
	who := v.Person
	if who.Tenant == "" || who.Account == "" || len(who.Collections) > 0 {
		return errors.New("the session of a person needs a tenant and an account, and has no collections")
	}
	scopes, err := json.Marshal(append([]auth.Scope{}, who.Scopes...))
	if err != nil {
		return err
	}
	_, err = tx.Do(ctx, "INSERT INTO sessions (hash, key, expires_at, created_at, tenant, account, scopes) VALUES (?, ?, ?, ?, ?, ?, ?)",
		v.Hash, who.Key, sqldb.Micros(v.Expires), now, who.Tenant, who.Account, string(scopes))
	return err
}

// Add implements [auth.Manager]. The marker is durable before the first key: see [Store.Check].
func (s *Store) Add(ctx context.Context, c auth.Credential) error {
	if err := s.mark(); err != nil {
		return fmt.Errorf("add key: %w", err)
	}
	scopes, err := json.Marshal(c.Scopes)
	if err != nil {
		return err
	}
	origins, err := json.Marshal(append([]string{}, c.Origins...))
	if err != nil {
		return err
	}
	collections, err := json.Marshal(append([]string{}, c.Collections...))
	if err != nil {
		return err
	}
	_, err = s.write.Do(ctx, `INSERT INTO keys (id, tenant, account, name, scopes, origins, rate, rate_unit, quota, quota_unit,
		created_at, expires_at, revoked_at, used_at, hash, old_hash, old_until, collections) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, 0, ?)`,
		c.ID, c.Tenant, c.Account, c.Name, string(scopes), string(origins), c.Rate.N, c.Rate.Unit, c.Quota.N, c.Quota.Unit,
		sqldb.Micros(c.Created), sqldb.Micros(c.Expires), c.Hash, []byte{}, string(collections))
	return wrap("add key", err)
}

// List implements [auth.Manager].
func (s *Store) List(ctx context.Context) ([]auth.Key, error) {
	keys, err := sqldb.All(ctx, s.read, func(row func(...any) error) (auth.Key, error) {
		c, err := scan(row)
		return c.Key, err
	}, "SELECT "+keyColumns+" FROM keys k ORDER BY k.created_at, k.id")
	return keys, wrap("list keys", err)
}

// Revoke implements [auth.Manager].
func (s *Store) Revoke(ctx context.Context, id string, at time.Time) error {
	return wrap("revoke key", s.write.Change(ctx, func(tx sqldb.Querier) error {
		n, err := tx.Do(ctx, "UPDATE keys SET revoked_at = CASE revoked_at WHEN 0 THEN ? ELSE revoked_at END WHERE id = ?", sqldb.Micros(at), id)
		if err == nil && n == 0 {
			err = auth.ErrNotFound
		}
		if err != nil {
			return err
		}
		_, err = tx.Do(ctx, "DELETE FROM sessions WHERE key = ?", id)
		return err
	}))
}

// EndTenant implements [auth.Manager].
func (s *Store) EndTenant(ctx context.Context, tenant string, at time.Time) (keys int, err error) {
	err = s.write.Change(ctx, func(tx sqldb.Querier) error {
		_, err := tx.Do(ctx, "DELETE FROM sessions WHERE tenant = ?1 OR key IN (SELECT id FROM keys WHERE tenant = ?1)", tenant)
		if err != nil {
			return err
		}
		keys, err = tx.Do(ctx, "UPDATE keys SET revoked_at = ? WHERE tenant = ? AND revoked_at = 0", sqldb.Micros(at), tenant)
		return err
	})
	return keys, wrap("end tenant", err)
}

// Rotate implements [auth.Manager].
func (s *Store) Rotate(ctx context.Context, id string, hash []byte, at, until time.Time) error {
	return wrap("rotate key", s.write.Change(ctx, func(tx sqldb.Querier) error {
		n, err := tx.Do(ctx, `UPDATE keys SET old_hash = hash, old_until = ?, hash = ?
			WHERE id = ? AND revoked_at = 0 AND (expires_at = 0 OR expires_at > ?)`, sqldb.Micros(until), hash, id, sqldb.Micros(at))
		if err == nil && n == 0 {
			err = auth.ErrNotFound
		}
		if err != nil {
			return err
		}
		_, err = tx.Do(ctx, "UPDATE sessions SET expires_at = ?1 WHERE key = ?2 AND expires_at > ?1", sqldb.Micros(until), id)
		return err
	}))
}
