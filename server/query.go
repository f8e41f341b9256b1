package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Headers that resume a stream.
const (
	headerRun  = "Sluice-Run-Id"
	headerLast = "Last-Event-ID"
)

// queryStream replies to a question with a stream, or with one object if the request says so. A request with the header of
// a run resumes its stream.
func (p port) queryStream(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(headerRun) != "" {
		p.again(w, r)
		return
	}
	if r.Header.Get(headerLast) != "" {
		p.replyError(w, fault.Invalid(headerRun, "required with %s", headerLast))
		return
	}
	q, ok := p.decode(w, r)
	if !ok {
		return
	}
	id, detach, ok := p.ask(w, r, q)
	if !ok {
		return
	}
	defer detach()
	if q.Once {
		p.replyOnce(w, r, id)
		return
	}
	p.serveRun(w, r, id, p.in(q.As), wire.Cursor{})
}

// in returns the requested variant of the protocol, or the protocol itself if it is nil.
func (p port) in(form wire.Protocol) wire.Protocol {
	if form != nil {
		return form
	}
	return p.Protocol
}

// again resumes a run. The body is the question again; only its streaming options are used. If it is missing or invalid,
// the default ones are.
func (p port) again(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, p.o.MaxBody))
	if err != nil {
		p.replyError(w, bodyFault(err, p.o.MaxBody))
		return
	}
	if len(body) > 0 {
		if q, err := p.Decode(body, p.o.MaxQuery); err == nil {
			p.Protocol = p.in(q.As)
		}
	}
	p.resume(w, r, event.RunID(r.Header.Get(headerRun)))
}

// query replies to a question with one JSON object.
func (p port) query(w http.ResponseWriter, r *http.Request) {
	q, ok := p.decode(w, r)
	if !ok {
		return
	}
	id, detach, ok := p.ask(w, r, q)
	if !ok {
		return
	}
	defer detach()
	p.replyOnce(w, r, id)
}

// replyOnce waits for the end of a run and writes the reply.
func (p port) replyOnce(w http.ResponseWriter, r *http.Request, id event.RunID) {
	log, err := collect(r.Context(), p.engine, id)
	if err != nil {
		if r.Context().Err() == nil {
			p.replyError(w, err)
		}
		return
	}
	status := http.StatusOK
	if failure, failed := log[len(log)-1].Body.(event.RunFailed); failed && !p.Tells {
		status = statusOf(failure.Code)
	}
	w.Header().Set(headerRun, string(id))
	p.setDeadlines(w)
	replyJSON(w, status, p.Reply(log))
}

func collect(ctx context.Context, e *engine.Engine, id event.RunID) ([]event.Event, error) {
	var log []event.Event
	for batch, err := range e.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		log = append(log, batch...)
	}
	return log, nil
}

// decode reads a request's question. Errors are written to w.
func (p port) decode(w http.ResponseWriter, r *http.Request) (wire.Request, bool) {
	body, ok := p.readJSON(w, r)
	if !ok {
		return wire.Request{}, false
	}
	q, err := p.Decode(body, p.o.MaxQuery)
	if err == nil && q.Previous != "" {
		q.History, err = p.following(r.Context(), q.Previous, q.History)
	}
	if err != nil {
		p.replyError(w, err)
		return wire.Request{}, false
	}
	return q, true
}

func (p port) ask(w http.ResponseWriter, r *http.Request, q wire.Request) (event.RunID, func(), bool) {
	if p.o.Accept != nil {
		if err := p.o.Accept(r.Context(), q.Collection); err != nil {
			p.replyError(w, err)
			return "", nil, false
		}
	}
	id, detach, err := p.engine.AskAttached(r.Context(), q.Question, engine.Caller{ID: CallerOf(r), Client: addressOf(r), Protocol: p.Name()})
	if err != nil {
		p.replyError(w, err)
		return "", nil, false
	}
	return id, detach, true
}

// following prepends the history, the question and the answer of an earlier run to a history. It drops the oldest turns
// that exceed the limits.
func (p port) following(ctx context.Context, previous event.RunID, history []event.Turn) ([]event.Turn, error) {
	if !previous.Valid() {
		return nil, eventlog.ErrNotFound
	}
	state, err := p.fold(ctx, previous)
	if err != nil {
		return nil, err
	}
	if state.Status == event.Running {
		return nil, fault.New(fault.Conflict, "the run %q is still being answered", previous)
	}
	said := append(slices.Clone(state.History), event.Turn{Role: event.RoleUser, Text: state.Query})
	if len(state.Text) > 0 {
		said = append(said, event.Turn{Role: event.RoleAssistant, Text: string(state.Text)})
	}
	turns, size := event.MaxTurns-len(history), event.MaxHistory
	for _, t := range history {
		size -= len(t.Text)
	}
	from := len(said)
	for ; from > 0 && len(said)-from < turns; from-- {
		if size -= len(said[from-1].Text); size < 0 {
			break
		}
	}
	return append(said[from:], history...), nil
}

// fold returns the current state of a run.
func (p port) fold(ctx context.Context, id event.RunID) (event.State, error) {
	var s event.State
	for {
		batch, err := p.engine.Store().Load(ctx, id, s.Seq)
		if errors.Is(err, eventlog.ErrEnd) {
			return s, nil
		}
		if err != nil || len(batch) == 0 {
			return s, err
		}
		for _, e := range batch {
			s.Apply(e)
		}
	}
}

// resume streams a run from after the cursor in Last-Event-ID.
func (p port) resume(w http.ResponseWriter, r *http.Request, id event.RunID) {
	after, err := wire.ParseCursor(r.Header.Get(headerLast))
	if err != nil {
		p.replyError(w, fault.Invalid(headerLast, "want a number, or two with a dot between"))
		return
	}
	p.read(w, r, id, after, headerLast)
}

// read streams a run from after a cursor. Errors refer to the cursor by the parameter named.
func (p port) read(w http.ResponseWriter, r *http.Request, id event.RunID, after wire.Cursor, named string) {
	if !id.Valid() {
		p.replyError(w, eventlog.ErrNotFound)
		return
	}
	if err := p.clearDeadlines(w, r); err != nil {
		p.replyError(w, err)
		return
	}
	detach := p.engine.Attach(id)
	defer detach()
	_, err := p.engine.Store().Load(r.Context(), id, after.Seq)
	if errors.Is(err, eventlog.ErrEnd) && after.Frame == 0 && r.Method == http.MethodGet {
		w.WriteHeader(http.StatusNoContent) // tells an EventSource to stop reconnecting
		return
	}
	if errors.Is(err, eventlog.ErrBeyond) {
		err = fault.Invalid(named, "beyond the end of the run")
	}
	if err != nil && !errors.Is(err, eventlog.ErrEnd) {
		p.replyError(w, err)
		return
	}
	p.serveRun(w, r, id, p.Protocol, after)
}
