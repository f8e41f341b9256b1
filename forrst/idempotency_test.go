package forrst_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/forrst"
)

func keyed(key string) string {
	return fmt.Sprintf(`{"urn":"urn:forrst:ext:idempotency","options":{"key":%q}}`, key)
}

func keyedFor(key, ttl string) string {
	return fmt.Sprintf(`{"urn":"urn:cline:forrst:ext:idempotency","options":{"key":%q,"ttl":%s}}`, key, ttl)
}

// withID sets the id of a request document.
func withID(id, body string) string { return strings.Replace(body, `"id":"r1"`, `"id":"`+id+`"`, 1) }

// callerKey is the context key of the caller in tests.
type callerKey struct{}

// known lets tests choose the caller of a request with its context.
func known(o forrst.Options) forrst.Options {
	o.Caller = func(ctx context.Context) string {
		name, _ := ctx.Value(callerKey{}).(string)
		return name
	}
	return o
}

func postAs(caller string, s *forrst.Server, body string) *httptest.ResponseRecorder {
	return postContext(context.WithValue(context.Background(), callerKey{}, caller), s, body)
}

// outcomeOf is a response in one line: status, result or codes, and the data of an extension.
func outcomeOf(t *testing.T, w *httptest.ResponseRecorder, extension string) string {
	t.Helper()
	if strings.HasPrefix(w.Body.String(), "event:") {
		got, _ := events(t, w.Body)
		var b strings.Builder
		for _, e := range got[1 : len(got)-1] {
			b.WriteString(e.name + " " + e.data + " ")
		}
		return b.String() + parse(t, got[len(got)-1].data).data(extension)
	}
	d := parse(t, w.Body.String())
	text := string(d.Result)
	for _, e := range d.Errors {
		text += " " + e.Code
	}
	return fmt.Sprint(w.Code, " ", text, " ", d.data(extension))
}

// counter counts its runs and does what its argument says.
type counter struct {
	runs   atomic.Int64
	active atomic.Int64 // runs at this time
	twice  atomic.Bool  // two at the same time
}

type doing struct {
	Do   string `json:"do,omitempty"`
	Body any    `json:"body,omitempty"`
}

func (c *counter) do(ctx context.Context, in doing) (any, error) {
	n := c.runs.Add(1)
	if c.active.Add(1) > 1 {
		c.twice.Store(true)
	}
	defer c.active.Add(-1)
	switch in.Do {
	case "work": // until the context ends
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Minute):
		}
	case "ignore": // the context
		time.Sleep(time.Minute)
	case "panic":
		panic("hunter2")
	case "null":
		return nil, nil
	case "FORBIDDEN", "UNAVAILABLE", "CUSTOM_FULL":
		return nil, forrst.Errorf(forrst.Code(in.Do), "no").At("/call/arguments/do").With(map[string]any{"big": 9007199254740993, "run": n})
	}
	return n, nil
}

func (c *counter) function() forrst.Function { return forrst.Func("count", "1.0.0", c.do) }

func (c *counter) streamable() forrst.Function {
	return producer("count.stream", func(ctx context.Context, yield func(forrst.Chunk, error) bool) {
		if yield(forrst.Data("part"), nil) {
			result, err := c.do(ctx, doing{"work", nil})
			yield(forrst.Done(result), err)
		}
	})
}

