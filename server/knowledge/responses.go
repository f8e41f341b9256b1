package knowledge

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// cancelTimeout limits how long a cancellation waits for the end of the run, to include it in the reply.
const cancelTimeout = 2 * time.Second

// unnamed is the model of a response whose request names none.
const unnamed = "sluice"

type responseParams struct {
	idParam
	Stream        bool   `query:"stream" description:"Whether the reply is a stream."`
	StartingAfter string `query:"starting_after" description:"Id of the last event received, to resume a stream."`
	LastEventID   string `header:"Last-Event-ID" description:"The same as starting_after."`
}

func (s *routes) responseRoutes() []server.Route {
	return []server.Route{
		{Method: "GET", Path: "/v1/responses", Scope: auth.Read, Serve: s.listResponses,
			Summary: "List stored responses, newest first", Request: []any{listParams{}}, Reply: ResponseList{}, Faults: []int{400}},
		{Method: "GET", Path: "/v1/responses/{id}", Scope: auth.Read, Own: true, Serve: s.getResponse, Stream: s.streamResponse, Events: s.api.Types.Events, Empty: true,
			Summary: "Show a stored response, or stream it", Request: []any{responseParams{}}, Reply: s.api.Types.Reply, Faults: []int{400, 404}},
		{Method: "DELETE", Path: "/v1/responses/{id}", Scope: auth.Write, Serve: s.deleteResponse,
			Summary: "Delete a stored response", Request: []any{idParam{}}, Reply: Deleted{}, Faults: []int{404, 507}},
		{Method: "POST", Path: "/v1/responses/{id}/cancel", Scope: auth.Write, Own: true, Serve: s.cancelResponse,
			Summary: "Cancel a response", Request: []any{idParam{}}, Reply: s.api.Types.Reply, Faults: []int{404}},
	}
}

func (s *routes) archive() (eventlog.Archive, error) {
	if a, ok := s.o.Engine.Store().(eventlog.Archive); ok {
		return a, nil
	}
	return nil, fault.New(fault.NotFound, "this server's store does not list responses")
}

// summaryOf returns the summary of a stored response. A response with store=false exists only while it runs.
func (s *routes) summaryOf(r *http.Request) (eventlog.Summary, error) {
	id := event.RunID(r.PathValue("id"))
	if !id.Valid() {
		return eventlog.Summary{}, fault.New(fault.NotFound, "no such response")
	}
	archive, err := s.archive()
	if err != nil {
		return eventlog.Summary{}, err
	}
	sum, err := archive.Summary(r.Context(), id)
	if errors.Is(err, eventlog.ErrNotFound) || err == nil && sum.Start.Ephemeral && sum.Ended {
		return sum, fault.New(fault.NotFound, "no such response")
	}
	return sum, err
}

func (s *routes) listResponses(w http.ResponseWriter, r *http.Request) error {
	after, limit, err := page(r)
	if err != nil {
		return err
	}
	before := event.RunID(after)
	if after != "" && !before.Valid() {
		return fault.Invalid("after", "not a response's id")
	}
	archive, err := s.archive()
	if err != nil {
		return err
	}
	list := ResponseList{Object: "list", Data: []ResponseSummary{}}
	runs, err := eventlog.ListStored(r.Context(), archive, before, limit+1)
	if err != nil {
		return err
	}
	for _, run := range runs {
		list.Data = append(list.Data, summaryResponse(run))
	}
	if len(list.Data) > limit {
		list.Data, list.HasMore = list.Data[:limit], true
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = list.Data[0].ID, list.Data[n-1].ID
	}
	server.ReplyJSON(w, http.StatusOK, list)
	return nil
}

func summaryResponse(sum eventlog.Summary) ResponseSummary {
	out := ResponseSummary{ID: string(sum.Start.Run), Object: "response", CreatedAt: sum.StartedAt.Unix(), Model: first(sum.Start.Model, unnamed), Query: sum.Start.Query,
		Collection: sum.Start.Collection, Protocol: sum.Start.Protocol, Previous: string(sum.Start.Previous)}
	switch sum.Status() {
	case event.Running:
		out.Status = knowledge.StatusInProgress
	case event.Finished:
		out.Status = knowledge.StatusCompleted
	case event.Cancelled:
		out.Status = knowledge.StatusIncomplete
	default:
		out.Status = knowledge.StatusFailed
	}
	return out
}

// log reads the log of a run up to the time of its summary.
func (s *routes) log(ctx context.Context, sum eventlog.Summary) ([]event.Event, error) {
	log, err := eventlog.Read(ctx, s.o.Engine.Store(), sum.Start.Run, 0, sum.Last)
	return log, deletedError(err)
}

// deletedError converts the error for a run that was deleted in the meantime.
func deletedError(err error) error {
	if errors.Is(err, eventlog.ErrNotFound) {
		return fault.Wrap(fault.NotFound, err, "no such response")
	}
	return err
}

func (s *routes) getResponse(w http.ResponseWriter, r *http.Request) error {
	sum, err := s.summaryOf(r)
	if err != nil {
		return err
	}
	log, err := s.log(r.Context(), sum)
	if err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusOK, s.api.Reply(log))
	return nil
}

// streamResponse returns the run to stream, or nil if the request does not want a stream.
func (s *routes) streamResponse(r *http.Request) (*server.Replay, error) {
	q := r.URL.Query()
	switch q.Get("stream") {
	case "true", "1":
	case "", "false", "0":
		return nil, nil
	default:
		return nil, fault.Invalid("stream", "want true or false")
	}
	sum, err := s.summaryOf(r)
	if err != nil {
		return nil, err
	}
	name, cursor := "starting_after", q.Get("starting_after")
	if cursor == "" {
		name, cursor = "Last-Event-ID", r.Header.Get("Last-Event-ID")
	}
	after, err := wire.ParseCursor(cursor)
	if err != nil {
		return nil, fault.Invalid(name, "want the id of an event: a number, or two with a dot between")
	}
	replay := &server.Replay{Run: sum.Start.Run, Protocol: s.api.Protocol, After: after, CursorParam: name}
	if s.api.Variant != nil {
		if replay.Protocol, err = s.api.Variant(s.api.Protocol, q.Get); err != nil {
			return nil, err
		}
	}
	return replay, nil
}

func (s *routes) deleteResponse(w http.ResponseWriter, r *http.Request) error {
	sum, err := s.summaryOf(r)
	if err != nil {
		return err
	}
	err = s.o.Engine.Delete(r.Context(), sum.Start.Run)
	if errors.Is(err, errors.ErrUnsupported) {
		return fault.Wrap(fault.NotFound, err, "this server's store does not delete responses")
	}
	if err != nil {
		return deletedError(err)
	}
	server.ReplyJSON(w, http.StatusOK, Deleted{ID: string(sum.Start.Run), Object: "response.deleted", Deleted: true})
	return nil
}

// cancelResponse cancels a run and returns the response. A run that other clients asked for too goes on.
func (s *routes) cancelResponse(w http.ResponseWriter, r *http.Request) error {
	sum, err := s.summaryOf(r)
	if err != nil {
		return err
	}
	run := sum.Start.Run
	if err := s.o.Engine.Cancel(r.Context(), run, server.CallerOf(r)); err != nil {
		return deletedError(err)
	}
	var log []event.Event
	waiting, stop := context.WithTimeout(r.Context(), cancelTimeout)
	defer stop()
	for batch, err := range s.o.Engine.Events(waiting, run, 0) {
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
	server.ReplyJSON(w, http.StatusOK, s.api.Reply(log))
	return nil
}
