package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// story is a run with every kind of step: reasoning, searches, tools, a warning, text with citations, a verification.
func story() []event.Body {
	source := func(n int) *event.Source {
		return &event.Source{N: n, Chunk: corpus.ChunkID(fmt.Sprintf("c_%d", n)), Document: "doc", Title: "Tides & Moons", Name: "tides.md", Ordinal: n, Heading: "Spring",
			Level: corpus.Passage, Pages: []int{n + 1}, Text: strings.Repeat("The tide rises. ", 30), Score: 0.9, Weight: 0.5, Cited: true}
	}
	bodies := []event.Body{
		event.QueryAnalyzed{Complexity: event.Moderate, Mode: event.Agentic, By: "rules"}, event.CacheChecked{},
		event.Reasoned{Text: "Let me "}, event.Reasoned{Text: "think."},
		event.RetrievalStarted{Call: 1, Tool: event.ToolHybridSearch, Query: "why does the tide rise?", Iteration: 1},
		event.RetrievalFinished{Call: 1, Tool: event.ToolHybridSearch, Duration: 12, Found: []event.Found{{Chunk: "c_1", Level: corpus.Passage, Score: 0.9}}},
		event.Graded{Iteration: 1, Correct: 1, Action: event.Proceed, By: "rules"},
		event.ToolCalled{Call: 2, Tool: event.ToolReadPages, Input: []byte(`{"document_id":"doc","start_page":1,"end_page":2}`), Iteration: 2, Reason: "more is wanted"},
		event.ToolReturned{Call: 2, Tool: event.ToolReadPages, Result: []byte(`{}`), Duration: 3},
		event.Warned{Code: fault.Model, Message: "the first model did not answer", Step: "generate"},
		event.Reranked{Method: "colbert", Inputs: 2, Outputs: []event.Found{{Chunk: "c_1"}}, TopScore: 4, Duration: 5},
		event.GenerationStarted{Chunks: 2, Tokens: 100, Model: "m"},
	}
	for i := range 25 {
		bodies = append(bodies, event.Token{Text: fmt.Sprintf(" wörd%d", i)})
		switch i {
		case 5:
			bodies = append(bodies, event.Cited{N: 1, Chunk: "c_1", Source: source(1)})
		case 12:
			bodies = append(bodies, event.Cited{N: 2, Chunk: "c_2", Source: source(2)}, event.Cited{N: 1, Chunk: "c_1"})
		}
	}
	return append(bodies, event.GenerationFinished{Reason: "stop"}, event.ModelUsed{Step: "generate", Model: "m", Calls: 1, Input: 100, Output: 25},
		event.Verified{Confidence: 0.75, Claims: []event.Claim{{Text: "a", Verdict: event.Supported}, {Text: "b", Verdict: event.PartiallySupported}}, By: "rules"},
		event.Attributed{By: "rules", Confidence: 0.8, Sources: []event.Source{*source(1), *source(2)}})
}

func telling(bodies []event.Body) script {
	return func(ctx context.Context, r *answer.Recorder) error {
		for _, b := range bodies {
			if err := r.Emit(ctx, b); err != nil {
				return err
			}
		}
		return nil
	}
}

// forms are the ways to ask.
var forms = map[string]func(ctx context.Context, c *client.Client) *client.Stream{
	"forge": func(ctx context.Context, c *client.Client) *client.Stream {
		return c.Ask(ctx, forge.Request{Query: "why?"})
	},
	"snapshots": func(ctx context.Context, c *client.Client) *client.Stream {
		return c.Respond(ctx, client.Question("why?"))
	},
	"deltas": func(ctx context.Context, c *client.Client) *client.Stream {
		q := client.Question("why?")
		q.StreamOptions = &knowledge.StreamOptions{Mode: knowledge.ModeDelta}
		return c.Respond(ctx, q)
	},
}

// sameRun ignores fields that differ between runs.
var sameRun = cmp.Options{cmpopts.IgnoreFields(client.Snapshot{}, "Run", "Elapsed", "Events"), cmpopts.IgnoreFields(client.Step{}, "ID")}

// cutter breaks each connection after so many frames.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutter) Write(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.ErrClosedPipe
	}
	rest, n := p, 0
	for c.left > 0 {
		i := bytes.Index(rest, []byte("\n\n"))
		if i < 0 {
			return c.ResponseWriter.Write(p)
		}
		n, rest = n+i+2, rest[i+2:]
		c.left--
	}
	_, err := c.ResponseWriter.Write(p[:n])
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	if len(rest) > 0 && err == nil {
		err = io.ErrClosedPipe
	}
	return n, err
}

