package client_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/sessions"
	"github.com/sluice-rag/sluice/session"
	sessiondb "github.com/sluice-rag/sluice/session/sqlstore"
	"github.com/sluice-rag/sluice/wire/turns"
)

var turnsEndpoint = server.Endpoint{API: turns.API(), StreamPath: "/v1/rag/sessions/{id}/messages/stream", ReplyPath: "/v1/rag/sessions/{id}/messages", Session: true}

// serveSessions starts a server with sessions.
func serveSessions(t *testing.T, a answer.Answerer, wrap func(http.Handler) http.Handler) (url string) {
	t.Helper()
	store, err := sessiondb.Open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"))
	require.NoError(t, err)
	service := session.New(store, session.Options{})
	e := engine.New(a, engine.Options{Store: eventlog.NewMemory(), Ended: service.Ended, Deleted: service.Deleted})
	service.Bind(e)
	srv, err := server.New(e, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint, turnsEndpoint}, Routes: sessions.Routes(service), Sessions: service})
	require.NoError(t, err)
	h := srv.Handler()
	if wrap != nil {
		h = wrap(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = e.Close(ctx)
		service.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.URL
}

// TestSessionTypesMatchServer calls the routes of sessions. The types of the replies must have every field that the server sends, and no other.
func TestSessionTypesMatchServer(t *testing.T) {
	t.Parallel()
	last := new(recorder)
	ctx, url := t.Context(), serveSessions(t, telling(story()), nil)
	c, plain := dial(t, url, client.Options{HTTP: &http.Client{Transport: last}}), dial(t, url, client.Options{})
	same := func(v any, err error) {
		t.Helper()
		require.NoError(t, err)
		if diff := cmp.Diff(fields(t, last.body), fields(t, v)); diff != "" {
			t.Errorf("%T (-sent by the server +decoded by the client):\n%s", v, diff)
		}
	}
	made, err := c.CreateSession(ctx, client.SessionRequest{ID: "a/b", Title: "First"})
	same(made, err)
	if _, _, err := plain.SendMessage(ctx, "a/b", turns.Request{Content: "why?"}).Wait(); err != nil {
		t.Fatal(err)
	}
	text, trailer, err := plain.SendMessage(ctx, "a/b", turns.Request{Content: "and why?"}).Wait()
	if err != nil || trailer.SessionID != "a/b" {
		t.Fatal(trailer, err)
	}
	one, err := c.Session(ctx, "a/b")
	same(one, err)
	list, err := c.Sessions(ctx, client.SessionFilter{Query: "firs", Archived: "all", Account: "*"}, 1, "")
	same(list, err)
	title, archived := "Second", true
	changed, err := c.UpdateSession(ctx, "a/b", client.SessionChange{Title: &title, Archived: &archived})
	if same(changed, err); changed.Title != title || !changed.Archived || len(list.Sessions) != 1 {
		t.Errorf("changed: %+v, listed: %+v", changed, list)
	}
	rated, err := c.Rate(ctx, "a/b", trailer.MessageID, client.Bad, "no")
	if same(rated, err); rated.Rating != client.Bad {
		t.Errorf("rated: %+v", rated)
	}
	page, err := c.Messages(ctx, "a/b", client.MessageFilter{Limit: 3})
	if same(page, err); len(page.Messages) != 3 || page.Messages[2].Content != text || page.Next == "" || page.Messages[2].Feedback.Reason != "no" {
		t.Errorf("messages: %+v", page)
	}
	if diff := cmp.Diff(trailer.Citations, page.Messages[2].Citations, cmpopts.IgnoreFields(turns.Citation{}, "Snippet")); diff != "" {
		t.Errorf("the citations of the stream (-) and the message (+) differ:\n%s", diff)
	}
	older, err := c.Messages(ctx, "a/b", client.MessageFilter{Before: page.Next})
	if same(older, err); len(older.Messages) != 1 || older.Messages[0].Content != "why?" {
		t.Errorf("older messages: %+v", older)
	}
	if err := c.Unrate(ctx, "a/b", trailer.MessageID); err != nil {
		t.Error(err)
	}
	for format, want := range map[string]string{client.ExportMarkdown: "# Second\n", client.ExportJSON: `{"session":{"session_id":"a/b"`} {
		r, err := c.ExportSession(ctx, "a/b", format)
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		if _ = r.Close(); err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("%s: %.200s, %v", format, b, err)
		}
	}
	if err := c.DeleteSession(ctx, "a/b", false); err != nil {
		t.Error(err)
	}
	_, err = c.Session(ctx, "a/b")
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("after the deletion: %v", err)
	}
	_, _, err = c.SendMessage(ctx, "a/b", turns.Request{Content: "why?"}).Wait()
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a question in no session: %v", err)
	}
}

