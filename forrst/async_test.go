package forrst_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

const (
	asyncExt  = `{"urn":"urn:forrst:ext:async","options":{"preferred":true}}`
	statusFn  = "urn:forrst:ext:async:fn:status"
	cancelFn  = "urn:cline:forrst:ext:async:fn:cancel"
	listFn    = "urn:forrst:ext:async:fn:list"
	operation = `{"operation_id":%q}`
)

// client calls a server as one caller.
type client struct {
	t      *testing.T
	s      *forrst.Server
	caller string
}

// call returns the outcome of a call in one line, with the data of an extension.
func (c client) call(function, arguments, show string, extensions ...string) string {
	c.t.Helper()
	return outcomeOf(c.t, postAs(c.caller, c.s, call(function, arguments, extensions...)), show)
}

// accept calls a function and returns the id of its operation.
func (c client) accept(function, arguments string, extensions ...string) string {
	c.t.Helper()
	w := postAs(c.caller, c.s, call(function, arguments, append(extensions, asyncExt)...))
	id := operationID(parse(c.t, w.Body.String()))
	if id == "" {
		c.t.Fatalf("not accepted: %s", w.Body)
	}
	return id
}

func operationID(d document) string {
	var data struct {
		OperationID string `json:"operation_id"`
	}
	_ = json.Unmarshal([]byte(d.data("async")), &data)
	return data.OperationID
}

func (c client) status(id string) string {
	c.t.Helper()
	return strings.ReplaceAll(c.call(statusFn, fmt.Sprintf(operation, id), "none"), id, "ID")
}

func (c client) cancel(id string) string {
	c.t.Helper()
	return strings.ReplaceAll(c.call(cancelFn, fmt.Sprintf(operation, id), "none"), id, "ID")
}

func equal(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// loader reports its progress. It runs the Call of a function only without the async extension.
func loader() forrst.Function {
	f := producer("load", func(ctx context.Context, yield func(forrst.Chunk, error) bool) {
		for i := range 4 {
			if !yield(forrst.Progress(int64(i), 4, ""), nil) {
				return
			}
			select {
			case <-ctx.Done():
				yield(forrst.Chunk{}, ctx.Err())
				return
			case <-time.After(10 * time.Second):
			}
		}
		yield(forrst.Done("loaded"), nil)
	})
	f.Call = func(context.Context, *forrst.Call) (any, error) { return "without progress", nil }
	return f
}

func asyncServer(t *testing.T, o forrst.Options, c *counter) client {
	t.Helper()
	return client{t, server(t, known(o), c.function(), c.streamable(), loader()), "ann"}
}

func TestAsync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := asyncServer(t, forrst.Options{}, &counter{})
		w := postAs("ann", c.s, call("load", "{}", strings.Replace(asyncExt, "urn:", "urn:cline:", 1)))
		d := parse(t, w.Body.String())
		id := operationID(d)
		if !regexp.MustCompile(`^op_[0-9a-f]{32}$`).MatchString(id) || w.Code != 200 || d.Extensions[0].URN != "urn:cline:forrst:ext:async" {
			t.Error(w.Body)
		}
		equal(t, strings.ReplaceAll(outcomeOf(t, w, "async"), id, "ID"), `200 null {"operation_id":"ID","status":"processing",`+
			`"poll":{"function":"urn:forrst:ext:async:fn:status","version":"1.0.0","arguments":{"operation_id":"ID"}},`+
			`"retry_after":{"value":1,"unit":"second"},"started_at":"2000-01-01T00:00:00.000Z"}`)
		for _, progress := range []string{"0", "0.25", "0.5", "0.75"} {
			time.Sleep(5 * time.Second)
			equal(t, c.status(id), `200 {"operation_id":"ID","function":"load","version":"1.0.0","status":"processing","progress":`+progress+`,"started_at":"2000-01-01T00:00:00.000Z"} `)
			time.Sleep(5 * time.Second)
		}
		idle(t, c.s)
		done := `200 {"operation_id":"ID","function":"load","version":"1.0.0","status":"completed","progress":1,"result":"loaded","output":"loaded",` +
			`"started_at":"2000-01-01T00:00:00.000Z","completed_at":"2000-01-01T00:00:40.000Z"} `
		equal(t, c.status(id), done)
		equal(t, c.cancel(id), `400 null ASYNC_CANNOT_CANCEL `)
		time.Sleep(24*time.Hour - time.Second)
		equal(t, c.status(id), done)
		time.Sleep(time.Second)
		equal(t, c.status(id), `404 null ASYNC_OPERATION_NOT_FOUND `)
		equal(t, c.call("load", "{}", "async"), `200 "without progress" `)
	})
}

func TestAsyncFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := asyncServer(t, forrst.Options{}, &counter{})
		for do, want := range map[string]string{
			"CUSTOM_FULL": `{"errors":[{"code":"CUSTOM_FULL","message":"no","source":{"pointer":"/call/arguments/do"},"details":{"big":9007199254740993,"run":1}}],"failed_at":"2000-01-01T00:00:00.000Z","operation_id":"ID","reason":"no"}`,
			"panic":       `{"errors":[{"code":"INTERNAL_ERROR","message":"internal error"}],"failed_at":"2000-01-01T00:00:00.000Z","operation_id":"ID","reason":"internal error"}`,
		} {
			c := asyncServer(t, forrst.Options{}, &counter{})
			id := c.accept("count", fmt.Sprintf(`{"do":%q}`, do))
			idle(t, c.s)
			w := postAs("ann", c.s, call(statusFn, fmt.Sprintf(operation, id)))
			equal(t, outcomeOf(t, w, "retry"), "500 null ASYNC_OPERATION_FAILED ")
			_, details, _ := strings.Cut(w.Body.String(), `"details":`)
			equal(t, strings.ReplaceAll(strings.TrimSuffix(details, "}]}"), id, "ID"), want)
		}
		id := c.accept("count", `{"do":"null"}`)
		idle(t, c.s)
		if got := c.status(id); !strings.Contains(got, `"status":"completed","progress":1,"result":null,"output":null,`) {
			t.Error(got)
		}
	})
}

func TestAsyncCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n counter
		c := asyncServer(t, forrst.Options{}, &n)
		began := time.Now()
		id, stubborn := c.accept("count", `{"do":"work"}`), c.accept("count", `{"do":"ignore"}`)
		time.Sleep(time.Second)
		bob := client{t, c.s, "bob"}
		for _, id := range []string{id, "op_unknown", strings.Repeat("x", 100)} {
			equal(t, bob.status(id), "404 null ASYNC_OPERATION_NOT_FOUND ")
			equal(t, bob.cancel(id), "404 null ASYNC_OPERATION_NOT_FOUND ")
		}
		equal(t, c.cancel(id), `200 {"operation_id":"ID","status":"cancelled","cancelled_at":"2000-01-01T00:00:01.000Z"} `)
		synctest.Wait()
		if n.active.Load() != 1 {
			t.Error("the function was not cancelled")
		}
		want := `200 {"operation_id":"ID","function":"count","version":"1.0.0","status":"cancelled","progress":0,"started_at":"2000-01-01T00:00:00.000Z","completed_at":"2000-01-01T00:00:01.000Z"} `
		equal(t, c.status(id), want)
		w := postAs("ann", c.s, call(cancelFn, fmt.Sprintf(operation, id)))
		if d := parse(t, w.Body.String()); w.Code != 400 || d.Errors[0].Code != "ASYNC_CANNOT_CANCEL" || fmt.Sprint(d.Errors[0].Details) != "map[operation_id:"+id+" status:cancelled]" {
			t.Error(w.Body)
		}
		equal(t, c.cancel(stubborn), `200 {"operation_id":"ID","status":"cancelled","cancelled_at":"2000-01-01T00:00:01.000Z"} `)
		idle(t, c.s)
		equal(t, c.status(stubborn), want) // although the function has returned a result
		if time.Since(began) != time.Minute {
			t.Errorf("functions ran for %v", time.Since(began))
		}
	})
}

