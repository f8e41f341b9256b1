package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

// maxPage is the most runs that one list gives.
const maxPage = 500

// RunSummary is a run in a list.
type RunSummary struct {
	RunID      event.RunID  `json:"run_id"`
	Query      string       `json:"query"`
	Mode       event.Mode   `json:"mode" enum:"agentic,direct" description:"As asked for."`
	Protocol   string       `json:"protocol" description:"That it was started in; it can be read in any."`
	Collection string       `json:"collection"`
	Status     event.Status `json:"status" enum:"running,finished,failed,cancelled"`
	ErrorCode  string       `json:"error_code,omitempty"`
	StartedAt  time.Time    `json:"started_at"`
	UpdatedAt  time.Time    `json:"updated_at"`
	DurationMS event.Millis `json:"duration_ms"`
	Events     event.Seq    `json:"events"`
}

// RunList is a page of runs, the newest first.
type RunList struct {
	Runs []RunSummary `json:"runs"`
	Next event.RunID  `json:"next,omitempty" description:"Give it as before to get the next page."`
}

// RunDetail is a run with what its stream added up to so far.
type RunDetail struct {
	RunSummary
	Answer    any    `json:"answer" description:"As the default protocol answers a request that is not streamed."`
	Reasoning string `json:"reasoning,omitempty" description:"What models thought and did not say."`
}

// Cancelling is the reply to a cancel.
type Cancelling struct {
	RunID  event.RunID  `json:"run_id"`
	Status event.Status `json:"status" enum:"running,finished,failed,cancelled" description:"When the command was taken; a running run ends soon after."`
}

// Summarize gives a run as a list shows it.
func Summarize(s eventlog.Summary) RunSummary {
	return RunSummary{RunID: s.Start.Run, Query: s.Start.Query, Mode: s.Start.Mode, Protocol: s.Start.Protocol,
		Collection: s.Start.Collection, Status: s.Status(), ErrorCode: string(s.Code), StartedAt: s.StartedAt.Truncate(time.Millisecond),
		UpdatedAt: s.UpdatedAt.Truncate(time.Millisecond), DurationMS: event.MillisOf(s.UpdatedAt.Sub(s.StartedAt)), Events: event.Seq(s.Last.Count())}
}

func (p port) archive() (eventlog.Archive, error) {
	if a, ok := p.engine.Store().(eventlog.Archive); ok {
		return a, nil
	}
	return nil, fault.New(fault.NotFound, "this server's store does not list runs")
}

func (p port) listRuns(w http.ResponseWriter, r *http.Request) {
	limit := 50
	if v := r.URL.Query().Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > maxPage {
			p.replyError(w, fault.Invalid("limit", "want 1 to %d", maxPage))
			return
		}
		limit = n
	}
	before := event.RunID(r.URL.Query().Get("before"))
	if before != "" && !before.Valid() {
		p.replyError(w, fault.Invalid("before", "not a run's id"))
		return
	}
	archive, err := p.archive()
	if err != nil {
		p.replyError(w, err)
		return
	}
	runs, err := eventlog.Stored(r.Context(), archive, before, limit+1)
	if err != nil {
		p.replyError(w, err)
		return
	}
	list := RunList{Runs: []RunSummary{}}
	for _, run := range runs[:min(limit, len(runs))] {
		list.Runs = append(list.Runs, Summarize(run))
	}
	if len(runs) > limit {
		list.Next = list.Runs[limit-1].RunID
	}
	replyJSON(w, http.StatusOK, list)
}

func (p port) summary(r *http.Request) (eventlog.Summary, error) {
	id := event.RunID(r.PathValue("id"))
	if !id.Valid() {
		return eventlog.Summary{}, eventlog.ErrNotFound
	}
	archive, err := p.archive()
	if err != nil {
		return eventlog.Summary{}, err
	}
	return archive.Summary(r.Context(), id)
}

func (p port) getRun(w http.ResponseWriter, r *http.Request) {
	sum, err := p.summary(r)
	if err != nil {
		p.replyError(w, err)
		return
	}
	// A live run's log is read up to where its summary was taken.
	log, err := eventlog.Read(r.Context(), p.engine.Store(), sum.Start.Run, 0, sum.Last)
	if err != nil {
		p.replyError(w, err)
		return
	}
	state := event.Fold(log)
	replyJSON(w, http.StatusOK, RunDetail{RunSummary: Summarize(sum), Answer: p.Reply(log), Reasoning: string(state.Reasoning)})
}

func (p port) cancelRun(w http.ResponseWriter, r *http.Request) {
	sum, err := p.summary(r)
	if err == nil {
		err = p.engine.Cancel(r.Context(), sum.Start.Run, CallerOf(r))
	}
	if err != nil {
		p.replyError(w, err)
		return
	}
	replyJSON(w, http.StatusAccepted, Cancelling{RunID: sum.Start.Run, Status: sum.Status()})
}

// streamRun reads any run in any protocol.
func (p port) streamRun(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("protocol")
	for _, e := range p.o.Protocols {
		if name != "" && e.Name() != name {
			continue
		}
		in := port{p.Server, e}
		if e.View != nil {
			view, err := e.View(r.URL.Query().Get)
			if err != nil {
				in.replyError(w, err)
				return
			}
			in.Protocol = view
		}
		in.resume(w, r, event.RunID(r.PathValue("id")))
		return
	}
	p.replyError(w, fault.Invalid("protocol", "no protocol of that name"))
}
