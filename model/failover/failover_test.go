package failover_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/failover"
)

func TestNextModelAnswers(t *testing.T) {
	t.Parallel()
	for _, f := range []model.Failure{
		model.Unreachable, model.Unauthorized, model.RateLimited, model.ServerError, model.Stalled, model.Truncated, model.Malformed,
		model.Empty, model.TooLong, model.Rejected,
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			a, b := &scripted{name: "a", acts: []act{fails(f)}}, &scripted{name: "b", acts: []act{says("x", "y")}}
			h := listen(t.Context(), failover.New(chats(a, b), failover.Options{}), question)
			want(t, "text", h.text, "xy")
			want(t, "stop", h.stop, model.StopEnd)
			want(t, "error", h.err, nil)
			if d := cmp.Diff([]string{"a>b " + string(f)}, h.failures); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(question, b.requests[0]); d != "" {
				t.Errorf("the next model received another request: %s", d)
			}
		})
	}
}

func TestFailoverAfterReasoning(t *testing.T) {
	t.Parallel()
	a := &scripted{name: "a", acts: []act{{pieces: []model.Piece{{Reasoning: "hm"}}, fails: &model.Error{Failure: model.Truncated}}}}
	b := &scripted{name: "b", acts: []act{says("yes")}}
	h := listen(t.Context(), failover.New(chats(a, b), failover.Options{}), question)
	if d := cmp.Diff([]model.Piece{{Reasoning: "hm"}, {Text: "yes"}, {Stop: model.StopEnd}}, h.pieces); d != "" {
		t.Error(d)
	}
}

func TestSequenceWithoutStopIsTruncated(t *testing.T) {
	t.Parallel()
	a, b := &scripted{name: "a", acts: []act{{}}}, &scripted{name: "b", acts: []act{{fails: errors.New("odd")}}}
	h := listen(t.Context(), failover.New(chats(a, b), failover.Options{Rounds: 1}), question)
	if d := cmp.Diff([]string{"a>b cut"}, h.failures); d != "" {
		t.Error(d)
	}
	want(t, "failure", h.failure(), model.ServerError)
}

func TestRoundsWaitWithFullJitter(t *testing.T) {
	t.Parallel()
	var least, most time.Duration = time.Hour, 0
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			a := &scripted{name: "a", acts: []act{fails(model.ServerError)}}
			b := &scripted{name: "b", acts: []act{fails(model.Truncated)}}
			c := failover.New(chats(a, b), failover.Options{Rounds: 2, Backoff: time.Second})
			begin := time.Now()
			h := listen(t.Context(), c, question)
			took := time.Since(begin)
			least, most = min(least, took), max(most, took)
			want(t, "failure", h.failure(), model.Truncated)
			want(t, "asked", a.times()+b.times(), 4)
			if d := cmp.Diff([]string{"a>b broken", "b>a cut", "a>b broken"}, h.failures); d != "" {
				t.Error(d)
			}
		})
	}
	if least > 100*time.Millisecond || most < 900*time.Millisecond || most > time.Second+time.Millisecond {
		t.Errorf("200 waits lay between %v and %v, not evenly in 0..1s", least, most)
	}
}

func TestLaterRoundsAskTransientFailuresOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &scripted{name: "a", acts: []act{fails(model.Rejected)}}
		b := &scripted{name: "b", acts: []act{fails(model.Stalled), fails(model.Stalled), says("late")}}
		h := listen(t.Context(), failover.New(chats(a, b), failover.Options{}), question)
		want(t, "text", h.text, "late")
		want(t, "asked the one that rejects", a.times(), 1)
		want(t, "asked the one that stalls", b.times(), 3)
	})
}

func TestNoSecondRoundAfterPermanentFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		a := &scripted{name: "a", acts: []act{fails(model.Unauthorized)}}
		h := listen(t.Context(), failover.New(chats(a), failover.Options{}), question)
		want(t, "failure", h.failure(), model.Unauthorized)
		want(t, "asked", a.times(), 1)
		want(t, "took", time.Since(begin), 0)
	})
}