func TestAsyncList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := asyncServer(t, forrst.Options{}, &counter{})
		var ids []string
		for i := range 7 {
			name := "count"
			if i%3 == 0 {
				name = "load"
			}
			ids = append(ids, c.accept(name, `{}`))
			time.Sleep(time.Millisecond)
		}
		client{t, c.s, "bob"}.accept("count", `{}`)
		page := func(arguments string) (out string, cursor string) {
			t.Helper()
			d := parse(t, postAs("ann", c.s, call(listFn, arguments)).Body.String())
			var r struct {
				Operations []struct{ ID, Function, Version, Status string }
				NextCursor *string `json:"next_cursor"`
			}
			if err := json.Unmarshal(d.Result, &r); err != nil || !strings.Contains(string(d.Result), `"next_cursor":`) {
				t.Fatalf("%v in %s", err, d.Result)
			}
			for _, op := range r.Operations {
				for i, id := range ids {
					if id == op.ID {
						out += fmt.Sprint(i, op.Function[:1], op.Status[:1], " ")
					}
				}
			}
			if r.NextCursor != nil {
				cursor = *r.NextCursor
			}
			return out, cursor
		}
		first, cursor := page(`{"limit":3}`)
		second, cursor2 := page(fmt.Sprintf(`{"limit":3,"cursor":%q}`, cursor))
		third, cursor3 := page(fmt.Sprintf(`{"limit":3,"cursor":%q}`, cursor2))
		equal(t, first+"| "+second+"| "+third+cursor3, "6lp 5cc 4cc | 3lp 2cc 1cc | 0lp ")
		exact, none := page(`{"limit":7}`)
		all, _ := page(`{}`)
		equal(t, exact+none, all)
		anonymous := client{t, c.s, ""}
		id := anonymous.accept("count", "{}")
		equal(t, anonymous.call(listFn, "{}", "none"), `200 {"operations":[],"next_cursor":null} `)
		if got := anonymous.status(id); !strings.HasPrefix(got, "200 ") {
			t.Error(got)
		}
		for arguments, want := range map[string]string{
			`{"status":"processing"}`: "6lp 3lp 0lp ", `{"function":"count","limit":1}`: "5cc ", `{"function":"other"}`: "", `{"status":"failed"}`: "",
		} {
			got, _ := page(arguments)
			equal(t, got, want)
		}
		for _, bad := range []string{`{"limit":0}`, `{"limit":101}`, `{"cursor":"x"}`, `{"status":"done"}`} {
			equal(t, c.call(listFn, bad, "none"), "422 null SCHEMA_VALIDATION_FAILED ")
		}
		idle(t, c.s)
	})
}

func TestAsyncLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := asyncServer(t, forrst.Options{}, &counter{})
		var id string
		for range 10 {
			id = c.accept("count", `{"do":"work"}`)
		}
		w := postAs("ann", c.s, call("count", `{"do":"work"}`, asyncExt, keyed("k")))
		equal(t, outcomeOf(t, w, "retry"), `429 null RATE_LIMITED {"allowed":true,"strategy":"fixed","after":{"value":1,"unit":"second"},"max_attempts":3}`)
		if w.Header().Get("Retry-After") != "1" {
			t.Error(w.Header())
		}
		client{t, c.s, "bob"}.accept("count", `{"do":"work"}`)
		c.cancel(id)
		c.accept("count", `{"do":"work"}`, keyed("k")) // the key was freed
		idle(t, c.s)
	})
}

func TestAsyncOrNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := asyncServer(t, forrst.Options{}, &counter{})
		equal(t, c.call("count", "{}", "async", `{"urn":"urn:forrst:ext:async","options":{"preferred":false}}`), "200 1 ")
		equal(t, c.call("count", "{}", "async", `{"urn":"urn:forrst:ext:async"}`), "200 2 ")
		equal(t, c.call("count.stream", "{}", "async", asyncExt, streamExt), `data "part" done 3 `)
		equal(t, c.call("count.stream", "{}", "async", streamExt, asyncExt), `data "part" done 4 `)
		if got := c.call("urn:forrst:fn:ping", "{}", "async", asyncExt); !strings.HasPrefix(got, `200 {"status":"healthy"`) {
			t.Error(got)
		}
		equal(t, c.call("count", "{}", "async", asyncExt, deadline("0", "second")), "408 null DEADLINE_EXCEEDED ")
		for _, options := range []string{`{"preferred":1}`, `{"preferred":"true"}`} {
			d := parse(t, postAs("ann", c.s, call("count", "{}", `{"urn":"urn:forrst:ext:async","options":`+options+`}`)).Body.String())
			equal(t, fmt.Sprint(sources(d)), "[INVALID_ARGUMENTS /extensions/0/options/preferred]")
		}

		// Deadline, token and connection end with the response.
		ctx, leave := context.WithCancel(context.WithValue(t.Context(), callerKey{}, "ann"))
		w := postContext(ctx, c.s, call("count", `{"do":"work"}`, asyncExt, deadline("1", "second"), withToken(`"t"`)))
		leave()
		time.Sleep(2 * time.Second)
		equal(t, c.call("urn:forrst:ext:cancellation:fn:cancel", `{"token":"t"}`, "none"), "409 null CANCELLATION_TOO_LATE ")
		idle(t, c.s)
		if got := c.status(operationID(parse(t, w.Body.String()))); !strings.Contains(got, `"result":5`) {
			t.Error(got)
		}
	})
}

func TestAsyncWithKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for do, repeated := range map[string]string{"work": "200 1 ", "FORBIDDEN": "403 null FORBIDDEN ", "UNAVAILABLE": "", "panic": ""} {
			var n counter
			c := asyncServer(t, forrst.Options{}, &n)
			arguments := fmt.Sprintf(`{"do":%q}`, do)
			w := postAs("ann", c.s, withID("a", call("count", arguments, keyed("k"), asyncExt)))
			equal(t, parse(t, w.Body.String()).data("idempotency"), `{"key":"k","status":"processing","original_request_id":"a"}`)
			id := operationID(parse(t, w.Body.String()))
			if do == "work" {
				for _, extensions := range [][]string{{keyed("k"), asyncExt}, {asyncExt, keyed("k")}, {keyed("k")}} {
					time.Sleep(15 * time.Second) // the lock is renewed
					w := postAs("ann", c.s, call("count", arguments, extensions...))
					if operationID(parse(t, w.Body.String())) != id || w.Code != 200 {
						t.Errorf("another operation than %s: %s", id, w.Body)
					}
				}
				equal(t, c.call("count", `{}`, "async", keyed("k"), asyncExt), "409 null IDEMPOTENCY_CONFLICT ")
			}
			if do == "work" {
				id := c.accept("count.stream", "{}", keyed("s"))
				equal(t, c.call("count.stream", "{}", "async", keyed("s"), streamExt), "409 null IDEMPOTENCY_PROCESSING ")
				c.cancel(id)
				n.runs.Store(1)
			}
			idle(t, c.s)
			got := c.call("count", arguments, "async", keyed("k"))
			if repeated == "" {
				if n.runs.Load() != 2 {
					t.Errorf("%s: %d runs", do, n.runs.Load())
				}
				continue
			}
			equal(t, got, repeated)
			equal(t, c.call("count", arguments, "async", keyed("k"), asyncExt), repeated)
			if n.runs.Load() != 1 {
				t.Errorf("%s: %d runs", do, n.runs.Load())
			}
		}
	})
}

// TestAsyncCancelFreesKey cancels operations that have a key. The key is free when the function has returned.
func TestAsyncCancelFreesKey(t *testing.T) {
	t.Parallel()
	for do, during := range map[string]string{"work": "200 2 ", "ignore": "200 null "} {
		synctest.Test(t, func(t *testing.T) {
			var n counter
			c := asyncServer(t, forrst.Options{}, &n)
			arguments := fmt.Sprintf(`{"do":%q}`, do)
			id := c.accept("count", arguments, keyed("k"))
			synctest.Wait()
			c.cancel(id)
			synctest.Wait()
			equal(t, c.call("count", arguments, "none", keyed("k")), during)
			idle(t, c.s)
			equal(t, c.call("count", arguments, "none", keyed("k")), "200 2 ")
			if n.twice.Load() {
				t.Error("two runs at the same time")
			}
		})
	}
}

