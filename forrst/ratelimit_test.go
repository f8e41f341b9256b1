package forrst_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

type whoKey struct{}

// as returns a context whose authenticated caller has a name.
func as(t *testing.T, name string) context.Context {
	return context.WithValue(t.Context(), whoKey{}, name)
}

// rateLimited returns a server of some functions with limits.
func rateLimited(t *testing.T, limits []forrst.Limit, store forrst.LimitStore) *forrst.Server {
	t.Helper()
	r, err := forrst.NewRateLimit(limits, store)
	require.NoError(t, err)
	return server(t, forrst.Options{
		Extensions: append(forrst.Extensions(), r),
		Caller:     func(ctx context.Context) string { who, _ := ctx.Value(whoKey{}).(string); return who },
	})
}

func rateExt(options string) string {
	return `{"urn":"urn:forrst:ext:rate-limit","options":` + options + `}`
}

const (
	get  = `{"id":1}`
	tell = `{"prompt":"x"}`
)

// headers joins the headers of the limits.
func headers(w *httptest.ResponseRecorder) string {
	h := w.Header()
	return strings.TrimSpace(fmt.Sprintf("%s %s %s [%s] %s", h.Get("RateLimit-Limit"), h.Get("RateLimit-Remaining"), h.Get("RateLimit-Reset"),
		h.Get("RateLimit-Policy"), h.Get("Retry-After")))
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := rateLimited(t, []forrst.Limit{{Scope: forrst.LimitGlobal, Limit: 2, Window: time.Minute}}, nil)
		w := post(s, call("users.get", get, rateExt("{}")))
		if got := headers(w); w.Code != 200 || got != "2 1 60 [2;w=60]" {
			t.Error(w.Code, got)
		}
		minute := `"window":{"value":1,"unit":"minute"}`
		want := `{"limit":2,"used":1,"remaining":1,` + minute + `,"resets_in":{"value":60,"unit":"second"},"scope":"global"}`
		if diff := cmp.Diff(want, parse(t, w.Body.String()).data("rate-limit")); diff != "" {
			t.Error(diff)
		}
		time.Sleep(10500 * time.Millisecond)
		w = post(s, call("ai.generate", tell, streamExt)) // without the extension
		if got, _ := events(t, w.Body); headers(w) != "2 0 50 [2;w=60]" || strings.Contains(got[len(got)-1].data, "rate-limit") {
			t.Error(headers(w), got)
		}
		for _, extensions := range [][]string{{rateExt("{}")}, {streamExt, rateExt("{}")}} { // a refusal is not counted
			w = post(s, call("ai.generate", tell, extensions...))
			d := parse(t, w.Body.String())
			if got := headers(w); w.Code != 429 || got != "2 0 50 [2;w=60] 50" || w.Header().Get("Content-Type") != "application/json" {
				t.Error(w.Code, got)
			}
			details, _ := json.Marshal(d.Errors[0].Details)
			if want := `{"limit":2,"retry_after":{"unit":"second","value":50},"scope":"global","used":2,"window":{"unit":"minute","value":1}}`; string(details) != want || d.Errors[0].Code != "RATE_LIMITED" {
				t.Errorf("%+v %s", d.Errors, details)
			}
			if got := d.data("retry"); got != `{"allowed":true,"strategy":"fixed","after":{"value":50,"unit":"second"},"max_attempts":3}` {
				t.Error(got)
			}
			if diff := cmp.Diff(`{"limit":2,"used":2,"remaining":0,`+minute+`,"resets_in":{"value":50,"unit":"second"},"scope":"global","warning":"less than 10 % of the calls are left"}`, d.data("rate-limit")); diff != "" {
				t.Error(diff)
			}
		}
		time.Sleep(49500 * time.Millisecond)
		if w := post(s, call("users.get", get)); w.Code != 200 || headers(w) != "2 0 11 [2;w=60]" {
			t.Error("after retry_after:", w.Code, headers(w))
		}
	})
}

