package forrst_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestHugeNumbers sends numbers with which exact arithmetic takes very long or fails.
func TestHugeNumbers(t *testing.T) {
	t.Parallel()
	type in struct {
		N []any `json:"n"`
	}
	f := forrst.Func("sum", "1.0.0", func(_ context.Context, in in) (int, error) { return len(in.N), nil })
	f.Arguments = []byte(`{"type":"object","properties":{"n":{"type":"array","uniqueItems":true,"items":{"type":"number","minimum":0}}}}`)
	s := server(t, forrst.Options{}, f)
	for _, n := range []string{"1e401", "1E+999999", "1e-999999", "1e99999999999999999999", strings.Repeat("9", 401), "0." + strings.Repeat("0", 500) + "1"} {
		d := parse(t, post(s, call("sum", `{"n":[1,`+n+`]}`)).Body.String())
		if len(d.Errors) != 1 || d.Errors[0].Code != "SCHEMA_VALIDATION_FAILED" || *d.Errors[0].Source.Pointer != "/call/arguments/n/1" {
			t.Errorf("%.20s: %+v", n, d.Errors)
		}
	}
	for _, n := range []string{"2e308", "1.7976931348623157e+308", "5e-324", strings.Repeat("9", 300)} {
		if d := parse(t, post(s, call("sum", `{"n":[1,`+n+`]}`)).Body.String()); len(d.Errors) > 0 && d.Errors[0].Code == "SCHEMA_VALIDATION_FAILED" {
			t.Errorf("%.20s: %+v", n, d.Errors)
		}
	}
}

// lossy stores the end of an operation, and then reports that the connection has failed.
type lossy struct {
	forrst.OperationStore
	lost atomic.Int64 // replies
}

func (l *lossy) Finish(ctx context.Context, caller, id string, status forrst.OperationStatus, outcome []byte, completed time.Time, keep time.Duration) error {
	err := l.OperationStore.Finish(ctx, caller, id, status, outcome, completed, keep)
	if l.lost.Add(-1) >= 0 {
		return errors.New("connection reset")
	}
	return err
}

// TestLostReplyOfStore checks that an operation whose end was stored has ended, although the store has not said so: its key must not be free.
func TestLostReplyOfStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &lossy{OperationStore: forrst.NewMemoryOperations()}
		store.lost.Store(1)
		var n counter
		c := asyncServer(t, forrst.Options{Extensions: []forrst.Extension{forrst.NewIdempotency(nil), forrst.NewAsync(forrst.AsyncOptions{Store: store})}}, &n)
		id := c.accept("count", "{}", keyed("k"))
		idle(t, c.s)
		if got := c.status(id); !strings.Contains(got, `"result":1`) {
			t.Error(got)
		}
		equal(t, c.call("count", "{}", "none", keyed("k")), "200 1 ")
	})
}

// TestLostKeyOfOperation checks that an operation ends with the lock on its key, because another call may run.
func TestLostKeyOfOperation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &broken{IdempotencyStore: forrst.NewMemoryIdempotency()}
		var n counter
		c := asyncServer(t, forrst.Options{Extensions: []forrst.Extension{forrst.NewIdempotency(brokenKeys{b}), forrst.NewAsync(forrst.AsyncOptions{})}}, &n)
		id := c.accept("count", `{"do":"work"}`, keyed("k"))
		b.set(true)
		began := time.Now()
		synctest.Wait()
		time.Sleep(31 * time.Second)
		equal(t, c.status(id), "500 null ASYNC_OPERATION_FAILED ")
		idle(t, c.s)
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("the operation ended after %v", took)
		}
	})
}

// panicking are stores that panic.
type panicking struct {
	forrst.IdempotencyStore
	forrst.OperationStore
	create bool
}

type (
	panickingKeys       struct{ *panicking }
	panickingOperations struct{ *panicking }
)

func (p panickingKeys) Lock(ctx context.Context, key forrst.IdempotencyKey, r forrst.IdempotencyRecord, lease time.Duration) (*forrst.IdempotencyRecord, error) {
	return p.IdempotencyStore.Lock(ctx, key, r, lease)
}

func (panickingKeys) Renew(context.Context, forrst.IdempotencyKey, string, time.Duration) error {
	panic("hunter2")
}

func (panickingKeys) Store(context.Context, forrst.IdempotencyKey, string, []byte, time.Time, time.Time) error {
	panic("hunter2")
}

func (p panickingOperations) Create(ctx context.Context, op forrst.Operation, limit int, lease, keep time.Duration) error {
	if p.create {
		panic("hunter2")
	}
	return p.OperationStore.Create(ctx, op, limit, lease, keep)
}

func (panickingOperations) Renew(context.Context, string, float64, time.Duration) error {
	panic("hunter2")
}

func (panickingOperations) Finish(context.Context, string, string, forrst.OperationStatus, []byte, time.Time, time.Duration) error {
	panic("hunter2")
}

// TestPanickingStores checks that panics of stores, which happen in goroutines of their own, do not end the program, and leave nothing behind.
func TestPanickingStores(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &panicking{IdempotencyStore: forrst.NewMemoryIdempotency(), OperationStore: forrst.NewMemoryOperations()}
		var n counter
		c := asyncServer(t, forrst.Options{Logger: slog.New(slog.DiscardHandler), Extensions: []forrst.Extension{forrst.NewIdempotency(panickingKeys{p}),
			forrst.NewAsync(forrst.AsyncOptions{Store: panickingOperations{p}, CallbackSecret: []byte("s")})}}, &n)
		equal(t, c.call("count", `{}`, "none", keyed("k")), "200 1 ")
		c.accept("count", `{"do":"work"}`, keyed("l"))
		idle(t, c.s)
		p.create = true
		withCallback := strings.Replace(asyncExt, "true", `true,"callback_url":"https://example.org/"`, 1)
		for range 11 { // a callback that is never sent must not be counted
			equal(t, c.call("count", `{}`, "none", withCallback), "500 null INTERNAL_ERROR ")
		}
		idle(t, c.s)
	})
}

// stuckTokens is a store that does not reply when a call has ended.
type stuckTokens struct{ forrst.TokenStore }

func (stuckTokens) Finish(ctx context.Context, _ forrst.TokenKey) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestStuckTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := server(t, forrst.Options{Extensions: []forrst.Extension{forrst.NewCancellation(stuckTokens{forrst.NewMemoryTokens()})}})
		began := time.Now()
		if w := post(s, call("users.get", `{"id":1}`, withToken(`"t"`))); w.Code != 200 || time.Since(began) != 10*time.Second {
			t.Errorf("after %v: %s", time.Since(began), w.Body)
		}
	})
}

// TestSlowReader has a client that reads nothing of a large document.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	f := forrst.Func("large", "1.0.0", func(context.Context, none) (string, error) { return strings.Repeat("x", 9<<20), nil })
	s := server(t, forrst.Options{WriteTimeout: 100 * time.Millisecond}, f)
	done := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r)
		close(done)
	}))
	defer h.Close()
	c, err := net.Dial("tcp", h.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	body := call("large", "{}")
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("the server waits for a client that does not read")
	}
}
