//go:build linux

package sqlstore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	_ "modernc.org/sqlite"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/sqlstore"
	"github.com/sluice-rag/sluice/forrst/storetest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func open(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// sqlite returns a function that opens connections to a new file.
func sqlite(*testing.T) func(t *testing.T) func() *sql.DB {
	return func(t *testing.T) func() *sql.DB {
		path := filepath.Join(t.TempDir(), "forrst.db")
		return func() *sql.DB {
			return open(t, "sqlite", "file:"+path+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
		}
	}
}

// each runs a test with each database. The function that it gets makes a new database and returns one that opens it, once for
// each process that the test plays.
func each(t *testing.T, test func(t *testing.T, database func(t *testing.T) func() *sql.DB)) {
	t.Run("SQLite", func(t *testing.T) { test(t, sqlite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, postgres(t)) })
}

func stores(t *testing.T, db *sql.DB) *sqlstore.Stores {
	t.Helper()
	s, err := sqlstore.New(t.Context(), db, sqlstore.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(t *testing.T) func() *sql.DB) {
		t.Run("Tokens", func(t *testing.T) {
			storetest.Tokens(t, func(t *testing.T) forrst.TokenStore { return stores(t, database(t)()).Tokens() })
		})
		t.Run("Idempotency", func(t *testing.T) {
			storetest.Idempotency(t, func(t *testing.T) forrst.IdempotencyStore { return stores(t, database(t)()).Idempotency() })
		})
		t.Run("Operations", func(t *testing.T) {
			storetest.Operations(t, func(t *testing.T) forrst.OperationStore { return stores(t, database(t)()).Operations() })
		})
	})
}

// TestForget: only the outcomes that contain the text are deleted. Characters of patterns have no meaning.
func TestForget(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(t *testing.T) func() *sql.DB) {
		s := stores(t, database(t)())
		ctx, now := t.Context(), time.Now()
		lock := func(name string) *forrst.IdempotencyRecord {
			t.Helper()
			found, err := s.Idempotency().Lock(ctx, forrst.IdempotencyKey{Key: name}, forrst.IdempotencyRecord{Holder: name}, time.Hour)
			require.NoError(t, err)
			return found
		}
		outcomes := map[string]string{"gone": `{"id":"a_1%"}`, "other": `{"id":"a_12"}`, "similar": `{"id":"ab1%"}`}
		for name, outcome := range outcomes {
			lock(name)
			op := forrst.Operation{ID: name, Status: forrst.OperationProcessing, Started: now}
			require.NoError(t, errors.Join(s.Idempotency().Store(ctx, forrst.IdempotencyKey{Key: name}, name, []byte(outcome), now, now.Add(time.Hour)),
				s.Operations().Create(ctx, op, 10, time.Hour, time.Hour),
				s.Operations().Finish(ctx, "", name, forrst.OperationCompleted, []byte(outcome), now, time.Hour)))
		}
		if n, err := s.Forget(ctx, "a_1%"); err != nil || n != 2 {
			t.Fatal(n, err)
		}
		for name := range outcomes {
			_, err := s.Operations().Get(ctx, "", name)
			if kept, want := lock(name) != nil, name != "gone"; kept != want || (err == nil) != want {
				t.Errorf("%s: the key is kept: %t, the operation: %v", name, kept, err)
			}
		}
	})
}

// TestFreeKeys: outcomes are kept, and so are keys of operations, which end by themselves.
func TestFreeKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(t *testing.T) func() *sql.DB) {
		s := stores(t, database(t)())
		ctx, now, keys := t.Context(), time.Now(), s.Idempotency()
		lock := func(name string) *forrst.IdempotencyRecord {
			t.Helper()
			found, err := keys.Lock(ctx, forrst.IdempotencyKey{Key: name}, forrst.IdempotencyRecord{Holder: name}, time.Hour)
			require.NoError(t, err)
			return found
		}
		for _, name := range []string{"running", "ended", "operation"} {
			lock(name)
		}
		require.NoError(t, errors.Join(keys.Store(ctx, forrst.IdempotencyKey{Key: "ended"}, "ended", []byte("1"), now, now.Add(time.Hour)),
			keys.SetOperation(ctx, forrst.IdempotencyKey{Key: "operation"}, "operation", "op"), s.FreeKeys(ctx)))
		for name, want := range map[string]bool{"running": false, "ended": true, "operation": true} {
			if kept := lock(name) != nil; kept != want {
				t.Errorf("%s: the key is kept: %t", name, kept)
			}
		}
	})
}

var key = forrst.TokenKey{Caller: "ann", Token: "t"}

