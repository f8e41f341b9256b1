package knowledge

import (
	"net/http"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/responses"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// unnamed is the model of a response whose request names none.
const unnamed = "sluice"

func (s *routes) responseRoutes() []server.Route {
	list := server.Route{Method: "GET", Path: "/v1/responses", Scope: auth.Read, Serve: s.listResponses,
		Summary: "List stored responses, newest first", Request: []any{listParams{}}, Reply: knowledge.ResponseList{}, Faults: []int{400}}
	return append([]server.Route{list}, responses.Routes(responses.Options{Path: "/v1/responses", API: s.api, Engine: s.o.Engine,
		Deleted: func(id string) any { return knowledge.Deleted{ID: id, Object: "response.deleted", Deleted: true} }})...)
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
	archive, err := responses.Archive(s.o.Engine)
	if err != nil {
		return err
	}
	list := knowledge.ResponseList{Object: "list", Data: []knowledge.ResponseSummary{}}
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

func summaryResponse(sum eventlog.Summary) knowledge.ResponseSummary {
	out := knowledge.ResponseSummary{ID: string(sum.Start.Run), Object: "response", CreatedAt: sum.StartedAt.Unix(), Model: first(sum.Start.Model, unnamed), Query: sum.Start.Query,
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