// idle waits until functions and locks are gone.
func idle(t *testing.T, s *forrst.Server) {
	t.Helper()
	if err := s.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // its clock begins on 2000-01-01
		var c counter
		other := forrst.Func("count", "2.0.0", c.do)
		s := server(t, known(forrst.Options{}), c.function(), other, forrst.Func("count.too", "1.0.0", c.do))
		ask := func(caller, id, function, arguments, extension string) string {
			t.Helper()
			body := withID(id, call(function, arguments, extension))
			w := postAs(caller, s, strings.Replace(body, `"arguments"`, `"version":"1","arguments"`, 1))
			if d := parse(t, w.Body.String()); d.ID == nil || *d.ID != id {
				t.Errorf("the id is not that of the request: %s", w.Body)
			}
			return outcomeOf(t, w, "idempotency")
		}
		stored := `"original_request_id":"a","cached_at":"2000-01-01T00:00:00.000Z","expires_at":"2000-01-02T00:00:00.000Z"}`
		for _, step := range []struct{ got, want string }{
			{ask("ann", "a", "count", `{"body":{"x":1,"y":[2.0,"ä"]}}`, keyed("k")), `200 1 {"key":"k","status":"processed","original_request_id":"a","expires_at":"2000-01-02T00:00:00.000Z"}`},
			{ask("ann", "b", "count", ` { "body" : {"y":[2,"\u00e4"],"x":1e0} } `, keyed("k")), `200 1 {"key":"k","status":"cached",` + stored},
			{ask("ann", "c", "count", `{"body":{"x":1,"y":[2,"a"]}}`, keyed("k")), `409 null IDEMPOTENCY_CONFLICT {"key":"k","status":"conflict","original_request_id":"a"}`},
			{ask("bob", "d", "count", `{}`, keyed("k")), `200 2 {"key":"k","status":"processed","original_request_id":"d","expires_at":"2000-01-02T00:00:00.000Z"}`},
			{ask("ann", "e", "count.too", `{}`, keyed("k")), `200 3 {"key":"k","status":"processed","original_request_id":"e","expires_at":"2000-01-02T00:00:00.000Z"}`},
			{ask("ann", "f", "count", `{}`, keyed("K")), `200 4 {"key":"K","status":"processed","original_request_id":"f","expires_at":"2000-01-02T00:00:00.000Z"}`},
			{ask("ann", "g", "count", `{"body":9007199254740993}`, keyedFor("n", `{"value":2,"unit":"second"}`)), `200 5 {"key":"n","status":"processed","original_request_id":"g","expires_at":"2000-01-01T00:00:02.000Z"}`},
			{ask("ann", "h", "count", `{"body":9007199254740992}`, keyedFor("n", `{"value":30,"unit":"day"}`)), `409 null IDEMPOTENCY_CONFLICT {"key":"n","status":"conflict","original_request_id":"g"}`},
			{ask("ann", "i", "count", `{"do":"null"}`, keyed("null")), `200 null {"key":"null","status":"processed","original_request_id":"i","expires_at":"2000-01-02T00:00:00.000Z"}`},
			{ask("ann", "j", "count", `{"do":"null"}`, keyed("null")), `200 null {"key":"null","status":"cached",` + strings.Replace(stored, `"a"`, `"i"`, 1)},
		} {
			if diff := cmp.Diff(step.want, step.got); diff != "" {
				t.Error(diff)
			}
		}
		w := postAs("ann", s, strings.Replace(call("count", `{"body":{"x":1,"y":[2,"ä"]}}`, keyed("k")), `"arguments"`, `"version":"2.0.0","arguments"`, 1))
		if got := outcomeOf(t, w, "idempotency"); !strings.HasPrefix(got, "200 7") {
			t.Errorf("another version has the same key: %s", got)
		}
		time.Sleep(3 * time.Second)
		if got := ask("ann", "l", "count", `{"body":9007199254740993}`, keyed("n")); !strings.HasPrefix(got, "200 8") {
			t.Errorf("the outcome did not expire: %s", got)
		}
		time.Sleep(24*time.Hour - 4*time.Second)
		if got := ask("ann", "m", "count", `{"body":{"x":1,"y":[2,"ä"]}}`, keyed("k")); !strings.Contains(got, "cached") {
			t.Errorf("the outcome expired too early: %s", got)
		}
		time.Sleep(time.Second)
		if got := ask("ann", "n", "count", `{"body":{"x":1,"y":[2,"ä"]}}`, keyed("k")); !strings.Contains(got, "processed") {
			t.Errorf("the outcome did not expire: %s", got)
		}
		idle(t, s)
	})
}

