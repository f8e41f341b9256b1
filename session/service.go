package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Options configure a [Service]. The zero value works.
type Options struct {
	Server string // name of this server among those that share the store. It must be the same after a restart
	// Lease is the time after which an open turn no longer blocks its session, because its server must have stopped. It must be longer than
	// the deadline of runs plus the time that they wait for a slot. Default 2 min.
	Lease time.Duration
	// Title makes the title of a session from its first turn, and returns the name of the model that made it. The service calls it in the
	// background. It must be safe for concurrent use. Default: rules make the title.
	Title  func(ctx context.Context, question, answer string) (title, by string, err error)
	Logger *slog.Logger     // default: silent
	Now    func() time.Time // default time.Now
}

// Service asks questions in sessions and reads their messages. Its methods are safe for concurrent use. Errors that a client causes are a
// [fault.Error] with a code.
type Service struct {
	store  Store
	o      Options
	engine *engine.Engine

	mu       sync.Mutex
	ended    map[Key]chan struct{} // sessions with waiting turns; closed when the next turn of the session ends
	waiting  map[Key]int           // number of turns that wait or may have to
	starting map[event.RunID]bool  // runs of turns that have begun in this server and that the engine does not answer yet
	deleting map[event.RunID]bool  // runs that are deleted with their session

	work sync.WaitGroup // calls of Ask and of Options.Title, and retries. It is only added to while mu is held
	ctx  context.Context
	stop context.CancelFunc
}