func limited(after time.Duration) act {
	return act{fails: &model.Error{Failure: model.RateLimited, Status: 429, RetryAfter: after}}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after, deadline time.Duration
		asked           int
		took            time.Duration
	}{
		"as asked":                 {4 * time.Second, 0, 2, 4 * time.Second},
		"longer than waits may be": {11 * time.Second, 0, 1, 0},
		"within the deadline":      {4 * time.Second, 7 * time.Second, 2, 4 * time.Second},
		"too near the deadline":    {4 * time.Second, 5 * time.Second, 1, 0},
		"in a year":                {24 * 365 * time.Hour, 0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.deadline)
					defer cancel()
				}
				a := &scripted{name: "a", acts: []act{limited(test.after), says("ok")}}
				begin := time.Now()
				h := listen(ctx, failover.New(chats(a), failover.Options{}), question)
				want(t, "took", time.Since(begin), test.took)
				want(t, "asked", a.times(), test.asked)
				if test.asked == 1 {
					want(t, "failure", h.failure(), model.RateLimited)
				} else {
					want(t, "text", h.text, "ok")
				}
			})
		})
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]act{
		"while a model is silent":     {hangs: true},
		"between rounds":              limited(9 * time.Second),
		"while text flows":            {pieces: []model.Piece{{Text: "x"}}, hangs: true},
		"disguised by an own failure": {pieces: []model.Piece{{Text: "x"}}, every: 10 * time.Second, fails: fails(model.Unreachable).fails},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				acts := []act{a, a, a, a, says("well")}
				if name == "between rounds" { // those failures are the model's own, and a third counts
					acts = acts[2:]
				}
				m := &scripted{name: "a", acts: acts}
				c := failover.New(chats(m), failover.Options{})
				for range len(acts) - 1 {
					stop := time.AfterFunc(5*time.Second, cancel)
					begin := time.Now()
					h := listen(ctx, c, question)
					want(t, "error", h.err, context.Canceled)
					if took := time.Since(begin); took > 5*time.Second {
						t.Errorf("took %v", took)
					}
					stop.Stop()
					ctx, cancel = context.WithCancel(t.Context())
					time.Sleep(10 * time.Second) // in the bubble: until the limit has passed
				}
				cancel()
				if h := listen(t.Context(), c, question); h.text != "well" {
					t.Errorf("the breaker took a caller's end for a failure: %v", h.err)
				}
			})
		})
	}
}

func TestCancelledContextSendsNoRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &scripted{name: "a", acts: []act{says("x")}}
	h := listen(ctx, failover.New(chats(a), failover.Options{}), question)
	want(t, "error", h.err, context.Canceled)
	want(t, "asked", a.times(), 0)
}

func TestReserve(t *testing.T) {
	t.Parallel()
	hang, slow := act{hangs: true}, act{
		pieces: []model.Piece{{Text: "a"}, {Text: "b"}, {Text: "c"}, {Stop: model.StopEnd}}, every: 3 * time.Second,
	}
	for name, test := range map[string]struct {
		first    act
		deadline time.Duration
		text     string
		took     time.Duration
		told     []string
	}{
		"a silent model leaves some time": {hang, 10 * time.Second, "well", 8 * time.Second, []string{"a>b stalled"}},
		"of little time half":             {hang, 3 * time.Second, "well", 1500 * time.Millisecond, []string{"a>b stalled"}},
		"text may take all":               {slow, 10 * time.Second, "abc", 12 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				deadline := test.deadline
				if test.text == "abc" {
					deadline = 13 * time.Second
				}
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				a, b := &scripted{name: "a", acts: []act{test.first}}, &scripted{name: "b", acts: []act{says("well")}}
				begin := time.Now()
				h := listen(ctx, failover.New(chats(a, b), failover.Options{}), question)
				want(t, "text", h.text, test.text)
				want(t, "took", time.Since(begin), test.took)
				if d := cmp.Diff(test.told, h.failures); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

func TestLastModelHasNoTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		h := listen(ctx, failover.New(chats(&scripted{name: "a", acts: []act{{hangs: true}}}), failover.Options{}), question)
		want(t, "error", h.err, context.DeadlineExceeded)
		want(t, "took", time.Since(begin), 10*time.Second)
	})
}

