package server_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sqlstore"
	"github.com/sluice-rag/sluice/wire/uistream"
)

// chats is a server with sessions. The header Account of a request is its account, and Collections is what its key is limited to.
type chats struct {
	*testing.T
	url      string
	engine   *engine.Engine
	sessions *session.Service
}

func openChats(t *testing.T, a answer.Answerer) chats {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"))
	require.NoError(t, err)
	sessions := session.New(store, session.Options{})
	e := engine.New(a, engine.Options{Ended: sessions.Ended, Deleted: sessions.Deleted})
	sessions.Bind(e)
	s, err := server.New(e, server.Options{Sessions: sessions,
		Protocols: []server.Endpoint{forgeEndpoint, {API: uistream.API(), StreamPath: "/api/ai/chat", ResumePath: "/api/ai/chat/{id}/stream", StopPath: "/api/ai/chat/{id}/stop"}}})
	require.NoError(t, err)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := auth.Identity{Tenant: auth.DefaultTenant, Account: r.Header.Get("Account"), Key: "k", Scopes: []auth.Scope{auth.Ask}}
		if only := r.Header.Get("Collections"); only != "" {
			i.Collections = []string{only}
		}
		s.Handler().ServeHTTP(w, r.WithContext(auth.With(r.Context(), i)))
	}))
	t.Cleanup(func() {
		stopped, stop := context.WithCancel(context.Background())
		stop()
		_ = e.Close(stopped) // it cancels the runs
		h.Close()
		sessions.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return chats{t, h.URL, e, sessions}
}

// send sends a request. The body is read by the caller.
func (c chats) send(method, path, body string, headers ...string) *http.Response {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.url+path, strings.NewReader(body))
	require.NoError(c, err)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(c, err)
	c.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func chatBody(id, text string) string {
	return `{"id":"` + id + `","messages":[{"role":"user","parts":[{"type":"text","text":"` + text + `"}]}],"trigger":"submit-message"}`
}

// waiting answers when it is released, after the first event.
func waiting(release <-chan struct{}) script {
	return func(ctx context.Context, r *answer.Recorder) error {
		bodies := everything(3, 1)
		if err := emit(ctx, r, bodies[0]); err != nil {
			return err
		}
		select {
		case <-release:
		case <-ctx.Done():
			return ctx.Err()
		}
		return emit(ctx, r, bodies[1:]...)
	}
}

// TestResumeChat: a chat belongs to the account of its key. Its stream is that of the answer in progress, from the beginning.
func TestResumeChat(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	c := openChats(t, waiting(release))
	const path = "/api/ai/chat/c%2F1/stream"
	if res := c.send("GET", path, "", "Account", "ada"); res.StatusCode != http.StatusNoContent {
		t.Errorf("before the first question: %s", res.Status)
	}
	asked := c.send("POST", "/api/ai/chat", chatBody("c/1", "Why?"), "Account", "ada")
	first := bufio.NewReader(asked.Body)
	line, err := first.ReadString('\n')
	if err != nil || asked.Header.Get(uistream.VersionHeader) != uistream.Version {
		t.Fatalf("%v: %s %v", err, asked.Status, asked.Header)
	}
	for name, refused := range map[string]struct {
		headers []string
		status  int
	}{
		"another account":                         {[]string{"Account", "bob"}, http.StatusNoContent},
		"a key for another collection":            {[]string{"Account", "ada", "Collections", "other"}, http.StatusNotFound},
		"a key of another account and collection": {[]string{"Account", "bob", "Collections", "other"}, http.StatusNoContent},
	} {
		res := c.send("GET", path, "", refused.headers...)
		if body := slurp(t, res.Body); res.StatusCode != refused.status || strings.Contains(body, "data:") {
			t.Errorf("%s: %s: %s", name, res.Status, body)
		}
	}
	resumed := c.send("GET", path, "", "Account", "ada")
	if resumed.StatusCode != http.StatusOK || resumed.Header.Get("Sluice-Run-Id") != asked.Header.Get("Sluice-Run-Id") {
		t.Errorf("%s, run %s", resumed.Status, resumed.Header.Get("Sluice-Run-Id"))
	}
	close(release)
	rest, err := io.ReadAll(first)
	require.NoError(t, err)
	if whole := line + string(rest); slurp(t, resumed.Body) != whole || !strings.HasSuffix(whole, "data: [DONE]\n\n") {
		t.Errorf("the resumed stream differs from %s", whole)
	}
	if res := c.send("GET", path, "", "Account", "ada"); res.StatusCode != http.StatusNoContent {
		t.Errorf("after the answer: %s", res.Status)
	}
}

// TestResumeChatWithWaitingQuestion: the answer in progress is resumed also while a newer question of the chat waits for its end.
func TestResumeChatWithWaitingQuestion(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	c := openChats(t, waiting(release))
	first := c.send("POST", "/api/ai/chat", chatBody("c1", "Why?"))
	second := make(chan *http.Response, 1)
	go func() { second <- c.send("POST", "/api/ai/chat", chatBody("c1", "And how?")) }()
	for queued := false; !queued; {
		newest, err := c.sessions.Branch(t.Context(), "", "c1", "", 1)
		require.NoError(t, err)
		queued = newest[0].Status == session.Queued
	}
	resumed := c.send("GET", "/api/ai/chat/c1/stream", "")
	if resumed.StatusCode != http.StatusOK || resumed.Header.Get("Sluice-Run-Id") != first.Header.Get("Sluice-Run-Id") {
		t.Errorf("%s, run %s, want %s", resumed.Status, resumed.Header.Get("Sluice-Run-Id"), first.Header.Get("Sluice-Run-Id"))
	}
	close(release)
	if whole := slurp(t, first.Body); slurp(t, resumed.Body) != whole {
		t.Errorf("the resumed stream differs from %s", whole)
	}
	if text := slurp(t, (<-second).Body); !strings.HasSuffix(text, "data: [DONE]\n\n") {
		t.Errorf("the second answer: %s", text)
	}
}

// TestStopChat: the answer in progress is cancelled by its account, with its number if one is given, and a late request does not cancel the next one.
func TestStopChat(t *testing.T) {
	t.Parallel()
	c := openChats(t, script(func(ctx context.Context, r *answer.Recorder) error {
		if err := emit(ctx, r, everything(3, 1)[0]); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}))
	stop := func(body string, status int, headers ...string) {
		t.Helper()
		if res := c.send("POST", "/api/ai/chat/c1/stop", body, headers...); res.StatusCode != status {
			text, _ := io.ReadAll(res.Body)
			t.Errorf("%s: %s %s", body, res.Status, text)
		}
	}
	stop("", http.StatusNoContent, "Account", "ada")
	for _, byRun := range []bool{false, true} {
		asked := c.send("POST", "/api/ai/chat", chatBody("c1", "Why?"), "Account", "ada")
		run := asked.Header.Get("Sluice-Run-Id")
		stop("", http.StatusNoContent, "Account", "eve")
		stop(`{"activeStreamId":"run_of_the_last_question"}`, http.StatusNoContent, "Account", "ada")
		stop(`{"activeStreamId":1}`, http.StatusBadRequest, "Account", "ada")
		stop(`[`, http.StatusBadRequest, "Account", "ada")
		if !c.engine.Answering(event.RunID(run)) {
			t.Error("the answer was cancelled by another account, or for another run")
		}
		body := `{"assistantMessage":{"id":"m","parts":[]}}`
		if byRun {
			body = `{"activeStreamId":"` + run + `"}`
		}
		stop(body, http.StatusNoContent, "Account", "ada")
		text, err := io.ReadAll(asked.Body)
		if err != nil || !strings.Contains(string(text), `"type":"abort"`) || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
			t.Errorf("%v %s", err, text)
		}
	}
}

