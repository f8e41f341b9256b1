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
	Owner string // name of this server among those that share the store; it is the same after a restart
	// Lease is how long a turn can be in progress before its server is assumed to have stopped. It must exceed the deadline of runs and
	// the time that they wait for a slot. Default 2 min.
	Lease time.Duration
	// Title makes the title of a session from its first turn, and returns the name of the model that made it. Default: the title is made
	// by rules. It is called in the background.
	Title  func(ctx context.Context, question, answer string) (title, by string, err error)
	Logger *slog.Logger     // default: silent
	Now    func() time.Time // default time.Now
}

// Service asks questions in sessions and reads their messages. Its methods may be called at once. Their errors have a code of package
// fault if the caller can do something about them.
type Service struct {
	store  Store
	o      Options
	engine *engine.Engine

	mu       sync.Mutex
	ended    map[Key]chan struct{} // closed at the end of the next turn of a session for which a turn waits
	waiting  map[Key]int           // turns that wait, or are willing to
	starting map[event.RunID]bool  // runs of turns that this server began and whose engine does not answer them yet
	deleting map[event.RunID]bool  // runs that are deleted with their session

	work sync.WaitGroup // titles, and what is repeated
	ctx  context.Context
	stop context.CancelFunc
}

// New returns a service over a store. Its engine, which [Service.Bind] sets, needs the hooks [Service.Ended] and [Service.Deleted].
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

// Bind sets the engine that answers the questions. It must be called before the other methods.
func (s *Service) Bind(e *engine.Engine) { s.engine = e }

// Close cancels the work in the background and waits for it. Close the engine before, and the store afterwards.
func (s *Service) Close() {
	s.stop()
	s.work.Wait()
}

// The pauses between attempts of [Service.later].
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// later repeats in the background what the store refused, for example because another program has locked its file, until it succeeds or the
// service is closed.
func (s *Service) later(do func(ctx context.Context) error) {
	s.work.Go(func() {
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

// public gives the errors of a store that clients cause their codes.
func public(err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return fault.Wrap(fault.NotFound, err, "no such session")
	case errors.Is(err, ErrNoMessage):
		return fault.Wrap(fault.NotFound, err, "no such message in the session")
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

// Branch returns at most limit messages: a message and those before it on its branch, the last one first. The empty id is the last message
// of the active branch. An open answer has the text that its run has so far. Errors: [fault.NotFound].
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

// All returns messages of all branches in the order of their creation. Open answers are as in [Service.Branch].
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

// complete sets what open answers have so far.
func (s *Service) complete(ctx context.Context, messages []Message) error {
	for i := range messages {
		m := &messages[i]
		if m.Role != event.RoleAssistant || m.Status != Running {
			continue
		}
		state, err := s.state(ctx, m.Run)
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("read open answer: %w", err)
		}
		if err != nil { // the other messages can be read
			s.o.Logger.Error("the text so far of an answer cannot be read", "run", m.Run, "error", err)
			continue
		}
		if state.Seq > 0 {
			e := endOf(&state)
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

// Rated returns answers with feedback: see [Messages].
func (s *Service) Rated(ctx context.Context, account *string, after event.RunID, limit int) ([]Rated, error) {
	return s.store.Rated(ctx, account, after, limit)
}

// ByRun returns the answer of a run with its session. Errors: [fault.NotFound].
func (s *Service) ByRun(ctx context.Context, run event.RunID) (Session, Message, error) {
	found, m, err := s.store.ByRun(ctx, run)
	return found, m, public(err)
}
