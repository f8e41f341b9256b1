package session_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sqlstore"
	"github.com/sluice-rag/sluice/wire"
)

// script is an answerer that runs a function of the test.
type script func(ctx context.Context, r *answer.Recorder) error

func (s script) Answer(ctx context.Context, r *answer.Recorder) error { return s(ctx, r) }

// say answers with a text and one citation.
func say(ctx context.Context, r *answer.Recorder, text string, before ...event.Body) error {
	source := event.Source{N: 1, Chunk: "c1", Document: "d1", Title: "Lighthouses", Text: "It rains. The light was built in 1871.", Quote: 10, QuoteEnd: 38, Cited: true, Weight: 1}
	bodies := append(before, event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules", Standalone: "standalone"}, event.CacheChecked{},
		event.GenerationStarted{Model: "m"}, event.Token{Text: text}, event.Cited{N: 1, Chunk: "c1", Source: &source}, event.GenerationFinished{Reason: "stop"},
		event.Verified{Confidence: 0.5, Claims: []event.Claim{}}, event.Attributed{Sources: []event.Source{source}, Confidence: 0.5})
	for _, b := range bodies {
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// echo answers with the question in upper case.
func echo(ctx context.Context, r *answer.Recorder) error {
	return say(ctx, r, strings.ToUpper(r.State().Query))
}

// bench is a service under test with its engine.
type bench struct {
	t       *testing.T
	service *session.Service
	engine  *engine.Engine
	store   *sqlstore.Store
	log     eventlog.Store
}

func open(t *testing.T, path string, log eventlog.Store, a answer.Answerer, o session.Options) *bench {
	t.Helper()
	st, err := sqlstore.Open(t.Context(), path)
	require.NoError(t, err)
	s := session.New(st, o)
	e := engine.New(a, engine.Options{Store: log, Ended: s.Ended, Deleted: s.Deleted})
	s.Bind(e)
	b := &bench{t, s, e, st, log}
	t.Cleanup(b.close)
	return b
}

func (b *bench) close() {
	stopped, stop := context.WithCancel(context.Background())
	stop()
	_ = b.engine.Close(stopped) // it cancels the runs
	b.service.Close()
	if err := b.store.Close(); err != nil {
		b.t.Error(err)
	}
}

func newBench(t *testing.T, a answer.Answerer) *bench {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "sessions.db"), eventlog.NewMemory(), a, session.Options{})
}

// ask asks a question and waits for the end of its run.
func (b *bench) ask(id, text string, turn wire.Turn) event.RunID {
	b.t.Helper()
	run, err := b.tryAsk(id, text, turn)
	require.NoError(b.t, err)
	return run
}

func (b *bench) tryAsk(id, text string, turn wire.Turn) (event.RunID, error) {
	b.t.Helper()
	run, detach, err := b.service.Ask(b.t.Context(), event.Question{Query: text, Session: id}, session.Turn{Turn: turn}, engine.Caller{Account: "ada"})
	if err != nil {
		return run, err
	}
	defer detach()
	b.wait(run)
	return run, nil
}

func (b *bench) wait(run event.RunID) event.State {
	b.t.Helper()
	var log []event.Event
	for batch, err := range b.engine.Events(b.t.Context(), run, 0) {
		require.NoError(b.t, err)
		log = append(log, batch...)
	}
	return event.Fold(log)
}

// texts returns the texts of the active branch, or of that which ends with a message, with the oldest first.
func (b *bench) texts(id, last string) []string {
	b.t.Helper()
	messages, err := b.service.Branch(b.t.Context(), "ada", id, last, 1000)
	require.NoError(b.t, err)
	var out []string
	for _, m := range slices.Backward(messages) {
		out = append(out, m.Text)
	}
	return out
}