// serveCut serves runs whose streams break after so many frames.
func serveCut(t *testing.T, a answer.Answerer, frames int) (url string, connections *atomic.Int64) {
	t.Helper()
	e := engine.New(a, engine.Options{})
	srv, err := server.New(e, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint}})
	require.NoError(t, err)
	connections = new(atomic.Int64)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/stream") || r.URL.Path == "/v1/responses" {
			connections.Add(1)
			w = &cutter{w, frames}
		}
		srv.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = e.Close(ctx)
	})
	return h.URL, connections
}

// TestKilledAtEveryFrame: a client whose connection breaks after each frame, or each second or third, ends with the same
// text and the same state.
func TestKilledAtEveryFrame(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, telling(story()))
	for name, ask := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := ask(t.Context(), dial(t, url, client.Options{})).Wait()
			if err != nil || want.Status != client.Completed || !strings.HasSuffix(want.Text, "wörd24") || len(want.Citations) != 2 {
				t.Fatalf("%+v, %v", want, err)
			}
			for _, frames := range []int{1, 3} {
				cut, connections := serveCut(t, telling(story()), frames)
				c := dial(t, cut, client.Options{Backoff: 1, HTTP: &http.Client{Transport: &http.Transport{DisableCompression: true}}})
				s := ask(t.Context(), c)
				seen, last := 0, wire.Cursor{}
				for ev, err := range s.Events() {
					if err != nil {
						t.Fatalf("%d frames a connection: %v", frames, err)
					}
					id, err := wire.ParseCursor(ev.ID)
					if err != nil || id.Compare(last) <= 0 {
						t.Fatalf("event %q follows %s: %v", ev.ID, last, err)
					}
					last = id
					seen++
				}
				got := s.Snapshot()
				if diff := cmp.Diff(want, got, sameRun); diff != "" {
					t.Errorf("%d frames a connection (-whole +cut):\n%s", frames, diff)
				}
				if n := int(connections.Load()); n < (seen+frames-1)/frames || seen < 5 {
					t.Errorf("%d frames came over %d connections of %d each", seen, n, frames)
				}
			}
		})
	}
}

// TestReadingGoesOnWhereItWasLeft: a reader that leaves the loop after any frame and reads again misses and repeats
// nothing.
func TestReadingGoesOnWhereItWasLeft(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, telling(story()))
	for name, ask := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, url, client.Options{Backoff: 1})
			want, err := ask(t.Context(), c).Wait()
			require.NoError(t, err)
			s := ask(t.Context(), c)
			for more := true; more; {
				more = false
				for _, err := range s.Events() {
					require.NoError(t, err)
					more = true
					break
				}
			}
			if diff := cmp.Diff(want, s.Snapshot(), sameRun); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFormsAgree: the result does not depend on the protocol.
func TestFormsAgree(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, telling(story()))
	got := map[string]client.Snapshot{}
	for name, ask := range forms {
		s, err := ask(t.Context(), dial(t, url, client.Options{})).Wait()
		require.NoError(t, err)
		got[name] = s
	}
	if diff := cmp.Diff(got["snapshots"], got["deltas"], sameRun); diff != "" {
		t.Errorf("snapshots and deltas differ:\n%s", diff)
	}
	a, b := got["forge"], got["snapshots"]
	if a.Text != b.Text || a.Confidence != b.Confidence || a.Status != b.Status || a.Question != b.Question || a.Usage.Input != b.Usage.Input {
		t.Errorf("forge and snapshots differ:\n%s", cmp.Diff(a, b, sameRun))
	}
	for i := range a.Citations {
		if x, y := a.Citations[i], b.Citations[i]; x.N != y.N || x.Document != y.Document || !slices.Equal(x.Pages, y.Pages) || x.Heading != y.Heading {
			t.Errorf("citation %d: %s", i+1, cmp.Diff(x, y))
		}
	}
	if b.Reasoning != "Let me think." || len(a.Warnings) != 1 {
		t.Errorf("thoughts %q, warnings %v", b.Reasoning, a.Warnings)
	}
}