// byteCutter breaks a connection after so many bytes.
type byteCutter struct {
	http.ResponseWriter
	left int
}

func (c *byteCutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *byteCutter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; n < len(p) && err == nil {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		err = io.ErrClosedPipe
	}
	return n, err
}

// partsOf reads a turn and joins pieces of text that follow each other.
func partsOf(t *testing.T, turn *client.Turn) []client.TurnPart {
	t.Helper()
	var all []client.TurnPart
	for part, err := range turn.Parts() {
		require.NoError(t, err)
		if n := len(all); part.Text != "" && n > 0 && all[n-1].Text != "" {
			all[n-1].Text += part.Text
			continue
		}
		all = append(all, part)
	}
	return all
}

// TestTurnsResumeAtAnyByte: connections that break at random places, also within characters, lines and the trailer, lose and repeat nothing.
func TestTurnsResumeAtAnyByte(t *testing.T) {
	t.Parallel()
	for _, citations := range []string{"", turns.CitationsInline} {
		for seed := range uint64(12) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var posts, gets atomic.Int64
			var cuts [4000]int
			for i := range cuts {
				cuts[i] = 20 + rnd.IntN(200) // of a compressed stream: some connections bring nothing
			}
			url := serveSessions(t, telling(story()), func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/stream") && r.URL.Query().Get("plain") == "" {
						n := gets.Add(1)
						if r.Method == http.MethodPost {
							posts.Add(1)
						}
						w = &byteCutter{w, cuts[n%int64(len(cuts))]}
					}
					next.ServeHTTP(w, r)
				})
			})
			c := dial(t, url, client.Options{Backoff: 1, Retries: 20})
			if _, err := c.CreateSession(t.Context(), client.SessionRequest{ID: "s"}); err != nil {
				t.Fatal(err)
			}
			turn := c.SendMessage(t.Context(), "s", turns.Request{Content: "why?", Citations: citations})
			for _, err := range turn.Parts() {
				require.NoError(t, err)
				break // the next loop continues
			}
			rest := partsOf(t, turn)
			if len(rest) == 0 || rest[len(rest)-1].Trailer == nil || posts.Load() != 1 || gets.Load() < 5 {
				t.Fatalf("seed %d: %d parts, %d questions, %d connections", seed, len(rest), posts.Load(), gets.Load())
			}
			res, err := http.Get(url + "/runs/" + turn.Run() + "/stream?protocol=turns&plain=1&citations=" + citations)
			require.NoError(t, err)
			whole, err := io.ReadAll(res.Body)
			if _ = res.Body.Close(); err != nil {
				t.Fatal(err)
			}
			var g turns.Grammar
			if _, err := g.Write(whole); err != nil {
				t.Fatal(err)
			}
			text, lines := "", 1
			for _, p := range rest {
				if text += p.Text; p.Search != nil || p.Review != nil {
					lines++
				}
			}
			if text != string(g.Text) || lines != len(g.Lines) || (citations != "") != strings.Contains(text, " [1]") {
				t.Errorf("seed %d: %d lines of %d, text %q, want %q", seed, lines, len(g.Lines), text, g.Text)
			}
			if got, want := fields(t, rest[len(rest)-1].Trailer), fields(t, g.Trailer); !cmp.Equal(got, want) {
				t.Errorf("seed %d: the trailer differs: %s", seed, cmp.Diff(want, got))
			}
		}
	}
}