// TestRateLimitScopes checks who shares a limit with whom.
func TestRateLimitScopes(t *testing.T) {
	t.Parallel()
	from := func(caller, function, arguments string) string {
		return strings.Replace(call(function, arguments), `"extensions"`, `"context":{"caller":`+caller+`},"extensions"`, 1)
	}
	long := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		limit forrst.Limit
		// The second call has a counter of its own, or shares that of the first.
		user1, user2, body1, body2 string
		shared                     bool
	}{
		"global":             {forrst.Limit{Scope: forrst.LimitGlobal}, "a", "b", call("users.get", get), call("ai.generate", tell), true},
		"user":               {forrst.Limit{Scope: forrst.LimitUser}, "a", "b", call("users.get", get), call("users.get", get), false},
		"same user":          {forrst.Limit{Scope: forrst.LimitUser}, "a", "a", call("users.get", get), call("ai.generate", tell), true},
		"no user":            {forrst.Limit{Scope: forrst.LimitUser}, "", "", call("users.get", get), call("users.get", get), true},
		"long users":         {forrst.Limit{Scope: forrst.LimitUser}, long + "1", long + "2", call("users.get", get), call("users.get", get), false},
		"user, of function":  {forrst.Limit{Scope: forrst.LimitUser, Function: "users.get"}, "a", "a", call("users.get", get), call("users.get", get), true},
		"other function":     {forrst.Limit{Scope: forrst.LimitUser, Function: "users.get"}, "a", "a", call("users.get", get), call("ai.generate", tell), false},
		"function":           {forrst.Limit{Scope: forrst.LimitFunction}, "a", "b", call("users.get", get), call("ai.generate", tell), false},
		"same function":      {forrst.Limit{Scope: forrst.LimitFunction}, "a", "b", call("users.get", get), call("users.get", get), true},
		"service":            {forrst.Limit{Scope: forrst.LimitService}, "a", "a", from(`"x"`, "users.get", get), from(`"y"`, "users.get", get), false},
		"same service":       {forrst.Limit{Scope: forrst.LimitService}, "a", "b", from(`"x"`, "users.get", get), from(`"\u0078"`, "ai.generate", tell), true},
		"service not a text": {forrst.Limit{Scope: forrst.LimitService}, "a", "b", from(`["x"]`, "users.get", get), from(`[1]`, "users.get", get), false},
		"long services":      {forrst.Limit{Scope: forrst.LimitService}, "a", "b", from(`"`+long+`1"`, "users.get", get), from(`"`+long+`2"`, "users.get", get), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.limit.Limit, c.limit.Window = 1, time.Hour
			s := rateLimited(t, []forrst.Limit{c.limit}, shortKeys{forrst.NewMemoryLimits(), t})
			if w := postContext(as(t, c.user1), s, c.body1); w.Code != 200 {
				t.Fatal(w.Body)
			}
			want := 200
			if c.shared {
				want = 429
			}
			w := postContext(as(t, c.user2), s, c.body2)
			if w.Code != want {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			if d := parse(t, w.Body.String()); c.shared && (d.Errors[0].Details["function"] != nil) != (c.limit.Function != "" || c.limit.Scope == forrst.LimitFunction) {
				t.Error(d.Errors[0].Details)
			}
		})
	}
}