// New returns a service over a store. Call [Service.Bind] before the other methods. The engine must call [Service.Ended] and
// [Service.Deleted].
func New(st Store, o Options) *Service {
	if o.Lease <= 0 {
		o.Lease = 2 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Service{store: st, o: o, ended: map[Key]chan struct{}{}, waiting: map[Key]int{}, starting: map[event.RunID]bool{}, deleting: map[event.RunID]bool{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Bind sets the engine that answers the questions.
func (s *Service) Bind(e *engine.Engine) { s.engine = e }

// Close cancels the work in the background, and waits for its end and for calls of [Service.Ask]. Close the engine before, and the store
// afterwards.
func (s *Service) Close() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.work.Wait()
}

// background runs do in a goroutine unless the service is closed.
func (s *Service) background(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil {
		s.work.Go(do)
	}
}

// The pauses between attempts of [Service.later].
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// later repeats a call of the store in the background until it succeeds or the service is closed. A call can fail, for example, because another
// program has locked the file.
func (s *Service) later(do func(ctx context.Context) error) {
	s.background(func() {
		for pause := firstPause; ; pause = min(2*pause, lastPause) {
			select {
			case <-time.After(pause):
			case <-s.ctx.Done():
				return
			}
			if do(s.ctx) == nil {
				return
			}
		}
	})
}

// Create adds a session. An empty id is replaced by a new one. Errors: [fault.InvalidRequest], [fault.Conflict] if the account has a
// session with the id.
func (s *Service) Create(ctx context.Context, account, id, title string) (Session, error) {
	now := s.o.Now()
	n := Session{Account: account, ID: id, Title: strings.TrimSpace(title), CreatedAt: now, UsedAt: now}
	if n.ID == "" {
		n.ID = "ses_" + strings.ToLower(ulid.Make().String())
	}
	if n.Title != "" {
		n.TitleBy = TitleByUser
	}
	if err := checkID(n.ID); err != nil {
		return n, err
	}
	if err := checkTitle(n.Title); err != nil {
		return n, err
	}
	n, err := s.store.Create(ctx, n)
	if errors.Is(err, ErrExists) {
		return n, &fault.Error{Code: fault.Conflict, Field: "session_id", Message: "a session with this id exists"}
	}
	return n, err
}

func checkID(id string) error {
	if id == "" || len(id) > event.MaxSession || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return fault.Invalid("session_id", "want 1 to %d bytes of UTF-8 without control characters", event.MaxSession)
	}
	if id == "." || id == ".." { // clients and proxies remove them from paths
		return fault.Invalid("session_id", "must not be %q", id)
	}
	return nil
}

func checkTitle(title string) error {
	if len(title) > MaxTitle || !utf8.ValidString(title) || strings.ContainsFunc(title, unicode.IsControl) {
		return fault.Invalid("title", "want at most %d bytes of UTF-8 without control characters", MaxTitle)
	}
	return nil
}

// Session returns a session. Errors: [fault.NotFound].
func (s *Service) Session(ctx context.Context, account, id string) (Session, error) {
	if checkID(id) != nil {
		return Session{}, public(ErrNotFound)
	}
	found, err := s.store.Session(ctx, account, id)
	return found, public(err)
}

// public converts the errors of a store that a client causes to a [fault.Error] with a code.
func public(err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return fault.Wrap(fault.NotFound, err, "no such session")
	case errors.Is(err, ErrNoMessage):
		return fault.Wrap(fault.NotFound, err, "no such message in the session")
	case errors.Is(err, ErrSiblings):
		return fault.Wrap(fault.InvalidRequest, err, "%d messages already follow the same message", MaxSiblings)
	}
	return err
}

// List returns sessions, the last used one first: see [Sessions].
func (s *Service) List(ctx context.Context, f Filter, after Cursor, limit int) ([]Session, error) {
	return s.store.List(ctx, f, after, limit)
}

// Update changes a session. Errors: [fault.NotFound], [fault.InvalidRequest].
func (s *Service) Update(ctx context.Context, account, id string, c Change) (Session, error) {
	found, err := s.Session(ctx, account, id)
	if err != nil {
		return found, err
	}
	if c.Title != nil {
		title := strings.TrimSpace(*c.Title)
		if title == "" {
			return found, fault.Invalid("title", "must not be empty")
		}
		if err := checkTitle(title); err != nil {
			return found, err
		}
		c.Title, c.TitleBy = &title, TitleByUser
	}
	if c.Head != nil {
		m, err := s.message(ctx, found.Key, "head", *c.Head)
		if err != nil {
			return found, err
		}
		if m.Role != event.RoleAssistant {
			return found, fault.Invalid("head", "want the id of an answer")
		}
	}
	found, err = s.store.Update(ctx, found.Key, c)
	return found, public(err)
}

// message returns a message of a session. If there is none, the error names the field.
func (s *Service) message(ctx context.Context, key Key, field, id string) (Message, error) {
	found, err := s.store.Branch(ctx, key, id, 1)
	if errors.Is(err, ErrNoMessage) || err == nil && len(found) == 0 {
		return Message{}, &fault.Error{Code: fault.NotFound, Field: field, Message: field + ": no such message in the session"}
	}
	if err != nil {
		return Message{}, err
	}
	return found[0], nil
}

// Branch returns at most limit messages: the one with the id last, and those before it on its branch, in reverse order. If last is empty, it
// is the head of the session. A running answer has the text of its run so far. Errors: [fault.NotFound].
func (s *Service) Branch(ctx context.Context, account, id, last string, limit int) ([]Message, error) {
	found, err := s.Session(ctx, account, id)
	if err != nil {
		return nil, err
	}
	if last == "" {
		last = found.Head
	}
	if last == "" {
		return nil, nil
	}
	messages, err := s.store.Branch(ctx, found.Key, last, limit)
	if err != nil {
		return nil, public(err)
	}
	return messages, s.complete(ctx, messages)
}

// All returns messages of all branches in the order of their creation: see [Messages]. Running answers are as in [Service.Branch]. Errors:
// [fault.NotFound].
func (s *Service) All(ctx context.Context, account, id string, offset, limit int) ([]Message, error) {
	found, err := s.Session(ctx, account, id)
	if err != nil {
		return nil, err
	}
	messages, err := s.store.All(ctx, found.Key, offset, limit)
	if err != nil {
		return nil, public(err)
	}
	return messages, s.complete(ctx, messages)
}

// complete sets the text and the other fields of running answers from their runs so far. So it does for those that were ended because their server seemed to have stopped: another
// server may have finished the run, and have stopped before it stored the answer.
func (s *Service) complete(ctx context.Context, messages []Message) error {
	for i := range messages {
		m := &messages[i]
		if m.Role != event.RoleAssistant || m.Status != Running && !m.Interrupted() {
			continue
		}
		state, err := s.state(ctx, m.Run)
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("read running answer: %w", err)
		}
		if err != nil { // the other messages can be read
			s.o.Logger.Error("read the text so far of an answer", "run", m.Run, "error", err)
			continue
		}
		if state.Seq > 0 {
			e, run := endOf(&state), m.Run
			if m.Interrupted() && (e.Status.Open() || e.Interrupted()) {
				continue // it may never end
			}
			if m.Interrupted() {
				s.background(func() { _ = s.finish(s.ctx, run) }) // the next reader repeats it
			}
			e.Asked, e.Feedback = m.Asked, m.Feedback
			m.Text, m.Answer = e.Text, e.Answer
		}
	}
	return nil
}

// Rate sets or removes the feedback on an answer. Errors: [fault.NotFound], [fault.InvalidRequest].
func (s *Service) Rate(ctx context.Context, account, id, message string, f *Feedback) error {
	found, err := s.Session(ctx, account, id)
	if err != nil {
		return err
	}
	if f != nil {
		if len(f.Reason) > MaxReason || !utf8.ValidString(f.Reason) {
			return fault.Invalid("reason", "want at most %d bytes of UTF-8", MaxReason)
		}
		set := *f
		set.At = s.o.Now()
		f = &set
	}
	return public(s.store.Rate(ctx, found.Key, message, f))
}

// Rated returns answers with feedback in the order of the ids of their runs: see [Messages].
func (s *Service) Rated(ctx context.Context, account *string, after event.RunID, limit int) ([]Rated, error) {
	return s.store.Rated(ctx, account, after, limit)
}

// ByRun returns the answer of a run with its session. Errors: [fault.NotFound].
func (s *Service) ByRun(ctx context.Context, run event.RunID) (Session, Message, error) {
	found, m, err := s.store.ByRun(ctx, run)
	return found, m, public(err)
}
