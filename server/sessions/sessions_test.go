package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/sessions"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sqlstore"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
	wiresessions "github.com/sluice-rag/sluice/wire/sessions"
	"github.com/sluice-rag/sluice/wire/turns"
)

// echo answers with the question in upper case, and cites two pages of a source.
type echo struct{}

func (echo) Answer(ctx context.Context, r *answer.Recorder) error {
	source := event.Source{N: 1, Chunk: "c1", Document: "d1", Title: "Tide\ntables", Name: "tide.md", Heading: "Spring", Text: "It rises twice a day.", Pages: []int{3, 4}, Cited: true, Weight: 1}
	for _, b := range []event.Body{
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"}, event.CacheChecked{},
		event.RetrievalStarted{Call: 1, Tool: event.ToolHybridSearch, Query: "q", Iteration: 1},
		event.RetrievalFinished{Call: 1, Tool: event.ToolHybridSearch, Found: []event.Found{{Chunk: "c1", Level: source.Level, Score: 0.9}}},
		event.GenerationStarted{Model: "m"}, event.Token{Text: " " + strings.ToUpper(r.State().Query) + "!"}, event.Cited{N: 1, Chunk: "c1", Source: &source},
		event.Token{Text: " The tide is höher."}, event.Cited{N: 1, Chunk: "c1"}, event.GenerationFinished{Reason: event.StopEnd},
		event.Verified{Confidence: 0.5, Claims: []event.Claim{}}, event.Attributed{Sources: []event.Source{source}, Confidence: 0.5},
	} {
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// site serves sessions with a real store.
type site struct {
	t       *testing.T
	handler http.Handler
	service *session.Service
	engine  *engine.Engine
}

func newSite(t *testing.T) *site {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"))
	require.NoError(t, err)
	service := session.New(store, session.Options{})
	e := engine.New(echo{}, engine.Options{Store: eventlog.NewMemory(), Ended: service.Ended, Deleted: service.Deleted})
	service.Bind(e)
	t.Cleanup(func() {
		_ = e.Close(context.Background())
		service.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := server.New(e, server.Options{Protocols: []server.Endpoint{{API: forge.API(), StreamPath: "/api/query/stream"}}, Routes: sessions.Routes(service)})
	require.NoError(t, err)
	return &site{t, s.Handler(), service, e}
}

// ask asks a question as an account and waits for the end of the answer.
func (s *site) ask(account, id, text string, turn wire.Turn) event.RunID {
	s.t.Helper()
	run, detach, err := s.service.Ask(s.t.Context(), event.Question{Query: text, Session: id}, session.Turn{Turn: turn}, engine.Caller{Account: account, Protocol: turns.Name})
	require.NoError(s.t, err)
	defer detach()
	for _, err := range s.engine.Events(s.t.Context(), run, 0) {
		require.NoError(s.t, err)
	}
	return run
}

func as(account string, scopes ...auth.Scope) *auth.Identity {
	return &auth.Identity{Tenant: auth.DefaultTenant, Account: account, Key: "k", Scopes: scopes}
}

// do sends a request as a caller.
func (s *site) do(caller *auth.Identity, method, path, body string) *httptest.ResponseRecorder {
	s.t.Helper()
	ctx := s.t.Context()
	if caller != nil {
		ctx = auth.With(ctx, *caller)
	}
	r := httptest.NewRequestWithContext(ctx, method, "http://localhost/v1/rag/sessions"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// reply sends a request as ann and decodes the reply.
func (s *site) reply(v any, status int, method, path, body string) {
	s.t.Helper()
	w := s.do(as("ann", auth.Ask), method, path, body)
	if w.Code != status {
		s.t.Fatalf("%s %s: status %d: %s", method, path, w.Code, w.Body)
	}
	if v == nil {
		if w.Body.Len() > 0 {
			s.t.Errorf("%s %s: %s", method, path, w.Body)
		}
		return
	}
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), v))
}

func (s *site) messages(path string) (texts []string, page wiresessions.Messages) {
	s.t.Helper()
	s.reply(&page, http.StatusOK, "GET", path, "")
	for _, m := range page.Messages {
		texts = append(texts, m.Content)
	}
	return texts, page
}

func TestSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var made, other wiresessions.Session
	s.reply(&made, http.StatusCreated, "POST", "", "")
	s.reply(&other, http.StatusCreated, "POST", "", `{"session_id":"my/own id","title":" Tides "}`)
	if made.ID == "" || made.CreatedAt.IsZero() || other.ID != "my/own id" || other.Title != "Tides" || other.TitleBy != session.TitleByUser || other.Account != "ann" {
		t.Errorf("made: %+v and %+v", made, other)
	}
	for i := range 4 {
		s.ask("ann", fmt.Sprintf("s%d", i), "Why "+strings.Repeat("tide", i), wire.Turn{})
	}
	var got []string
	for path := "?limit=4"; path != ""; {
		var page wiresessions.List
		s.reply(&page, http.StatusOK, "GET", path, "")
		for _, of := range page.Sessions {
			got = append(got, of.ID)
		}
		if path = ""; page.Next != "" {
			path = "?limit=4&after=" + page.Next
		}
	}
	if want := []string{"s3", "s2", "s1", "s0", "my/own id", made.ID}; !slices.Equal(got, want) {
		t.Errorf("listed: %q, want %q", got, want)
	}
	path := "/" + url.PathEscape(other.ID)
	var changed wiresessions.Session
	s.reply(&changed, http.StatusOK, "PATCH", path, `{"title":"Moons","archived":true}`)
	if changed.Title != "Moons" || !changed.Archived {
		t.Errorf("changed: %+v", changed)
	}
	for query, want := range map[string]int{"": 5, "?archived=true": 1, "?archived=all": 6, "?q=tidet&archived=all": 2, "?q=moo&archived=all": 1, "?q=nowhere": 0} {
		var page wiresessions.List
		if s.reply(&page, http.StatusOK, "GET", query, ""); len(page.Sessions) != want {
			t.Errorf("%s: %d sessions, want %d: %+v", query, len(page.Sessions), want, page)
		}
	}
	s.reply(nil, http.StatusNoContent, "DELETE", path, "")
	if w := s.do(as("ann", auth.Ask), "GET", path, ""); w.Code != http.StatusNotFound {
		t.Errorf("after the deletion: %d", w.Code)
	}
}

func TestDeletionOfRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for what, want := range map[string]error{"": eventlog.ErrNotFound, "?runs=delete": eventlog.ErrNotFound, "?runs=keep": nil} {
		run := s.ask("ann", "s", "Why?", wire.Turn{})
		s.reply(nil, http.StatusNoContent, "DELETE", "/s"+what, "")
		if _, err := s.engine.Store().Load(t.Context(), run, 0); (err == nil) != (want == nil) {
			t.Errorf("%s: the run: %v", what, err)
		}
	}
}

func TestMessagesOfBranches(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var runs []event.RunID
	for i := range 4 {
		runs = append(runs, s.ask("ann", "s", fmt.Sprintf("q%d", i), wire.Turn{}))
	}
	edited := s.ask("ann", "s", "other", wire.Turn{Edit: runs[1].QuestionID()})
	const tail = "! The tide is höher."
	whole := []string{"q0", " Q0" + tail, "other", " OTHER" + tail}
	texts, page := s.messages("/s/messages")
	if diff := cmp.Diff(whole, texts); diff != "" {
		t.Errorf("the active branch: %s", diff)
	}
	if siblings := page.Messages[2].Siblings; !slices.Equal(siblings, []string{runs[1].QuestionID(), edited.QuestionID()}) {
		t.Errorf("siblings: %q", siblings)
	}
	a := page.Messages[3]
	if a.ID != edited.AnswerID() || a.RunID != string(edited) || a.Parent != edited.QuestionID() || a.Role != "assistant" || a.Status != string(session.Completed) || a.Confidence == nil || a.EndedAt.IsZero() {
		t.Errorf("the answer: %+v", a)
	}
	var log []event.Event
	for batch, err := range s.engine.Events(t.Context(), edited, 0) {
		require.NoError(t, err)
		log = append(log, batch...)
	}
	stream := turns.AnswerOf(log)
	if diff := cmp.Diff(stream.Citations, a.Citations); diff != "" {
		t.Errorf("the citations of the stream (-) and the message (+) differ:\n%s", diff)
	}
	if len(a.Citations) != 2 || string([]rune(a.Content)[a.Citations[1].Start:a.Citations[1].End]) != "The tide is höher." {
		t.Errorf("citations: %+v", a.Citations)
	}
	first, page := s.messages("/s/messages?limit=5&last=" + runs[3].AnswerID())
	older, end := s.messages("/s/messages?limit=5&before=" + page.Next)
	if got := append(older, first...); len(got) != 8 || got[0] != "q0" || got[2] != "q1" || got[6] != "q3" || end.Next != "" || len(first) != 5 {
		t.Errorf("two pages of another branch: %q %q, next %q", older, first, end.Next)
	}
	if texts, page := s.messages("/s/messages?before=" + runs[0].QuestionID()); len(texts) != 0 || page.Next != "" {
		t.Errorf("before the first message: %q", texts)
	}
	var changed wiresessions.Session
	s.reply(&changed, http.StatusOK, "PATCH", "/s", `{"head":"`+runs[2].AnswerID()+`"}`)
	if texts, _ := s.messages("/s/messages?limit=2"); changed.Head != runs[2].AnswerID() || texts[0] != "q2" {
		t.Errorf("after a change of the branch: %q", texts)
	}
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	run := s.ask("ann", "s", "Why?", wire.Turn{})
	path := "/s/messages/" + run.AnswerID() + "/feedback"
	var f wiresessions.Feedback
	s.reply(&f, http.StatusOK, "PUT", path, `{"rating":"good"}`)
	s.reply(&f, http.StatusOK, "PUT", path, `{"rating":"bad","reason":"It is wrong."}`)
	_, page := s.messages("/s/messages")
	if got := page.Messages[1].Feedback; got == nil || got.Rating != "bad" || got.Reason != "It is wrong." || got.RatedAt.IsZero() || f.Rating != "bad" {
		t.Errorf("the feedback: %+v", got)
	}
	for range 2 {
		s.reply(nil, http.StatusNoContent, "DELETE", path, "")
	}
	if _, page := s.messages("/s/messages"); page.Messages[1].Feedback != nil {
		t.Errorf("the feedback is still there")
	}
	question := "/s/messages/" + run.QuestionID() + "/feedback"
	if w := s.do(as("ann", auth.Ask), "PUT", question, `{"rating":"good"}`); w.Code != http.StatusNotFound {
		t.Errorf("feedback on a question: %d %s", w.Code, w.Body)
	}
}

// TestRefusals sends invalid requests. The errors name the field.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	run := s.ask("ann", "s", "Why?", wire.Turn{})
	feedback := "/s/messages/" + run.AnswerID() + "/feedback"
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		method, path, body string
		status             int
		field              string
	}{
		{"POST", "", `{"session_id":"s"}`, 409, "session_id"},
		{"POST", "", `{"session_id":"` + long[:129] + `"}`, 400, "session_id"},
		{"POST", "", `{"session_id":"a\u0000b"}`, 400, "session_id"},
		{"POST", "", `{"session_id":"."}`, 400, "session_id"},
		{"POST", "", `{"session_id":".."}`, 400, "session_id"},
		{"POST", "", `{"title":"` + long[:301] + `"}`, 400, "title"},
		{"POST", "", `{"name":"x"}`, 400, "name"},
		{"POST", "", `[]`, 400, "body"},
		{"POST", "", `{"title":"` + strings.Repeat(long, 4) + `"}`, 413, ""},
		{"GET", "?limit=0", "", 400, "limit"},
		{"GET", "?limit=201", "", 400, "limit"},
		{"GET", "?after=MS4x0", "", 400, "after"},
		{"GET", "?after=" + long, "", 400, "after"},
		{"GET", "?archived=maybe", "", 400, "archived"},
		{"GET", "?q=" + long, "", 400, "q"},
		{"GET", "?q=%21%3F", "", 400, "q"},
		{"GET", "?q=%FF", "", 400, "q"},
		{"GET", "/none", "", 404, ""},
		{"GET", "/" + long, "", 404, ""},
		{"PATCH", "/none", `{"title":"x"}`, 404, ""},
		{"PATCH", "/s", `{"title":""}`, 400, "title"},
		{"PATCH", "/s", `{"title":"a\nb"}`, 400, "title"},
		{"PATCH", "/s", `{"head":"none"}`, 404, "head"},
		{"PATCH", "/s", `{"head":"` + run.QuestionID() + `"}`, 400, "head"},
		{"PATCH", "/s", `{"ID":"x"}`, 400, "ID"},
		{"DELETE", "/s?runs=some", "", 400, "runs"},
		{"DELETE", "/none", "", 404, ""},
		{"GET", "/s/messages?limit=x", "", 400, "limit"},
		{"GET", "/s/messages?last=none", "", 404, "last"},
		{"GET", "/s/messages?before=none", "", 404, "before"},
		{"GET", "/s/messages?before=a&last=b", "", 400, "before"},
		{"GET", "/none/messages", "", 404, ""},
		{"GET", "/s/export?format=pdf", "", 400, "format"},
		{"GET", "/none/export", "", 404, ""},
		{"PUT", feedback, `{"rating":"great"}`, 400, "rating"},
		{"PUT", feedback, `{}`, 400, "rating"},
		{"PUT", feedback, `{"rating":"good","reason":"` + long + `"}`, 400, "reason"},
		{"PUT", "/s/messages/none/feedback", `{"rating":"good"}`, 404, ""},
		{"DELETE", "/s/messages/none/feedback", "", 404, ""},
		{"PUT", "/none/messages/" + run.AnswerID() + "/feedback", `{"rating":"good"}`, 404, ""},
	} {
		w := s.do(as("ann", auth.Ask), c.method, c.path, c.body)
		var f turns.Fault
		if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil || w.Code != c.status || f.Field != c.field || f.Error == "" || f.Error != strings.ToLower(f.Error) || f.Message == "" {
			t.Errorf("%s %.80s %.80s: %d %s; want %d and the field %q", c.method, c.path, c.body, w.Code, w.Body, c.status, c.field)
		}
	}
	if _, page := s.messages("/s/messages"); page.Messages[1].Feedback != nil {
		t.Error("an invalid request left a rating")
	}
}