// frames returns the events of a log in a variant of the knowledge protocol, with batches of one event.
func frames(p knowledge.Protocol, bodies []event.Body) []client.Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	bodies = append([]event.Body{event.RunStarted{Run: "run_1", Protocol: knowledge.Name, Question: event.Question{Query: "why?", Mode: event.Agentic, Collection: "default", TopK: 5}}}, bodies...)
	bodies = append(bodies, event.RunFinished{})
	var evs []client.Event
	proj := p.New()
	for i, b := range bodies {
		e := event.Event{Seq: event.Seq(i + 1), At: at.Add(time.Duration(i) * 10 * time.Millisecond), Body: b}
		for _, f := range proj.Project(nil, []event.Event{e}) {
			evs = append(evs, client.Event{Run: "run_1", Protocol: knowledge.Name, ID: f.ID.String(), Name: f.Event, Data: bytes.Clone(f.Data)})
		}
	}
	return evs
}

// TestMissedSnapshots: a client that misses any snapshots except the last one ends in the same state.
func TestMissedSnapshots(t *testing.T) {
	t.Parallel()
	all := frames(knowledge.Protocol{}, story())
	last := len(all) - 1
	for all[last].Name != knowledge.EventCompleted {
		last--
	}
	fold := func(keep func(i int) bool) client.Snapshot {
		var f client.Fold
		for i, ev := range all {
			if i >= last || keep(i) {
				require.NoError(t, f.Add(ev))
			}
		}
		return f.Snapshot()
	}
	want := fold(func(int) bool { return true })
	if want.Status != client.Completed || want.Text == "" {
		t.Fatalf("%+v", want)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 100 {
		share := rng.Float64()
		got := fold(func(int) bool { return rng.Float64() < share })
		if diff := cmp.Diff(want, got, sameRun); diff != "" {
			t.Fatalf("try %d, %.2f kept:\n%s", i, share, diff)
		}
	}
}

// TestSnapshotsFromOtherGoroutines: snapshots can be taken while the stream is read, and do not change.
func TestSnapshotsFromOtherGoroutines(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, telling(story()))
	for name, ask := range forms {
		s := ask(t.Context(), dial(t, url, client.Options{}))
		stop, began := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			close(began)
			var was client.Snapshot
			copied := ""
			for {
				select {
				case <-stop:
					return
				default:
				}
				now := s.Snapshot()
				if was.Text != copied || !strings.HasPrefix(now.Text, copied) {
					t.Errorf("%s: a snapshot changed: %q, %q", name, copied, now.Text)
				}
				was, copied = now, strings.Clone(now.Text)
				s.Run()
			}
		})
		<-began
		if _, err := s.Wait(); err != nil {
			t.Error(err)
		}
		close(stop)
		wg.Wait()
	}
}

// TestOneReaderAtATime: a second concurrent reader gets an error.
func TestOneReaderAtATime(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, telling(story()))
	s := dial(t, url, client.Options{}).Ask(t.Context(), forge.Request{Query: "why?"})
	for _, err := range s.Events() {
		require.NoError(t, err)
		if _, err := s.Wait(); err == nil {
			t.Error("two read one stream")
		}
		break
	}
	if _, err := s.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := s.Wait(); err != nil || s.Snapshot().Status != client.Completed {
		t.Error("a stream that is over is not")
	}
}

// TestLongTextIsWhole: snapshots show the beginning of a text that does not fit into a line; the final state has all of it.
func TestLongTextIsWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("many words, ", 30_000)
	bodies := []event.Body{event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct}, event.CacheChecked{}, event.GenerationStarted{}}
	for i := 0; i < len(long); i += 1200 {
		bodies = append(bodies, event.Token{Text: long[i : i+1200]})
	}
	bodies = append(bodies, event.GenerationFinished{Reason: "stop"}, event.Verified{}, event.Attributed{})
	s := newSite(t, func(o *sitting) { o.answerer = telling(bodies) })
	for name, ask := range forms {
		got, err := ask(t.Context(), s.c).Wait()
		if err != nil || got.Text != long {
			t.Errorf("%s: %d bytes of %d: %v", name, len(got.Text), len(long), err)
		}
	}
}

