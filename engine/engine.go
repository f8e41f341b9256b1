package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

// Options configure an [Engine]. The zero value works.
type Options struct {
	Store   eventlog.Store // default: in memory
	MaxRuns int            // runs that are answered at once; default 1,000
	Admission
	Limiter  *Limiter      // shared with other engines; it replaces MaxRuns and Admission. Default: one for this engine alone
	Deadline time.Duration // of a run; default 30 s
	// Grace is how long a run continues after its last reader has left: default 30 s. A negative value means until it is
	// answered; a nanosecond cancels it at once.
	Grace time.Duration
	// ShareKey returns a key of a question. A question joins the run of another question of the same account with the same key, in
	// the first half of the deadline: see [Engine.Cancel]. Questions with an empty key do not share a run. Default: no question does.
	ShareKey func(context.Context, event.RunStarted) string
	// SharedKeys says that ShareKey returns the same key on all servers for questions that one run may answer, so that questions also join the
	// runs of Peers.
	SharedKeys bool
	// Scope returns what a question searches that names no collection. Default: [corpus.DefaultCollection].
	Scope func(context.Context) string
	// Permit returns an error if the sender of a request may not ask a question. It is called for each question, with its default values.
	// Default: everybody may ask everything.
	Permit func(context.Context, event.Question) error
	Logger *slog.Logger      // default: silent
	Ended  func(event.State) // called after a run's terminal event, from the run's goroutine, without the text
	// Deleted is called with the id of each run before and after its deletion, so that data derived from it is deleted too.
	Deleted func(event.RunID)
	Billing Billing // charges runs; default: nobody pays
	// Peers are the other servers that share the store, which is an [eventlog.Sharer], and the billing. Default: there are none.
	Peers Peers
	// Writer describes the model that is to write the answer of a question, for [event.RunStarted]. It must not ask the model. Default:
	// not known.
	Writer func(context.Context, event.Question) event.ModelInfo
	Now    func() time.Time   // default time.Now
	NewID  func() event.RunID // default: a ULID
}

// Engine answers questions. Each question is a run, which does not depend on its readers' connections. All methods may be
// called at once.
type Engine struct {
	o        Options
	answerer answer.Answerer
	limiter  *Limiter

	mu      sync.Mutex
	runs    map[event.RunID]*run // see [run] for which
	byKey   map[string]*run      // runs that questions of the key can join
	joined  map[string]remoteRun // runs of other servers that questions of the key have joined
	readers map[event.RunID]int  // of all runs that are read here
	peers   peering
	closing bool
	wg      sync.WaitGroup // runs before the state ended, and payments that are being undone

	hurry    context.Context // ends when Close cannot wait
	hurryNow context.CancelFunc
}

// Caller is who asks a question. The zero value is an anonymous program that uses the library.
type Caller struct {
	// ID identifies the caller among those who share a run, so that each can cancel only its own questions: see [Engine.Cancel].
	ID string
	// Client is whose share of the run slots the question takes: see [Admission]. Empty: it takes none.
	Client string
	// Account is who asks and pays: see [event.RunStarted]. Questions of different accounts do not share a run.
	Account string
	// Protocol is the protocol of the request; default "library".
	Protocol string
	// Run is the id of the run, for a caller that must know it before the run starts: see [Engine.NewRunID]. Such a run is not shared. If it is
	// empty, the engine chooses an id.
	Run event.RunID
}