func (b *bench) wantTexts(id, last string, want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.texts(id, last)); diff != "" {
		b.t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestTurnsHaveTheHistoryOfTheirBranch(t *testing.T) {
	t.Parallel()
	b := newBench(t, script(echo))
	first := b.ask("s", "one", wire.Turn{})
	second := b.ask("s", "two", wire.Turn{})
	b.wantTexts("s", "", "one", "ONE", "two", "TWO")
	want := []event.Message{{Role: event.RoleUser, Text: "one"}, {Role: event.RoleAssistant, Text: "ONE"}}
	if diff := cmp.Diff(want, b.wait(second).History); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	messages, err := b.service.Branch(t.Context(), "ada", "s", "", 10)
	require.NoError(t, err)
	m := messages[2]
	if m.ID != first.AnswerID() || m.Run != first || m.Status != session.Completed || m.Standalone != "standalone" || m.Confidence != 0.5 || m.Parent != first.QuestionID() || m.Depth != 1 ||
		len(m.Citations) != 1 || m.Citations[0].Source.Text != "The light was built in 1871." || m.Citations[0].At != 3 || m.Citations[0].Source.Document != corpus.DocumentID("d1") {
		t.Errorf("answer %+v", m)
	}

	// An edited question keeps the branch of the first one.
	edited := b.ask("s", "zwei", wire.Turn{Edit: second.QuestionID()})
	b.wantTexts("s", "", "one", "ONE", "zwei", "ZWEI")
	b.wantTexts("s", second.AnswerID(), "one", "ONE", "two", "TWO")
	if diff := cmp.Diff(want, b.wait(edited).History); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}

	// A second answer keeps the first one, and is not from the cache.
	again := b.ask("s", "", wire.Turn{Regenerate: edited.AnswerID()})
	b.wantTexts("s", "", "one", "ONE", "zwei", "ZWEI")
	if state := b.wait(again); !state.NoCache || state.Query != "zwei" || len(state.History) != 2 {
		t.Errorf("asked again as %+v", state.Question)
	}
	messages, err = b.service.Branch(t.Context(), "ada", "s", "", 2)
	require.NoError(t, err)
	if messages[0].ID != again.AnswerID() || !slices.Equal(messages[0].Siblings, []string{edited.AnswerID(), again.AnswerID()}) ||
		!slices.Equal(messages[1].Siblings, []string{second.QuestionID(), edited.QuestionID()}) {
		t.Errorf("siblings %v and %v", messages[0].Siblings, messages[1].Siblings)
	}

	// A question after an earlier answer begins a branch.
	b.ask("s", "three", wire.Turn{Parent: first.AnswerID()})
	b.wantTexts("s", "", "one", "ONE", "three", "THREE")
	b.ask("s", "four", wire.Turn{})
	b.wantTexts("s", "", "one", "ONE", "three", "THREE", "four", "FOUR")
	head := again.AnswerID()
	if _, err := b.service.Update(t.Context(), "ada", "s", session.Change{Head: &head}); err != nil {
		t.Fatal(err)
	}
	b.wantTexts("s", "", "one", "ONE", "zwei", "ZWEI")
}

func TestOneTurnAtATime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := newBench(t, script(func(ctx context.Context, r *answer.Recorder) error {
		<-release
		return echo(ctx, r)
	}))
	run, detach, err := b.service.Ask(t.Context(), event.Question{Query: "one", Session: "s"}, session.Turn{}, engine.Caller{Account: "ada"})
	require.NoError(t, err)
	defer detach()
	_, err = b.tryAsk("s", "refused", wire.Turn{})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != fault.Conflict || !strings.Contains(f.Message, string(run)) {
		t.Errorf("the second question: %v", err)
	}
	var wg sync.WaitGroup
	for _, text := range []string{"two", "three"} {
		wg.Go(func() { b.ask("s", text, wire.Turn{Wait: true}) })
		for len(b.texts("s", "")) < map[string]int{"two": 4, "three": 6}[text] { // it is in line
			select {
			case <-t.Context().Done():
				return
			default:
			}
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, _, err := b.service.Ask(ctx, event.Question{Query: "left", Session: "s"}, session.Turn{Turn: wire.Turn{Wait: true}}, engine.Caller{Account: "ada"})
		left <- err
	}()
	for len(b.texts("s", "")) < 8 {
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the client that left: %v", err)
	}
	close(release)
	wg.Wait()
	b.wantTexts("s", "", "one", "ONE", "two", "TWO", "three", "THREE", "left", "")
	b.ask("s", "four", wire.Turn{})
	if got := b.wait(b.ask("s", "five", wire.Turn{})).History; len(got) != 9 || got[6].Text != "left" || got[7].Text != "four" {
		t.Errorf("history %+v", got)
	}
}

