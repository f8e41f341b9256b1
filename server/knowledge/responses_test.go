package knowledge_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/sse"
)

// events reads a stream.
func (s *site) events(method, path, body string) []sse.Event {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		s.t.Fatalf("%s %s: %s: %s", method, path, res.Status, res.Header.Get("Content-Type"))
	}
	var evs []sse.Event
	for ev, err := range sse.NewReader(res.Body, 0).All() {
		require.NoError(s.t, err)
		evs = append(evs, ev)
	}
	return evs
}

// answered asks a vector store and returns the id and the last snapshot of the response.
func (s *site) answered(store, question string) (id string, response map[string]any) {
	s.t.Helper()
	evs := s.events("POST", "/v1/responses", fmt.Sprintf(`{"model":"any","effort":"low","store":true,"input":[{"role":"user","content":%q}],
		"tools":[{"type":"file_search","vector_store_ids":[%q],"max_num_results":10}]}`, question, store))
	if len(evs) < 3 || evs[len(evs)-1].Name != "done" {
		s.t.Fatalf("%d events", len(evs))
	}
	response = object(s.t, []byte(evs[len(evs)-2].Data))
	return response["id"].(string), response
}

func TestStoredResponses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.store("vs", s.uploaded("gold.md", gold))
	id, last := s.answered("vs", "Why does gold settle behind the riffles?")
	stored := s.get("/v1/responses/" + id)
	for _, key := range []string{"id", "object", "status", "output", "usage", "created_at", "model"} {
		if diff := cmp.Diff(last[key], stored[key]); diff != "" {
			t.Errorf("%s (-streamed +stored): %s", key, diff)
		}
	}
	if stored["status"] != "completed" || !strings.Contains(fmt.Sprint(stored["output"]), "⟦⟦1⟧⟧") {
		t.Errorf("%v", stored)
	}
	list := s.get("/v1/responses")["data"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["id"] != id || list[0].(map[string]any)["status"] != "completed" {
		t.Errorf("list: %v", list)
	}
	// It can be streamed again, from anywhere.
	whole := s.events("GET", "/v1/responses/"+id+"?stream=true", "")
	for i, ev := range whole[:len(whole)-1] {
		rest := s.events("GET", "/v1/responses/"+id+"?stream=true&starting_after="+ev.ID, "")
		if diff := cmp.Diff(whole[i+1:], rest); diff != "" {
			t.Fatalf("after %s: %s", ev.ID, diff)
		}
	}
	for _, after := range []string{"x", "999"} {
		refused := s.json(400, "GET", "/v1/responses/"+id+"?stream=true&starting_after="+after, "")
		if field := refused["detail"].(map[string]any)["field"]; field != "starting_after" {
			t.Errorf("after %s: %v", after, refused)
		}
	}
	s.json(400, "GET", "/v1/responses/"+id+"?stream=perhaps", "")
	if c := s.json(200, "POST", "/v1/responses/"+id+"/cancel", ""); c["status"] != "completed" {
		t.Errorf("cancelling what has ended: %v", c["status"])
	}
	if d := s.json(200, "DELETE", "/v1/responses/"+id, ""); d["id"] != id || d["deleted"] != true || d["object"] == "" {
		t.Errorf("%v", d)
	}
	for _, r := range []string{"GET /v1/responses/" + id, "GET /v1/responses/" + id + "?stream=true", "DELETE /v1/responses/" + id, "POST /v1/responses/" + id + "/cancel",
		"GET /runs/" + id + "/stream"} {
		method, path, _ := strings.Cut(r, " ")
		s.json(404, method, path, "")
	}
	if list := s.get("/v1/responses")["data"].([]any); len(list) != 0 {
		t.Errorf("list: %v", list)
	}
}