func TestIdempotencyOptions(t *testing.T) {
	t.Parallel()
	var c counter
	s := server(t, forrst.Options{}, c.function())
	for options, want := range map[string]string{
		`{}`:                    "key",
		`{"key":""}`:            "key",
		`{"key":null}`:          "key",
		`{"key":1}`:             "key",
		`{"key":"a b"}`:         "key",
		`{"key":"ä"}`:           "key",
		`{"key":"a","ttl":{}}`:  "ttl",
		`{"key":"a","ttl":60}`:  "ttl",
		`{"key":"a","ttl":[1]}`: "ttl",
		`{"key":"a","ttl":{"value":0,"unit":"second"}}`:                      "ttl",
		`{"key":"a","ttl":{"value":-1,"unit":"second"}}`:                     "ttl",
		`{"key":"a","ttl":{"value":1.5,"unit":"second"}}`:                    "ttl",
		`{"key":"a","ttl":{"value":"1","unit":"second"}}`:                    "ttl",
		`{"key":"a","ttl":{"value":1,"unit":"millisecond"}}`:                 "ttl",
		`{"key":"a","ttl":{"value":31,"unit":"day"}}`:                        "ttl",
		`{"key":"a","ttl":{"value":9223372036854775807,"unit":"hour"}}`:      "ttl",
		`{"key":"` + strings.Repeat("a", 256) + `"}`:                         "key",
		`{"key":"` + strings.Repeat("a", 255) + `"}`:                         "",
		`{"key":"aZ0_:.-","ttl":{"value":720,"unit":"hour"}}`:                "",
		`{"key":"b","ttl":null}`:                                             "",
		`{"key":"","ttl":{"value":2592001,"unit":"second"}}`:                 "key ttl",
		`{"key":"c","ttl":{"value":43200,"unit":"minute"},"more":"ignored"}`: "",
	} {
		before := c.runs.Load()
		d := parse(t, post(s, call("count", "{}", `{"urn":"urn:forrst:ext:idempotency","options":`+options+`}`)).Body.String())
		var got []string
		for _, e := range sources(d) {
			got = append(got, strings.TrimPrefix(e, "INVALID_ARGUMENTS /extensions/0/options/"))
		}
		if strings.Join(got, " ") != want || (c.runs.Load() > before) != (want == "") {
			t.Errorf("%s: %v, want %q", options, got, want)
		}
	}
}

// TestNotStored checks which outcomes are repeated, and that the key is free after all others.
func TestNotStored(t *testing.T) {
	t.Parallel()
	for do, repeated := range map[string]bool{"": true, "null": true, "FORBIDDEN": true, "CUSTOM_FULL": true, "UNAVAILABLE": false, "panic": false} {
		var c counter
		s := server(t, forrst.Options{}, c.function())
		ask := call("count", fmt.Sprintf(`{"do":%q}`, do), keyed("k"))
		first, second := post(s, ask), post(s, withID("r2", ask))
		want := int64(2)
		if repeated {
			want = 1
			text := strings.NewReplacer(`"processed"`, `"cached"`, `"r1"`, `"r2"`).Replace(first.Body.String())
			text, _, _ = strings.Cut(text, `"original_request_id"`)
			got, _, _ := strings.Cut(second.Body.String(), `"original_request_id"`)
			if diff := cmp.Diff(text, got); diff != "" {
				t.Errorf("%q: %s", do, diff)
			}
		}
		if runs := c.runs.Load(); runs != want || first.Code != second.Code || repeated != strings.Contains(second.Body.String(), "cached_at") {
			t.Errorf("%q: %d runs\n%s\n%s", do, runs, first.Body, second.Body)
		}
		idle(t, s)
	}
}

