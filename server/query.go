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
	"github.com/sluice-rag/sluice/wire/forge"
)

// The headers by which a stream is resumed.
const (
	headerRun  = "Sluice-Run-Id"
	headerLast = "Last-Event-ID"
)

// queryStream answers a question in the forge protocol, or goes on with a run whose headers name it.
func (s *Server) queryStream(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(headerRun) != "" {
		s.resume(w, r, event.RunID(r.Header.Get(headerRun)), forge.Protocol{})
		return
	}
	if r.Header.Get(headerLast) != "" {
		s.replyError(w, fault.Invalid(headerRun, "required with %s", headerLast))
		return
	}
	id, detach, ok := s.ask(w, r)
	if !ok {
		return
	}
	defer detach()
	s.serveRun(w, r, id, forge.Protocol{}, wire.Cursor{})
}

// query answers a question with one JSON object.
func (s *Server) query(w http.ResponseWriter, r *http.Request) {
	id, detach, ok := s.ask(w, r)
	if !ok {
		return
	}
	defer detach()
	log, err := collect(r.Context(), s.engine, id)
	if err != nil {
		if r.Context().Err() == nil {
			s.replyError(w, err)
		}
		return
	}
	a := forge.AnswerOf(log)
	status := http.StatusOK
	if a.Error != nil {
		status = statusOf(fault.Code(a.Error.Code))
	}
	w.Header().Set(headerRun, string(id))
	replyJSON(w, status, a)
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

func (s *Server) ask(w http.ResponseWriter, r *http.Request) (event.RunID, func(), bool) {
	body, ok := s.readJSON(w, r)
	if !ok {
		return "", nil, false
	}
	req, err := forge.DecodeRequest(body, s.o.MaxQuery)
	if err == nil {
		var id event.RunID
		var detach func()
		id, detach, err = s.engine.AskAttached(r.Context(), sluice.Question{Query: req.Query, Mode: req.Mode,
			Collection: req.Collection, TopK: req.TopK, Session: req.SessionID, Protocol: forge.Name})
		if err == nil {
			return id, detach, true
		}
	}
	s.replyError(w, err)
	return "", nil, false
}

// resume goes on with a run from behind the cursor of the request's Last-Event-ID, or from its start.
func (s *Server) resume(w http.ResponseWriter, r *http.Request, id event.RunID, p wire.Protocol) {
	after, err := wire.ParseCursor(r.Header.Get(headerLast))
	if err != nil {
		s.replyError(w, fault.Invalid(headerLast, "want a number, or two with a dot between"))
		return
	}
	if !id.Valid() {
		s.replyError(w, eventlog.ErrNotFound)
		return
	}
	detach := s.engine.Attach(id)
	defer detach()
	if _, err := s.engine.Store().Load(r.Context(), id, after.Seq); err != nil && !errors.Is(err, eventlog.ErrEnd) {
		s.replyError(w, err)
		return
	}
	s.serveRun(w, r, id, p, after)
}