func TestJudgementsStartAfresh(t *testing.T) {
	t.Parallel()
	call := &model.ToolCall{ID: "1", Name: "search", Input: []byte(`{}`)}
	with := question
	with.Schema = &model.Schema{Name: "s", JSON: []byte(`{}`)}
	tools := question
	tools.Tools = []model.Tool{{Name: "search", Parameters: []byte(`{}`)}}
	for name, test := range map[string]struct {
		r           model.Request
		first, then act
		pieces      []model.Piece
	}{
		"schema": {with, begins(`{"a":`), says(`{"b"`, `:1}`), []model.Piece{{Text: `{"b"`}, {Text: `:1}`}, {Stop: model.StopEnd}}},
		"tools": {
			tools, act{pieces: []model.Piece{{Text: "I"}, {Call: call}}, fails: fails(model.ServerError).fails},
			act{pieces: []model.Piece{{Call: call}, {Stop: model.StopTools}}},
			[]model.Piece{{Call: call}, {Stop: model.StopTools}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := &scripted{name: "a", acts: []act{test.first}}, &scripted{name: "b", acts: []act{test.then}}
			h := listen(t.Context(), failover.New(chats(a, b), failover.Options{}), test.r)
			if d := cmp.Diff(test.pieces, h.pieces); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(test.r, b.requests[0]); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNoFailoverAfterToolCalls(t *testing.T) {
	t.Parallel()
	call := &model.ToolCall{ID: "1", Name: "search", Input: []byte(`{}`)}
	a := &scripted{name: "a", acts: []act{{pieces: []model.Piece{{Call: call}}, fails: fails(model.ServerError).fails}}}
	b := &scripted{name: "b", acts: []act{says("x")}}
	h := listen(t.Context(), failover.New(chats(a, b), failover.Options{}), question)
	if d := cmp.Diff([]model.Piece{{Call: call}, {Stop: model.StopIncomplete}}, h.pieces); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"a> broken"}, h.failures); d != "" {
		t.Error(d)
	}
	want(t, "asked the next", b.times(), 0)
}

func TestConsumerStops(t *testing.T) {
	t.Parallel()
	a, b := &scripted{name: "a", acts: []act{begins("x", "y")}}, &scripted{name: "b", acts: []act{says("x")}}
	c := failover.New(chats(a, b), failover.Options{})
	for range 5 {
		for _, err := range c.Complete(t.Context(), question) {
			want(t, "error", err, nil)
			break
		}
	}
	want(t, "asked the first", a.times(), 5)
	want(t, "asked the next", b.times(), 0)
}

func TestLogHasNoTexts(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := &scripted{name: "a", acts: []act{{fails: &model.Error{Failure: model.ServerError, Status: 503, Cause: errors.New("BODY")}}}}
	b := &scripted{name: "b", acts: []act{says("SAID")}}
	o := failover.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	listen(t.Context(), failover.New(chats(a, b), o), question)
	if got := log.String(); !strings.Contains(got, "level=WARN") ||
		!strings.Contains(got, "model=a failure=broken status=503") || strings.Count(got, "\n") != 1 {
		t.Errorf("the log says %q", got)
	}
	if strings.Contains(log.String(), "BODY") || strings.Contains(log.String(), "SAID") {
		t.Error("the log holds texts")
	}
}

func TestNameCountLimits(t *testing.T) {
	t.Parallel()
	a, b := &scripted{name: "aaa", acts: []act{fails(model.Unauthorized)}}, &scripted{name: "bb", acts: []act{says("x")}}
	c := failover.New(chats(a, b), failover.Options{})
	want(t, "name", c.Name(), "aaa")
	want(t, "limits", c.Limits(t.Context()), model.Limits{Context: 200})
	want(t, "count", c.Count(t.Context(), "four"), 4)
	listen(t.Context(), c, question)
	want(t, "name of what is asked now", c.Name(), "bb")
	alone := failover.New(chats(a), failover.Options{})
	listen(t.Context(), alone, question)
	want(t, "name where all are skipped", alone.Name(), "aaa")
}