// TestRefusedCallsAreNotStored has a function that refuses until its caller has paid.
func TestRefusedCallsAreNotStored(t *testing.T) {
	t.Parallel()
	var c counter
	f, paid := c.function(), false
	f.Prepare = func(ctx context.Context, _ *forrst.Call) (context.Context, error) {
		if !paid {
			return nil, forrst.Errorf("PAYMENT_REQUIRED", "pay first")
		}
		return ctx, nil
	}
	s := server(t, forrst.Options{}, f)
	first := outcomeOf(t, post(s, call("count", "{}", keyed("k"))), "none")
	paid = true
	second := outcomeOf(t, post(s, call("count", "{}", keyed("k"))), "none")
	if first != "400 null PAYMENT_REQUIRED " || second != "200 1 " {
		t.Errorf("%q, then %q", first, second)
	}
}

func TestDuplicateOfRunningCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c counter
		s := server(t, forrst.Options{}, c.function(), c.streamable())
		for _, f := range []struct{ name, arguments, other, extension string }{
			{"count", `{"do":"work"}`, `{"do":"null"}`, keyed("k")}, {"count.stream", `{}`, `{"more":1}`, keyed("k") + "," + streamExt},
		} {
			c.runs.Store(0)
			var running sync.WaitGroup
			running.Go(func() { post(s, call(f.name, f.arguments, f.extension)) })
			synctest.Wait()
			for range 5 { // the lease is renewed
				w := post(s, call(f.name, f.arguments, f.extension))
				d := parse(t, w.Body.String())
				if got := outcomeOf(t, w, "idempotency"); got != "409 null IDEMPOTENCY_PROCESSING " || w.Header().Get("Retry-After") != "1" ||
					fmt.Sprint(d.Errors[0].Details) != "map[key:k retry_after:map[unit:second value:1]]" ||
					d.data("retry") != `{"allowed":true,"strategy":"fixed","after":{"value":1,"unit":"second"},"max_attempts":3}` {
					t.Errorf("%s: %s", f.name, w.Body)
				}
				w = post(s, call(f.name, f.other, f.extension))
				if got := outcomeOf(t, w, "idempotency"); got != `409 null IDEMPOTENCY_CONFLICT {"key":"k","status":"conflict","original_request_id":"r1"}` ||
					!strings.Contains(w.Body.String(), `"details":{"key":"k","original_arguments_hash":"sha256:`) {
					t.Errorf("%s: %s", f.name, w.Body)
				}
				time.Sleep(11 * time.Second)
			}
			running.Wait()
			if runs := c.runs.Load(); runs != 1 {
				t.Errorf("%s: %d runs", f.name, runs)
			}
		}
		idle(t, s)
	})
}

func TestIdempotentStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c counter
		s := server(t, forrst.Options{}, c.streamable())
		ask := func(id string, extensions ...string) string {
			return outcomeOf(t, post(s, withID(id, call("count.stream", "{}", append(extensions, keyed("k"))...))), "idempotency")
		}
		for _, step := range []struct{ got, want string }{
			{ask("a", streamExt), `data "part" done 1 {"key":"k","status":"processed","original_request_id":"a","expires_at":"2000-01-02T00:01:00.000Z"}`},
			{ask("b", streamExt), `done 1 {"key":"k","status":"cached","original_request_id":"a","cached_at":"2000-01-01T00:01:00.000Z","expires_at":"2000-01-02T00:01:00.000Z"}`},
			{ask("c"), `200 1 {"key":"k","status":"cached","original_request_id":"a","cached_at":"2000-01-01T00:01:00.000Z","expires_at":"2000-01-02T00:01:00.000Z"}`},
		} {
			if diff := cmp.Diff(step.want, step.got); diff != "" {
				t.Error(diff)
			}
		}
		idle(t, s)
	})
}

// remoteKeys is a store that fails if the context has ended, as those in databases do.
type remoteKeys struct{ forrst.IdempotencyStore }

func (r remoteKeys) Unlock(ctx context.Context, key forrst.IdempotencyKey, holder string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return r.IdempotencyStore.Unlock(ctx, key, holder)
}

