package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/forge"
)

// lying starts a server whose nth reply, from 1, is made by answer.
func lying(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	var n atomic.Int64
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(int(n.Add(1)), w, r) }))
	t.Cleanup(h.Close)
	return h.URL
}

// says begins the stream of a run with a token.
func says(w http.ResponseWriter, run, text string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if run != "" {
		w.Header().Set("Sluice-Run-Id", run)
	}
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

const (
	token = "id: 2\nevent: token\ndata: {\"content\":\"a\"}\n\n"
	over  = "id: 9\nevent: done\ndata: {}\n\n"
)

// TestAnswersThatAreNone: replies other than the requested stream are errors without a retry.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer func(n int, w http.ResponseWriter, r *http.Request)
		want   string
		text   string
		asked  int
	}{
		"a page": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>"+token+over)
		}, `200 and "text/html"`, "", 1},
		"no type":                {func(_ int, w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Type"] = nil }, "instead of an event stream", "", 1},
		"nothing":                {func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "replied with 204", "", 1},
		"a redirect to nowhere":  {func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) }, "server answered 302", "", 1},
		"a stream without a run": {func(_ int, w http.ResponseWriter, _ *http.Request) { says(w, "", token) }, "before the server sent the id", "a", 1},
		"another run": {func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				says(w, "run_1", token)
				return
			}
			says(w, "run_2", "id: 3\nevent: token\ndata: {\"content\":\"of another\"}\n\n"+over)
		}, "another run, run_2", "a", 2},
		"an end that is not told": {func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				says(w, "run_1", token)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		}, "without its last events", "a", 2},
	} {
		asked := 0
		url := lying(t, func(n int, w http.ResponseWriter, r *http.Request) { asked = n; test.answer(n, w, r) })
		got, err := dial(t, url, client.Options{Backoff: 1}).Ask(t.Context(), forge.Request{Query: "why?"}).Wait()
		if err == nil || !strings.Contains(err.Error(), test.want) || got.Text != test.text || asked != test.asked {
			t.Errorf("%s: %v with %q after %d requests", name, err, got.Text, asked)
		}
	}
}

// TestSilenceBeforeAnAnswer: a server that does not reply at all is treated like one that becomes silent later. The
// question may have arrived and is not sent again.
func TestSilenceBeforeAnAnswer(t *testing.T) {
	t.Parallel()
	o := client.Options{IdleTimeout: 300 * time.Millisecond, Backoff: 1}
	var first atomic.Bool
	url := lying(t, func(n int, w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case first.Load() || n == 2:
			<-r.Context().Done()
		case n == 1:
			says(w, "run_1", token)
		default:
			says(w, "run_1", over)
		}
	})
	got, err := dial(t, url, o).Ask(t.Context(), forge.Request{Query: "why?"}).Wait()
	if err != nil || got.Text != "a" || got.Status != client.Completed {
		t.Errorf("%+v, %v", got, err)
	}
	first.Store(true)
	if _, err := dial(t, url, o).Ask(t.Context(), forge.Request{Query: "why?"}).Wait(); err == nil || !strings.Contains(err.Error(), "nothing was received") {
		t.Errorf("%v", err)
	}
}

// TestRunWithoutItsHeader: the knowledge protocol has the id of the run in its snapshots, in case a proxy removes the
// header.
func TestRunWithoutItsHeader(t *testing.T) {
	t.Parallel()
	path := ""
	url := lying(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			says(w, "", "id: 1\nevent: response.created\ndata: {\"object\":\"response\",\"id\":\"run_7\",\"status\":\"in_progress\",\"output\":[]}\n\n")
			return
		}
		path = r.URL.Path
		says(w, "", "id: 2\nevent: response.completed\ndata: {\"object\":\"response\",\"id\":\"run_7\",\"status\":\"completed\",\"output\":[]}\n\nid: 3\nevent: done\ndata: {}\n\n")
	})
	s := dial(t, url, client.Options{Backoff: 1}).Respond(t.Context(), client.Question("why?"))
	if got, err := s.Wait(); err != nil || got.Status != client.Completed || path != "/runs/run_7/stream" || s.Run() != "run_7" {
		t.Errorf("%+v, %v at %q", got, err, path)
	}
}

