package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
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

// settled repeats a call with a stream until the key of an earlier attempt is free.
func (c *callers) settled(url, name, body string) *http.Response {
	c.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(5 * time.Millisecond) {
		if res := c.post(c.Context(), url, body, "Authorization", "Bearer "+c.texts[name]); res.StatusCode == http.StatusOK || time.Now().After(deadline) {
			return res
		}
	}
}

// leave makes a call and leaves when the model writes. It returns the run if the call has a stream.
func (c *city) leave(m *modeltest.Server, url, body string, headers ...string) (run string) {
	c.Helper()
	ctx, leave := context.WithCancel(c.Context())
	defer leave()
	began, left := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(left)
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+"/forrst", strings.NewReader(body)) // of constants
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		if res, err := http.DefaultClient.Do(r); err == nil {
			began <- res.Header.Get("Sluice-Run-Id")
			<-ctx.Done()
			_ = res.Body.Close()
		}
	}()
	m.Wait(c.T, generating)
	if strings.Contains(body, streamed) {
		run = <-began
	}
	leave()
	<-left
	return run
}

// TestForrstRetry: after its client has left, a question with the same idempotency key continues the run of the first attempt and counts once. It
// does not continue a run that was cancelled.
func TestForrstRetry(t *testing.T) {
	t.Parallel()
	const same, other = `{"query":"` + whoKeeps + `","no_cache":true}`, `{"query":"Which lighthouse is kept?","no_cache":true}`
	for _, test := range []struct{ stream, again string }{{`{"urn":"urn:forrst:ext:stream"}`, same}, {streamed, same}, {streamed, other}} {
		write := make(chan struct{})
		m := modeltest.NewOpenAI(t, modeltest.Script{Next: func(int, []byte) modeltest.Script {
			<-write
			return modeltest.Script{Tokens: []string{"Ada", " Brook", " keeps it", "⟦1⟧."}}
		}})
		c := secured(t, m)
		c.add("two", "account-two", 2, auth.Ask)
		body := callBody("rag.ask", same, keyed, test.stream)
		url := c.listen()
		c.leave(m, url, body, "Authorization", "Bearer "+c.texts["two"])
		again := callBody("rag.ask", test.again, keyed, streamed)
		res := c.settled(url, "two", again)
		close(write)
		if a, _, _ := c.whole(c.read(res.Body)); string(a.RunID) != res.Header.Get("Sluice-Run-Id") || !strings.Contains(a.Content, "Ada Brook keeps it") {
			t.Errorf("%+v", a)
		}
		c.expect("cached", c.call("two", again), 200, `"status":"cached"`, res.Header.Get("Sluice-Run-Id"))
		if test.again == other { // is not the call of the first attempt
			if runs := c.runs(); len(runs) != 2 {
				t.Errorf("the runs are %v", runs)
			}
			continue
		}
		if runs := c.runs(); len(runs) != 1 {
			t.Errorf("the runs are %v", runs)
		}
		c.expect("counted once", c.call("two", callBody("rag.ask", same)), 200)
		c.expect("counted once", c.call("two", callBody("rag.ask", same)), 429)
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
	for deadline := time.Now().Add(time.Minute); !strings.Contains(post(status, 200), "completed") && !t.Failed(); <-time.After(5 * time.Millisecond) {
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