// TestSharedStores has two servers with the same stores.
func TestSharedStores(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		operations, keys := forrst.NewMemoryOperations(), forrst.NewMemoryIdempotency()
		var n counter
		open := func() client {
			return asyncServer(t, forrst.Options{Extensions: []forrst.Extension{forrst.Stream{}, forrst.NewIdempotency(keys), forrst.NewAsync(forrst.AsyncOptions{Store: operations})}}, &n)
		}
		a, b := open(), open()
		id := a.accept("load", "{}")
		time.Sleep(12500 * time.Millisecond) // between two updates of the progress
		if got := b.status(id); !strings.Contains(got, `"progress":0.25`) {
			t.Error(got)
		}
		id = a.accept("count", `{"do":"work"}`, keyed("k"))
		equal(t, b.call("count", `{"do":"work"}`, "none", keyed("k")), "200 null ")
		if got := b.cancel(id); !strings.HasPrefix(got, "200 ") {
			t.Error(got)
		}
		time.Sleep(11500 * time.Millisecond) // until a renews the lease
		if n.active.Load() != 0 {
			t.Error("the function on the other server was not cancelled")
		}
		equal(t, b.call("count", `{"do":"work"}`, "none", keyed("k")), "200 2 ")

		// A server has crashed.
		began := time.Now()
		for _, err := range []error{
			operations.Create(t.Context(), forrst.Operation{ID: "op_crashed", Caller: "ann", Function: "f", Version: "1.0.0", Status: forrst.OperationProcessing, Started: began}, 10, 30*time.Second, time.Hour),
			func() error {
				_, err := keys.Lock(t.Context(), forrst.IdempotencyKey{Caller: "ann", Function: "count", Version: "1.0.0", Key: "c"}, forrst.IdempotencyRecord{Holder: "crashed", Fingerprint: "x"}, 30*time.Second)
				return err
			}(),
		} {
			require.NoError(t, err)
		}
		equal(t, b.call("count", "{}", "none", keyed("c")), "409 null IDEMPOTENCY_CONFLICT ")
		time.Sleep(30 * time.Second)
		equal(t, b.call("count", "{}", "none", keyed("c")), "200 3 ")
		w := postAs("ann", b.s, call(statusFn, fmt.Sprintf(operation, "op_crashed")))
		equal(t, outcomeOf(t, w, "none"), "500 null ASYNC_OPERATION_FAILED ")
		if !strings.Contains(w.Body.String(), "the server stopped before") {
			t.Error(w.Body)
		}
		idle(t, a.s)
	})
}

// broken is a store that fails while it is switched off.
type broken struct {
	forrst.IdempotencyStore
	forrst.OperationStore
	mu  sync.Mutex
	off bool
}

func (b *broken) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.off {
		return context.DeadlineExceeded
	}
	return nil
}

func (b *broken) set(off bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.off = off
}

type (
	brokenKeys       struct{ *broken }
	brokenOperations struct{ *broken }
)

func (b brokenKeys) Lock(ctx context.Context, key forrst.IdempotencyKey, r forrst.IdempotencyRecord, lease time.Duration) (*forrst.IdempotencyRecord, error) {
	if err := b.err(); err != nil {
		return nil, err
	}
	return b.IdempotencyStore.Lock(ctx, key, r, lease)
}

func (b brokenKeys) Renew(ctx context.Context, key forrst.IdempotencyKey, holder string, lease time.Duration) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.IdempotencyStore.Renew(ctx, key, holder, lease)
}

func (b brokenKeys) Store(ctx context.Context, key forrst.IdempotencyKey, holder string, outcome []byte, stored, expires time.Time) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.IdempotencyStore.Store(ctx, key, holder, outcome, stored, expires)
}

func (b brokenOperations) Create(ctx context.Context, op forrst.Operation, limit int, lease, keep time.Duration) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.OperationStore.Create(ctx, op, limit, lease, keep)
}

func (b brokenOperations) Renew(ctx context.Context, id string, progress float64, lease time.Duration) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.OperationStore.Renew(ctx, id, progress, lease)
}

func (b brokenOperations) Finish(ctx context.Context, caller, id string, status forrst.OperationStatus, outcome []byte, completed time.Time, keep time.Duration) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.OperationStore.Finish(ctx, caller, id, status, outcome, completed, keep)
}

