package session

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// maxWaiting is the maximum number of waiting turns of a session.
const maxWaiting = 16

const (
	// poll is the interval at which a waiting turn checks whether another server has ended the first open turn.
	poll = 250 * time.Millisecond
	// renewal is the interval at which it tries to start, which extends its lease. Each try is a write that is synced.
	renewal = 5 * time.Second
	// attempts is how often it tries to start if the store fails. Each try waits for the locks of other programs.
	attempts = 3
)

// Ask asks a question in the session with the id q.Session, and returns like [engine.Engine.AskAttached]. It stores the question, waits for
// earlier turns if t.Wait is set, and sets the history of the question to the messages of its branch, unless the question has a history or t.Alone
// is set. If the engine rejects the question, the question stays in the session with a failed answer. When the same question is asked again, it gets another
// answer and is not stored again.
//
// Errors: [fault.InvalidRequest], [fault.NotFound], [fault.Conflict] if another turn is open, and those of the engine.
func (s *Service) Ask(ctx context.Context, q event.Question, t Turn, c engine.Caller) (event.RunID, func(), error) {
	if q.Ephemeral {
		return "", nil, fault.Invalid("store", "must not be false for a question in a session")
	}
	found, err := s.open(ctx, c.Account, q.Session, t.Existing)
	if err != nil {
		return "", nil, err
	}
	b := Begin{Run: s.engine.NewRunID(), Protocol: c.Protocol, Server: s.o.Server, Wait: t.Wait}
	if err := s.place(ctx, found, &q, t, &b); err != nil {
		return "", nil, err
	}
	if err := q.Validate(); err != nil {
		return "", nil, err
	}
	leave, err := s.enter(found.Key, b)
	if err != nil {
		return "", nil, err
	}
	defer leave()
	answer, err := s.begin(ctx, found.Key, b)
	if err != nil {
		return "", nil, err
	}
	id, detach, err := s.start(ctx, found.Key, q, t.Alone, answer, c)
	if err != nil {
		s.abandon(ctx, found.Key, b.Run, err)
		return "", nil, err
	}
	return id, detach, nil
}

func errStopping() error { return fault.New(fault.Unavailable, "the server is stopping") }

// enter counts a turn among the waiting ones if b.Wait is set, and as one that this server answers, until leave is called.
func (s *Service) enter(key Key, b Begin) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, errStopping()
	}
	if b.Wait {
		if s.waiting[key] >= maxWaiting {
			return nil, &fault.Error{Code: fault.Conflict, Field: "wait", Message: "too many questions of the session are waiting"}
		}
		s.waiting[key]++
	}
	s.starting[b.Run] = true
	s.work.Add(1)
	return func() {
		defer s.work.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.starting, b.Run)
		if !b.Wait {
			return
		}
		if s.waiting[key]--; s.waiting[key] == 0 {
			delete(s.waiting, key)
			delete(s.ended, key)
		}
	}, nil
}

// open returns the session of a question, which it creates unless it must exist.
func (s *Service) open(ctx context.Context, account, id string, existing bool) (Session, error) {
	found, err := s.Session(ctx, account, id)
	if fault.CodeOf(err) != fault.NotFound || existing {
		return found, err
	}
	found, err = s.Create(ctx, account, id, "")
	if fault.CodeOf(err) == fault.Conflict { // another request was faster
		return s.Session(ctx, account, id)
	}
	return found, err
}

// place finds the place of the question in its session.
func (s *Service) place(ctx context.Context, found Session, q *event.Question, t Turn, b *Begin) error {
	given := 0
	for _, id := range []string{t.Parent, t.Edit, t.Regenerate} {
		if id != "" {
			given++
		}
	}
	if given > 1 {
		return fault.Invalid("parent", "only one of parent, edit and regenerate can be set")
	}
	b.New, b.Question = true, Message{ID: b.Run.QuestionID(), Role: event.RoleUser, Text: q.Query, Parent: AtHead}
	switch {
	case t.Parent != "":
		m, err := s.message(ctx, found.Key, "parent", t.Parent)
		if err != nil {
			return err
		}
		if m.Role != event.RoleAssistant {
			return fault.Invalid("parent", "want the id of an answer")
		}
		b.Question.Parent = m.ID
	case t.Edit != "":
		m, err := s.message(ctx, found.Key, "edit", t.Edit)
		if err != nil {
			return err
		}
		if m.Role != event.RoleUser {
			return fault.Invalid("edit", "want the id of a question")
		}
		b.Question.Parent = m.Parent
	case t.Regenerate != "":
		return s.regenerate(ctx, found.Key, q, t.Regenerate, b)
	default:
		return s.repeat(ctx, found, q, b)
	}
	s.ask(q, b)
	return nil
}

// ask sets the title, and the parameters of a question that the store keeps.
func (s *Service) ask(q *event.Question, b *Begin) {
	b.Title = Title(q.Query)
	b.Asked = *q
	b.Asked.Summary, b.Asked.History, b.Asked.Request, b.Asked.Session, b.Asked.Previous = "", nil, nil, "", ""
}

// regenerate sets q to the question of a message with its earlier parameters, but without the cache.
func (s *Service) regenerate(ctx context.Context, key Key, q *event.Question, id string, b *Begin) error {
	m, err := s.message(ctx, key, "regenerate", id)
	if err != nil {
		return err
	}
	question := m
	if m.Role == event.RoleAssistant {
		question, err = s.message(ctx, key, "regenerate", m.Parent)
	} else {
		m, err = s.message(ctx, key, "regenerate", firstAnswer(m.ID))
	}
	if err != nil {
		return err
	}
	again := m.Asked
	again.Session, again.Request, again.NoCache = q.Session, q.Request, true
	*q = again
	s.ask(q, b)
	b.New, b.Question = false, question
	return nil
}