// TestCancelThroughTheStream: the stream ends with the last events of the cancelled run.
func TestCancelThroughTheStream(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, script(func(ctx context.Context, r *answer.Recorder) error {
		_ = r.Emit(ctx, event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct})
		<-ctx.Done()
		return ctx.Err()
	}))
	for name, ask := range forms {
		s := ask(t.Context(), dial(t, url, client.Options{}))
		if s.Cancel(t.Context()) == nil {
			t.Error("a run that has not begun was cancelled")
		}
		cancelled := false
		for _, err := range s.Events() {
			require.NoError(t, err)
			if !cancelled {
				cancelled = true
				require.NoError(t, s.Cancel(t.Context()))
			}
		}
		if got := s.Snapshot(); got.Status != client.Cancelled || got.Failure == nil || got.Failure.Code != fault.Cancelled {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestWaitOfFailedRun: Wait returns the error of a run that failed, with the snapshot.
func TestWaitOfFailedRun(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, script(func(context.Context, *answer.Recorder) error { return fault.New(fault.Index, "the index is closed") }))
	for name, ask := range forms {
		got, err := ask(t.Context(), dial(t, url, client.Options{})).Wait()
		if fault.CodeOf(err) != fault.Index || !strings.Contains(err.Error(), "the index is closed") || got.Status != client.Failed {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
	}
}

// TestHeadersAreSentAndNotTold: the configured headers and the password of the address are sent with every request, and are
// in no error.
func TestHeadersAreSentAndNotTold(t *testing.T) {
	t.Parallel()
	var seen []string
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		seen = append(seen, user+" "+password+" "+r.Header.Get("X-Key"))
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(h.Close)
	u, err := url.Parse(h.URL)
	require.NoError(t, err)
	u.User = url.UserPassword("ada", "s3cret")
	c := dial(t, u.String(), client.Options{Header: http.Header{"X-Key": {"k3y"}}, Backoff: 1})
	_, err1 := c.Health(t.Context())
	_, err2 := c.Respond(t.Context(), client.Question("x")).Wait()
	h.Close()
	_, err3 := c.Health(t.Context())
	_, err4 := client.New("http://ada:s3cret@", client.Options{})
	for _, err := range []error{err1, err2, err3, err4} {
		if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "k3y") || strings.Contains(err.Error(), "YWRh") {
			t.Errorf("%v", err)
		}
	}
	if diff := cmp.Diff([]string{"ada s3cret k3y", "ada s3cret k3y"}, seen); diff != "" {
		t.Error(diff)
	}
}

// TestKey: the key is sent to the server alone. A header of the program replaces it, and it replaces a password in the address.
func TestKey(t *testing.T) {
	t.Parallel()
	var seen []string
	record := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		if r.URL.Path == "/moved/healthz" {
			http.Redirect(w, r, strings.Replace("http://"+r.Host, "127.0.0.1", "localhost", 1)+"/healthz", http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, `{"status":"ok"}`)
	})
	h := httptest.NewServer(record)
	t.Cleanup(h.Close)
	for _, c := range []struct {
		path   string
		header http.Header
	}{{"", nil}, {"", http.Header{"Authorization": {"Other"}}}, {"/moved", nil}} {
		url := strings.Replace(h.URL, "http://", "http://a:b@", 1) + c.path
		if _, err := dial(t, url, client.Options{Key: "k3y", Header: c.header}).Health(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"Bearer k3y", "Other", "Bearer k3y", ""}, seen); diff != "" {
		t.Error(diff)
	}
}

// TestHeadersStayWithTheServer: the headers are not sent to another host after a redirect.
func TestHeadersStayWithTheServer(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" || r.Header.Get("Authorization") != "" {
			t.Error("another host was told the headers")
		}
		_, _ = io.WriteString(w, `{"status":"ok"}`)
	}))
	t.Cleanup(other.Close)
	h := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(h.Close)
	c := dial(t, strings.Replace(h.URL, "http://", "http://a:b@", 1), client.Options{Header: http.Header{"X-Key": {"k"}}})
	if got, err := c.Health(t.Context()); err != nil || got.Status != "ok" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestQuestionsAreAskedOnce: a question is sent again if the server rejected it or no connection was made, but not if it