// TestRateLimitReports checks which limits are reported, and that a call that one limit refuses does not use the others.
func TestRateLimitReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := rateLimited(t, []forrst.Limit{
			{Scope: forrst.LimitGlobal, Limit: 100, Window: 90 * time.Second},
			{Scope: forrst.LimitUser, Limit: 10, Window: time.Hour},
			{Scope: forrst.LimitUser, Function: "users.get", Limit: 2, Window: time.Minute},
		}, nil)
		scope := func(name string) document {
			return parse(t, postContext(as(t, "a"), s, call("users.get", get, rateExt(`{"scope":"`+name+`"}`))).Body.String())
		}
		global := `{"limit":100,"used":1,"remaining":99,"window":{"value":90,"unit":"second"},"resets_in":{"value":90,"unit":"second"},"scope":"global"}`
		if diff := cmp.Diff(global, scope("global").data("rate-limit")); diff != "" {
			t.Error(diff)
		}
		user := `{"limit":10,"used":2,"remaining":8,"window":{"value":1,"unit":"hour"},"resets_in":{"value":3600,"unit":"second"},"scope":"user"}`
		both := `"limit":2,"used":2,"remaining":0,"window":{"value":1,"unit":"minute"},"resets_in":{"value":60,"unit":"second"},"scope":"user","warning":"less than 10 % of the calls are left"`
		if diff := cmp.Diff(`{`+both+`,"scopes":{"user":`+user+`,"user:users.get":{`+both+`}}}`, scope("user").data("rate-limit")); diff != "" {
			t.Error(diff)
		}
		d := scope("service") // has no limit; the call is refused by that of the function
		if last := d.Extensions[len(d.Extensions)-2]; d.Errors[0].Code != "RATE_LIMITED" || last.URN != "urn:forrst:ext:rate-limit" || last.Data != nil {
			t.Errorf("%+v", d)
		}
		w := postContext(as(t, "a"), s, call("ai.generate", tell, rateExt("{}"))) // used counts three calls, not four
		data := parse(t, w.Body.String()).data("rate-limit")
		for _, want := range []string{`{"limit":10,"used":3,`, `"global":{"limit":100,"used":3,`, `"user":{"limit":10,"used":3,`} {
			if !strings.Contains(data, want) {
				t.Errorf("no %s in %s", want, data)
			}
		}
		if got := headers(w); got != "10 7 3600 [10;w=3600, 100;w=90]" {
			t.Error(got)
		}
		for range 6 {
			w = postContext(as(t, "a"), s, call("ai.generate", tell, rateExt("{}")))
		}
		if data := parse(t, w.Body.String()).data("rate-limit"); !strings.Contains(data, `{"limit":10,"used":9,"remaining":1,`) || strings.Contains(data, "warning") {
			t.Errorf("a warning with a tenth left: %s", data)
		}
	})
}

// TestRateLimitOrder checks which of several limits has the headers: the one with the smallest share left, and of those that are
// reached the one that takes longest.
func TestRateLimitOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := rateLimited(t, []forrst.Limit{
			{Scope: forrst.LimitFunction, Function: "users.get", Limit: 5, Window: time.Minute},
			{Scope: forrst.LimitGlobal, Limit: 30, Window: time.Hour},
		}, nil)
		for range 7 {
			post(s, call("ai.generate", tell))
		}
		if got := headers(post(s, call("users.get", get))); got != "30 22 3600 [30;w=3600, 5;w=60]" {
			t.Error(got)
		}
		for range 4 {
			post(s, call("users.get", get))
		}
		if got := headers(post(s, call("users.get", get))); got != "5 0 60 [5;w=60, 30;w=3600] 60" {
			t.Error(got)
		}
		for range 18 {
			post(s, call("ai.generate", tell))
		}
		if got := headers(post(s, call("users.get", get))); got != "30 0 3600 [30;w=3600, 5;w=60] 3600" {
			t.Error(got)
		}
	})
}

// shortKeys is a store that checks that no subject is long.
type shortKeys struct {
	forrst.LimitStore
	t *testing.T
}

func (s shortKeys) Take(ctx context.Context, keys []forrst.LimitKey) ([]forrst.Usage, bool, error) {
	for _, k := range keys {
		if len(k.Subject) > 64 {
			s.t.Errorf("a subject of %d bytes", len(k.Subject))
		}
	}
	return s.LimitStore.Take(ctx, keys)
}

// TestRateLimitOfRefusals checks that system functions have no limits, and that invalid requests are not counted.
func TestRateLimitOfRefusals(t *testing.T) {
	t.Parallel()
	s := rateLimited(t, []forrst.Limit{
		{Scope: forrst.LimitGlobal, Limit: 1, Window: time.Hour}, {Scope: forrst.LimitFunction, Function: "users.get", Limit: 5, Window: 24 * time.Hour}}, nil)
	for range 3 {
		if w := post(s, call("urn:cline:forrst:fn:ping", "{}", rateExt("{}"))); w.Code != 200 || headers(w) != "[]" {
			t.Error(w.Body, headers(w))
		}
		if w := post(s, call("users.get", `{}`, rateExt("{}"))); w.Code != 422 || headers(w) != "1 1 0 [1;w=3600, 5;w=86400]" || !strings.Contains(w.Body.String(), `"used":0`) {
			t.Error(w.Body, headers(w))
		}
		if w := post(s, call("unknown", `{}`)); w.Code != 404 || headers(w) != "[]" {
			t.Error(w.Body, headers(w))
		}
	}
	if w := post(s, call("users.get", get)); w.Code != 200 {
		t.Error(w.Body)
	}
	for _, bad := range []string{`"all"`, `1`, `["user"]`, `"User"`, `""`} {
		d := parse(t, post(s, call("users.get", get, rateExt(`{"scope":`+bad+`}`))).Body.String())
		if diff := cmp.Diff([]string{"INVALID_ARGUMENTS /extensions/0/options/scope"}, sources(d)); diff != "" {
			t.Error(diff)
		}
	}
	w := post(s, call("urn:forrst:fn:capabilities", "{}"))
	for _, want := range []string{`"rate_limits":[{"scope":"global","limit":1,"window":{"value":1,"unit":"hour"}},{"scope":"function","function":"users.get","limit":5,"window":{"value":24,"unit":"hour"}}]`,
		`{"scopes":["global","function"],"urn":"urn:forrst:ext:rate-limit"}`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in %s", want, w.Body)
		}
	}
}

