package server_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/server"
)

// counted answers with a source after the gate is closed, and counts its runs. The first ones fail.
type counted struct {
	runs, failing atomic.Int64
	gate          chan struct{}
}

func (c *counted) Answer(ctx context.Context, r *answer.Recorder) error {
	n := c.runs.Add(1)
	select {
	case <-c.gate:
	case <-ctx.Done():
		return ctx.Err()
	}
	if n <= c.failing.Load() {
		return fault.New(fault.Model, "the model failed")
	}
	return emit(ctx, r, everything(3, 1)...)
}

func open() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

const replayed = "Idempotent-Replayed"

// TestIdempotencyKeyJoins: requests with the same key have one run, while it is being answered and afterwards, each from its beginning.
func TestIdempotencyKeyJoins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &counted{gate: make(chan struct{})}
		s := inMemory(t, a, engine.Options{}, server.Options{})
		defer s.close()
		first, second := s.ask("why?", "Idempotency-Key", "a b"), s.ask("why?", "Idempotency-Key", "a b")
		run := first.Header.Get("Sluice-Run-Id")
		if second.Header.Get("Sluice-Run-Id") != run || first.Header.Get(replayed) != "" || second.Header.Get(replayed) != "true" {
			t.Errorf("first %v, second %v", first.Header, second.Header)
		}
		close(a.gate)
		want := whole(t, first)
		third := s.ask("why?", "Idempotency-Key", "a b")
		if !slices.Equal(whole(t, second), want) || !slices.Equal(whole(t, third), want) || third.Header.Get(replayed) != "true" {
			t.Error("the streams of one run differ")
		}
		if n := a.runs.Load(); n != 1 {
			t.Errorf("%d runs", n)
		}
		// Keys belong to their sender, and a request without one has its own run.
		for i, headers := range [][]string{{"Idempotency-Key", "a b", "Sluice-Client", "another"}, {"Idempotency-Key", "c"}, {}} {
			res := s.ask("why?", headers...)
			whole(t, res)
			if res.Header.Get("Sluice-Run-Id") == run || res.Header.Get(replayed) != "" || a.runs.Load() != int64(i+2) {
				t.Errorf("%v joined", headers)
			}
		}
		time.Sleep(24 * time.Hour)
		if whole(t, s.ask("why?", "Idempotency-Key", "a b")); a.runs.Load() != 5 {
			t.Errorf("%d runs after a day", a.runs.Load())
		}
	})
}

// TestIdempotencyKeyConcurrent: of requests at the same time, one starts the run.
func TestIdempotencyKeyConcurrent(t *testing.T) {
	t.Parallel()
	a := &counted{gate: open()}
	s := serve(t, a, engine.Options{}, server.Options{})
	var all sync.WaitGroup
	texts := make([]string, 16)
	for i := range texts {
		all.Go(func() {
			res, err := s.try(t.Context(), "POST", "/api/query", question("why?"), "Idempotency-Key", "k")
			if err != nil {
				t.Error(err)
				return
			}
			texts[i] = slurp(t, res.Body)
		})
	}
	all.Wait()
	if n := a.runs.Load(); n != 1 || len(slices.Compact(texts)) != 1 || !strings.Contains(texts[0], "word0") {
		t.Errorf("%d runs, replies %q", n, texts)
	}
}

// TestIdempotencyKeyRefused: a key of another body or path, and values that are no keys.
func TestIdempotencyKeyRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, &counted{gate: open()}, engine.Options{}, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint}})
		defer s.close()
		whole(t, s.ask("why?", "Idempotency-Key", "k"))
		for _, c := range []struct {
			path, body, key string
			status          int
			want            string
		}{
			{"/api/query/stream", question("how?"), "k", 422, `"field":"Idempotency-Key"`},
			{"/api/query", question("why?"), "k", 422, `INVALID_REQUEST`},
			{"/v1/responses", `{"input":"why?"}`, "k", 422, `"detail":{"field":"Idempotency-Key"}`},
			{"/api/query", question("why?"), strings.Repeat("k", 256), 400, "1 to 255"},
			{"/api/query", question("why?"), "é", 400, "ASCII"},
			{"/api/query", question("why?"), "", 400, "1 to 255"},
			{"/api/query", question("why?"), strings.Repeat("k", 255), 200, "word0"},
		} {
			res := s.do("POST", c.path, c.body, "Idempotency-Key", c.key)
			if text := slurp(t, res.Body); res.StatusCode != c.status || !strings.Contains(text, c.want) {
				t.Errorf("%s %.9q: %s %s", c.path, c.key, res.Status, text)
			}
		}
	})
}