// TestEphemeralResponse: the response does not exist after the run.
func TestEphemeralResponse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.store("vs", s.uploaded("gold.md", gold))
	r := s.post("/v1/responses", `{"stream":false,"store":false,"input":"Why does gold settle?","tools":[{"type":"file_search","vector_store_ids":["vs"]}]}`)
	id := r["id"].(string)
	s.json(404, "GET", "/v1/responses/"+id, "")
	s.json(404, "DELETE", "/v1/responses/"+id, "")
	if list := s.get("/v1/responses")["data"].([]any); len(list) != 0 {
		t.Errorf("list: %v", list)
	}
}

// TestResponseOfAnyProtocol: runs of any protocol can be shown as responses.
func TestResponseOfAnyProtocol(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.store("vs", s.uploaded("gold.md", gold))
	id, err := s.engine.Ask(t.Context(), event.Question{Query: "Why does gold settle behind the riffles?", Collection: "vs", Mode: event.Direct}, engine.Caller{})
	require.NoError(t, err)
	for _, err := range s.engine.Events(t.Context(), id, 0) {
		require.NoError(t, err)
	}
	if r := s.get("/v1/responses/" + string(id)); r["status"] != "completed" || r["object"] != "response" {
		t.Errorf("%v", r)
	}
}

func TestListResponses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.store("vs", s.uploaded("gold.md", gold))
	var want []string
	for i := range 5 {
		id, _ := s.answered("vs", fmt.Sprintf("Why does gold settle behind riffle %d?", i))
		want = append([]string{id}, want...)
	}
	var seen []string
	after := ""
	for more := true; more; {
		list := s.get("/v1/responses?limit=2&after=" + after)
		for _, r := range list["data"].([]any) {
			seen = append(seen, r.(map[string]any)["id"].(string))
		}
		after, more = list["last_id"].(string), list["has_more"].(bool)
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	unnamed := s.post("/v1/responses", `{"input":"Why?","stream":false}`)
	for _, whole := range []map[string]any{s.get("/v1/responses/" + want[0]), unnamed} {
		for _, r := range s.get("/v1/responses")["data"].([]any) {
			if r := r.(map[string]any); r["id"] == whole["id"] && r["model"] != whole["model"] {
				t.Errorf("in the list the model is %q, and %q in the response", r["model"], whole["model"])
			}
		}
	}
	s.json(400, "GET", "/v1/responses?limit=0", "")
}

// TestDeletedFileIsNotAnswered: later answers do not contain deleted or removed files.
func TestDeletedFileIsNotAnswered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	g, w := s.uploaded("gold.md", gold), s.uploaded("tide.md", tide)
	s.store("vs", g, w)
	s.store("other", w)
	const question = "Why does gold settle behind the riffles?"
	if _, r := s.answered("vs", question); !strings.Contains(fmt.Sprint(r["output"]), g) {
		t.Errorf("not cited: %v", r["output"])
	}
	if _, r := s.answered("other", question); strings.Contains(fmt.Sprint(r["output"]), g) {
		t.Error("cited from a store that it is not in")
	}
	s.post("/v1/vector_stores/vs", `{"left_file_ids":["`+g+`"]}`)
	if _, r := s.answered("vs", question); strings.Contains(fmt.Sprint(r["output"]), g) {
		t.Error("cited after it had left")
	}
	s.post("/v1/vector_stores/vs", `{"join_file_ids":["`+g+`"]}`)
	if _, r := s.answered("vs", question); !strings.Contains(fmt.Sprint(r["output"]), g) {
		t.Error("not cited after it had come back")
	}
	s.json(200, "DELETE", "/v1/files/"+g, "")
	if _, r := s.answered("vs", question); strings.Contains(fmt.Sprint(r["output"]), g) {
		t.Error("cited after it was deleted")
	}
}

// waiting answers with a word, and with another one after it was released or stopped.
type waiting struct{ begun, goOn chan struct{} }

