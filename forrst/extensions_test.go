package forrst_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/forrst"
)

// sleeper works for a time and ignores its context. It counts its runs.
func sleeper(d time.Duration, runs *int) forrst.Function {
	return forrst.Func("sleep", "1.0.0", func(context.Context, none) (string, error) {
		*runs++
		time.Sleep(d)
		return "rested", nil
	})
}

func deadline(value, unit string) string {
	return fmt.Sprintf(`{"urn":"urn:forrst:ext:deadline","options":{"value":%s,"unit":%q}}`, value, unit)
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value, unit string
		status      int
		took        time.Duration
		data        string
	}{
		"in time":          {"10", "second", 200, 4 * time.Second, `{"specified":{"value":10,"unit":"second"},"elapsed":{"value":4000,"unit":"millisecond"},"remaining":{"value":6000,"unit":"millisecond"},"utilization":0.4}`},
		"during":           {"1500", "millisecond", 408, 1500 * time.Millisecond, `{"specified":{"value":1500,"unit":"millisecond"},"elapsed":{"value":1500,"unit":"millisecond"},"remaining":{"value":0,"unit":"millisecond"},"utilization":1}`},
		"past on arrival":  {"0", "minute", 408, 0, `{"specified":{"value":0,"unit":"minute"},"elapsed":{"value":0,"unit":"millisecond"},"remaining":{"value":0,"unit":"millisecond"},"utilization":1}`},
		"at the same time": {"4", "second", 408, 4 * time.Second, `{"specified":{"value":4,"unit":"second"},"elapsed":{"value":4000,"unit":"millisecond"},"remaining":{"value":0,"unit":"millisecond"},"utilization":1}`},
		"iso8601":          {`"2000-01-01T00:00:02Z"`, "iso8601", 408, 2 * time.Second, `{"specified":{"value":"2000-01-01T00:00:02Z","unit":"iso8601"},"elapsed":{"value":2000,"unit":"millisecond"},"remaining":{"value":0,"unit":"millisecond"},"utilization":1}`},
		"iso8601 past":     {`"1999-01-01T00:00:02Z"`, "iso8601", 408, 0, `{"specified":{"value":"1999-01-01T00:00:02Z","unit":"iso8601"},"elapsed":{"value":0,"unit":"millisecond"},"remaining":{"value":0,"unit":"millisecond"},"utilization":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // its clock begins on 2000-01-01
				began := time.Now()
				runs := 0
				s := server(t, forrst.Options{}, sleeper(4*time.Second, &runs))
				w := post(s, call("sleep", "{}", deadline(c.value, c.unit)))
				d := parse(t, w.Body.String())
				if w.Code != c.status || time.Since(began) != c.took {
					t.Errorf("status %d after %v, want %d after %v", w.Code, time.Since(began), c.status, c.took)
				}
				if err := s.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(c.data, d.data("deadline")); diff != "" {
					t.Error(diff)
				}
				if c.status == 408 && (d.Errors[0].Code != "DEADLINE_EXCEEDED" || d.data("retry") != `{"allowed":true,"strategy":"immediate","max_attempts":1}`) {
					t.Error(w.Body)
				}
			})
		})
	}
	for _, bad := range []string{deadline("-1", "second"), deadline("1.5", "second"), deadline(`"5"`, "second"), deadline("9223372036854775807", "hour"), deadline("5", "iso8601"), deadline(`"tomorrow"`, "iso8601"), deadline(`"PT5S"`, "iso8601")} {
		w := post(server(t, forrst.Options{}, sleeper(0, new(int))), call("sleep", "{}", bad))
		if got := sources(parse(t, w.Body.String())); w.Code != 400 || got[0] != "INVALID_ARGUMENTS /extensions/0/options/value" {
			t.Errorf("%s: %v", bad, got)
		}
	}
}

// slow is an extension that works after the rest of the call.
type slow struct{ forrst.Retry }

func (slow) URN() string { return "urn:acme:forrst:ext:slow" }

func (slow) Run(ctx context.Context, _ *forrst.Call, _ *forrst.Asked, next forrst.Next) forrst.Outcome {
	out := next(ctx)
	time.Sleep(time.Second)
	return out
}

// TestUtilization checks that the data of a call that took longer than its deadline stay in their range.
// late is an extension that takes a second after the function.
type late struct{ audit }

func (late) Run(ctx context.Context, _ *forrst.Call, _ *forrst.Asked, next forrst.Next) forrst.Outcome {
	out := next(ctx)
	time.Sleep(time.Second)
	return out
}

// TestLateExtension: a result is not sent after the deadline, also if the function was in time and an extension was not.
func TestLateExtension(t *testing.T) {
	t.Parallel()
	for seconds, status := range map[string]int{"4": 408, "6": 200} {
		synctest.Test(t, func(t *testing.T) {
			runs := 0
			s := server(t, forrst.Options{Extensions: []forrst.Extension{forrst.Deadline{}, late{}}}, sleeper(3*time.Second+time.Millisecond, &runs))
			if w := post(s, call("sleep", "{}", deadline(seconds, "second"))); w.Code != status || runs != 1 {
				t.Errorf("%s s: %d runs, %d %s", seconds, runs, w.Code, w.Body)
			}
		})
	}
}

func TestUtilization(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := server(t, forrst.Options{Extensions: append(forrst.Extensions(), slow{})}, sleeper(4*time.Second, new(int)))
		d := parse(t, post(s, call("sleep", "{}", deadline("2", "second"))).Body.String())
		want := `{"specified":{"value":2,"unit":"second"},"elapsed":{"value":3000,"unit":"millisecond"},"remaining":{"value":0,"unit":"millisecond"},"utilization":1}`
		if diff := cmp.Diff(want, d.data("deadline")); diff != "" {
			t.Error(diff)
		}
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestDeadlineOfStream checks that the deadline ends a stream whose producer is blocked and ignores its context.
func TestDeadlineOfStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stopped time.Duration
		began := time.Now()
		f := producer("f", func(ctx context.Context, yield func(forrst.Chunk, error) bool) {
			yield(forrst.Data(1), nil)
			time.Sleep(time.Minute)
			if yield(forrst.Data(2), nil) {
				t.Error("the producer goes on after the deadline")
			}
			stopped = time.Since(began)
		})
		s := server(t, forrst.Options{}, f)
		w := post(s, call("f", "{}", streamExt, deadline("2", "second")))
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the stream took %v", took)
		}
		got, _ := events(t, w.Body)
		if len(got) != 4 || got[2].name != "error" || !strings.Contains(got[2].data, `"code":"DEADLINE_EXCEEDED"`) ||
			!strings.Contains(got[3].data, `"result":null`) || !strings.Contains(got[3].data, `"completed":false`) || !strings.Contains(got[3].data, `"utilization":1}`) {
			t.Errorf("got %v", got)
		}
		if err := s.Wait(t.Context()); err != nil || stopped != time.Minute {
			t.Errorf("Wait returned %v; the producer stopped after %v", err, stopped)
		}
	})
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
			for range 3 {
				time.Sleep(25 * time.Second) // one heartbeat each: an event starts the time anew
				yield(forrst.Data(1), nil)
			}
		})
		got, comments := events(t, post(server(t, forrst.Options{}, f), call("f", "{}", streamExt)).Body)
		if len(got) != 5 || comments != 3 {
			t.Errorf("%d events and %d comments", len(got), comments)
		}
		_, comments = events(t, post(server(t, forrst.Options{Heartbeat: -1}, f), call("f", "{}", streamExt)).Body)
		if comments != 0 {
			t.Errorf("%d comments without a heartbeat", comments)
		}
	})
}

func withToken(token string) string {
	return fmt.Sprintf(`{"urn":"urn:forrst:ext:cancellation","options":{"token":%s}}`, token)
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	type callerKey struct{}
	synctest.Test(t, func(t *testing.T) {
		s := server(t, forrst.Options{Caller: func(ctx context.Context) string { who, _ := ctx.Value(callerKey{}).(string); return who }},
			sleeper(time.Hour, new(int)), producer("f", func(ctx context.Context, yield func(forrst.Chunk, error) bool) {
				<-ctx.Done()
				yield(forrst.Chunk{}, ctx.Err())
			}))
		cancel := func(who, token, name string) (string, string) {
			w := postContext(context.WithValue(t.Context(), callerKey{}, who), s, call(name, fmt.Sprintf(`{"token":%q}`, token)))
			d := parse(t, w.Body.String())
			if len(d.Errors) == 0 {
				return "", string(d.Result)
			}
			return fmt.Sprint(d.Errors[0].Code, " ", w.Code), fmt.Sprint(d.Errors[0].Details)
		}
		check := func(who, token, want, detail string) {
			t.Helper()
			for _, name := range []string{"urn:forrst:ext:cancellation:fn:cancel", "urn:cline:forrst:ext:cancellation:fn:cancel"} {
				if got, more := cancel(who, token, name); got != want || more != detail {
					t.Errorf("cancel %s: %q %q, want %q %q", token, got, more, want, detail)
				}
			}
		}
		ada := context.WithValue(t.Context(), callerKey{}, "ada")
		start := func(body string) <-chan *httptest.ResponseRecorder {
			out := make(chan *httptest.ResponseRecorder, 1)
			go func() { out <- postContext(ada, s, body) }()
			synctest.Wait()
			return out
		}
		const unknown, tooLate = "CANCELLATION_TOKEN_UNKNOWN 404", "CANCELLATION_TOO_LATE 409"
		check("ada", "t1", unknown, "map[token:t1]") // before
		call1 := start(call("sleep", "{}", withToken(`"t1"`)))
		if d := parse(t, (<-start(call("sleep", "{}", withToken(`"t1"`)))).Body.String()); d.Errors[0].Code != "CONFLICT" {
			t.Errorf("a live token is used again: %v", d)
		}
		check("bob", "t1", unknown, "map[token:t1]")              // another caller
		check("ada", "t1", "", `{"cancelled":true,"token":"t1"}`) // during, and twice
		w := <-call1
		if d := parse(t, w.Body.String()); w.Code != 499 || d.Errors[0].Code != "CANCELLED" || d.Errors[0].Details["token"] != "t1" || len(d.Extensions) != 0 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		check("ada", "t1", "", `{"cancelled":true,"token":"t1"}`) // once more, after the reply

		streaming := start(call("f", "{}", streamExt, withToken(`"t2"`)))
		check("ada", "t2", "", `{"cancelled":true,"token":"t2"}`)
		got, _ := events(t, (<-streaming).Body)
		if len(got) != 3 || got[1] != (sseEvent{"error", `{"code":"CANCELLED","message":"the call was cancelled","details":{"token":"t2"}}`}) || got[2].name != "complete" {
			t.Errorf("the cancelled stream is %v", got)
		}

		call3 := start(call("sleep", "{}", withToken(`"t3"`)))
		time.Sleep(time.Hour)
		if w := <-call3; w.Code != 200 {
			t.Error(w.Body)
		}
		check("ada", "t3", tooLate, "map[token:t3]") // after
		time.Sleep(5 * time.Minute)
		check("ada", "t3", unknown, "map[token:t3]") // expired
		if got, _ := cancel("ada", "", "urn:forrst:ext:cancellation:fn:cancel"); got != "SCHEMA_VALIDATION_FAILED 422" {
			t.Error(got)
		}
		for _, bad := range []string{`""`, `"a b"`, `7`, `"` + strings.Repeat("x", 101) + `"`} {
			if d := parse(t, postContext(ada, s, call("sleep", "{}", withToken(bad))).Body.String()); sources(d)[0] != "INVALID_ARGUMENTS /extensions/0/options/token" {
				t.Errorf("token %s: %v", bad, d)
			}
		}
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTracing(t *testing.T) {
	t.Parallel()
	var seen forrst.Trace
	s := server(t, forrst.Options{}, forrst.Func("f", "1.0.0", func(ctx context.Context, _ none) (int, error) {
		seen, _ = forrst.TraceOf(ctx)
		return 1, nil
	}))
	const w3cTrace, w3cSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	tracing := func(options string) string { return `{"urn":"urn:forrst:ext:tracing","options":` + options + `}` }
	for name, c := range map[string]struct {
		options, header, value string
		trace, parent          string // empty: generated
	}{
		"options":         {`{"trace_id":"t","span_id":"s","baggage":{"a":1}}`, "Traceparent", "00-" + w3cTrace + "-" + w3cSpan + "-01", "t", "s"},
		"only a trace":    {`{"trace_id":"t"}`, "", "", "t", ""},
		"nothing":         {`{}`, "", "", "", ""},
		"forrst header":   {"", "X-Forrst-Trace-Id", "h", "h", ""},
		"traceparent":     {"", "Traceparent", "00-" + w3cTrace + "-" + w3cSpan + "-01", w3cTrace, w3cSpan},
		"bad traceparent": {"", "Traceparent", "00-" + w3cTrace + "-0000000000000000-01", "", ""},
	} {
		body := call("f", "{}")
		if c.options != "" {
			body = call("f", "{}", tracing(c.options))
		}
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		var data struct {
			TraceID string `json:"trace_id"`
			SpanID  string `json:"span_id"`
		}
		if raw := parse(t, w.Body.String()).data("tracing"); (raw != "") != (c.options != "") || raw != "" && json.Unmarshal([]byte(raw), &data) != nil {
			t.Errorf("%s: data %s", name, raw)
		}
		if c.options != "" && (data.TraceID != seen.TraceID || data.SpanID != seen.SpanID) {
			t.Errorf("%s: data %+v, the function saw %+v", name, data, seen)
		}
		if c.trace == "" && !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(seen.TraceID) || c.trace != "" && seen.TraceID != c.trace || seen.ParentSpanID != c.parent {
			t.Errorf("%s: the function saw %+v", name, seen)
		}
		if w3c := seen.Traceparent(); (w3c != "") != (len(seen.TraceID) == 32) || w3c != "" && w3c != "00-"+seen.TraceID+"-"+seen.SpanID+"-01" {
			t.Errorf("%s: traceparent %q", name, w3c)
		}
	}
	d := parse(t, post(s, call("unknown", "{}", tracing(`{"trace_id":"t"}`))).Body.String())
	if !strings.Contains(d.data("tracing"), `"trace_id":"t"`) {
		t.Error("an error has no tracing data")
	}
	d = parse(t, post(s, call("f", "{}", tracing(`{"trace_id":1,"span_id":"","baggage":[]}`))).Body.String())
	if diff := cmp.Diff([]string{"INVALID_ARGUMENTS /extensions/0/options/baggage", "INVALID_ARGUMENTS /extensions/0/options/span_id", "INVALID_ARGUMENTS /extensions/0/options/trace_id"}, sources(d)); diff != "" {
		t.Error(diff)
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	for code, want := range map[forrst.Code]string{
		forrst.RateLimited:      `{"allowed":true,"strategy":"fixed","after":{"value":7,"unit":"second"},"max_attempts":3}`, // its own time
		forrst.Unavailable:      `{"allowed":true,"strategy":"exponential","after":{"value":1,"unit":"second"},"max_attempts":5}`,
		forrst.DeadlineExceeded: `{"allowed":true,"strategy":"immediate","max_attempts":1}`,
		forrst.DependencyError:  `{"allowed":true,"strategy":"exponential","after":{"value":2,"unit":"second"},"max_attempts":3}`,
		forrst.FunctionDisabled: `{"allowed":true,"strategy":"fixed","after":{"value":30,"unit":"second"},"max_attempts":2}`,
		forrst.NotFound:         "",
		"CUSTOM":                "",
	} {
		s := server(t, forrst.Options{}, forrst.Func("f", "1.0.0", func(context.Context, none) (any, error) {
			e := forrst.Errorf(code, "no")
			if code == forrst.RateLimited {
				e.RetryAfter = 7 * time.Second
			}
			return nil, e
		}))
		w := post(s, call("f", "{}"))
		if got := parse(t, w.Body.String()).data("retry"); got != want || w.Code != code.Status() || (want != "") != code.Retryable() {
			t.Errorf("%s: status %d, %s", code, w.Code, got)
		}
		if want == "" {
			want = `{"allowed":false}`
		}
		if got := parse(t, post(s, call("f", "{}", `{"urn":"urn:forrst:ext:retry"}`)).Body.String()).data("retry"); got != want {
			t.Errorf("%s, asked for: %s", code, got)
		}
	}
}

// audit is an extension of a user. It answers some calls itself, refuses some, and panics in some.
type audit struct{ forrst.Retry }

func (audit) URN() string { return "urn:acme:forrst:ext:audit" }

func (audit) Run(ctx context.Context, _ *forrst.Call, asked *forrst.Asked, next forrst.Next) forrst.Outcome {
	var out forrst.Outcome
	switch mode := string(asked.Option("mode")); mode {
	case `"stored"`:
		out.Result = json.RawMessage(`"stored"`)
	case `"refuse"`:
		return forrst.Failed(forrst.Errorf(forrst.Forbidden, "no"))
	case `"before"`:
		panic("hunter2")
	default:
		out = next(ctx)
		if mode == `"after"` {
			panic("hunter2")
		}
	}
	out.Add(asked.URN, "seen")
	return out
}

func TestOwnExtension(t *testing.T) {
	t.Parallel()
	s := server(t, forrst.Options{Extensions: append(forrst.Extensions(), audit{})})
	ask := func(mode string) string {
		w := post(s, call("ai.generate", `{"prompt":"x"}`, streamExt, `{"urn":"urn:acme:forrst:ext:audit","options":{"mode":"`+mode+`"}}`))
		if strings.Contains(w.Body.String(), "hunter2") {
			t.Error(w.Body)
		}
		if w.Header().Get("Content-Type") == "application/json" {
			d := parse(t, w.Body.String())
			return fmt.Sprint(w.Code, " ", d.Errors[0].Code)
		}
		got, _ := events(t, w.Body)
		var names []string
		for _, e := range got {
			names = append(names, e.name)
		}
		last := got[len(got)-1].data
		return fmt.Sprint(strings.Join(names, " "), strings.Contains(last, `"data":"seen"`), strings.Contains(last, `"result":null`))
	}
	for mode, want := range map[string]string{
		"":       "data data data data progress data done completetrue false",
		"stored": "data done completetrue false",
		"refuse": "403 FORBIDDEN",
		"before": "500 INTERNAL_ERROR",
		"after":  "data data data data progress data done completefalse false",
	} {
		if got := ask(mode); got != want {
			t.Errorf("mode %q: %s, want %s", mode, got, want)
		}
	}
}

// TestProducers runs producers that yield, fail, panic, sleep, ignore their context or their end, in random order, with
// random deadlines and clients that leave. Each stream must keep the rules of the protocol, and no goroutine may be left.
func TestProducers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(120) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 38))
				s := server(t, forrst.Options{}, producer("f", func(ctx context.Context, yield func(forrst.Chunk, error) bool) {
					for range random.IntN(8) {
						act(ctx, random, yield)
					}
				}))
				extensions := []string{streamExt}
				if random.IntN(2) == 0 {
					extensions = append(extensions, deadline(fmt.Sprint(1+random.IntN(20)), "second"))
				}
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				left := random.IntN(3) == 0
				if left {
					time.AfterFunc(time.Duration(random.IntN(20))*time.Second+time.Millisecond, leave)
				}
				w := postContext(ctx, s, call("f", "{}", extensions...))
				got, _ := events(t, w.Body)
				checkStream(t, got, left && ctx.Err() != nil)
				if err := s.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}) // fails if a goroutine is left that cannot end
		})
	}
}

// act does one thing that a producer may do.
func act(ctx context.Context, random *rand.Rand, yield func(forrst.Chunk, error) bool) {
	switch random.IntN(12) {
	case 0:
		panic("of a producer")
	case 1:
		yield(forrst.Chunk{}, errors.New("of a producer"))
	case 2:
		yield(forrst.Done(1), nil)
	case 3:
		yield(forrst.Error("X_FAILED", "failed", nil), nil)
	case 4:
		yield(forrst.Progress(1, 2, "half"), nil)
	case 5:
		time.Sleep(time.Duration(random.IntN(30)) * time.Second)
	case 6:
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	case 7:
		yield(forrst.Chunk{}, ctx.Err())
	default:
		yield(forrst.Data(random.IntN(9)), nil)
	}
}

// checkStream checks the order of a stream. A stream that its client left may end anywhere.
func checkStream(t *testing.T, got []sseEvent, left bool) {
	t.Helper()
	if len(got) == 0 || got[0] != (sseEvent{"data", `{"status":"connected"}`}) {
		t.Fatalf("no greeting first: %v", got)
	}
	finals, failed := 0, false
	for i, e := range got[1:] {
		switch e.name {
		case "error", "done":
			finals++
			failed = e.name == "error"
		case "complete":
			if i != len(got)-2 {
				t.Errorf("complete is not last: %v", got)
			}
			d := parse(t, e.data)
			want := fmt.Sprintf(`{"completed":%t}`, !failed)
			if d.data("stream") != want || failed != (len(d.Errors) > 0) {
				t.Errorf("complete does not agree with the stream: %v", got)
			}
		default:
			if finals > 0 {
				t.Errorf("%s after the end: %v", e.name, got)
			}
		}
	}
	if finals > 1 || !left && got[len(got)-1].name != "complete" {
		t.Errorf("%d terminal events: %v", finals, got)
	}
}