func TestSessionsBelongToAccounts(t *testing.T) {
	t.Parallel()
	b := newBench(t, script(echo))
	b.ask("s", "one", wire.Turn{})
	if _, err := b.service.Session(t.Context(), "bob", "s"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another account reads the session: %v", err)
	}
	run, detach, err := b.service.Ask(t.Context(), event.Question{Query: "mine", Session: "s"}, session.Turn{}, engine.Caller{Account: "bob"})
	require.NoError(t, err)
	detach()
	if state := b.wait(run); len(state.History) != 0 {
		t.Errorf("the session of another account with the same id: history %v", state.History)
	}
	b.wantTexts("s", "", "one", "ONE")
	for _, turn := range []wire.Turn{{Parent: run.AnswerID()}, {Edit: run.QuestionID()}, {Regenerate: run.AnswerID()}} {
		if _, err := b.tryAsk("s", "x", turn); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%+v of another account: %v", turn, err)
		}
	}
}

func TestPlaceIsChecked(t *testing.T) {
	t.Parallel()
	b := newBench(t, script(echo))
	run := b.ask("s", "one", wire.Turn{})
	for name, c := range map[string]struct {
		turn  wire.Turn
		field string
		code  fault.Code
	}{
		"two places":     {wire.Turn{Parent: run.AnswerID(), Edit: run.QuestionID()}, "parent", fault.InvalidRequest},
		"after question": {wire.Turn{Parent: run.QuestionID()}, "parent", fault.InvalidRequest},
		"edit of answer": {wire.Turn{Edit: run.AnswerID()}, "edit", fault.InvalidRequest},
		"no message":     {wire.Turn{Regenerate: "ask_"}, "regenerate", fault.NotFound},
	} {
		_, err := b.tryAsk("s", "two", c.turn)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != c.code || f.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := b.service.Ask(t.Context(), event.Question{Query: "x", Session: "new"}, session.Turn{Existing: true}, engine.Caller{Account: "ada"})
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a session that must exist: %v", err)
	}
	if _, _, err = b.service.Ask(t.Context(), event.Question{Query: "x", Session: "s", Ephemeral: true}, session.Turn{}, engine.Caller{}); fault.CodeOf(err) != fault.InvalidRequest {
		t.Errorf("an ephemeral question: %v", err)
	}
	if _, err := b.tryAsk("s", " ", wire.Turn{}); fault.CodeOf(err) != fault.InvalidRequest {
		t.Errorf("an empty question: %v", err)
	}
	b.wantTexts("s", "", "one", "ONE")
}

// TestFailuresKeepTheQuestion checks that the question stays when its answer fails, and that it gets another answer when it is asked again.
func TestFailuresKeepTheQuestion(t *testing.T) {
	t.Parallel()
	fails := true
	b := newBench(t, script(func(ctx context.Context, r *answer.Recorder) error {
		if fails {
			return fault.New(fault.Model, "the model is down")
		}
		return echo(ctx, r)
	}))
	run := b.ask("s", "one", wire.Turn{})
	b.wantTexts("s", "", "one", "")
	fails = false
	b.ask("s", "one", wire.Turn{})
	b.wantTexts("s", "", "one", "ONE")
	messages, err := b.service.All(t.Context(), "ada", "s", 0, 10)
	require.NoError(t, err)
	if len(messages) != 3 || messages[1].ID != run.AnswerID() || messages[1].Status != session.Failed || messages[1].Failure.Message != "the model is down" {
		t.Errorf("messages %+v", messages)
	}
	limited := open(t, filepath.Join(t.TempDir(), "s.db"), eventlog.NewMemory(), script(echo), session.Options{})
	require.NoError(t, limited.engine.Close(t.Context()))
	if _, err := limited.tryAsk("s", "one", wire.Turn{}); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a question that the engine refuses: %v", err)
	}
	limited.wantTexts("s", "", "one", "")
}