// may have arrived.
func TestQuestionsAreAskedOnce(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, telling(story()))
	for name, c := range map[string]struct {
		status    int
		err       error
		after     string
		asked     int
		succeeded bool
	}{
		"too many":         {status: 429, after: "0", asked: 4, succeeded: true},
		"stopping":         {status: 503, asked: 4, succeeded: true},
		"a far moment":     {status: 503, after: "3600", asked: 1},
		"broken":           {status: 500, asked: 1},
		"a bad gateway":    {status: 502, asked: 1},
		"a wrong question": {status: 400, asked: 1},
		"a broken reply":   {err: io.ErrUnexpectedEOF, asked: 1},
		"a reset":          {err: errors.New("connection reset by peer"), asked: 1},
	} {
		for form, ask := range forms {
			asked := 0
			tr := transport(func(req *http.Request) (*http.Response, error) {
				if req.Method != http.MethodPost {
					return http.DefaultTransport.RoundTrip(req)
				}
				if asked++; asked > 3 {
					return http.DefaultTransport.RoundTrip(req)
				}
				if req.Body != nil {
					_ = req.Body.Close()
				}
				if c.err != nil {
					return nil, c.err
				}
				res := &http.Response{StatusCode: c.status, Header: http.Header{}, Body: http.NoBody, Request: req}
				if c.after != "" {
					res.Header.Set("Retry-After", c.after)
				}
				return res, nil
			})
			waits := 0
			_, err := ask(t.Context(), dial(t, url, client.Options{HTTP: &http.Client{Transport: tr}, Backoff: 1, OnRetry: func(error, time.Duration) { waits++ }})).Wait()
			if (err == nil) != c.succeeded || asked != c.asked || waits != c.asked-1 {
				t.Errorf("%s, %s: asked %d times with %d waits: %v", name, form, asked, waits, err)
			}
		}
	}
}

// TestNothingTwice: events that the server repeats or sends out of order are ignored.
func TestNothingTwice(t *testing.T) {
	t.Parallel()
	connections := 0
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Sluice-Run-Id", "run_1")
		w.Header().Set("Content-Type", "text/event-stream")
		connections++
		for i := 1; i <= 3*connections; i++ {
			fmt.Fprintf(w, "id: %d\nevent: token\ndata: {\"content\":\"%d \"}\n\n", i, i)
		}
		if connections == 3 {
			_, _ = io.WriteString(w, "id: 2\nevent: token\ndata: {\"content\":\"2 \"}\n\nid: 10\nevent: done\ndata: {}\n\n")
		}
	}))
	t.Cleanup(h.Close)
	s := dial(t, h.URL, client.Options{Backoff: 1}).Ask(t.Context(), forge.Request{Query: "why?"})
	seen := 0
	for _, err := range s.Events() {
		require.NoError(t, err)
		seen++
	}
	if got := s.Snapshot().Text; got != "1 2 3 4 5 6 7 8 9 " || seen != 10 {
		t.Errorf("%q in %d events", got, seen)
	}
}

// TestSilence: a connection without events and heartbeats is replaced by a new one.
func TestSilence(t *testing.T) {
	t.Parallel()
	connections := 0
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Sluice-Run-Id", "run_1")
		w.Header().Set("Content-Type", "text/event-stream")
		if connections++; connections < 3 {
			fmt.Fprintf(w, "id: %d\nevent: token\ndata: {\"content\":\"a\"}\n\n", connections)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "id: 9\nevent: done\ndata: {}\n\n")
	}))
	t.Cleanup(h.Close)
	var errs []string
	c := dial(t, h.URL, client.Options{IdleTimeout: 300 * time.Millisecond, Backoff: 1, OnRetry: func(err error, _ time.Duration) { errs = append(errs, err.Error()) }})
	got, err := c.Ask(t.Context(), forge.Request{Query: "why?"}).Wait()
	if err != nil || got.Text != "aa" || got.Status != client.Completed || len(errs) != 2 || !strings.Contains(errs[0], "nothing was received") {
		t.Errorf("%+v, %v after %q", got, err, errs)
	}
}

// TestQuestionBeforeTheServer: the server may start after the question.
func TestQuestionBeforeTheServer(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, telling(story()))
	dialled := 0
	tr := &http.Transport{}
	failing := transport(func(req *http.Request) (*http.Response, error) {
		if dialled++; dialled < 3 {
			r2 := req.Clone(req.Context())
			r2.URL.Host = "127.0.0.1:1" // no server listens there
			return tr.RoundTrip(r2)
		}
		return tr.RoundTrip(req)
	})
	got, err := dial(t, url, client.Options{HTTP: &http.Client{Transport: failing}, Backoff: 1}).Ask(t.Context(), forge.Request{Query: "why?"}).Wait()
	if err != nil || got.Status != client.Completed || dialled != 3 {
		t.Errorf("%v after %d connections", err, dialled)
	}
}