func TestBrokenStores(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &broken{IdempotencyStore: forrst.NewMemoryIdempotency(), OperationStore: forrst.NewMemoryOperations()}
		var n counter
		c := asyncServer(t, forrst.Options{Extensions: []forrst.Extension{forrst.NewIdempotency(brokenKeys{b}), forrst.NewAsync(forrst.AsyncOptions{Store: brokenOperations{b}})}}, &n)
		during := func(d time.Duration) {
			b.set(true)
			time.AfterFunc(d, func() { b.set(false) })
		}
		b.set(true)
		equal(t, c.call("count", "{}", "none", keyed("k")), "503 null UNAVAILABLE ")
		equal(t, c.call("count", "{}", "none", asyncExt), "503 null UNAVAILABLE ")
		b.set(false)
		if n.runs.Load() != 0 {
			t.Error("the function was run")
		}

		// Outcomes are stored when the store works again.
		time.AfterFunc(59*time.Second, func() { during(6 * time.Second) })
		equal(t, c.call("count", `{"do":"work"}`, "idempotency", keyed("k")), `200 1 {"key":"k","status":"processed","original_request_id":"r1"}`)
		equal(t, c.call("count", `{"do":"work"}`, "none", keyed("k")), "503 null UNAVAILABLE ")
		time.Sleep(10 * time.Second)
		equal(t, c.call("count", `{"do":"work"}`, "none", keyed("k")), "200 1 ")
		id := c.accept("count", `{"do":"work"}`)
		time.AfterFunc(59*time.Second, func() { during(6 * time.Second) })
		idle(t, c.s)
		if got := c.status(id); !strings.Contains(got, `"result":2`) {
			t.Error(got)
		}

		// A lost lease ends the call.
		time.AfterFunc(time.Second, func() { during(35 * time.Second) })
		began := time.Now()
		equal(t, c.call("count", `{"do":"work"}`, "none", keyed("l")), "503 null UNAVAILABLE ")
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("the call ended after %v", took)
		}
		time.Sleep(10 * time.Second) // the store works again
		time.AfterFunc(time.Second, func() { during(35 * time.Second) })
		id = c.accept("count", `{"do":"work"}`)
		idle(t, c.s)
		equal(t, c.status(id), "500 null ASYNC_OPERATION_FAILED ")
	})
}

func TestLargeResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		size := 0
		c := client{t, server(t, forrst.Options{MaxResponse: 1 << 20}, forrst.Func("large", "1.0.0", func(context.Context, none) (string, error) {
			return strings.Repeat("x", size), nil
		})), ""}
		for _, size = range []int{1<<19 - 4200, 1 << 19} {
			id := c.accept("large", "{}")
			idle(t, c.s)
			if got := c.status(id); strings.HasPrefix(got, "200") != (size < 1<<19) || !strings.HasPrefix(got, "200") && got != "500 null ASYNC_OPERATION_FAILED " {
				t.Errorf("%d bytes: %.200s", size, got)
			}
		}
	})
}

// TestAsyncPanic has a panic outside of the function, while nobody waits for the call.
func TestAsyncPanic(t *testing.T) {
	t.Parallel()
	c := client{t, server(t, forrst.Options{}, failing(&counter{})), ""}
	for range 2 {
		id := c.accept("count", "{}", keyed("k"))
		idle(t, c.s)
		equal(t, c.status(id), "500 null ASYNC_OPERATION_FAILED ")
	}
}

// closed is an extension that refuses calls.
type closed struct{ audit }

func (closed) Run(context.Context, *forrst.Call, *forrst.Asked, forrst.Next) forrst.Outcome {
	return forrst.Failed(forrst.Errorf(forrst.Forbidden, "no"))
}

// TestOrder lists extensions after those that store calls.
func TestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n counter
		c := asyncServer(t, forrst.Options{Extensions: append(forrst.Extensions(), closed{})}, &n)
		equal(t, c.call("count", "{}", "async", asyncExt, keyed("k")), "403 null FORBIDDEN ")
		c = asyncServer(t, forrst.Options{Extensions: []forrst.Extension{forrst.NewAsync(forrst.AsyncOptions{}), forrst.NewIdempotency(nil), forrst.Stream{}}}, &n)
		if got := c.call("count.stream", "{}", "idempotency", asyncExt, streamExt, keyed("k")); !strings.HasPrefix(got, `data "part" done 1 {"key":"k","status":"processed",`) {
			t.Error(got)
		}
		w := postAs("ann", c.s, call("count", "{}", asyncExt, keyed("k")))
		equal(t, parse(t, w.Body.String()).data("idempotency"), `{"key":"k","status":"processing","original_request_id":"r1"}`)
		idle(t, c.s)
	})
}

// TestAsyncHeaders: a function that runs after its call was accepted does not change the headers of the reply, which is sent.
func TestAsyncHeaders(t *testing.T) {
	t.Parallel()
	f := forrst.Func("f", "1.0.0", func(context.Context, none) (none, error) { return none{}, nil })
	prepared := make(chan none, 1)
	f.Prepare = func(ctx context.Context, call *forrst.Call) (context.Context, error) {
		call.ReplyHeader().Set("X-Late", "yes")
		prepared <- none{}
		return ctx, nil
	}
	s := server(t, forrst.Options{}, f)
	w := post(s, call("f", "{}", asyncExt))
	<-prepared
	idle(t, s)
	if w.Code != 200 || w.Header().Get("X-Late") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