func TestSummaryReplacesOlderTurns(t *testing.T) {
	t.Parallel()
	b := newBench(t, script(func(ctx context.Context, r *answer.Recorder) error {
		q := r.State()
		if q.Query == "three" {
			return say(ctx, r, "THREE", event.HistorySummarized{Turns: 2, Summary: "of one", By: "rules"})
		}
		return echo(ctx, r)
	}))
	b.ask("s", "one", wire.Turn{})
	b.ask("s", "two", wire.Turn{})
	b.ask("s", "three", wire.Turn{})
	state := b.wait(b.ask("s", "four", wire.Turn{}))
	var texts []string
	for _, turn := range state.History {
		texts = append(texts, turn.Text)
	}
	if want := []string{"two", "TWO", "three", "THREE"}; state.Summary != "of one" || !slices.Equal(texts, want) {
		t.Errorf("summary %q, turns %v, want %v", state.Summary, texts, want)
	}
}

func TestDeletedSessionTakesItsRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t, script(echo))
	deleted, kept := b.ask("s", "one", wire.Turn{}), b.ask("k", "one", wire.Turn{})
	require.NoError(t, b.service.Delete(t.Context(), "ada", "s", false))
	require.NoError(t, b.service.Delete(t.Context(), "ada", "k", true))
	for _, id := range []string{"s", "k"} {
		if _, err := b.service.Session(t.Context(), "ada", id); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("deleted session %s: %v", id, err)
		}
	}
	if _, err := b.log.Load(t.Context(), deleted, 0); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("run of the deleted session: %v", err)
	}
	if _, err := b.log.Load(t.Context(), kept, 0); err != nil {
		t.Errorf("run that was kept: %v", err)
	}
	run := b.ask("r", "one", wire.Turn{})
	require.NoError(t, b.engine.Delete(t.Context(), run))
	b.wantTexts("r", "", "one", "")
}

// TestRecover opens the store again after a crash at each place of a turn.
func TestRecover(t *testing.T) {
	t.Parallel()
	path, log := filepath.Join(t.TempDir(), "sessions.db"), eventlog.NewMemory()
	before := open(t, path, log, script(echo), session.Options{})
	before.ask("done", "one", wire.Turn{})
	ctx := t.Context()
	begin := func(id string, run event.RunID) session.Session {
		s, err := before.service.Create(ctx, "ada", id, "")
		require.NoError(t, err)
		_, err = before.store.Begin(ctx, s.Key, session.Begin{Run: run, New: true, Until: s.CreatedAt.Add(1e12), At: s.CreatedAt,
			Question: session.Message{ID: run.QuestionID(), Role: event.RoleUser, Text: "one", Parent: session.AtHead}})
		require.NoError(t, err)
		return s
	}
	begin("unstarted", "run-a")
	begin("ended", "run-b")
	rec, err := answer.NewRecorder(ctx, log, time.Now, event.RunStarted{Run: "run-b", Question: event.Question{Query: "one", Session: "ended"}})
	require.NoError(t, err)
	require.NoError(t, answer.Run(ctx, script(echo), rec, answer.Ending{}))
	begin("interrupted", "run-d") // by a server that took the one with the run for dead, which then stopped before it stored the answer
	rec, err = answer.NewRecorder(ctx, log, time.Now, event.RunStarted{Run: "run-d", Question: event.Question{Query: "one", Session: "interrupted"}})
	require.NoError(t, err)
	require.NoError(t, answer.Run(ctx, script(echo), rec, answer.Ending{}))
	failure := session.Interrupted
	require.NoError(t, before.store.End(ctx, session.End{Run: "run-d", Answer: session.Answer{Run: "run-d", Status: session.Failed, EndedAt: time.Now(), Failure: &failure}}))
	hidden := begin("hidden", "run-c")
	require.NoError(t, before.store.Hide(ctx, hidden.Key, false))

	after := open(t, path, log, script(echo), session.Options{})
	require.NoError(t, after.service.Recover(ctx, nil))
	after.wantTexts("done", "", "one", "ONE")
	after.wantTexts("unstarted", "", "one", "")
	after.wantTexts("ended", "", "one", "ONE")
	if left, err := after.store.Hidden(ctx); err != nil || len(left) != 0 {
		t.Errorf("hidden sessions left: %v, %v", left, err)
	}
	if open, err := after.store.Open(ctx); err != nil || len(open) != 0 {
		t.Errorf("open turns left: %v, %v", open, err)
	}
	next := after.wait(after.ask("interrupted", "two", wire.Turn{}))
	if h := next.History; len(h) != 2 || h[1].Text != "ONE" {
		t.Errorf("history of the question after the interrupted turn: %v", h)
	}
	after.wantTexts("interrupted", "", "one", "ONE", "two", "TWO")
}