// TestRateLimitBeforeOthers checks that a call above a limit is neither made asynchronous nor stored.
func TestRateLimitBeforeOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := rateLimited(t, []forrst.Limit{{Scope: forrst.LimitGlobal, Limit: 1, Window: time.Minute}}, nil)
		post(s, call("users.get", get))
		key := `{"urn":"urn:forrst:ext:idempotency","options":{"key":"k"}}`
		for _, extension := range []string{key, `{"urn":"urn:forrst:ext:async","options":{"preferred":true}}`} {
			w := post(s, call("users.get", get, extension))
			if d := parse(t, w.Body.String()); w.Code != 429 || d.data("retry") == "" || d.data("async") != "" || d.data("idempotency") != "" {
				t.Error(w.Code, w.Body)
			}
		}
		time.Sleep(time.Minute)
		if w := post(s, call("users.get", get, key)); w.Code != 200 {
			t.Error(w.Body)
		}
	})
}

func TestNewRateLimit(t *testing.T) {
	t.Parallel()
	_, err := forrst.NewRateLimit([]forrst.Limit{
		{Name: "a", Scope: "all", Limit: 1, Window: time.Minute}, {Name: "b", Scope: "user", Window: time.Minute}, {Name: "c", Scope: "user", Limit: 2e9, Window: time.Minute},
		{Name: "d", Scope: "user", Limit: 1}, {Name: "e", Scope: "user", Limit: 1, Window: 1500 * time.Millisecond}, {Name: "f", Scope: "user", Limit: 1, Window: 9000 * time.Hour},
		{Name: "g", Scope: "user", Limit: 1, Window: time.Minute, Function: "forrst.ping"}, {Name: "h", Scope: "user", Limit: 1, Window: time.Minute},
		{Name: "h", Scope: "user", Limit: 1, Window: time.Hour}}, nil)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if n := strings.Count(err.Error(), fmt.Sprintf("rate limit %q", name)); n != 1 {
			t.Errorf("%d errors of limit %s: %v", n, name, err)
		}
	}
}

// brokenLimits is a store that fails.
type brokenLimits struct{ forrst.LimitStore }

func (brokenLimits) Take(context.Context, []forrst.LimitKey) ([]forrst.Usage, bool, error) {
	return nil, false, errors.New("hunter2")
}

func (brokenLimits) Peek(context.Context, []forrst.LimitKey) ([]forrst.Usage, error) {
	return nil, errors.New("hunter2")
}

func TestRateLimitWithoutStore(t *testing.T) {
	t.Parallel()
	s := rateLimited(t, []forrst.Limit{{Scope: forrst.LimitFunction, Function: "users.get", Limit: 1, Window: time.Hour}}, brokenLimits{})
	for body, want := range map[string]int{call("users.get", get): 503, call("users.get", "{}", rateExt("{}")): 422, call("ai.generate", tell): 200} {
		if w := post(s, body); w.Code != want || strings.Contains(w.Body.String(), "hunter2") || headers(w) != "[]" {
			t.Error(w.Code, w.Body)
		}
	}
}

