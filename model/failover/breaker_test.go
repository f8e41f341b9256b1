package failover_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/failover"
)

func TestBreakerOpens(t *testing.T) {
	t.Parallel()
	for f, after := range map[model.Failure]int{ // requests of 10 concurrent ones that reach the first model
		model.Unreachable: 1, model.Unauthorized: 1, model.RateLimited: 3, model.ServerError: 3, model.Stalled: 3, model.Truncated: 3,
		model.Malformed: 10, model.Empty: 10, model.TooLong: 10, model.Rejected: 10,
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &scripted{name: "a", acts: []act{fails(f)}}
				b := &scripted{name: "b", acts: []act{says("b")}}
				c := failover.New(chats(a, b), failover.Options{})
				for i := range 10 {
					h := listen(t.Context(), c, question)
					want(t, "text", h.text, "b")
					told := "a>b " + string(f)
					if i >= after {
						told = "a>b skipped"
					}
					if d := cmp.Diff([]string{told}, h.failures); d != "" {
						t.Error(d)
					}
				}
				want(t, "asked", a.times(), after)
				if after == 10 {
					return
				}
				time.Sleep(30*time.Second + 1) // in the bubble: one request probes the model
				for range 5 {
					listen(t.Context(), c, question)
				}
				want(t, "asked after the cooldown", a.times(), after+1)
			})
		})
	}
}

func TestSuccessResetsFailures(t *testing.T) {
	t.Parallel()
	bad := fails(model.ServerError)
	a := &scripted{name: "a", acts: []act{bad, bad, says("a"), bad, bad, says("a"), bad, bad, says("a")}}
	b := &scripted{name: "b", acts: []act{says("b")}}
	c := failover.New(chats(a, b), failover.Options{})
	got := ""
	for range 9 {
		got += listen(t.Context(), c, question).text
	}
	want(t, "answers", got, "bbabbabba")
}

func TestModelRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &scripted{name: "a", acts: []act{fails(model.Unreachable), {pieces: says("a").pieces, every: time.Second}}}
		b := &scripted{name: "b", acts: []act{says("b")}}
		c := failover.New(chats(a, b), failover.Options{Cooldown: time.Minute})
		want(t, "text", listen(t.Context(), c, question).text, "b")
		time.Sleep(time.Minute + 1)
		var texts [5]string
		var wg sync.WaitGroup
		for i := range texts { // one of them probes the model, and the others do not wait for it
			wg.Go(func() { texts[i] = listen(t.Context(), c, question).text })
		}
		wg.Wait()
		all := strings.Join(texts[:], "")
		want(t, "answers of the first", strings.Count(all, "a"), 1)
		want(t, "answers of the second", strings.Count(all, "b"), 4)
		want(t, "text", listen(t.Context(), c, question).text, "a")
	})
}

func TestRetryAfterSkipsTheModel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ asks, gets time.Duration }{
		"a minute": {time.Minute, time.Minute}, "a day": {24 * time.Hour, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &scripted{name: "a", acts: []act{limited(test.asks), says("a")}}
				b := &scripted{name: "b", acts: []act{says("b")}}
				c := failover.New(chats(a, b), failover.Options{})
				listen(t.Context(), c, question)
				time.Sleep(test.gets - 1)
				want(t, "before", listen(t.Context(), c, question).text, "b")
				time.Sleep(time.Nanosecond)
				want(t, "after", listen(t.Context(), c, question).text, "a")
			})
		})
	}
}

func TestOnlyModelIsSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &scripted{name: "a", acts: []act{fails(model.Unreachable)}}
		c := failover.New(chats(a), failover.Options{})
		h := listen(t.Context(), c, question)
		want(t, "failure", h.failure(), model.Unreachable)
		want(t, "tries of the request that began before", a.times(), 3)
		begin := time.Now()
		h = listen(t.Context(), c, question)
		want(t, "failure", h.failure(), model.Skipped)
		want(t, "text of the failure", h.err.Error(), "a could not be reached a moment ago and was not asked")
		want(t, "took", time.Since(begin), 0)
		want(t, "tries", a.times(), 3)
		want(t, "told", len(h.failures), 0)
	})
}

func TestSuccessInALaterRoundClosesTheBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &scripted{name: "a", acts: []act{fails(model.Unreachable), says("a")}}
		c := failover.New(chats(a), failover.Options{})
		want(t, "text", listen(t.Context(), c, question).text, "a")
		want(t, "text of the next request", listen(t.Context(), c, question).text, "a")
	})
}

func TestLaterRoundsSkipUnreachableModels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &scripted{name: "a", acts: []act{fails(model.Unreachable)}}
		b := &scripted{name: "b", acts: []act{limited(5 * time.Second), says("b")}}
		h := listen(t.Context(), failover.New(chats(a, b), failover.Options{}), question)
		want(t, "text", h.text, "b")
		want(t, "asked the dead one", a.times(), 1)
	})
}

