package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/model/modeltest"
)

const (
	keyed = `{"urn":"urn:forrst:ext:idempotency","options":{"key":"k-1"}}`
	later = `{"urn":"urn:forrst:ext:async","options":{"preferred":true}}`
)

// settled repeats a call until the key of an earlier attempt is free.
func (c *callers) settled(name, body string) *httptest.ResponseRecorder {
	c.Helper()
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		if w := c.call(name, body); !strings.Contains(w.Body.String(), "IDEMPOTENCY_PROCESSING") || time.Now().After(deadline) {
			return w
		}
	}
}

// TestForrstRetry: after its client has left, a question with the same idempotency key continues the run of the first attempt and counts once. It
// does not continue a run that was cancelled.
func TestForrstRetry(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{`{"urn":"urn:forrst:ext:stream"}`, streamed} {
		write := make(chan struct{})
		m := modeltest.NewOpenAI(t, modeltest.Script{Next: func(int, []byte) modeltest.Script {
			<-write
			return modeltest.Script{Tokens: []string{"Ada", " Brook", " keeps it", "⟦1⟧."}}
		}})
		c := secured(t, m)
		c.add("two", "account-two", 2, auth.Ask)
		body := callBody("rag.ask", `{"query":"`+whoKeeps+`","no_cache":true}`, keyed, stream)
		url := c.listen()
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+"/forrst", strings.NewReader(body)) // of constants
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+c.texts["two"])
			if res, err := http.DefaultClient.Do(r); err == nil {
				<-ctx.Done()
				_ = res.Body.Close()
			}
		}()
		m.Wait(t, generating)
		leave()
		<-left
		again := make(chan *httptest.ResponseRecorder, 1)
		go func() { again <- c.settled("two", body) }()
		close(write)
		w := <-again
		c.expect("again", w, 200, "Ada Brook keeps it")
		c.expect("cached", c.call("two", body), 200, `"status":"cached"`, w.Header().Get("Sluice-Run-Id"))
		if runs := c.runs(); len(runs) != 1 || runs[0] != w.Header().Get("Sluice-Run-Id") {
			t.Errorf("the runs are %v", runs)
		}
		c.expect("counted once", c.call("two", callBody("rag.ask", `{"query":"`+whoKeeps+`","no_cache":true}`)), 200)
		c.expect("counted once", c.call("two", callBody("rag.ask", `{"query":"`+whoKeeps+`","no_cache":true}`)), 429)
	}
}

// runs returns the ids of all runs.
func (c *callers) runs() (ids []string) {
	c.Helper()
	if c.texts["reader"] == "" {
		c.add("reader", "reader", 0, auth.Read)
	}
	r := httptest.NewRequest(http.MethodGet, "/api/runs", nil)
	r.Header.Set("Authorization", "Bearer "+c.texts["reader"])
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	var list struct {
		Runs []struct {
			ID string `json:"run_id"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		c.Fatalf("%v: %s", err, w.Body)
	}
	for _, run := range list.Runs {
		ids = append(ids, run.ID)
	}
	return ids
}

// TestForrstLimited: a key that is limited to collections can read its operations, cannot list them, and has its own keys and operations.
func TestForrstLimited(t *testing.T) {
	t.Parallel()
	l := openLimited(t)
	const question = `{"query":"Who keeps Farland?","collection":"farland-s"}`
	post := func(body string, status int, texts ...string) string {
		t.Helper()
		w := l.send(http.MethodPost, "/forrst", body)
		if w.Code != status {
			t.Errorf("%d, want %d: %s", w.Code, status, w.Body)
		}
		for _, text := range texts {
			if !strings.Contains(w.Body.String(), text) {
				t.Errorf("no %s in %s", text, w.Body)
			}
		}
		return w.Body.String()
	}
	const async = "urn:forrst:ext:async:fn:"
	_, rest, _ := strings.Cut(post(callBody("rag.ask", question, later), 200, "operation_id"), `"operation_id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	status := callBody(async+"status", `{"operation_id":"`+id+`"}`)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(post(status, 200), "completed") && !t.Failed(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the operation does not end")
		}
	}
	post(callBody(async+"cancel", `{"operation_id":"`+id+`"}`), 400, "ASYNC_CANNOT_CANCEL")
	post(callBody(async+"list", "{}"), 403, "FORBIDDEN")
	post(callBody("urn:forrst:ext:cancellation:fn:cancel", `{"token":"t"}`), 403, "FORBIDDEN")

	other := callBody("rag.ask", `{"query":"Who keeps Nearland?","collection":"nearland-s"}`, keyed)
	if w := l.request("acme", http.MethodPost, "/forrst", other); w.Code != 200 {
		t.Fatal(w.Body)
	}
	post(other, 403, "FORBIDDEN")
}