// TestLimitOfAnyWindow makes calls at random times and checks that no window has more than the limit, and that the store
// refuses no call when the last window and 1/32 of one more have room.
func TestLimitOfAnyWindow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 13))
				key := forrst.LimitKey{Name: "a", Limit: 1 + random.Int64N(100), Window: time.Duration(1+random.IntN(100)) * time.Second}
				pause := 4 * float64(key.Window) / float64(key.Limit)
				store := forrst.NewMemoryLimits()
				var counted []time.Time
				within := func(d time.Duration) (n int64) {
					for _, at := range counted {
						if time.Since(at) < d {
							n++
						}
					}
					return n
				}
				for range 400 {
					switch random.IntN(5) {
					case 0, 1: // a burst
					case 2:
						time.Sleep(key.Window / 32)
					default:
						time.Sleep(time.Duration(random.Float64() * pause))
					}
					usages, ok, err := store.Take(t.Context(), []forrst.LimitKey{key})
					require.NoError(t, err)
					if ok {
						counted = append(counted, time.Now())
					}
					exact, most := within(key.Window), within(key.Window+key.Window/32)
					if u := usages[0]; exact > key.Limit || u.Used < exact || u.Used > most || u.Reset <= 0 || u.Reset > key.Window {
						t.Fatalf("%d calls in the window of at most %d, %d counted: %+v", exact, key.Limit, most, u)
					}
					if !ok && most < key.Limit {
						t.Fatalf("refused with %d of %d calls", most, key.Limit)
					}
				}
			})
		})
	}
}

// TestLimitAfterReset checks that a call is counted again as soon as the store said, and not before.
func TestLimitAfterReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := forrst.NewMemoryLimits()
		key := []forrst.LimitKey{{Name: "a", Limit: 3, Window: time.Minute}}
		for range 3 {
			time.Sleep(time.Second)
			_, _, _ = store.Take(t.Context(), key)
		}
		usages, ok, _ := store.Take(t.Context(), key)
		time.Sleep(usages[0].Reset - 1)
		if _, early, _ := store.Take(t.Context(), key); ok || early {
			t.Error("counted before the reset")
		}
		time.Sleep(time.Nanosecond)
		if _, ok, _ := store.Take(t.Context(), key); !ok {
			t.Error("not counted after the reset")
		}
		usages, _ = store.Peek(t.Context(), append(key, forrst.LimitKey{Name: "b", Limit: 1, Window: time.Second}))
		if usages[0].Used == 0 || usages[1] != (forrst.Usage{}) {
			t.Error(usages)
		}
	})
}

// TestManySubjects checks that invented names of one limit do not push out the counters of another, and are bounded.
func TestManySubjects(t *testing.T) {
	t.Parallel()
	store := forrst.NewMemoryLimits()
	key := func(name, subject string) []forrst.LimitKey {
		return []forrst.LimitKey{{Name: name, Subject: subject, Limit: 1, Window: time.Hour}}
	}
	take := func(name, subject string) bool {
		_, ok, _ := store.Take(t.Context(), key(name, subject))
		return ok
	}
	take("user", "a")
	take("service", "first")
	take("service", "second")
	take("service", "first") // refused, but active
	for i := range 20_000 - 1 {
		take("service", fmt.Sprint(i))
	}
	if take("user", "a") || take("service", "first") || !take("service", "second") {
		t.Error("not the least recently active subject was forgotten")
	}
	if usages, _ := store.Peek(t.Context(), key("service", "0")); usages[0].Used != 0 {
		t.Error("the store keeps more subjects than it says")
	}
}

// TestConcurrentLimit makes more calls at once than the limits have, over HTTP.
func TestConcurrentLimit(t *testing.T) {
	t.Parallel()
	s := rateLimited(t, []forrst.Limit{{Scope: forrst.LimitGlobal, Limit: 30, Window: time.Hour}, {Scope: forrst.LimitUser, Limit: 20, Window: time.Hour}}, nil)
	var ok [2]atomic.Int64
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			if w := postContext(as(t, fmt.Sprint(i%2)), s, call("users.get", get)); w.Code == http.StatusOK {
				ok[i%2].Add(1)
			}
		})
	}
	all.Wait()
	if a, b := ok[0].Load(), ok[1].Load(); a+b != 30 || a > 20 || b > 20 {
		t.Errorf("%d and %d calls", a, b)
	}
}