// TestIdempotencyKeyOfFailedRun: a run that failed is not repeated to its sender, who wants an answer; but not for ever.
func TestIdempotencyKeyOfFailedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &counted{gate: open()}
		a.failing.Store(2)
		s := inMemory(t, a, engine.Options{}, server.Options{})
		defer s.close()
		for i, status := range []int{502, 502, 200, 200} {
			res := s.do("POST", "/api/query", question("why?"), "Idempotency-Key", "k")
			if slurp(t, res.Body); res.StatusCode != status {
				t.Errorf("request %d: %s", i, res.Status)
			}
		}
		if n := a.runs.Load(); n != 3 {
			t.Errorf("%d runs", n)
		}
		a.failing.Store(100)
		var last *http.Response
		for range 11 {
			last = s.do("POST", "/api/query", question("why?"), "Idempotency-Key", "other")
			slurp(t, last.Body)
		}
		if last.StatusCode != http.StatusConflict || a.runs.Load() != 13 {
			t.Errorf("%s after %d runs", last.Status, a.runs.Load())
		}
	})
}

// slow is a billing that decides after a while.
type slow struct {
	broke
	decision chan error
}

func (s slow) Authorize(context.Context, event.RunStarted) error { return <-s.decision }

// TestIdempotencyKeyWhileStarting: a request waits for the start of the run by another one, and is refused after some seconds. A request that is refused
// frees its key.
func TestIdempotencyKeyWhileStarting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		billing := slow{decision: make(chan error)}
		s := inMemory(t, &counted{gate: open()}, engine.Options{Billing: billing}, server.Options{})
		defer s.close()
		ask := func() (int, string) {
			res := s.do("POST", "/api/query", question("why?"), "Idempotency-Key", "k")
			slurp(t, res.Body)
			return res.StatusCode, res.Header.Get("Retry-After")
		}
		first := make(chan int)
		go func() { status, _ := ask(); first <- status }()
		time.Sleep(2 * time.Minute) // longer than the lease
		if status, after := ask(); status != http.StatusConflict || after != "1" {
			t.Errorf("%d, Retry-After %q", status, after)
		}
		second := make(chan int)
		go func() { status, _ := ask(); second <- status }()
		synctest.Wait()
		billing.decision <- fault.New(fault.Payment, "the balance is too low")
		if status := <-first; status != http.StatusPaymentRequired {
			t.Errorf("the first request: %d", status)
		}
		billing.decision <- fault.New(fault.Payment, "the balance is too low") // of the second one, which has the key now
		if status := <-second; status != http.StatusPaymentRequired {
			t.Errorf("the second request: %d", status)
		}
	})
}

// brokenKeys is a store of keys that fails.
type brokenKeys struct{ forrst.IdempotencyStore }

func (brokenKeys) Lock(context.Context, forrst.IdempotencyKey, forrst.IdempotencyRecord, time.Duration) (*forrst.IdempotencyRecord, error) {
	return nil, errors.New("secret of the database")
}

// TestIdempotencyKeyStoreFails: no run starts without the promise that the key makes.
func TestIdempotencyKeyStoreFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &counted{gate: open()}
		s := inMemory(t, a, engine.Options{}, server.Options{Keys: brokenKeys{}})
		defer s.close()
		res := s.do("POST", "/api/query", question("why?"), "Idempotency-Key", "k")
		if text := slurp(t, res.Body); res.StatusCode != http.StatusServiceUnavailable || strings.Contains(text, "secret") || a.runs.Load() != 0 {
			t.Errorf("%s %s, %d runs", res.Status, text, a.runs.Load())
		}
	})
}
