package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/swaggest/swgui/v5emb"

	"github.com/sluice-rag/sluice/fault"
)

// route is a path with what answers it. The fields behind serve are for the OpenAPI document, which lists the routes that
// have a summary.
type route struct {
	method, path string
	serve        http.HandlerFunc
	summary      string
	request      []any // body and parameters
	reply        any   // of status 200, or of the status given
	status       int   // 0: 200
	events       []any // of a route that streams: the forms of an event's data
	fault        any   // the object of errors
	faults       []int // their statuses
	partial      []int // statuses of a reply that is not whole
	empty        bool  // 204 says that nothing follows
}

// Parameters of routes, for the document.
type (
	runParams struct {
		ID string `path:"id" description:"The run's id."`
	}
	listParams struct {
		Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
		Before string `query:"before" description:"A run's id: the list goes on behind it."`
	}
	streamParams struct {
		runParams
		Protocol    string `query:"protocol" description:"The protocol to read it in; the default one if it is left out."`
		LastEventID string `header:"Last-Event-ID" description:"The id of the last event received."`
	}
	resumeParams struct {
		LastEventID string `header:"Last-Event-ID" description:"With Sluice-Run-Id: go on behind this event."`
		RunID       string `header:"Sluice-Run-Id" description:"The run to go on with; the body is then ignored."`
	}
)

func (s *Server) table() []route {
	var routes []route
	for _, e := range s.o.Protocols {
		p := port{s, e}
		routes = append(routes, route{method: "POST", path: e.Stream, serve: p.queryStream, events: e.Types.Events,
			request: []any{e.Types.Request, resumeParams{}}, fault: e.Types.Fault, faults: []int{400, 403, 404, 413, 415, 429, 503},
			summary: "Answer a question and stream every step"})
		if e.Once != "" {
			routes = append(routes, route{method: "POST", path: e.Once, serve: p.query, request: []any{e.Types.Request}, reply: e.Types.Reply,
				fault: e.Types.Fault, faults: []int{400, 403, 413, 415, 429, 503}, partial: []int{409, 422, 500, 502, 504},
				summary: "Answer a question with one object"})
		}
	}
	p := port{s, s.o.Protocols[0]}
	failure := p.Types.Fault
	return append(routes,
		route{method: "GET", path: "/api/runs", serve: p.listRuns, request: []any{listParams{}}, reply: RunList{},
			summary: "List runs, the newest first", fault: failure, faults: []int{400}},
		route{method: "GET", path: "/api/runs/{id}", serve: p.getRun, request: []any{runParams{}}, reply: RunDetail{},
			summary: "Show a run with its answer so far", fault: failure, faults: []int{404}},
		route{method: "GET", path: "/runs/{id}/stream", serve: p.streamRun, events: p.Types.Events, request: []any{streamParams{}},
			summary: "Stream a run, live or finished, from any event on", fault: failure, faults: []int{400, 404}, empty: true},
		route{method: "POST", path: "/runs/{id}/cancel", serve: p.cancelRun, request: []any{runParams{}}, reply: Cancelling{},
			status: http.StatusAccepted, summary: "Stop a run", fault: failure, faults: []int{403, 404}},
		route{method: "GET", path: "/healthz", serve: s.healthz, reply: Health{}, summary: "Tell whether the process lives"},
		route{method: "GET", path: "/readyz", serve: s.readyz, reply: Health{}, fault: Health{}, faults: []int{503}, summary: "Tell whether it takes questions"},
		route{method: "GET", path: "/metrics", serve: promhttp.HandlerFor(s.o.Registry, promhttp.HandlerOpts{}).ServeHTTP},
	)
}

// Health is the state of the server.
type Health struct {
	Status  string `json:"status" enum:"ok,draining"`
	Version string `json:"version"`
	Live    int    `json:"live_runs"`
	// Instance is another one after each start.
	Instance string `json:"instance"`
}

func (s *Server) health() Health {
	h := Health{Status: "ok", Version: s.o.Version, Live: s.engine.Live(), Instance: s.instance}
	if s.draining.Load() {
		h.Status = "draining"
	}
	return h
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	replyJSON(w, http.StatusOK, s.health())
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	h := s.health()
	status := http.StatusOK
	if h.Status != "ok" {
		status = http.StatusServiceUnavailable
	}
	replyJSON(w, status, h)
}

func (s *Server) routes() (http.Handler, error) {
	main := port{s, s.o.Protocols[0]}
	mux := http.NewServeMux()
	table := s.table()
	doc, err := document(table, s.o.Version)
	if err != nil {
		return nil, err
	}
	table = append(table, route{method: "GET", path: "/openapi.json", serve: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(doc) // the client has left
	}})
	methods := map[string][]string{}
	for _, r := range table {
		mux.Handle(r.method+" "+r.path, s.observed(r.path, r.serve))
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, allowed := range methods {
		mux.Handle(path, s.observed(path, main.wrongMethod(allowed)))
	}
	mux.Handle("GET /docs/", s.observed("/docs/", v5emb.New("Sluice", "/openapi.json", "/docs/")))
	mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusMovedPermanently))
	mux.Handle("/", s.observed("other", http.HandlerFunc(main.notFound)))
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		main.replyFault(w, http.StatusForbidden, &fault.Error{Code: fault.InvalidRequest, Field: "Origin", Message: "Origin: requests from other sites are refused"})
	}))
	return guard.Handler(mux), nil
}

func (p port) wrongMethod(allowed []string) http.Handler {
	if slices.Contains(allowed, "GET") {
		allowed = append(allowed, "HEAD")
	}
	slices.Sort(allowed)
	list := strings.Join(allowed, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", list)
		p.replyFault(w, http.StatusMethodNotAllowed, fault.New(fault.InvalidRequest, "method not allowed: want %s", list))
	})
}

func (p port) notFound(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" && r.Method == http.MethodGet {
		http.Redirect(w, r, "/docs/", http.StatusFound)
		return
	}
	p.replyError(w, fault.New(fault.NotFound, "no such page; /docs/ lists what there is"))
}