// New returns an engine. Close it when done; the store stays open, since the caller owns it.
func New(a answer.Answerer, o Options) *Engine {
	if o.Store == nil {
		o.Store = eventlog.NewMemory()
	}
	if o.Limiter == nil {
		o.Limiter = NewLimiter(o.MaxRuns, o.Admission)
	}
	if o.Deadline <= 0 {
		o.Deadline = 30 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.ShareKey == nil {
		o.ShareKey = func(context.Context, event.RunStarted) string { return "" }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Ended == nil {
		o.Ended = func(event.State) {}
	}
	if o.Deleted == nil {
		o.Deleted = func(event.RunID) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() event.RunID { return event.RunID("run_" + strings.ToLower(ulid.Make().String())) }
	}
	if o.Writer == nil {
		o.Writer = func(context.Context, event.Question) event.ModelInfo { return event.ModelInfo{} }
	}
	if o.Billing == nil {
		o.Billing = free{}
	}
	e := &Engine{o: o, answerer: a, limiter: o.Limiter, runs: map[event.RunID]*run{}, byKey: map[string]*run{}, joined: map[string]remoteRun{}, readers: map[event.RunID]int{}}
	e.peers.unbegun = map[event.RunID]time.Time{}
	e.hurry, e.hurryNow = context.WithCancel(context.Background())
	return e
}

// NewRunID returns an id for [Caller.Run]. It is greater than those of earlier runs.
func (e *Engine) NewRunID() event.RunID { return e.o.NewID() }

// Answering reports whether this engine is answering the run.
func (e *Engine) Answering(id event.RunID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id].live()
}

// Store returns the engine's store, for reading.
func (e *Engine) Store() eventlog.Store { return e.o.Store }

// Ask starts a run, or joins one that answers an equal question (see [Options]), and returns when its first event is in the
// log. The run does not end with ctx: see [Engine.Cancel]. Errors carry a code: [fault.InvalidRequest], [fault.Overloaded], [fault.Payment].
func (e *Engine) Ask(ctx context.Context, q event.Question, c Caller) (event.RunID, error) {
	return e.ask(ctx, q, c, false)
}

// AskAttached is Ask with one reader already attached. The caller calls detach when it stops reading.
func (e *Engine) AskAttached(ctx context.Context, q event.Question, c Caller) (id event.RunID, detach func(), err error) {
	id, err = e.ask(ctx, q, c, true)
	if err != nil {
		return "", nil, err
	}
	return id, e.detacher(id), nil
}

func (e *Engine) ask(ctx context.Context, q event.Question, c Caller, attached bool) (event.RunID, error) {
	if err := q.Validate(); err != nil {
		return "", err
	}
	if q.Collection == "" && e.o.Scope != nil {
		q.Collection = e.o.Scope(ctx)
	}
	q.SetDefaults()
	if e.o.Permit != nil {
		if err := e.o.Permit(ctx, q); err != nil {
			return "", err
		}
	}
	asked := e.o.Now()
	start := event.RunStarted{Run: c.Run, Account: c.Account, Protocol: cmp.Or(c.Protocol, "library"), Writer: e.o.Writer(ctx, q), Question: q}
	by := request{caller: c.ID, attached: attached}
	key := ""
	if start.Run == "" {
		start.Run = e.o.NewID()
	}
	if c.Run == "" && !q.NoCache && !q.Ephemeral {
		if key = e.o.ShareKey(ctx, start); key != "" {
			key = c.Account + "\x00" + key
		}
	}
	for {
		id, err := e.joinOrStart(ctx, start, key, c.Client, by, asked)
		if !errors.Is(err, errMoved) {
			return id, err
		}
	}
}

// joinOrStart joins a run, or starts one. errMoved: the run that it joined was given up for that of another server.
func (e *Engine) joinOrStart(ctx context.Context, start event.RunStarted, key, client string, by request, asked time.Time) (event.RunID, error) {
	if r := e.join(key, by); r != nil {
		return r.id, e.awaitStart(ctx, r, by)
	}
	if id := e.joinAgain(ctx, key, by); id != "" {
		return id, nil
	}
	release, err := e.limiter.acquireSlot(ctx, &start.Question, client)
	if err != nil {
		return "", err
	}
	r, joined, err := e.joinOrAdd(ctx, start, key, by)
	if joined || err != nil {
		release()
		if err == nil {
			return r.id, e.awaitStart(ctx, r, by)
		}
		return "", err
	}
	r.client, r.release = client, release
	if id := e.reserve(ctx, r, by); id != "" {
		e.started(r, errMoved)
		return id, nil
	}
	rec, err := e.begin(ctx, start, asked)
	e.started(r, err)
	if err != nil {
		return "", fmt.Errorf("start run: %w", err)
	}
	go e.answer(r, rec, e.o.Deadline)
	return r.id, nil
}

// Events yields a run's events after a sequence number, live or from the store: see [eventlog.Tail]. For a run that ended
// without a terminal event, because the store refused it, the last error is [answer.ErrNoEnd].
func (e *Engine) Events(ctx context.Context, id event.RunID, after event.Seq) iter.Seq2[[]event.Event, error] {
	return func(yield func([]event.Event, error) bool) {
		log, over := e.Follow(id)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(over, func() { cancel(context.Cause(over)) })()
		for batch, err := range eventlog.Tail(ctx, log, id, after) {
			if err != nil && errors.Is(context.Cause(ctx), answer.ErrNoEnd) {
				err = answer.ErrNoEnd
			}
			if !yield(batch, err) {
				return
			}
		}
	}
}

// Follow returns the log from which readers load the events of a run. If the run ends without a terminal event, either the context over ends
// with the cause [answer.ErrNoEnd], or Wait returns that error.
func (e *Engine) Follow(id event.RunID) (log eventlog.Store, over context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch r := e.runs[id]; {
	case r != nil && r.lost:
		return unendedStore{e.o.Store}, context.Background()
	case r.live():
		return e.o.Store, r.over
	}
	return e.o.Store, context.Background()
}

// unendedStore is a store of runs that get no more events, whether they have a terminal event or not.
type unendedStore struct{ eventlog.Store }

// Wait implements [eventlog.Store]. It returns [answer.ErrNoEnd] where a reader would wait.
func (s unendedStore) Wait(ctx context.Context, id event.RunID, after event.Seq) error {
	batch, err := s.Load(ctx, id, after)
	if err == nil && len(batch) == 0 {
		return answer.ErrNoEnd
	}
	return err
}

// Attach counts a reader of the run until detach is called. When the last reader has left a run that is being answered, the
// run is cancelled after the grace period unless a reader attaches again. Readers on all servers count.
func (e *Engine) Attach(id event.RunID) (detach func()) {
	e.mu.Lock()
	e.readers[id]++
	r := e.runs[id]
	if r.live() {
		r.stopGrace()
	}
	e.mu.Unlock()
	if r == nil && e.o.Peers != nil {
		e.o.Peers.Read([]event.RunID{id})
	}
	return e.detacher(id)
}

// Cancel withdraws one question of the caller, whose [Caller.ID] it is given, from a live run. The run stops when no question is
// left, and its terminal event follows soon after. Any caller can cancel a run that only ever answered one question. Cancel
// does not change a run that has ended. If a run belongs to a server that does not reply, this server takes it over and ends it. Errors:
// [eventlog.ErrNotFound].
func (e *Engine) Cancel(ctx context.Context, id event.RunID, caller string) error {
	c := Cancellation{Run: id, Caller: caller}
	if e.cancelHere(c) {
		return nil
	}
	_, err := e.o.Store.Load(ctx, id, math.MaxInt64) // beyond the end of any run that exists
	if err == nil || errors.Is(err, eventlog.ErrBeyond) {
		err = e.cancelElsewhere(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("cancel run: %w", err)
	}
	return nil
}

// Live returns the number of runs that have not ended.
func (e *Engine) Live() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, r := range e.runs {
		if r.live() {
			n++
		}
	}
	return n
}

// Idle reports whether the engine can be closed without an effect on callers: no run is being answered, and no ephemeral run
// waits for its readers.
func (e *Engine) Idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs {
		if !r.lost {
			return false
		}
	}
	return true
}

// Closing reports whether [Engine.Close] was called, after which new questions are refused.
func (e *Engine) Closing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closing
}

// Close refuses new questions and waits for the live runs. When ctx ends first, it cancels them and waits for their ends, or leaves them to other
// servers if there are any.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closing = true
	e.mu.Unlock()
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	defer e.closePeers()
	defer e.expireAll()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	e.hurryNow()
	e.mu.Lock()
	for _, r := range e.runs {
		switch {
		case !r.live():
		case r.rec != nil && e.o.Peers != nil && e.o.Peers.Others():
			r.rec.HandOver()
			r.cancel(answer.ErrTakenOver)
		default:
			r.cancel(fault.New(fault.Cancelled, "the run was cancelled: the server is stopping"))
		}
	}
	e.mu.Unlock()
	<-done
	return ctx.Err()
}
