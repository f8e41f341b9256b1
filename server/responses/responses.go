// Package responses provides the routes of stored responses: runs that are shown, streamed, cancelled and deleted by their ids, in the form of a
// protocol. The runs may be those of any protocol.
package responses

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
)

// cancelTimeout limits how long a cancellation waits for the end of the run, to include it in the reply.
const cancelTimeout = 2 * time.Second

// Options configures the routes. Path, API and Engine are required.
type Options struct {
	Path    string // of the list of responses
	API     wire.API
	Engine  *engine.Engine
	Deleted func(id string) any // returns the reply to a deletion
	// Numbered is set if the parameter starting_after is the number of an event in the stream, from 0. Otherwise it is the id of one.
	Numbered bool
}

type params struct {
	ID            string `path:"id"`
	Stream        bool   `query:"stream" description:"Whether the reply is a stream."`
	StartingAfter string `query:"starting_after" description:"The last event received, to resume a stream: its id, or its sequence_number if events have one."`
	LastEventID   string `header:"Last-Event-ID" description:"Id of the last event received, to resume a stream."`
}

type idParam struct {
	ID string `path:"id"`
}

type routes struct{ Options }

// Routes returns the routes. Their errors have the form of the protocol.
func Routes(o Options) []server.Route {
	s := &routes{o}
	all := []server.Route{
		{Method: "GET", Path: o.Path + "/{id}", Scope: auth.Read, Own: true, Serve: s.show, Stream: s.stream, Events: o.API.Types.Events, Empty: true,
			Summary: "Show a stored response, or stream it", Request: []any{params{}}, Reply: o.API.Types.Reply, Faults: []int{400, 404}},
		{Method: "DELETE", Path: o.Path + "/{id}", Scope: auth.Write, Serve: s.delete,
			Summary: "Delete a stored response", Request: []any{idParam{}}, Reply: o.Deleted(""), Faults: []int{404, 507}},
		{Method: "POST", Path: o.Path + "/{id}/cancel", Scope: auth.Write, Own: true, Serve: s.cancel,
			Summary: "Cancel a response", Request: []any{idParam{}}, Reply: o.API.Types.Reply, Faults: []int{404}},
	}
	for i := range all {
		all[i].Fault = o.API.Fault
	}
	return all
}

// Archive returns the archive of an engine's runs.
func Archive(e *engine.Engine) (eventlog.Archive, error) {
	if a, ok := e.Store().(eventlog.Archive); ok {
		return a, nil
	}
	return nil, fault.New(fault.NotFound, "this server's store does not list responses")
}

// Start returns the first event of the stored response whose id is the parameter {id} of the request.
func Start(r *http.Request, e *engine.Engine) (event.RunStarted, error) {
	s := &routes{Options{Engine: e}}
	sum, err := s.summary(r)
	if err != nil {
		return event.RunStarted{}, err
	}
	log, err := eventlog.Read(r.Context(), e.Store(), sum.Start.Run, 0, 1)
	if err != nil || len(log) == 0 {
		return event.RunStarted{}, deletedError(err)
	}
	start, _ := log[0].Body.(event.RunStarted) // the first event of every run
	return start, nil
}

// summary returns the summary of a stored response. An ephemeral one exists only while it runs.
func (s *routes) summary(r *http.Request) (eventlog.Summary, error) {
	id := event.RunID(r.PathValue("id"))
	if !id.Valid() {
		return eventlog.Summary{}, fault.New(fault.NotFound, "no such response")
	}
	archive, err := Archive(s.Engine)
	if err != nil {
		return eventlog.Summary{}, err
	}
	sum, err := archive.Summary(r.Context(), id)
	if errors.Is(err, eventlog.ErrNotFound) || err == nil && sum.Start.Ephemeral && sum.Ended {
		return sum, fault.New(fault.NotFound, "no such response")
	}
	return sum, err
}

// log reads the log of a run up to the time of its summary.
func (s *routes) log(ctx context.Context, sum eventlog.Summary) ([]event.Event, error) {
	log, err := eventlog.Read(ctx, s.Engine.Store(), sum.Start.Run, 0, sum.Last)
	return log, deletedError(err)
}

// deletedError converts the error for a run that was deleted in the meantime.
func deletedError(err error) error {
	if errors.Is(err, eventlog.ErrNotFound) {
		return fault.Wrap(fault.NotFound, err, "no such response")
	}
	return err
}