// TestChatHistory: the history is that of the request, also if the session has more messages.
func TestChatHistory(t *testing.T) {
	t.Parallel()
	var asked []event.Question
	c := openChats(t, script(func(ctx context.Context, r *answer.Recorder) error {
		asked = append(asked, r.State().Question)
		return emit(ctx, r, everything(3, 1)...)
	}))
	for _, text := range []string{"Who keeps it?", "And since when?"} {
		if got := slurp(t, c.send("POST", "/api/ai/chat", chatBody("c1", text)).Body); !strings.Contains(got, `"finish"`) {
			t.Fatal(got)
		}
	}
	if len(asked) != 2 || len(asked[1].History) != 0 || asked[1].Session != "c1" {
		t.Errorf("%+v", asked)
	}
}

// TestLongChat: a chat is sent with each question as the client has it, with the tool calls and sources of all answers.
func TestLongChat(t *testing.T) {
	t.Parallel()
	c := openChats(t, saying(everything(3, 1)...))
	const exchange = `{"role":"user","parts":[{"type":"text","text":"Why?"}]},{"role":"assistant","parts":[{"type":"text","text":"Because."},
		{"type":"source-document","sourceId":"s1","mediaType":"text/plain","title":"T","providerMetadata":{"sluice":{"quote":"`
	turn := exchange + strings.Repeat("q", 8<<10) + `"}}}]},`
	for turns, status := range map[int]int{100: http.StatusOK, 200: http.StatusRequestEntityTooLarge} {
		body := `{"id":"c1","messages":[` + strings.Repeat(turn, turns) + `{"role":"user","parts":[{"type":"text","text":"And how?"}]}]}`
		if res := c.send("POST", "/api/ai/chat", body); res.StatusCode != status {
			t.Errorf("%d KiB: %s %s", len(body)>>10, res.Status, slurp(t, res.Body))
		}
	}
}

// TestTextFaults: the body of an error is the text that the client shows.
func TestTextFaults(t *testing.T) {
	t.Parallel()
	c := openChats(t, saying(everything(3, 1)...))
	res := c.send("POST", "/api/ai/chat", `{"messages":[]}`)
	if body := slurp(t, res.Body); res.StatusCode != http.StatusBadRequest || body != "messages: no message of the role user" || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%s %v: %s", res.Status, res.Header, body)
	}
	if res := c.send("PUT", "/api/ai/chat", `{}`); res.StatusCode != http.StatusMethodNotAllowed || !strings.HasPrefix(slurp(t, res.Body), "method not allowed") {
		t.Error(res.Status)
	}
}