// TestCancelOfAnotherProcess cancels a call that runs in another process.
func TestCancelOfAnotherProcess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(t *testing.T) func() *sql.DB) {
		synctest.Test(t, func(t *testing.T) {
			process := database(t)
			a, b := stores(t, process()).Tokens(), stores(t, process()).Tokens()
			cancelled, err := a.Register(t.Context(), key)
			require.NoError(t, err)
			other, _ := a.Register(t.Context(), forrst.TokenKey{Caller: "bob", Token: "t"})
			if _, err := b.Register(t.Context(), key); !errors.Is(err, forrst.ErrTokenInUse) {
				t.Error(err)
			}
			time.Sleep(10 * time.Minute) // the lease is renewed
			began := time.Now()
			if err := b.Cancel(t.Context(), key); err != nil {
				t.Error(err)
			}
			<-cancelled
			if took := time.Since(began); took > 500*time.Millisecond {
				t.Errorf("the cancellation took %v", took)
			}
			time.Sleep(time.Second)
			select {
			case <-other:
				t.Error("the token of another caller was cancelled")
			default:
			}
			if err := errors.Join(a.Finish(t.Context(), key), b.Cancel(t.Context(), key), a.Finish(t.Context(), forrst.TokenKey{Caller: "bob", Token: "t"})); err != nil {
				t.Error(err)
			}
			again, err := a.Register(t.Context(), key)
			require.NoError(t, err)
			time.Sleep(time.Second)
			select {
			case <-again:
				t.Error("the cancellation of an earlier call ended a later one")
			default:
			}
			if err := a.Finish(t.Context(), key); err != nil {
				t.Error(err)
			}
			if err := b.Cancel(t.Context(), forrst.TokenKey{Caller: "bob", Token: "t"}); !errors.Is(err, forrst.ErrTokenFinished) {
				t.Error(err)
			}
		})
	})
}

// TestCrashedProcess loses the connection of a process, whose token becomes free after a minute.
func TestCrashedProcess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(t *testing.T) func() *sql.DB) {
		synctest.Test(t, func(t *testing.T) {
			process := database(t)
			db := process()
			a, b := stores(t, db).Tokens(), stores(t, process()).Tokens()
			if _, err := a.Register(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			db.Close()
			time.Sleep(59 * time.Second)
			if _, err := b.Register(t.Context(), key); !errors.Is(err, forrst.ErrTokenInUse) {
				t.Error(err)
			}
			time.Sleep(2 * time.Second)
			if err := b.Cancel(t.Context(), key); !errors.Is(err, forrst.ErrTokenUnknown) {
				t.Error(err)
			}
			if _, err := b.Register(t.Context(), key); err != nil {
				t.Error(err)
			}
			if err := a.Finish(t.Context(), key); err == nil {
				t.Error("a closed database reports no error")
			}
			if err := b.Cancel(t.Context(), key); err != nil {
				t.Error(err)
			}
			if err := b.Finish(t.Context(), key); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestLostLease takes the token of a process that cannot renew it. The process must not end the use of its successor.
func TestLostLease(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(t *testing.T) func() *sql.DB) {
		process := database(t)
		db := process()
		a, b := stores(t, process()).Tokens(), stores(t, db).Tokens()
		_, err := a.Register(t.Context(), key)
		_, err2 := db.Exec("UPDATE forrst_tokens SET expires = 0")
		cancelled, err3 := b.Register(t.Context(), key)
		require.NoError(t, errors.Join(err, err2, err3, a.Finish(t.Context(), key), b.Cancel(t.Context(), key)))
		select {
		case <-cancelled: // at once, because both are in one process
		default:
			t.Error("the call is not cancelled")
		}
		if err := b.Finish(t.Context(), key); err != nil {
			t.Error(err)
		}
	})
}

// TestUnstoredEnd has a database that fails at the end of a call: the token must not be in use for as long as the process lives.
func TestUnstoredEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(t *testing.T) func() *sql.DB) {
		process := database(t)
		a, b := stores(t, process()).Tokens(), stores(t, process()).Tokens()
		if _, err := a.Register(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := a.Finish(ended, key); err == nil {
			t.Fatal("the end was stored")
		}
		if _, err := b.Register(t.Context(), key); !errors.Is(err, forrst.ErrTokenInUse) {
			t.Error(err)
		}
		cancelled, err := a.Register(t.Context(), key)
		require.NoError(t, err)
		if _, err := a.Register(t.Context(), key); !errors.Is(err, forrst.ErrTokenInUse) {
			t.Error(err)
		}
		if err := b.Cancel(t.Context(), key); err != nil {
			t.Error(err)
		}
		<-cancelled
		if err := a.Finish(t.Context(), key); err != nil {
			t.Error(err)
		}
	})
}

