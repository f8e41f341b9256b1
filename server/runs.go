package server

import (
	"net/http"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

// maxPage is the maximum number of runs in a list.
const maxPage = 500

// RunSummary is a run in a list.
type RunSummary struct {
	RunID      event.RunID  `json:"run_id"`
	Query      string       `json:"query"`
	Mode       event.Mode   `json:"mode" enum:"agentic,direct" description:"As requested."`
	Protocol   string       `json:"protocol" description:"Protocol in which it was started. It can be streamed in any protocol."`
	Collection string       `json:"collection"`
	Status     event.Status `json:"status" enum:"running,finished,failed,cancelled"`
	ErrorCode  string       `json:"error_code,omitempty"`
	StartedAt  time.Time    `json:"started_at"`
	UpdatedAt  time.Time    `json:"updated_at"`
	DurationMS event.Millis `json:"duration_ms"`
	Events     event.Seq    `json:"events"`
}

// RunList is a page of runs, newest first.
type RunList struct {
	Runs []RunSummary `json:"runs"`
	Next event.RunID  `json:"next,omitempty" description:"Value of the parameter before for the next page."`
}

// RunDetail is a run with its answer so far.
type RunDetail struct {
	RunSummary
	Answer    any    `json:"answer" description:"In the form of the default protocol's reply without a stream."`
	Reasoning string `json:"reasoning,omitempty" description:"Reasoning of the models, which is not part of the answer."`
}

// Cancelling is the reply to a cancellation.
type Cancelling struct {
	RunID  event.RunID  `json:"run_id"`
	Status event.Status `json:"status" enum:"running,finished,failed,cancelled" description:"Status at the time of the request. A run in progress ends soon after."`
}

// Summarize returns the JSON of a run in a list.
func Summarize(s eventlog.Summary) RunSummary {
	return RunSummary{RunID: s.Start.Run, Query: s.Start.Query, Mode: s.Start.Mode, Protocol: s.Start.Protocol,
		Collection: s.Start.Collection, Status: s.Status(), ErrorCode: string(s.Code), StartedAt: s.StartedAt.Truncate(time.Millisecond),
		UpdatedAt: s.UpdatedAt.Truncate(time.Millisecond), DurationMS: event.MillisOf(s.UpdatedAt.Sub(s.StartedAt)), Events: event.Seq(s.Last.Count())}
}

func (h handler) archive() (eventlog.Archive, error) {
	if a, ok := h.engine.Store().(eventlog.Archive); ok {
		return a, nil
	}
	return nil, fault.New(fault.NotFound, "this server's store does not list runs")
}

func (h handler) listRuns(w http.ResponseWriter, r *http.Request) {
	limit, err := IntParam(r.URL.Query(), "limit", 50, 1, maxPage)
	if err != nil {
		h.replyError(w, err)
		return
	}
	before := event.RunID(r.URL.Query().Get("before"))
	if before != "" && !before.Valid() {
		h.replyError(w, fault.Invalid("before", "not a run's id"))
		return
	}
	archive, err := h.archive()
	if err != nil {
		h.replyError(w, err)
		return
	}
	runs, err := eventlog.ListStored(r.Context(), archive, before, limit+1)
	if err != nil {
		h.replyError(w, err)
		return
	}
	list := RunList{Runs: []RunSummary{}}
	for _, run := range runs[:min(limit, len(runs))] {
		list.Runs = append(list.Runs, Summarize(run))
	}
	if len(runs) > limit {
		list.Next = list.Runs[limit-1].RunID
	}
	ReplyJSON(w, http.StatusOK, list)
}

func (h handler) summary(r *http.Request) (eventlog.Summary, error) {
	id := event.RunID(r.PathValue("id"))
	if !id.Valid() {
		return eventlog.Summary{}, eventlog.ErrNotFound
	}
	archive, err := h.archive()
	if err != nil {
		return eventlog.Summary{}, err
	}
	return archive.Summary(r.Context(), id)
}

func (h handler) getRun(w http.ResponseWriter, r *http.Request) {
	sum, err := h.summary(r)
	if err != nil {
		h.replyError(w, err)
		return
	}
	// The log of a live run is read up to the time of its summary.
	log, err := eventlog.Read(r.Context(), h.engine.Store(), sum.Start.Run, 0, sum.Last)
	if err != nil {
		h.replyError(w, err)
		return
	}
	state := event.Fold(log)
	ReplyJSON(w, http.StatusOK, RunDetail{RunSummary: Summarize(sum), Answer: h.Reply(log), Reasoning: string(state.Reasoning)})
}

func (h handler) cancelRun(w http.ResponseWriter, r *http.Request) {
	sum, err := h.summary(r)
	if err == nil {
		err = h.engine.Cancel(r.Context(), sum.Start.Run, CallerOf(r))
	}
	if err != nil {
		h.replyError(w, err)
		return
	}
	ReplyJSON(w, http.StatusAccepted, Cancelling{RunID: sum.Start.Run, Status: sum.Status()})
}

// streamRun streams any run in any protocol.
func (h handler) streamRun(w http.ResponseWriter, r *http.Request) {
	name, names := r.URL.Query().Get("protocol"), make([]string, 0, len(h.o.Protocols))
	for _, e := range h.o.Protocols {
		if names = append(names, e.Name()); name != "" && e.Name() != name {
			continue
		}
		in, err := handler{h.Server, e}.variant(nil, r)
		if err != nil {
			in.replyError(w, err)
			return
		}
		in.resumeRun(w, r, event.RunID(r.PathValue("id")))
		return
	}
	h.replyError(w, fault.Invalid("protocol", "want one of %s", strings.Join(names, ", ")))
}
