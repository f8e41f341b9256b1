package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/sluice-rag/sluice"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// The headers by which a stream is resumed.
const (
	headerRun  = "Sluice-Run-Id"
	headerLast = "Last-Event-ID"
)

// queryStream answers a question with a stream, or goes on with a run whose headers name it.
func (p port) queryStream(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(headerRun) != "" {
		p.resume(w, r, event.RunID(r.Header.Get(headerRun)))
		return
	}
	if r.Header.Get(headerLast) != "" {
		p.replyError(w, fault.Invalid(headerRun, "required with %s", headerLast))
		return
	}
	id, detach, ok := p.ask(w, r)
	if !ok {
		return
	}
	defer detach()
	p.serveRun(w, r, id, p.Protocol, wire.Cursor{})
}

// query answers a question with one JSON object.
func (p port) query(w http.ResponseWriter, r *http.Request) {
	id, detach, ok := p.ask(w, r)
	if !ok {
		return
	}
	defer detach()
	log, err := collect(r.Context(), p.engine, id)
	if err != nil {
		if r.Context().Err() == nil {
			p.replyError(w, err)
		}
		return
	}
	status := http.StatusOK
	if failure, failed := log[len(log)-1].Body.(event.RunFailed); failed {
		status = statusOf(failure.Code)
	}
	w.Header().Set(headerRun, string(id))
	p.limit(w)
	replyJSON(w, status, p.Reply(log))
}

func collect(ctx context.Context, e *sluice.Engine, id event.RunID) ([]event.Event, error) {
	var log []event.Event
	for batch, err := range e.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		log = append(log, batch...)
	}
	return log, nil
}

func (p port) ask(w http.ResponseWriter, r *http.Request) (event.RunID, func(), bool) {
	body, ok := p.readJSON(w, r)
	if !ok {
		return "", nil, false
	}
	q, err := p.Decode(body, p.o.MaxQuery)
	if err == nil {
		var id event.RunID
		var detach func()
		id, detach, err = p.engine.AskAttached(r.Context(), sluice.Question{Query: q.Query, Mode: q.Mode, Collection: q.Collection,
			TopK: q.TopK, Session: q.Session, NoCache: q.NoCache, History: q.History, Previous: q.Previous, Instructions: q.Instructions,
			Model: q.Model, Temperature: q.Temperature, MaxTokens: q.MaxTokens, Tools: q.Tools, Iterations: q.Iterations, Unstored: q.Unstored,
			Request: q.Request, Protocol: p.Name()})
		if err == nil {
			return id, detach, true
		}
	}
	p.replyError(w, err)
	return "", nil, false
}

// resume goes on with a run from behind the cursor of the request's Last-Event-ID, or from its start.
func (p port) resume(w http.ResponseWriter, r *http.Request, id event.RunID) {
	after, err := wire.ParseCursor(r.Header.Get(headerLast))
	if err != nil {
		p.replyError(w, fault.Invalid(headerLast, "want a number, or two with a dot between"))
		return
	}
	p.read(w, r, id, after)
}

// read streams a run from behind a cursor.
func (p port) read(w http.ResponseWriter, r *http.Request, id event.RunID, after wire.Cursor) {
	if !id.Valid() {
		p.replyError(w, eventlog.ErrNotFound)
		return
	}
	if err := p.unlimit(w, r); err != nil {
		p.replyError(w, err)
		return
	}
	detach := p.engine.Attach(id)
	defer detach()
	_, err := p.engine.Store().Load(r.Context(), id, after.Seq)
	if errors.Is(err, eventlog.ErrEnd) && after.Frame == 0 && r.Method == http.MethodGet {
		w.WriteHeader(http.StatusNoContent) // which tells an EventSource to come no more
		return
	}
	if err != nil && !errors.Is(err, eventlog.ErrEnd) {
		p.replyError(w, err)
		return
	}
	p.serveRun(w, r, id, p.Protocol, after)
}