// firstAnswer returns the id of the first answer to a question.
func firstAnswer(question string) string {
	const prefix = len("ask_")
	if len(question) <= prefix {
		return ""
	}
	return event.RunID(question[prefix:]).AnswerID()
}

// repeat continues the active branch. If its last answer failed without text and the same question is asked again, the stored question gets
// another answer.
func (s *Service) repeat(ctx context.Context, found Session, q *event.Question, b *Begin) error {
	s.ask(q, b)
	if found.Head == "" {
		return nil
	}
	last, err := s.store.Branch(ctx, found.Key, found.Head, 2)
	if err == nil && len(last) == 2 && last[0].Status.Open() {
		if _, err := s.resolve(ctx, &BusyError{Run: last[0].Run}); err != nil { // its run may have ended just now
			return err
		}
		last, err = s.store.Branch(ctx, found.Key, found.Head, 2)
	}
	if err != nil {
		return public(err)
	}
	if len(last) == 2 && last[0].Status == Failed && last[0].Text == "" && last[1].Text == q.Query && len(last[0].Siblings) < MaxSiblings {
		b.New, b.Question = false, last[1]
	}
	return nil
}

// begin stores a turn. Open turns whose runs have ended do not prevent it: begin ends them first.
func (s *Service) begin(ctx context.Context, key Key, b Begin) (Message, error) {
	for {
		b.At = s.o.Now()
		b.Until = b.At.Add(s.o.Lease)
		m, err := s.store.Begin(ctx, key, b)
		busy, ok := errors.AsType[*BusyError](err)
		if !ok {
			return m, public(err)
		}
		resolved, err := s.resolve(ctx, busy)
		if err != nil {
			return m, err
		}
		if !resolved {
			return m, errBusy(busy.Run)
		}
	}
}

// start waits until no earlier turn is open, and asks the question. If alone is set, the question gets no history.
func (s *Service) start(ctx context.Context, key Key, q event.Question, alone bool, answer Message, c engine.Caller) (event.RunID, func(), error) {
	if answer.Status == Queued {
		if err := s.await(ctx, key, answer.Run); err != nil {
			return "", nil, err
		}
	}
	if !alone && len(q.History) == 0 && q.Summary == "" {
		h, err := s.history(ctx, key, answer.Parent)
		if err != nil {
			return "", nil, err
		}
		q.Summary, q.History = h.summary, h.messages
	}
	c.Run = answer.Run
	id, detach, err := s.engine.AskAttached(ctx, q, c)
	if err != nil {
		return "", nil, err
	}
	// A deletion of the session that began before the engine had the run did not delete the run. One that begins later does.
	ctx = context.WithoutCancel(ctx)
	if _, _, err := s.store.ByRun(ctx, id); errors.Is(err, ErrNoMessage) {
		detach()
		if err := s.deleteRun(ctx, id); err != nil {
			s.o.Logger.Error("delete run of deleted session; it will be repeated", "run", id, "error", err)
			s.later(func(ctx context.Context) error { return s.deleteRun(ctx, id) })
		}
		return "", nil, public(ErrNotFound)
	}
	return id, detach, nil
}

// await waits until no turn before that of the run is open.
func (s *Service) await(ctx context.Context, key Key, run event.RunID) error {
	failures := 0
	for {
		changed := s.changed(key)
		now := s.o.Now()
		err := s.store.Start(ctx, run, now, now.Add(s.o.Lease))
		busy, ok := errors.AsType[*BusyError](err)
		resolved := false
		if ok {
			resolved, err = s.resolve(ctx, busy)
		}
		switch {
		case !ok && (err == nil || errors.Is(err, ErrNoMessage)):
			return public(err)
		case err != nil:
			if failures++; failures == attempts || ctx.Err() != nil {
				return err
			}
			continue
		}
		if failures = 0; resolved {
			continue
		}
		if err := s.awaitEnd(ctx, busy.Run, changed); err != nil {
			return err
		}
	}
}

// awaitEnd returns when the first open turn has ended or changed, and after the renewal interval. It only reads the store.
func (s *Service) awaitEnd(ctx context.Context, first event.RunID, changed <-chan struct{}) error {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for range renewal / poll {
		select {
		case <-changed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if s.engine.Closing() {
			return errStopping()
		}
		if _, m, err := s.store.ByRun(ctx, first); err != nil || !m.Status.Open() {
			return nil
		}
	}
	return nil
}

// changed returns a channel that is closed when the next turn of the session ends in this server.
func (s *Service) changed(key Key) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.ended[key]
	if c == nil {
		c = make(chan struct{})
		s.ended[key] = c
	}
	return c
}

// notify wakes the waiting turns of a session.
func (s *Service) notify(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.ended[key]; c != nil {
		close(c)
		delete(s.ended, key)
	}
}

// abandon ends the turn of a question that the engine has rejected.
func (s *Service) abandon(ctx context.Context, key Key, run event.RunID, cause error) {
	f := fault.Public(cause)
	status := Failed
	if ctx.Err() != nil {
		f, status = fault.New(fault.Cancelled, "the client left before the answer began"), Cancelled
	}
	e := End{Run: run, Answer: Answer{Run: run, Status: status, Failure: &event.RunFailed{Code: f.Code, Message: f.Message}, EndedAt: s.o.Now()}}
	if err := s.end(context.WithoutCancel(ctx), e); err != nil {
		s.o.Logger.Error("end turn; it will be repeated", "run", run, "error", err)
		s.later(func(ctx context.Context) error {
			defer s.notify(key)
			return s.end(ctx, e)
		})
	}
	s.notify(key)
}