// TestEarlyEnds ends calls in several ways while their function works. The key must be free when the function has returned, and
// not before.
func TestEarlyEnds(t *testing.T) {
	t.Parallel()
	for _, do := range []string{"work", "ignore"} {
		for _, how := range []string{"deadline", "cancel", "leave", "leave the stream"} {
			t.Run(do+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var c counter
					s := server(t, forrst.Options{Extensions: []forrst.Extension{forrst.Deadline{}, forrst.NewCancellation(nil), forrst.Stream{},
						forrst.NewIdempotency(remoteKeys{forrst.NewMemoryIdempotency()})}}, c.function(), c.streamable())
					name, extensions := "count", []string{keyed("k"), withToken(`"t"`)}
					ctx, leave := context.WithCancel(t.Context())
					defer leave()
					switch how {
					case "deadline":
						extensions = append(extensions, deadline("10", "second"))
					case "cancel":
						time.AfterFunc(10*time.Second, func() {
							post(s, call("urn:forrst:ext:cancellation:fn:cancel", `{"token":"t"}`))
						})
					case "leave the stream":
						name, extensions = "count.stream", append(extensions, streamExt)
						time.AfterFunc(10*time.Second, leave)
					case "leave":
						time.AfterFunc(10*time.Second, leave)
					}
					began := time.Now()
					arguments := fmt.Sprintf(`{"do":%q}`, do)
					postContext(ctx, s, call(name, arguments, extensions...))
					if took := time.Since(began); took != 10*time.Second {
						t.Errorf("the call took %v", took)
					}
					synctest.Wait()
					ignores := do == "ignore" && name == "count"
					again := outcomeOf(t, post(s, call(name, arguments, extensions[0])), "none")
					if ignores != strings.Contains(again, "IDEMPOTENCY_PROCESSING") {
						t.Errorf("a duplicate got %s", again)
					}
					idle(t, s)
					again = outcomeOf(t, post(s, call(name, arguments, extensions[0])), "none")
					if again != "200 2 " || c.twice.Load() {
						t.Errorf("a call after the end got %s", again)
					}
				})
			})
		}
	}
}

func TestPanicFreesKey(t *testing.T) {
	t.Parallel()
	var c counter
	s := server(t, forrst.Options{}, failing(&c))
	for range 2 {
		if got := outcomeOf(t, post(s, call("count", "{}", keyed("k"))), "none"); got != "500 null INTERNAL_ERROR " {
			t.Error(got)
		}
	}
	idle(t, s)
}

// failing returns a function that panics before it runs.
func failing(c *counter) forrst.Function {
	f := c.function()
	f.Prepare = func(context.Context, *forrst.Call) (context.Context, error) { panic("hunter2") }
	return f
}

// unanswered is a store whose connection fails once, after it has locked a key.
type unanswered struct {
	forrst.IdempotencyStore
	failed bool
}

func (u *unanswered) Lock(ctx context.Context, key forrst.IdempotencyKey, r forrst.IdempotencyRecord, lease time.Duration) (*forrst.IdempotencyRecord, error) {
	found, err := u.IdempotencyStore.Lock(ctx, key, r, lease)
	if !u.failed {
		u.failed = true
		err = errors.New("connection lost")
	}
	return found, err
}

// TestUnansweredLock: a key that may have been locked nevertheless is freed.
func TestUnansweredLock(t *testing.T) {
	t.Parallel()
	var n counter
	store := &unanswered{IdempotencyStore: forrst.NewMemoryIdempotency()}
	s := server(t, forrst.Options{Extensions: []forrst.Extension{forrst.NewIdempotency(store)}}, n.function())
	for _, want := range []string{"503 null UNAVAILABLE ", "200 1 "} {
		equal(t, outcomeOf(t, post(s, call("count", "{}", keyed("k"))), "none"), want)
	}
}