// variant returns the protocol that the parameters of a request select.
func (s *routes) variant(r *http.Request) (wire.Protocol, error) {
	if s.API.Variant == nil {
		return s.API.Protocol, nil
	}
	return s.API.Variant(s.API.Protocol, r.URL.Query().Get)
}

// reply returns the response to a log.
func (s *routes) reply(r *http.Request, log []event.Event) (any, error) {
	p, err := s.variant(r)
	if err != nil {
		return nil, err
	}
	if p, ok := p.(wire.Replier); ok {
		return p.Reply(log), nil
	}
	return s.API.Reply(log), nil
}

func (s *routes) show(w http.ResponseWriter, r *http.Request) error {
	sum, err := s.summary(r)
	if err != nil {
		return err
	}
	log, err := s.log(r.Context(), sum)
	if err != nil {
		return err
	}
	reply, err := s.reply(r, log)
	if err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusOK, reply)
	return nil
}

// stream returns the run to stream, or nil if the request does not want a stream.
func (s *routes) stream(_ http.ResponseWriter, r *http.Request) (*server.Replay, error) {
	q := r.URL.Query()
	switch q.Get("stream") {
	case "true", "1":
	case "", "false", "0":
		return nil, nil
	default:
		return nil, fault.Invalid("stream", "want true or false")
	}
	sum, err := s.summary(r)
	if err != nil {
		return nil, err
	}
	p, err := s.variant(r)
	if err != nil {
		return nil, err
	}
	replay := &server.Replay{Run: sum.Start.Run, Protocol: p, CursorParam: "starting_after"}
	cursor := q.Get("starting_after")
	if s.Numbered && cursor != "" {
		replay.After, err = s.numbered(r.Context(), p, sum, cursor)
		return replay, err
	}
	if cursor == "" {
		replay.CursorParam, cursor = "Last-Event-ID", r.Header.Get("Last-Event-ID")
	}
	if replay.After, err = wire.ParseCursor(cursor); err != nil {
		return nil, fault.Invalid(replay.CursorParam, "want the id of an event: a number, or two with a dot between")
	}
	return replay, nil
}

// numbered returns the cursor of the event with a number.
func (s *routes) numbered(ctx context.Context, p wire.Protocol, sum eventlog.Summary, number string) (wire.Cursor, error) {
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil {
		return wire.Cursor{}, fault.Invalid("starting_after", "want the sequence_number of an event")
	}
	log, err := s.log(ctx, sum)
	if err != nil {
		return wire.Cursor{}, err
	}
	frames := p.New().Project(nil, log)
	if n >= uint64(len(frames)) {
		return wire.Cursor{}, fault.Invalid("starting_after", "beyond the end of the run")
	}
	return frames[n].ID, nil
}

func (s *routes) delete(w http.ResponseWriter, r *http.Request) error {
	sum, err := s.summary(r)
	if err != nil {
		return err
	}
	err = s.Engine.Delete(r.Context(), sum.Start.Run)
	if errors.Is(err, errors.ErrUnsupported) {
		return fault.Wrap(fault.NotFound, err, "this server's store does not delete responses")
	}
	if err != nil {
		return deletedError(err)
	}
	server.ReplyJSON(w, http.StatusOK, s.Deleted(string(sum.Start.Run)))
	return nil
}

// cancel cancels a run and returns the response. A run that other clients asked for too goes on.
func (s *routes) cancel(w http.ResponseWriter, r *http.Request) error {
	sum, err := s.summary(r)
	if err != nil {
		return err
	}
	run := sum.Start.Run
	if err := s.Engine.Cancel(r.Context(), run, server.CallerOf(r)); err != nil {
		return deletedError(err)
	}
	var log []event.Event
	waiting, stop := context.WithTimeout(r.Context(), cancelTimeout)
	defer stop()
	for batch, err := range s.Engine.Events(waiting, run, 0) {
		if err != nil && waiting.Err() == nil {
			return deletedError(err)
		}
		log = append(log, batch...)
	}
	if r.Context().Err() != nil {
		return r.Context().Err()
	}
	if len(log) == 0 {
		return fault.New(fault.NotFound, "no such response")
	}
	reply, err := s.reply(r, log)
	if err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusOK, reply)
	return nil
}