func (a waiting) Answer(ctx context.Context, r *answer.Recorder) error {
	for _, b := range []event.Body{event.QueryAnalyzed{Mode: event.Direct}, event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "Well, "}} {
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	close(a.begun)
	select {
	case <-a.goOn:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, b := range []event.Body{event.Token{Text: "yes."}, event.GenerationFinished{Reason: "stop"}, event.Verified{}, event.Attributed{}} {
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// TestLiveResponse is read while the run is live, and until its end.
func TestLiveResponse(t *testing.T) {
	t.Parallel()
	a := waiting{make(chan struct{}), make(chan struct{})}
	s := newSite(t, func(p *parts) { p.answerer = a })
	run, err := s.engine.Ask(t.Context(), event.Question{Query: "Is it?", Ephemeral: true}, engine.Caller{})
	require.NoError(t, err)
	<-a.begun
	id := string(run)
	if r := s.get("/v1/responses/" + id); r["status"] != "in_progress" || !strings.Contains(fmt.Sprint(r["output"]), "Well, ") {
		t.Errorf("%v", r)
	}
	if list := s.get("/v1/responses")["data"].([]any); len(list) != 0 {
		t.Errorf("what is not to be stored is listed: %v", list)
	}
	res, err := http.Get(s.url + "/v1/responses/" + id + "?stream=true")
	require.NoError(t, err)
	defer res.Body.Close()
	next, stop := iter.Pull2(sse.NewReader(res.Body, 0).All())
	defer stop()
	ev, err, _ := next()
	require.NoError(t, err)
	if ev.Name != "response.created" {
		t.Errorf("first event: %s", ev.Name)
	}
	close(a.goOn)
	var last sse.Event
	for ev, err, ok := next(); ok && ev.Name != "done"; ev, err, ok = next() {
		require.NoError(t, err)
		last = ev
	}
	if last.Name != "response.completed" || !strings.Contains(last.Data, "Well, yes.") {
		t.Errorf("last event: %s: %s", last.Name, last.Data)
	}
}

// TestCancelledResponse: the reply to a cancellation has the final status.
func TestCancelledResponse(t *testing.T) {
	t.Parallel()
	a := waiting{make(chan struct{}), make(chan struct{})}
	s := newSite(t, func(p *parts) { p.answerer = a })
	run, err := s.engine.Ask(t.Context(), event.Question{Query: "Is it?"}, engine.Caller{})
	require.NoError(t, err)
	<-a.begun
	r := s.json(200, "POST", "/v1/responses/"+string(run)+"/cancel", "")
	if status := r["status"]; status == "in_progress" || status == "completed" || !strings.Contains(fmt.Sprint(r["output"]), "Well, ") {
		t.Errorf("%v", r)
	}
	list := s.get("/v1/responses")["data"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["status"] != r["status"] {
		t.Errorf("listed as %v, answered as %v", list, r["status"])
	}
}

// TestDeleteLiveResponse: deleting a live response cancels it first.
func TestDeleteLiveResponse(t *testing.T) {
	t.Parallel()
	a := waiting{make(chan struct{}), make(chan struct{})}
	s := newSite(t, func(p *parts) { p.answerer = a })
	run, err := s.engine.Ask(t.Context(), event.Question{Query: "Is it?"}, engine.Caller{})
	require.NoError(t, err)
	<-a.begun
	s.json(200, "DELETE", "/v1/responses/"+string(run), "")
	s.json(404, "GET", "/v1/responses/"+string(run), "")
	if n := s.engine.Live(); n != 0 {
		t.Errorf("%d runs are live", n)
	}
}

// TestFailedResponseIsWhole: a failed run has the status 200, because the service's client ignores the body of other
// replies.
func TestFailedResponseIsWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	body := `{"model":"any","messages":[{"role":"user","content":"Why?"}],"tools":[{"type":"file_search","vector_store_ids":["nowhere"]}]}`
	res, err := http.Post(s.url+"/v1/responses", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	if got := object(t, raw); res.StatusCode != http.StatusOK || got["status"] != "failed" || got["error"] == nil || !strings.Contains(string(raw), "output_text") {
		t.Errorf("%s: %.600s", res.Status, raw)
	}
}
