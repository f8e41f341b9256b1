package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// opener opens a store twice, as a server and a command do. The marker is beside the path.
type opener func(t *testing.T) (server, command *sqlstore.Store, path string)

var engines = map[string]opener{"sqlite": open}

// each runs a test with each engine.
func each(t *testing.T, test func(*testing.T, opener)) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// open opens a store twice, as a server and a command do.
func open(t *testing.T) (server, command *sqlstore.Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "keys.db")
	var stores [2]*sqlstore.Store
	for i := range stores {
		s, err := sqlstore.Open(t.Context(), path)
		require.NoError(t, err)
		require.CloseAfter(t, s)
		stores[i] = s
	}
	return stores[0], stores[1], path
}

func create(t *testing.T, m auth.Manager, k auth.Key) (text string, added auth.Key) {
	t.Helper()
	if k.Tenant == "" {
		k.Tenant, k.Account, k.Scopes = "default", "alice", []auth.Scope{auth.Ask, auth.Read}
	}
	text, added, err := auth.Create(t.Context(), m, k, now)
	require.NoError(t, err)
	return text, added
}

// reason returns the message of a refusal, or nothing if the key is valid.
func reason(t *testing.T, s auth.Store, text string, at time.Time) string {
	t.Helper()
	_, err := auth.Authenticate(t.Context(), s, text, at)
	if err == nil {
		return ""
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != fault.Unauthenticated {
		t.Fatalf("unexpected error: %v", err)
	}
	return f.Message
}

func TestKeys(t *testing.T) {
	t.Parallel()
	server, command, path := open(t)
	if exist, err := server.Any(t.Context()); err != nil || exist {
		t.Fatalf("%v, %v", exist, err)
	}
	want := auth.Key{Tenant: "acme", Account: "bob", Name: "laptop", Scopes: []auth.Scope{auth.Read, auth.Ask}, Expires: now.Add(time.Hour), Rate: auth.Limit{N: 60, Unit: "m"},
		Quota: auth.Limit{N: 9, Unit: "month"}, Origins: []string{"https://a.example"}}
	text, added := create(t, command, want)
	want.ID, want.Created = added.ID, now
	got, err := auth.Authenticate(t.Context(), server, text, now)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	_, second := create(t, command, auth.Key{})
	list, err := server.List(t.Context())
	if diff := cmp.Diff([]string{want.ID, second.ID}, []string{list[0].ID, list[1].ID}, cmp.Transformer("sorted", func(s []string) []string { slices.Sort(s); return s })); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if exist, err := server.Any(t.Context()); err != nil || !exist {
		t.Errorf("%v, %v", exist, err)
	}
	_, secret, _ := auth.Parse(text)
	for _, suffix := range []string{"", "-wal"} {
		if raw, err := os.ReadFile(path + suffix); err != nil || strings.Contains(string(raw), secret) {
			t.Errorf("keys.db%s has the secret: %v", suffix, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, _, err := auth.Create(t.Context(), command, auth.Key{Tenant: "a", Account: "a", Scopes: []auth.Scope{auth.Ask}, Expires: now}, now); err == nil {
		t.Error("a key that has expired was added")
	}
}

// TestLostKeys: a database that lost its keys still has had some, and its check fails.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	server, command, path := open(t)
	require.NoError(t, server.Check(t.Context()))
	create(t, command, auth.Key{})
	require.NoError(t, server.Check(t.Context()))
	lose := func(name string, change func() error, want error) {
		t.Helper()
		require.NoError(t, change())
		s, err := sqlstore.Open(t.Context(), path)
		require.NoError(t, err)
		defer s.Close()
		exist, err := s.Any(t.Context())
		if check := s.Check(t.Context()); err != nil || !exist || !errors.Is(check, want) {
			t.Errorf("%s: %v, %v, %v", name, exist, err, check)
		}
	}
	lose("the marker is missing", func() error { return os.Remove(strings.TrimSuffix(path, ".db") + ".required") }, nil)
	lose("the rows are missing", func() error {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			return err
		}
		_, err = db.ExecContext(t.Context(), "DELETE FROM keys")
		return errors.Join(err, db.Close())
	}, auth.ErrLost)
	if exist, err := server.Any(t.Context()); err != nil || !exist || !errors.Is(server.Check(t.Context()), auth.ErrLost) {
		t.Errorf("the running server: %v, %v", exist, err)
	}
	lose("the file is missing", func() error { return os.Remove(path) }, auth.ErrLost)
	if err := server.Check(t.Context()); err == nil {
		t.Error("the running server does not see that the file was replaced")
	}
	lose("the file is empty", func() error { return os.Truncate(path, 0) }, auth.ErrLost)
}

// TestRefusedKeys: unknown ids and wrong secrets have the same reason. What a command changes counts at once in the server.
func TestRefusedKeys(t *testing.T) { each(t, testRefusedKeys) }

func testRefusedKeys(t *testing.T, open opener) {
	const invalid = "the key is not valid"
	server, command, _ := open(t)
	text, k := create(t, command, auth.Key{})
	for name, wrong := range map[string]string{"unknown id": auth.Text(auth.NewID(), auth.NewSecret()), "wrong secret": auth.Text(k.ID, auth.NewSecret()),
		"empty secret": auth.Text(k.ID, ""), "malformed": text[1:], "empty": ""} {
		if got := reason(t, server, wrong, now); got != invalid {
			t.Errorf("%s: %q", name, got)
		}
	}
	expiring, _ := create(t, command, auth.Key{Tenant: "default", Account: "a", Scopes: []auth.Scope{auth.Ask}, Expires: now.Add(time.Hour)})
	for at, want := range map[time.Duration]string{59 * time.Minute: "", time.Hour: "the key has expired"} {
		if got := reason(t, server, expiring, now.Add(at)); got != want {
			t.Errorf("%s: %q", at, got)
		}
	}
	if got := reason(t, server, text, now); got != "" {
		t.Error(got)
	}
	for range 2 {
		require.NoError(t, command.Revoke(t.Context(), k.ID, now))
		if got := reason(t, server, text, now); got != "the key was revoked" {
			t.Error(got)
		}
	}
	for name, err := range map[string]error{"revoke": command.Revoke(t.Context(), "none", now), "rotate": command.Rotate(t.Context(), k.ID, auth.Hash("x"), now, now),
		"use": command.Use(t.Context(), "none", now, 1)} {
		if !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRotate(t *testing.T) { each(t, testRotate) }

func testRotate(t *testing.T, open opener) {
	server, command, _ := open(t)
	first, k := create(t, command, auth.Key{})
	require.NoError(t, server.PutSession(t.Context(), auth.Session{Hash: []byte("s"), Key: k.ID, Secret: secretOf(t, first), Expires: now.Add(12 * time.Hour)}, now))
	second, err := auth.Rotate(t.Context(), command, k.ID, now, time.Hour)
	require.NoError(t, err)
	for _, at := range []time.Duration{59 * time.Minute, time.Hour} {
		old := map[bool]string{true: "", false: "the key is not valid"}[at < time.Hour]
		if got := reason(t, server, first, now.Add(at)); got != old {
			t.Errorf("old secret after %s: %q", at, got)
		}
		if got := reason(t, server, second, now.Add(at)); got != "" {
			t.Errorf("new secret after %s: %q", at, got)
		}
		if _, _, err := server.Session(t.Context(), []byte("s"), now.Add(at)); (err == nil) != (at < time.Hour) {
			t.Errorf("session after %s: %v", at, err)
		}
	}
	if by, err := auth.Authenticate(t.Context(), server, first, now); err != nil || !by.Expires.Equal(now.Add(time.Hour)) {
		t.Errorf("the old secret expires at %s, %v", by.Expires, err)
	}
	third, err := auth.Rotate(t.Context(), command, k.ID, now, 0)
	require.NoError(t, err)
	if reason(t, server, first, now) == "" || reason(t, server, second, now) == "" || reason(t, server, third, now) != "" {
		t.Error("after a rotation without overlap, an old secret is valid or the new one is not")
	}
}

func TestSessions(t *testing.T) { each(t, testSessions) }

func testSessions(t *testing.T, open opener) {
	server, command, _ := open(t)
	text, k := create(t, command, auth.Key{})
	begin := func(hash string) {
		t.Helper()
		require.NoError(t, server.PutSession(t.Context(), auth.Session{Hash: []byte(hash), Key: k.ID, Secret: secretOf(t, text), Expires: now.Add(time.Hour)}, now))
	}
	live := func(hash string, at time.Time) bool {
		t.Helper()
		_, got, err := server.Session(t.Context(), []byte(hash), at)
		if err != nil && !errors.Is(err, auth.ErrNotFound) || err == nil && got.ID != k.ID {
			t.Fatalf("%+v, %v", got, err)
		}
		return err == nil
	}
	begin("a")
	begin("b")
	if !live("a", now) || live("a", now.Add(time.Hour)) || live("c", now) {
		t.Error("sessions live as long as they should not")
	}
	if err := server.PutSession(t.Context(), auth.Session{Hash: []byte("a")}, now); err != nil || live("a", now) || !live("b", now) {
		t.Errorf("the wrong session has ended: %v", err)
	}
	if err := command.Revoke(t.Context(), k.ID, now); err != nil || live("b", now) {
		t.Errorf("a revoked key has a session: %v", err)
	}
}

// TestSessionsOfOldSecrets: a login that began before a rotation gets no session after it, or one that ends with its secret.
func TestSessionsOfOldSecrets(t *testing.T) { each(t, testSessionsOfOldSecrets) }

func testSessionsOfOldSecrets(t *testing.T, open opener) {
	server, command, _ := open(t)
	text, k := create(t, command, auth.Key{})
	login := func(hash, text string, at time.Time) error {
		t.Helper()
		return server.PutSession(t.Context(), auth.Session{Hash: []byte(hash), Key: k.ID, Secret: secretOf(t, text), Expires: at.Add(12 * time.Hour)}, at)
	}
	live := func(hash string, at time.Time) bool {
		_, _, err := server.Session(t.Context(), []byte(hash), at)
		return err == nil
	}
	second, err := auth.Rotate(t.Context(), command, k.ID, now, time.Hour)
	require.NoError(t, err)
	require.NoError(t, errors.Join(login("old", text, now), login("new", second, now)))
	if at := now.Add(time.Hour); live("old", at) || !live("old", at.Add(-time.Second)) || !live("new", at) {
		t.Error("a session does not end with its secret")
	}
	if err := login("late", text, now.Add(time.Hour)); !errors.Is(err, auth.ErrNotFound) {
		t.Errorf("login after the overlap: %v", err)
	}
	if _, err := auth.Rotate(t.Context(), command, k.ID, now, 0); err != nil {
		t.Fatal(err)
	}
	if err := login("second", second, now); !errors.Is(err, auth.ErrNotFound) || live("second", now) {
		t.Errorf("login with a secret that was rotated: %v", err)
	}
	third, err := auth.Rotate(t.Context(), command, k.ID, now, 0)
	require.NoError(t, err)
	require.NoError(t, command.Revoke(t.Context(), k.ID, now))
	if err := login("revoked", third, now); !errors.Is(err, auth.ErrNotFound) {
		t.Errorf("login with a revoked key: %v", err)
	}
}

// TestMaxSessions: each login above the limit ends the oldest session of the same key.
func TestMaxSessions(t *testing.T) { each(t, testMaxSessions) }

func testMaxSessions(t *testing.T, open opener) {
	server, command, _ := open(t)
	text, k := create(t, command, auth.Key{})
	other, l := create(t, command, auth.Key{})
	login := func(text, id string, n int) {
		t.Helper()
		at := now.Add(time.Duration(n) * time.Second)
		s := auth.Session{Hash: fmt.Append(nil, id, n), Key: id, Secret: secretOf(t, text), Expires: now.Add(time.Hour)}
		require.NoError(t, server.PutSession(t.Context(), s, at))
	}
	login(other, l.ID, 0)
	for i := range auth.MaxSessions + 3 {
		login(text, k.ID, i)
	}
	for i := range auth.MaxSessions + 3 {
		if _, _, err := server.Session(t.Context(), fmt.Append(nil, k.ID, i), now); (err == nil) != (i >= 3) {
			t.Errorf("session %d: %v", i, err)
		}
	}
	if _, _, err := server.Session(t.Context(), fmt.Append(nil, l.ID, 0), now); err != nil {
		t.Errorf("the session of another key: %v", err)
	}
}

// TestPeople have sessions without a key: with the rights of their login, for as long as it lasts, and at most [auth.MaxSessions] per account.
func TestPeople(t *testing.T) { each(t, testPeople) }

func testPeople(t *testing.T, open opener) {
	server, _, _ := open(t)
	ada := auth.Identity{Tenant: "acme", Account: "ada@example.org", Key: "oidc-1", Scopes: []auth.Scope{auth.Ask, auth.Write}}
	bob := auth.Identity{Tenant: "acme", Account: "bob", Key: "oidc-1", Scopes: []auth.Scope{auth.Ask}}
	login := func(hash string, who auth.Identity, n int) error {
		at := now.Add(time.Duration(n) * time.Second)
		return server.PutSession(t.Context(), auth.Session{Hash: []byte(hash), Person: who, Expires: now.Add(time.Hour)}, at)
	}
	require.NoError(t, errors.Join(login("bob", bob, 0), login("ada0", ada, 0)))
	got, key, err := server.Session(t.Context(), []byte("ada0"), now)
	if diff := cmp.Diff(ada, got); err != nil || diff != "" || key.ID != "" {
		t.Errorf("%v %v\n%s", err, key, diff)
	}
	if _, _, err := server.Session(t.Context(), []byte("ada0"), now.Add(time.Hour)); !errors.Is(err, auth.ErrNotFound) {
		t.Errorf("a session that has expired: %v", err)
	}
	for i := range auth.MaxSessions {
		require.NoError(t, login(fmt.Sprint("ada", i+1), ada, i+1))
	}
	for hash, want := range map[string]bool{"ada0": false, "ada1": true, "bob": true} {
		if _, _, err := server.Session(t.Context(), []byte(hash), now); (err == nil) != want {
			t.Errorf("the session %s: %v", hash, err)
		}
	}
	require.NoError(t, server.PutSession(t.Context(), auth.Session{Hash: []byte("bob")}, now))
	if _, _, err := server.Session(t.Context(), []byte("bob"), now); !errors.Is(err, auth.ErrNotFound) {
		t.Errorf("a session that was ended: %v", err)
	}
	for _, who := range []auth.Identity{{Tenant: "acme", Key: "oidc-1"}, {Account: "ada", Key: "oidc-1"}, {Tenant: "acme", Account: "ada"}, {Tenant: "acme", Account: "ada", Key: "oidc-1", Collections: []string{"a"}}} {
		if err := login("x", who, 0); err == nil {
			t.Errorf("a session of %v", who)
		}
	}
	if exist, err := server.Any(t.Context()); err != nil || exist {
		t.Errorf("a login counts as a key: %v, %v", exist, err)
	}
}

// TestEndTenant: the keys and the logins of a tenant end, and those of others go on.
func TestEndTenant(t *testing.T) { each(t, testEndTenant) }

func testEndTenant(t *testing.T, open opener) {
	server, command, _ := open(t)
	var keys []auth.Key
	for _, tenant := range []string{"acme", "acme", "beta"} {
		text, k := create(t, command, auth.Key{Tenant: tenant, Account: "a", Scopes: []auth.Scope{auth.Ask}})
		keys = append(keys, k)
		n := fmt.Sprint(len(keys))
		person := auth.Identity{Tenant: tenant, Account: "ada" + n, Key: "oidc-1"}
		require.NoError(t, errors.Join(server.PutSession(t.Context(), auth.Session{Hash: []byte("key" + n), Key: k.ID, Secret: secretOf(t, text), Expires: now.Add(time.Hour)}, now),
			server.PutSession(t.Context(), auth.Session{Hash: []byte("person" + n), Person: person, Expires: now.Add(time.Hour)}, now)))
	}
	require.NoError(t, command.Revoke(t.Context(), keys[0].ID, now))
	for _, want := range []int{1, 0} {
		if n, err := command.EndTenant(t.Context(), "acme", now.Add(time.Minute)); err != nil || n != want {
			t.Errorf("%d keys have ended, want %d: %v", n, want, err)
		}
	}
	for i, want := range []time.Time{now, now.Add(time.Minute), {}} {
		if c, err := server.Key(t.Context(), keys[i].ID); err != nil || !c.Revoked.Equal(want) {
			t.Errorf("key %d: revoked at %s, want %s: %v", i, c.Revoked, want, err)
		}
	}
	for n, lives := range []bool{false, false, true} {
		for _, kind := range []string{"key", "person"} {
			if _, _, err := server.Session(t.Context(), []byte(fmt.Sprint(kind, n+1)), now); (err == nil) != lives {
				t.Errorf("the session of the %s %d: %v", kind, n+1, err)
			}
		}
	}
}

// TestOlderSessions: a file of the version before logins without a key keeps its sessions.
func TestOlderSessions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.db")
	s, err := sqlstore.Open(t.Context(), path)
	require.NoError(t, err)
	text, k := create(t, s, auth.Key{})
	err = s.PutSession(t.Context(), auth.Session{Hash: []byte("s"), Key: k.ID, Secret: secretOf(t, text), Expires: now.Add(time.Hour)}, now)
	require.NoError(t, errors.Join(err, s.Close()))
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `ALTER TABLE sessions DROP COLUMN tenant; ALTER TABLE sessions DROP COLUMN account; ALTER TABLE sessions DROP COLUMN scopes; PRAGMA user_version = 3`)
	require.NoError(t, errors.Join(err, db.Close()))
	if s, err = sqlstore.Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if who, key, err := s.Session(t.Context(), []byte("s"), now); err != nil || key.ID != k.ID || who.Account != k.Account || who.Key != k.ID {
		t.Errorf("%v %v %v", who, key, err)
	}
}

// secretOf returns the hash of the secret of a key.
func secretOf(t *testing.T, text string) []byte {
	t.Helper()
	_, secret, err := auth.Parse(text)
	require.NoError(t, err)
	return auth.Hash(secret)
}

// TestQuota: concurrent questions through two processes never exceed a quota, and the next window begins with all of it.
func TestQuota(t *testing.T) { each(t, testQuota) }

func testQuota(t *testing.T, open opener) {
	server, command, _ := open(t)
	_, k := create(t, command, auth.Key{Tenant: "default", Account: "a", Scopes: []auth.Scope{auth.Ask}, Quota: auth.Limit{N: 20, Unit: "day"}})
	for _, at := range []time.Time{now, now.AddDate(0, 0, 1)} {
		var wg sync.WaitGroup
		var counted, refused atomic.Int32
		for i := range 40 {
			s := []*sqlstore.Store{server, command}[i%2]
			wg.Go(func() {
				switch err := s.Use(context.Background(), k.ID, at, 1); {
				case err == nil:
					counted.Add(1)
				case errors.Is(err, auth.ErrQuota):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if counted.Load() != 20 || refused.Load() != 20 {
			t.Errorf("%d questions were counted and %d refused", counted.Load(), refused.Load())
		}
		if err := server.Use(t.Context(), k.ID, at, 0); err != nil { // not a question
			t.Error(err)
		}
		if err := errors.Join(server.Use(t.Context(), k.ID, at, -1), command.Use(t.Context(), k.ID, at, 1)); err != nil {
			t.Errorf("a question that was given back: %v", err)
		}
		if err := server.Use(t.Context(), k.ID, at, 1); !errors.Is(err, auth.ErrQuota) {
			t.Errorf("a question beyond the quota: %v", err)
		}
	}
	if c, err := server.Key(t.Context(), k.ID); err != nil || !c.Used.Equal(now.AddDate(0, 0, 1)) {
		t.Errorf("last used %s, %v", c.Used, err)
	}
}

// TestQuotaAtMidnight: servers whose clocks differ count in the same day, and a question of the last day is not given back to this one.
func TestQuotaAtMidnight(t *testing.T) { each(t, testQuotaAtMidnight) }

func testQuotaAtMidnight(t *testing.T, open opener) {
	ahead, behind, _ := open(t)
	last, next := time.Date(2026, 4, 30, 23, 59, 59, 0, time.UTC), time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for _, unit := range []string{"day", "month"} {
		_, k := create(t, ahead, auth.Key{Tenant: "default", Account: "a", Scopes: []auth.Scope{auth.Ask}, Quota: auth.Limit{N: 3, Unit: unit}})
		for i, step := range []struct {
			server *sqlstore.Store
			at     time.Time
			n      int
			want   error
		}{
			{behind, last, 3, nil},
			{behind, last, 1, auth.ErrQuota},
			{ahead, next, 1, nil},
			{behind, last, 1, nil}, // counts in the day that has begun
			{behind, last, -1, nil},
			{behind, last, 0, nil},
			{ahead, next, 2, auth.ErrQuota},
			{ahead, next, 1, nil},
			{ahead, next, -1, nil},
			{behind, last, 1, nil},
			{behind, last, 1, auth.ErrQuota},
			{ahead, next, 1, auth.ErrQuota},
			{ahead, next.AddDate(0, 2, 0), 3, nil},
			{behind, last, 1, nil}, // the clock was ahead by more than a day or month
		} {
			if err := step.server.Use(t.Context(), k.ID, step.at, step.n); !errors.Is(err, step.want) {
				t.Errorf("%s, step %d: %v, want %v", unit, i, err, step.want)
			}
		}
	}
}

func TestAllowsOrigin(t *testing.T) { each(t, testAllowsOrigin) }

func testAllowsOrigin(t *testing.T, open opener) {
	server, command, _ := open(t)
	_, k := create(t, command, auth.Key{Tenant: "default", Account: "a", Scopes: []auth.Scope{auth.Ask}, Origins: []string{"https://a.example", "https://b.example"}, Expires: now.Add(time.Hour)})
	check := func(origin string, at time.Time, want bool) {
		t.Helper()
		if got, err := server.AllowsOrigin(t.Context(), origin, at); err != nil || got != want {
			t.Errorf("%s: %v, %v", origin, got, err)
		}
	}
	check("https://b.example", now, true)
	check("https://c.example", now, false)
	check("https://b.example", now.Add(time.Hour), false)
	require.NoError(t, command.Revoke(t.Context(), k.ID, now))
	check("https://b.example", now, false)
}

func BenchmarkAuthenticate(b *testing.B) {
	s, err := sqlstore.Open(b.Context(), filepath.Join(b.TempDir(), "keys.db"))
	require.NoError(b, err)
	defer s.Close()
	text := ""
	for range 1000 {
		if text, _, err = auth.Create(b.Context(), s, auth.Key{Tenant: "default", Account: "a", Scopes: []auth.Scope{auth.Ask}}, now); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := auth.Authenticate(b.Context(), s, text, now); err != nil {
			b.Fatal(err)
		}
	}
}