// TestTwoServersShareSessions opens one database in two servers with logs of their own.
func TestTwoServersShareSessions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	release := make(chan struct{})
	held := script(func(ctx context.Context, r *answer.Recorder) error {
		<-release
		return echo(ctx, r)
	})
	a := open(t, path, eventlog.NewMemory(), held, session.Options{Server: "a"})
	b := open(t, path, eventlog.NewMemory(), script(echo), session.Options{Server: "b"})
	_, detach, err := a.service.Ask(t.Context(), event.Question{Query: "one", Session: "s"}, session.Turn{}, engine.Caller{Account: "ada"})
	require.NoError(t, err)
	defer detach()
	if _, err := b.tryAsk("s", "refused", wire.Turn{}); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("a second turn on another server: %v", err)
	}
	require.NoError(t, b.service.Recover(t.Context(), nil))
	waited := make(chan event.RunID, 1)
	go func() { waited <- b.ask("s", "two", wire.Turn{Wait: true}) }()
	for len(a.texts("s", "")) < 4 {
	}
	close(release)
	run := <-waited
	if got := b.wait(run).History; len(got) != 2 || got[1].Text != "ONE" {
		t.Errorf("history on another server: %v", got)
	}
	b.settled(run)
	a.wantTexts("s", "", "one", "ONE", "two", "TWO")
}

func TestLeaseOfStoppedServerExpires(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	stuck := script(func(ctx context.Context, _ *answer.Recorder) error {
		<-ctx.Done()
		return ctx.Err()
	})
	a := open(t, path, eventlog.NewMemory(), stuck, session.Options{Server: "a"})
	_, detach, err := a.service.Ask(t.Context(), event.Question{Query: "one", Session: "s"}, session.Turn{}, engine.Caller{Account: "ada"})
	require.NoError(t, err)
	defer detach()
	later := func() time.Time { return time.Now().Add(time.Hour) }
	b := open(t, path, eventlog.NewMemory(), script(echo), session.Options{Server: "b", Now: later})
	b.ask("s", "two", wire.Turn{})
	b.wantTexts("s", "", "one", "", "two", "TWO")
}

func TestModelMakesTitle(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "sessions.db"), eventlog.NewMemory(), script(echo), session.Options{
		Title: func(_ context.Context, question, answer string) (string, string, error) {
			return question + "\n\x1b[1m" + answer, "m", nil
		}})
	run := b.ask("s", "Please tell me. And more", wire.Turn{})
	for {
		s, err := b.service.Session(t.Context(), "ada", "s")
		require.NoError(t, err)
		if s.TitleBy == "m" {
			if s.Title != "Please tell me. And more [1mPLEASE TELL ME. AND MORE" {
				t.Errorf("title %q", s.Title)
			}
			break
		}
		if s.Title != "Please tell me." || s.TitleBy != "rules" {
			t.Fatalf("first title %q by %q", s.Title, s.TitleBy)
		}
		<-time.After(5 * time.Millisecond)
	}
	b.settled(run)
	mine := "Mine"
	if _, err := b.service.Update(t.Context(), "ada", "s", session.Change{Title: &mine}); err != nil {
		t.Fatal(err)
	}
	b.settled(b.ask("s", "two", wire.Turn{}))
	if s, err := b.service.Session(t.Context(), "ada", "s"); err != nil || s.Title != "Mine" || s.TitleBy != session.TitleByUser {
		t.Errorf("title of the user: %q by %q, %v", s.Title, s.TitleBy, err)
	}
}