func TestRateLimitedModelIsNotBypassed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &scripted{name: "a", acts: []act{fails(model.ServerError), fails(model.ServerError), limited(4 * time.Second)}}
		b := &scripted{name: "b", acts: []act{says("b"), says("b"), fails(model.Unreachable), says("b")}}
		c := failover.New(chats(a, b), failover.Options{})
		for range 3 { // in the third both are skipped, and the second may be asked sooner
			want(t, "text", listen(t.Context(), c, question).text, "b")
		}
		want(t, "asked the one that limits", a.times(), 3)
	})
}

func TestLimitsOmitSkippedModels(t *testing.T) {
	t.Parallel()
	a := &scripted{name: "a", acts: []act{fails(model.Unreachable)}}
	b := &scripted{name: "bb", acts: []act{says("b")}}
	c := failover.New(chats(a, b), failover.Options{})
	want(t, "limits", c.Limits(t.Context()), model.Limits{Context: 100})
	listen(t.Context(), c, question)
	want(t, "limits as they were", c.Limits(t.Context()), model.Limits{Context: 100})
	want(t, "asked the first", a.limits.Load(), 1)
	want(t, "asked the second", b.limits.Load(), 2)
}

// lines is a model over HTTP that yields each line that the server sends.
type lines struct {
	name, url string
	client    *http.Client
}

func (l *lines) Name() string                            { return l.name }
func (l *lines) Count(context.Context, string) int       { return 1 }
func (l *lines) Limits(context.Context) (_ model.Limits) { return }

func (l *lines) Complete(ctx context.Context, _ model.Request) iter.Seq2[model.Piece, error] {
	return func(yield func(model.Piece, error) bool) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, nil)
		if err != nil {
			yield(model.Piece{}, err)
			return
		}
		res, err := l.client.Do(req)
		if err != nil {
			yield(model.Piece{}, &model.Error{Model: l.name, Failure: model.Unreachable, Cause: err})
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		for line := range strings.Lines(string(body)) {
			if !yield(model.Piece{Text: line}, nil) {
				return
			}
		}
		if err != nil {
			yield(model.Piece{}, &model.Error{Model: l.name, Failure: model.Truncated, Cause: err})
			return
		}
		yield(model.Piece{Stop: model.StopEnd}, nil)
	}
}

// TestUnreachableServerIsDialledOnce uses real connections. The port of the first server is closed.
func TestUnreachableServerIsDialledOnce(t *testing.T) {
	t.Parallel()
	const dead = "127.0.0.1:1" // a privileged port that nothing listens on
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "live") }))
	t.Cleanup(live.Close)
	run := func(t *testing.T, c *failover.Chain) {
		if h := listen(t.Context(), c, question); h.text != "live\n" || h.err != nil {
			t.Errorf("got %q, %v", h.text, h.err)
		}
	}
	chain := func() (*failover.Chain, *atomic.Int32) {
		var dials atomic.Int32
		transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("the closed port says %v", err)
			}
			return conn, err
		}}
		return failover.New([]model.Chat{
			&lines{"dead", "http://" + dead, &http.Client{Transport: transport}}, &lines{"live", live.URL, live.Client()},
		}, failover.Options{}), &dials
	}
	t.Run("one after the other", func(t *testing.T) {
		t.Parallel()
		c, dials := chain()
		for range 200 {
			run(t, c)
		}
		want(t, "dials", dials.Load(), 1)
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		c, dials := chain()
		const atOnce = 8
		var wg sync.WaitGroup
		for range atOnce {
			wg.Go(func() {
				for range 25 {
					run(t, c)
				}
			})
		}
		wg.Wait()
		want(t, "dials of runs that began at once", dials.Load(), 1)
		before := dials.Load()
		for range 25 {
			run(t, c)
		}
		want(t, "dials later", dials.Load(), before)
	})
}

// TestConnectionCut cuts a real connection in the middle of the answer.
func TestConnectionCut(t *testing.T) {
	t.Parallel()
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "Gold is heavy ⟦1⟧.\nWater carries the gra")
	}))
	defer cut.Close()
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "Water carries the gravel away ⟦2⟧.")
	}))
	defer live.Close()
	c := failover.New([]model.Chat{
		&lines{"cut", cut.URL, cut.Client()}, &lines{"live", live.URL, live.Client()},
	}, failover.Options{})
	h := listen(t.Context(), c, question)
	want(t, "text", h.text, "Gold is heavy ⟦1⟧.\nWater carries the gra|vel away ⟦2⟧.\n")
	want(t, "stop", h.stop, model.StopEnd)
}

func TestAbandonedAnswerCountsAsSuccess(t *testing.T) {
	t.Parallel()
	bad := fails(model.ServerError)
	a := &scripted{name: "a", acts: []act{bad, bad, says("a", "a"), bad, says("a")}}
	b := &scripted{name: "b", acts: []act{says("b")}}
	c := failover.New(chats(a, b), failover.Options{})
	got := ""
	for range 5 {
		for p, err := range c.Complete(t.Context(), question) {
			want(t, "error", err, nil)
			got += p.Text
			break
		}
	}
	want(t, "answers", got, "bbaba")
}