// TestCancelThatIsOvertaken: the end of the run may be read before the reply to its cancellation.
func TestCancelThatIsOvertaken(t *testing.T) {
	t.Parallel()
	cancelled, read := make(chan struct{}), make(chan struct{})
	url := lying(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/cancel") {
			close(cancelled)
			<-read
			return
		}
		says(w, "run_1", "id: 1\nevent: response.created\ndata: {\"object\":\"response\",\"id\":\"run_1\",\"status\":\"in_progress\",\"output\":[]}\n\n")
		<-cancelled
		says(w, "run_1", "id: 2\nevent: response.incomplete\ndata: {\"object\":\"response\",\"id\":\"run_1\",\"status\":\"incomplete\",\"output\":[]}\n\nid: 3\nevent: done\ndata: {}\n\n")
	})
	s := dial(t, url, client.Options{}).Respond(t.Context(), client.Question("why?"))
	var wg sync.WaitGroup
	for _, err := range s.Events() {
		require.NoError(t, err)
		if s.Snapshot().Events == 1 {
			wg.Go(func() {
				if err := s.Cancel(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	close(read)
	wg.Wait()
	if got := s.Snapshot(); got.Status != client.Cancelled || got.Failure == nil {
		t.Errorf("%+v", got)
	}
}

// TestStreamTakenUpInItsMiddle: the first event that is received may be a delta.
func TestStreamTakenUpInItsMiddle(t *testing.T) {
	t.Parallel()
	var f client.Fold
	for _, data := range []string{`{"delta":"b","item_id":"m","output_index":3}`, `{"delta":"c","item_id":"m","output_index":3}`} {
		require.NoError(t, f.Add(client.Event{Run: "run_1", Protocol: "knowledge", Name: "response.output_text.delta", Data: []byte(data)}))
	}
	if s := f.Snapshot(); s.Text != "bc" || s.Status != client.Running || s.Answer != client.Running {
		t.Errorf("%+v", s)
	}
}

// exclusive detects concurrent reads.
type exclusive struct {
	*bytes.Reader
	using atomic.Int32
	t     *testing.T
}

func (e *exclusive) Read(p []byte) (int, error) {
	if e.using.Add(1) != 1 {
		e.t.Error("read while it is used")
	}
	defer e.using.Add(-1)
	runtime.Gosched()
	return e.Reader.Read(p)
}

func (e *exclusive) Seek(at int64, whence int) (int64, error) {
	if e.using.Add(1) != 1 {
		e.t.Error("sought while it is read")
	}
	defer e.using.Add(-1)
	return e.Reader.Seek(at, whence)
}

// TestUploadTurnedAwayUnread: if a server replies before it has read the body, the file is not read concurrently by the
// next attempt.
func TestUploadTurnedAwayUnread(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	var got int64
	url := lying(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n < 8 {
			_, _ = io.CopyN(io.Discard, r.Body, 1000)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		got, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"id":"f"}`)
	})
	body := &exclusive{Reader: bytes.NewReader(make([]byte, size)), t: t}
	f, err := dial(t, url, client.Options{Backoff: 1, Retries: 10}).Upload(t.Context(), "a.bin", body, size, client.UploadOptions{})
	if err != nil || f.ID != "f" || got < size {
		t.Errorf("%+v, %v, %d bytes", f, err, got)
	}
}

// TestNothingIsLeftBehind: streams leave no goroutine and no open connection, however they end.
func TestNothingIsLeftBehind(t *testing.T) {
	url := lying(t, func(n int, w http.ResponseWriter, r *http.Request) {
		says(w, "run_1", fmt.Sprintf("id: %d\nevent: token\ndata: {\"content\":\"a\"}\n\n", n))
		if n%3 == 0 {
			<-r.Context().Done()
		}
	})
	tr := &http.Transport{}
	o := client.Options{HTTP: &http.Client{Transport: tr}, Backoff: time.Millisecond, Retries: 2}
	before := runtime.NumGoroutine()
	for i := range 30 {
		ctx, cancel := context.WithCancel(t.Context())
		s := dial(t, url, o).Ask(ctx, forge.Request{Query: "why?"})
		seen := 0
		for _, err := range s.Events() {
			if seen++; err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				break
			}
			if i%2 == 0 && seen == 1+i%3 {
				break
			}
			if seen == 1+i%3 {
				cancel()
			}
		}
		cancel()
	}
	tr.CloseIdleConnections()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before+2; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			b := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, and %d before:\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
		tr.CloseIdleConnections()
	}
}
