//go:build linux

package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/sqldb"
	"github.com/sluice-rag/sluice/sqldb/postgres"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// tables is a part for tests.
var tables = []string{"CREATE TABLE items (id BIGINT PRIMARY KEY, name TEXT NOT NULL, data BYTEA)", "CREATE TABLE others (id BIGINT PRIMARY KEY)"}

func part(t *testing.T, db *postgres.Database, schema string) (read, write sqldb.DB) {
	t.Helper()
	read, write, err := db.Part(t.Context(), schema, "items", tables)
	require.NoError(t, err)
	return read, write
}

func add(t *testing.T, q sqldb.Querier, id int) {
	t.Helper()
	if _, err := q.Do(t.Context(), "INSERT INTO items (id, name) VALUES (?, '')", id); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, q sqldb.Querier) int64 {
	t.Helper()
	n, err := sqldb.One(t.Context(), q, sqldb.Integer, "SELECT count(*) FROM items")
	require.NoError(t, err)
	return n
}

// wantCode fails unless an error has a code.
func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("got %v, want the code %s", err, code)
	}
}

// TestMigrations: many servers begin at once, each with connections of its own, on a database with the first version.
func TestMigrations(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	if _, _, err := postgrestest.Open(t, url).Part(t.Context(), "a-b", "items", tables[:1]); err != nil {
		t.Fatal(err)
	}
	var servers sync.WaitGroup
	for range 12 {
		db := postgrestest.Open(t, url)
		servers.Go(func() {
			for _, schema := range []string{"a-b", "new"} {
				if _, _, err := db.Part(t.Context(), schema, "items", tables); err != nil {
					t.Error(err)
				}
			}
		})
	}
	servers.Wait()
	db := postgrestest.Open(t, url)
	_, write := part(t, db, "a-b")
	add(t, write, 1)
	if _, _, err := db.Part(t.Context(), "a-b", "items", tables[:1]); err == nil || !strings.Contains(err.Error(), "version 2 is of a later release; this release supports version 1") {
		t.Errorf("a later version: %v", err)
	}
	broken := append([]string{}, append(tables, "CREATE TABLE third (id BIGINT); CREATE TABLE items (id BIGINT)")...)
	if _, _, err := db.Part(t.Context(), "a-b", "items", broken); err == nil || !strings.Contains(err.Error(), "upgrade to version 3") {
		t.Errorf("an upgrade that fails: %v", err)
	}
	part(t, db, "a-b") // still version 2
	if _, err := write.Do(t.Context(), "SELECT 1 FROM third"); err == nil {
		t.Error("half of an upgrade stayed")
	}
}

// TestSchemas: statements of one schema do not find the tables of another one, also on the same connection, and a schema is deleted as a whole.
func TestSchemas(t *testing.T) {
	t.Parallel()
	db := postgrestest.Open(t, postgrestest.URL(t)+"&pool_max_conns=1")
	parts := map[string][2]sqldb.DB{}
	for i, schema := range []string{"tenant_a", "tenant_b", "tenant"} {
		read, write := part(t, db, schema)
		parts[schema] = [2]sqldb.DB{read, write}
		for id := range i + 1 {
			add(t, write, id)
		}
	}
	for range 3 {
		for i, schema := range []string{"tenant_a", "tenant_b", "tenant"} {
			if n := count(t, parts[schema][0]); n != int64(i+1) {
				t.Errorf("%s has %d rows", schema, n)
			}
			if n := count(t, parts[schema][1]); n != int64(i+1) {
				t.Errorf("%s has %d rows", schema, n)
			}
		}
	}
	if names, err := db.Schemas(t.Context(), "tenant_"); err != nil || strings.Join(names, " ") != "tenant_a tenant_b" {
		t.Errorf("%v, %v", names, err)
	}
	require.NoError(t, errors.Join(db.Drop(t.Context(), "tenant_a"), db.Drop(t.Context(), "tenant_a")))
	if _, err := sqldb.One(t.Context(), parts["tenant_a"][0], sqldb.Integer, "SELECT count(*) FROM items"); err == nil {
		t.Error("a deleted schema has rows")
	}
	if n := count(t, parts["tenant_b"][0]); n != 2 {
		t.Errorf("another schema has %d rows", n)
	}
	part(t, db, "tenant_a")
	if n := count(t, parts["tenant_a"][0]); n != 0 {
		t.Errorf("a new schema has %d rows", n)
	}
}