// TestConcurrentNew opens a new database in many processes at once.
func TestConcurrentNew(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(t *testing.T) func() *sql.DB) {
		process := database(t)
		var all sync.WaitGroup
		for range 8 {
			db := process()
			all.Go(func() {
				for range 2 {
					if _, err := sqlstore.New(t.Context(), db, sqlstore.Options{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		db := process()
		var versions int
		if err := db.QueryRow("SELECT count(*) FROM forrst_schema").Scan(&versions); err != nil || versions != 1 {
			t.Error(versions, err)
		}
		if _, err := db.Exec("INSERT INTO forrst_schema (version) VALUES (2)"); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlstore.New(t.Context(), db, sqlstore.Options{}); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Error(err)
		}
	})
}

// TestSweep checks that expired rows are deleted.
func TestSweep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(t *testing.T) func() *sql.DB) {
		synctest.Test(t, func(t *testing.T) {
			db := database(t)()
			s := stores(t, db)
			fill := func(n int) {
				for i := range n {
					k := forrst.TokenKey{Token: fmt.Sprint(i, n)}
					_, err := s.Tokens().Register(t.Context(), k)
					_, err2 := s.Idempotency().Lock(t.Context(), forrst.IdempotencyKey{Key: k.Token}, forrst.IdempotencyRecord{}, time.Minute)
					err3 := s.Operations().Create(t.Context(), forrst.Operation{ID: k.Token, Status: forrst.OperationPending}, 100, time.Minute, time.Minute)
					require.NoError(t, errors.Join(err, err2, err3, s.Tokens().Finish(t.Context(), k)))
				}
			}
			fill(20)
			time.Sleep(time.Hour)
			fill(1)
			for _, table := range []string{"forrst_tokens", "forrst_keys", "forrst_operations"} {
				var n int
				if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil || n != 1 {
					t.Errorf("%s has %d rows, %v", table, n, err)
				}
			}
		})
	})
}

// TestServers runs two servers that share a database: one replays what the other has stored, and a key in use is refused.
func TestServers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(t *testing.T) func() *sql.DB) {
		process := database(t)
		var runs atomic.Int64
		entered, release := make(chan struct{}, 1), make(chan struct{})
		var servers [2]*forrst.Server
		for i := range servers {
			s := stores(t, process())
			f := forrst.Func("pay", "1.0.0", func(ctx context.Context, in struct {
				Wait bool `json:"wait"`
			}) (int64, error) {
				if in.Wait {
					entered <- struct{}{}
					select {
					case <-release:
					case <-ctx.Done():
						return 0, ctx.Err()
					}
				}
				return runs.Add(1), nil
			})
			var err error
			if servers[i], err = forrst.New([]forrst.Function{f}, forrst.Options{Extensions: []forrst.Extension{
				forrst.NewCancellation(s.Tokens()), forrst.NewIdempotency(s.Idempotency()), forrst.NewAsync(forrst.AsyncOptions{Store: s.Operations()})}}); err != nil {
				t.Fatal(err)
			}
		}
		ask := func(i int, function, arguments, extension string) (int, string) {
			body := fmt.Sprintf(`{"protocol":{"name":"forrst","version":"0.1.0"},"id":"r","call":{"function":%q,"arguments":%s},"extensions":[%s]}`, function, arguments, extension)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			servers[i].ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		idempotent := `{"urn":"urn:forrst:ext:idempotency","options":{"key":"k"}}`
		for i := range servers {
			if code, body := ask(i, "pay", "{}", idempotent); code != 200 || !strings.Contains(body, `"result":1,`) || strings.Contains(body, `"cached"`) != (i == 1) {
				t.Error(code, body)
			}
		}
		ended := make(chan string)
		go func() {
			_, body := ask(0, "pay", `{"wait":true}`, `{"urn":"urn:forrst:ext:cancellation","options":{"token":"t"}}`)
			ended <- body
		}()
		<-entered
		if code, body := ask(1, "urn:forrst:ext:cancellation:fn:cancel", `{"token":"t"}`, ""); code != 200 {
			t.Error(body)
		}
		if body := <-ended; !strings.Contains(body, `"CANCELLED"`) {
			t.Error(body)
		}
		_, body := ask(0, "pay", `{"wait":true}`, `{"urn":"urn:forrst:ext:async","options":{"preferred":true}}`)
		var accepted struct {
			Extensions []struct {
				Data struct {
					ID string `json:"operation_id"`
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &accepted); err != nil || len(accepted.Extensions) == 0 {
			t.Fatal(err, body)
		}
		<-entered
		close(release)
		if err := servers[0].Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if _, body := ask(1, "urn:forrst:ext:async:fn:status", fmt.Sprintf(`{"operation_id":%q}`, accepted.Extensions[0].Data.ID), ""); !strings.Contains(body, `"status":"completed"`) {
			t.Error(body)
		}
	})
}