// TestFailedTurn: the error of a failed run is a fault, and the text so far is returned.
func TestFailedTurn(t *testing.T) {
	t.Parallel()
	bodies := story()
	url := serveSessions(t, telling(bodies[:len(bodies)-15]), nil)
	c := dial(t, url, client.Options{})
	if _, err := c.CreateSession(t.Context(), client.SessionRequest{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	turn := c.SendMessage(t.Context(), "s", turns.Request{Content: "why?"})
	text, trailer, err := turn.Wait()
	if fault.CodeOf(err) != fault.Internal || !strings.Contains(text, "wörd3") || trailer.ToolsUsed[0] != turns.ChatFailed {
		t.Errorf("%q, %+v, %v", text, trailer, err)
	}
	again, _, err := c.StreamTurn(t.Context(), turn.Run()).Wait()
	if again != text || err == nil {
		t.Errorf("streamed again: %q, %v", again, err)
	}
}

// turnText begins the reply with the stream of a turn.
func turnText(w http.ResponseWriter, run, text string) {
	w.Header().Set("Content-Type", turns.ContentType)
	w.Header().Set("Sluice-Run-Id", run)
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// TestTurnsThatAreNone: replies that are not the stream of the turn are errors without a retry, and what they hold is bounded.
func TestTurnsThatAreNone(t *testing.T) {
	t.Parallel()
	const begin = "{\"type\":\"search\",\"status\":\"started\"}\n\x1dte"
	second := func(then func(w http.ResponseWriter)) func(int, http.ResponseWriter, *http.Request) {
		return func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				turnText(w, "run_1", begin)
				return
			}
			if at := r.URL.Query().Get("offset"); at != fmt.Sprint(len(begin)) {
				t.Errorf("resumed at %s", at)
			}
			then(w)
		}
	}
	first := func(run, text string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) { turnText(w, run, text) }
	}
	for name, test := range map[string]struct {
		answer func(n int, w http.ResponseWriter, r *http.Request)
		want   string
		asked  int
	}{
		"events":         {func(_ int, w http.ResponseWriter, _ *http.Request) { says(w, "run_1", token) }, "instead of the stream of a turn", 1},
		"nothing":        {func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "replied with 204", 1},
		"no run":         {first("", begin), "no valid id", 1},
		"an invalid run": {first("../x", begin), "no valid id", 1},
		"no JSON":        {first("run_1", "<html>\n"), "not a JSON object", 1},
		"a number":       {first("run_1", "7\n"), "not a JSON object", 1},
		"a long line":    {first("run_1", strings.Repeat("x", 2<<20)), "a line of over", 1},
		"a long trailer": {first("run_1", "\x1d\x1e"+strings.Repeat("x", 9<<20)), "a trailer of over", 1},
		"a trailer of words": {func(n int, w http.ResponseWriter, _ *http.Request) {
			turnText(w, "run_1", map[bool]string{true: "\x1d\x1e[{}"}[n == 1])
		}, "unexpected EOF", 6},
		"another trailer": {first("run_1", "\x1d\x1e{\"run_id\":\"run_2\"}"), "that of another run", 1},
		"another run":     {second(func(w http.ResponseWriter) { turnText(w, "run_2", "xt\x1e{}") }), "another run, run_2", 2},
		"an untold end":   {second(func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }), "without its trailer", 2},
		"a deleted run":   {second(func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }), "404", 2},
	} {
		asked := 0
		url := lying(t, func(n int, w http.ResponseWriter, r *http.Request) { asked = n; test.answer(n, w, r) })
		_, _, err := dial(t, url, client.Options{Backoff: 1, Retries: 5}).SendMessage(t.Context(), "s", turns.Request{Content: "why?"}).Wait()
		if err == nil || !strings.Contains(err.Error(), test.want) || asked != test.asked {
			t.Errorf("%s: %v after %d requests", name, err, asked)
		}
	}
}

// TestSilentTurn: a stream that says nothing is resumed, and one whose header does not come is not asked again.
func TestSilentTurn(t *testing.T) {
	t.Parallel()
	url := lying(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch n {
		case 1:
			turnText(w, "run_1", "\x1da\xc3")
			<-r.Context().Done()
		case 2:
			turnText(w, "run_1", "\xa4b\x1e{\"run_id\":\"run_1\"}")
		}
	})
	text, _, err := dial(t, url, client.Options{IdleTimeout: 300 * time.Millisecond, Backoff: 1}).SendMessage(t.Context(), "s", turns.Request{Content: "why?"}).Wait()
	if err != nil || text != "aäb" {
		t.Errorf("%q, %v", text, err)
	}
}