// TestOneWriter: a transaction that reads before it writes is correct although others do the same in other servers.
func TestOneWriter(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	part(t, postgrestest.Open(t, url), "a")
	var servers sync.WaitGroup
	const each = 40
	for range 4 {
		db := postgrestest.Open(t, url)
		servers.Go(func() {
			_, write, err := db.Part(t.Context(), "a", "items", tables)
			if err != nil {
				t.Error(err)
				return
			}
			for range each {
				if err := write.Change(t.Context(), func(tx sqldb.Querier) error {
					n, err := sqldb.One(t.Context(), tx, sqldb.Integer, "SELECT count(*) FROM items")
					if err == nil {
						_, err = tx.Do(t.Context(), "INSERT INTO items (id, name) VALUES (?, '')", n)
					}
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	servers.Wait()
	read, _ := part(t, postgrestest.Open(t, url), "a")
	if n := count(t, read); n != 4*each {
		t.Errorf("%d rows", n)
	}
}

// TestConflicts: a transaction that the database has rolled back because of another one is repeated, but not without end.
func TestConflicts(t *testing.T) {
	t.Parallel()
	db := postgrestest.Open(t, postgrestest.URL(t))
	read, write := part(t, db, "a")
	for _, code := range []string{"40001", "40P01"} {
		tries := 0
		conflicting := func(most int) error {
			tries = 0
			return write.Change(t.Context(), func(tx sqldb.Querier) error {
				if tries++; tries <= most {
					if _, err := tx.Do(t.Context(), "INSERT INTO items (id, name) VALUES (?, 'rolled back')", 100+tries); err != nil {
						return err
					}
					_, err := tx.Do(t.Context(), "DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '"+code+"'; END $$")
					return err
				}
				_, err := tx.Do(t.Context(), "INSERT INTO items (id, name) VALUES ((SELECT count(*) FROM items), '')")
				return err
			})
		}
		if err := conflicting(2); err != nil || tries != 3 {
			t.Errorf("%s: %v after %d tries", code, err, tries)
		}
		err := conflicting(1 << 30)
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != code || tries != 5 {
			t.Errorf("%s: %v after %d tries", code, e, tries)
		}
		wantCode(t, err, fault.Unavailable)
	}
	if n := count(t, read); n != 2 {
		t.Errorf("%d rows", n)
	}
}

// TestDeadlock: two transactions of different parts wait for each other. The database ends one, which is repeated.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	db := postgrestest.Open(t, postgrestest.URL(t)+"&deadlock_timeout=50ms")
	_, one := part(t, db, "a")
	_, two, err := db.Part(t.Context(), "a", "other part", nil)
	require.NoError(t, err)
	add(t, one, 1)
	add(t, one, 2)
	ready := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	var done sync.WaitGroup
	for i, write := range []sqldb.DB{one, two} {
		done.Go(func() {
			first := true
			if err := write.Change(t.Context(), func(tx sqldb.Querier) error {
				if _, err := tx.Do(t.Context(), "UPDATE items SET name = name || 'x' WHERE id = ?", 1+i); err != nil {
					return err
				}
				if first {
					first = false
					close(ready[i])
					<-ready[1-i]
				}
				_, err := tx.Do(t.Context(), "UPDATE items SET name = name || 'x' WHERE id = ?", 2-i)
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	names, err := sqldb.All(t.Context(), one, sqldb.Text, "SELECT name FROM items")
	if err != nil || strings.Join(names, " ") != "xx xx" {
		t.Errorf("%q, %v", names, err)
	}
}

// TestBusy: a server that was stopped in a transaction does not hold the others for ever.
func TestBusy(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	_, stopped := part(t, postgrestest.Open(t, url+"&idle_in_transaction_session_timeout=500ms"), "a")
	_, other := part(t, postgrestest.Open(t, url+"&lock_timeout=100ms"), "a")
	inside, resume, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- stopped.Change(t.Context(), func(tx sqldb.Querier) error {
			if _, err := tx.Do(t.Context(), "INSERT INTO items (id, name) VALUES (1, 'half')"); err != nil {
				return err
			}
			select {
			case <-inside:
			default:
				close(inside)
			}
			<-resume
			_, err := tx.Do(t.Context(), "INSERT INTO items (id, name) VALUES (2, 'half')")
			return err
		})
	}()
	<-inside
	_, err := other.Do(t.Context(), "INSERT INTO items (id, name) VALUES (3, '')")
	wantCode(t, err, fault.Unavailable)
	for err != nil { // until the database ends the connection of the stopped one
		_, err = other.Do(t.Context(), "INSERT INTO items (id, name) VALUES (3, '')")
	}
	if n := count(t, other); n != 1 {
		t.Errorf("%d rows while the other one is stopped", n)
	}
	close(resume)
	if err := <-ended; err != nil { // it begins again
		t.Error(err)
	}
	if n := count(t, other); n != 3 {
		t.Errorf("%d rows", n)
	}
}

// TestLostConnections: errors have a code while the server is away. Afterwards everything works again, and nothing is half.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	server := postgrestest.New(t)
	db := postgrestest.Open(t, server.URL(t))
	read, write := part(t, db, "a")
	add(t, write, 1)

	// The connection is lost during a transaction, and the database is there again when it is repeated.
	tries := 0
	if err := write.Change(t.Context(), func(tx sqldb.Querier) error {
		if tries++; tries == 1 {
			if _, err := tx.Do(t.Context(), "INSERT INTO items (id, name) VALUES (2, 'half')"); err != nil {
				return err
			}
			server.Stop()
			server.Start(t)
		}
		_, err := tx.Do(t.Context(), "INSERT INTO items (id, name) VALUES (3, '')")
		return err
	}); err != nil || tries != 2 {
		t.Errorf("%v after %d tries", err, tries)
	}
	if n := count(t, read); n != 2 {
		t.Errorf("%d rows", n)
	}

	// Idle connections are lost while nothing uses them.
	server.Stop()
	server.Start(t)
	if n := count(t, read); n != 2 {
		t.Errorf("%d rows", n)
	}

	// The database is away for longer.
	server.Stop()
	_, err := sqldb.One(t.Context(), read, sqldb.Integer, "SELECT count(*) FROM items")
	wantCode(t, err, fault.Unavailable)
	_, err = write.Do(t.Context(), "INSERT INTO items (id, name) VALUES (4, '')")
	wantCode(t, err, fault.Unavailable)
	_, err = db.Status(t.Context())
	wantCode(t, err, fault.Unavailable)
	server.Start(t)
	add(t, write, 4)
	if n := count(t, read); n != 3 {
		t.Errorf("%d rows", n)
	}
}

// TestLostCommit: if the connection is lost while a transaction commits, it may have happened. It is not repeated.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	_, write := part(t, postgrestest.Open(t, url), "a")
	postgrestest.Exec(t, url, `SET search_path TO a;
		CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
		CREATE CONSTRAINT TRIGGER lose AFTER INSERT ON items DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lose()`)
	tries := 0
	err := write.Change(t.Context(), func(tx sqldb.Querier) error {
		tries++
		_, err := tx.Do(t.Context(), "INSERT INTO items (id, name) VALUES (1, '')")
		return err
	})
	wantCode(t, err, fault.Unavailable)
	if tries != 1 || !strings.Contains(err.Error(), "it may have made") {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// TestCancelled: the end of a context rolls back, and is no failure of the database.
func TestCancelled(t *testing.T) {
	t.Parallel()
	_, write := part(t, postgrestest.Open(t, postgrestest.URL(t)), "a")
	ctx, cancel := context.WithCancel(t.Context())
	err := write.Change(ctx, func(tx sqldb.Querier) error {
		if _, err := tx.Do(ctx, "INSERT INTO items (id, name) VALUES (1, '')"); err != nil {
			return err
		}
		cancel()
		_, err := tx.Do(ctx, "INSERT INTO items (id, name) VALUES (2, '')")
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := count(t, write); n != 0 {
		t.Errorf("%d rows", n)
	}
	if err := write.Change(t.Context(), func(tx sqldb.Querier) error { // an error that do does not return
		add(t, tx, 1)
		_, _ = tx.Do(t.Context(), "INSERT INTO nothing VALUES (1)")
		return nil
	}); err == nil {
		t.Error("a transaction that was rolled back is reported as committed")
	}
}

// TestTexts: PostgreSQL cannot store null characters and bytes that are not UTF-8. They are replaced; binary columns keep them.
func TestTexts(t *testing.T) {
	t.Parallel()
	_, write := part(t, postgrestest.Open(t, postgrestest.URL(t)), "a")
	type name string
	long := strings.Repeat("x", 8<<20)
	for i, c := range []struct {
		in   any
		want string
	}{{"a\x00b", "a\uFFFDb"}, {"a\xff\xfeb", "a\uFFFDb"}, {name("\x00"), "\uFFFD"}, {new("\xc3"), "\uFFFD"}, {"\U0001F600 ?1 '", "\U0001F600 ?1 '"}, {long, long}} {
		data := []byte("\x00\xff")
		if _, err := write.Do(t.Context(), "INSERT INTO items (id, name, data) VALUES (?1, ?2, ?3)", i, c.in, data); err != nil {
			t.Error(err)
		}
		if err := write.Each(t.Context(), func(scan func(...any) error) error {
			var got string
			var raw []byte
			if err := scan(&got, &raw); err != nil || got != c.want || !bytes.Equal(raw, data) {
				t.Errorf("%.20q, %q, %v", got, raw, err)
			}
			return nil
		}, "SELECT name, data FROM items WHERE id = ? AND name = ? AND '?' <> 'a''?'", i, c.in); err != nil {
			t.Error(err)
		}
	}
	in, list := sqldb.In(write, "name", []string{"a\x00b", "\x00"})
	if n, err := sqldb.One(t.Context(), write, sqldb.Integer, "SELECT count(*) FROM items WHERE "+in, list); err != nil || n != 4 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestErrors: no error has the password of the URL.
func TestErrors(t *testing.T) {
	t.Parallel()
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := refused.Addr().String()
	require.NoError(t, refused.Close())
	folder := postgrestest.URL(t)
	_, host, _ := strings.Cut(folder, "host=")
	for _, url := range []string{
		"postgres://me:s3cret@" + address + "/name", "postgres://me:s3cret@[/name", "postgres://me:s3cret#x@h/name", "postgres://me:/s3cret@h/name", "postgres://me:s3cret@h:port/name",
		"postgres://me:s3cret@h/name?sslrootcert=/none.pem&sslmode=verify-full", "host=" + host + " user=nobody password=s3cret dbname=none", "postgres://me:%zzs3cret@h/name", "s3cret"} {
		_, err := postgres.Open(t.Context(), url)
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	_, write := part(t, postgrestest.Open(t, folder), "a")
	_, err = write.Do(t.Context(), "DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$")
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	for _, code := range []string{"57014", "25P03"} { // of limits that an operator has set
		_, err = write.Do(t.Context(), "DO $$ BEGIN RAISE EXCEPTION 'time' USING ERRCODE = '"+code+"'; END $$")
		wantCode(t, err, fault.Unavailable)
	}
	postgrestest.Exec(t, folder, "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
	if _, err := postgres.Open(t.Context(), strings.Replace(folder, folder[strings.LastIndex(folder, "/test"):strings.Index(folder, "?")], "/ascii", 1)); err == nil || !strings.Contains(err.Error(), "has the encoding SQL_ASCII") {
		t.Error(err)
	}
	if _, err := postgres.Open(t.Context(), folder+"&default_transaction_read_only=on"); err == nil || !strings.Contains(err.Error(), "only permits reads") {
		t.Error(err)
	}
	status, err := postgrestest.Open(t, folder).Status(t.Context())
	if err != nil || status.Version == "" || status.RoundTrip <= 0 || status.Skew.Abs() > status.RoundTrip+1e6 || strings.Contains(status.Address, "postgres@") {
		t.Errorf("%+v, %v", status, err)
	}
}