// TestKeys checks what keys permit. A session of another account gets the same reply as one that never was.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	run := s.ask("ann", "s", "Why?", wire.Turn{})
	requests := []struct {
		method, path, body string
		others             auth.Scope // that permits it for sessions of other accounts
	}{
		{"GET", "/ID", "", auth.Read},
		{"GET", "/ID/messages", "", auth.Read},
		{"GET", "/ID/messages?last=" + run.AnswerID(), "", auth.Read},
		{"GET", "/ID/messages?before=" + run.AnswerID(), "", auth.Read},
		{"GET", "/ID/export", "", auth.Read},
		{"GET", "/ID/export?format=json", "", auth.Read},
		{"PATCH", "/ID", `{"title":"Mine"}`, ""},
		{"PATCH", "/ID", `{"head":"` + run.AnswerID() + `"}`, ""},
		{"PUT", "/ID/messages/" + run.AnswerID() + "/feedback", `{"rating":"bad"}`, ""},
		{"DELETE", "/ID/messages/" + run.AnswerID() + "/feedback", "", ""},
		{"DELETE", "/ID", "", auth.Write},
	}
	with := func(path, id, account string) string {
		path = strings.Replace(path, "ID", id, 1)
		if account == "" {
			return path
		}
		if strings.Contains(path, "?") {
			return path + "&account=" + account
		}
		return path + "?account=" + account
	}
	before := s.do(as("ann", auth.Ask), "GET", "/s/export?format=json", "").Body.String()
	for _, c := range requests {
		for _, account := range []string{"", "ann"} {
			known := s.do(as("eve", auth.Ask), c.method, with(c.path, "s", account), c.body)
			never := s.do(as("eve", auth.Ask), c.method, with(c.path, "never", account), c.body)
			if known.Code != http.StatusNotFound || known.Body.String() != never.Body.String() {
				t.Errorf("%s %s of another account %q: %d %s, and of none: %d %s", c.method, c.path, account, known.Code, known.Body, never.Code, never.Body)
			}
		}
		for _, scope := range []auth.Scope{auth.Read, auth.Write, auth.Admin} {
			w := s.do(as("boss", scope), c.method, with(c.path, "never", "ann"), c.body)
			permitted := c.others != "" && (scope == c.others || scope == auth.Admin)
			want := http.StatusForbidden
			if permitted || scope == auth.Admin {
				want = http.StatusNotFound
			}
			if w.Code != want {
				t.Errorf("%s %s as another account with %s: %d %s, want %d", c.method, c.path, scope, w.Code, w.Body, want)
			}
		}
		if c.others == auth.Read {
			if w := s.do(as("boss", auth.Read), c.method, with(c.path, "s", "ann"), c.body); w.Code != http.StatusOK {
				t.Errorf("%s %s with read: %d %s", c.method, c.path, w.Code, w.Body)
			}
		}
		if w := s.do(as("ann"), c.method, with(c.path, "s", ""), c.body); w.Code != http.StatusForbidden {
			t.Errorf("%s %s without scopes: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
	if after := s.do(as("ann", auth.Ask), "GET", "/s/export?format=json", "").Body.String(); after != before {
		t.Errorf("the session has changed:\n%s\n%s", before, after)
	}
	for _, c := range []struct {
		caller *auth.Identity
		query  string
		want   string
	}{
		{as("eve", auth.Ask), "", `{"sessions":[]}`},
		{as("eve", auth.Ask), "?q=why", `{"sessions":[]}`},
		{as("eve", auth.Ask), "?account=*", `"error":"forbidden"`},
		{as("eve", auth.Ask), "?account=ann", `"error":"not_found"`},
		{as("eve", auth.Write), "", `"error":"forbidden"`},
		{as("boss", auth.Read), "?account=*", `"session_id":"s","account":"ann"`},
		{as("boss", auth.Read), "?account=ann", `"session_id":"s"`},
		{as("boss", auth.Read), "?account=", `{"sessions":[]}`},
		{nil, "?account=*", `"session_id":"s"`},
	} {
		if w := s.do(c.caller, "GET", c.query, ""); !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%+v lists %s: %s", c.caller, c.query, w.Body)
		}
	}
	if w := s.do(as("boss", auth.Write), "DELETE", "/s?account=ann", ""); w.Code != http.StatusNoContent {
		t.Errorf("deletion with write: %d %s", w.Code, w.Body)
	}
}
