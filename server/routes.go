package server

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Parameters of routes, for the OpenAPI document.
type (
	runParams struct {
		ID string `path:"id" description:"Id of the run."`
	}
	listParams struct {
		Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
		Before string `query:"before" description:"Id of a run. The list continues after it."`
	}
	streamParams struct {
		runParams
		Protocol    string `query:"protocol" description:"Protocol of the stream. The default is the first one of the server."`
		LastEventID string `header:"Last-Event-ID" description:"Id of the last event received."`
	}
	sessionParams struct {
		ID string `path:"id" description:"Id of the session."`
	}
	stopRequest struct {
		sessionParams
		ActiveStreamID string `json:"activeStreamId,omitempty" description:"Id of the run. If it is set, no other run is cancelled."`
	}
	offsetParams struct {
		Offset int64 `query:"offset" minimum:"0" description:"For the protocol turns: number of bytes of the stream that were received, without compression. The stream continues after them. With POST, only together with Sluice-Run-Id."`
	}
	keyParams struct {
		Key string `header:"Idempotency-Key" minLength:"1" maxLength:"255" description:"A random text. Requests of one sender with the same value, path and body within 24 hours have one run."`
	}
	resumeParams struct {
		LastEventID string `header:"Last-Event-ID" description:"With Sluice-Run-Id: continue after this event."`
		RunID       string `header:"Sluice-Run-Id" description:"Run to resume. Only the streaming options of the body are used."`
	}
)

// variantParams returns the types of the parameters of streams, besides those of every stream.
func (e Endpoint) variantParams() (params []any) {
	if e.Types.Variant != nil {
		params = append(params, e.Types.Variant)
	}
	if _, ok := e.Protocol.(wire.ByteStream); ok {
		params = append(params, offsetParams{})
	}
	return params
}

// questions returns the routes of an endpoint at which questions are asked.
func (h handler) questions() []Route {
	if h.StreamPath == "" {
		return nil
	}
	asked := []any{h.Types.Request, keyParams{}}
	if h.Session {
		asked = append(asked, sessionParams{})
	}
	streamed := append(slices.Clone(asked), resumeParams{})
	if h.OwnKeys {
		streamed = append(streamed, ownKeyParams{})
	}
	failed := []int{422, 500, 502, 504}
	if h.FailureStatus != 0 {
		failed = []int{h.FailureStatus}
	}
	stream := Route{Method: "POST", Path: h.StreamPath, Scope: auth.Ask, Limited: true, handle: h.serveQuestion, Events: h.Types.Events,
		name: h.eventName(), media: mediaType(h.ContentType()), Request: append(streamed, h.variantParams()...),
		Fault: h.Fault, failure: h.Types.Fault, Faults: []int{400, 402, 403, 404, 409, 413, 415, 422, 429, 503, 507}, Summary: "Answer a question and stream every step"}
	if h.FailureStatus != 0 {
		stream.partial, stream.failed = failed, h.Types.Reply
	}
	if h.ReplyPath == "" {
		if stream.Reply = h.Types.Reply; h.ResumePath != "" {
			routes := []Route{stream, {Method: "GET", Path: h.ResumePath, Scope: auth.Ask, Limited: true, handle: h.resumeSession, Events: h.Types.Events, any: map[string][]string{stream.media: {stream.name}},
				Request: []any{sessionParams{}}, Fault: h.Fault, failure: h.Types.Fault, Faults: []int{404}, Empty: true, Summary: "Stream the answer in progress in a session"}}
			if h.StopPath != "" {
				routes = append(routes, Route{Method: "POST", Path: h.StopPath, Scope: auth.Ask, Limited: true, handle: h.stopSession, Request: []any{stopRequest{}}, Status: http.StatusNoContent,
					Fault: h.Fault, failure: h.Types.Fault, Faults: []int{400, 413}, Summary: "Cancel the answer in progress in a session"})
			}
			return routes
		}
		if !h.AlwaysOK {
			stream.partial, stream.failed = failed, h.Types.Failed
		}
		return []Route{stream}
	}
	faults := []int{400, 402, 403, 409, 413, 415, 422, 429, 503, 507}
	if h.FailureStatus != 0 {
		faults = append(faults, 404)
	} else {
		failed = append(failed, 409)
	}
	return []Route{stream, {Method: "POST", Path: h.ReplyPath, Scope: auth.Ask, Limited: true, handle: h.serveReply, Request: asked, Reply: h.Types.Reply,
		Fault: h.Fault, failure: h.Types.Fault, Faults: faults, partial: failed, Summary: "Answer a question with one object"}}
}

func (s *Server) table() []Route {
	var routes []Route
	names := map[string][]string{}
	reading := []any{streamParams{}}
	others := slices.Clone(s.o.Routes)
	events := slices.Clone(s.o.Protocols[0].Types.Events) // with those of protocols that have no other route
	for _, e := range s.o.Protocols {
		routes = append(routes, handler{s, e}.questions()...)
		described := e.StreamPath != ""
		for i := range others {
			if others[i].Path == e.Path && others[i].Events != nil {
				others[i].name, described = e.eventName(), true
			}
		}
		if !described {
			events = append(events, e.Types.Events...) // whose type has the name
		}
		media := mediaType(e.ContentType())
		names[media] = append(names[media], e.eventName())
		reading = append(reading, e.variantParams()...)
	}
	for _, d := range s.o.Described {
		for i := range others {
			if (others[i].Path == d.Ask || others[i].Path == d.Follow) && others[i].Events != nil {
				others[i].name = eventName(d.Name)
			}
		}
	}
	h := s.defaultHandler()
	failure := h.Types.Fault
	routes = append(routes,
		Route{Method: "GET", Path: "/api/runs", Scope: auth.Read, handle: h.listRuns, Request: []any{listParams{}}, Reply: RunList{},
			Summary: "List runs, newest first", failure: failure, Faults: []int{400}},
		Route{Method: "GET", Path: "/api/runs/{id}", Scope: auth.Read, Own: true, Limited: true, handle: h.getRun, Request: []any{runParams{}}, Reply: RunDetail{},
			Summary: "Show a run with its answer so far", failure: failure, Faults: []int{404}},
		Route{Method: "GET", Path: "/runs/{id}/stream", Scope: auth.Read, Own: true, Limited: true, handle: h.streamRun, Events: events, any: names, Request: reading,
			Summary: "Stream a live or finished run from any event on", failure: failure, Faults: []int{400, 404}, Empty: true},
		Route{Method: "POST", Path: "/runs/{id}/cancel", Scope: auth.Write, Own: true, Limited: true, handle: h.cancelRun, Request: []any{runParams{}}, Reply: Cancelling{},
			Status: http.StatusAccepted, Summary: "Cancel a run", failure: failure, Faults: []int{403, 404}},
		Route{Method: "GET", Path: "/healthz", Scope: Open, handle: s.healthz, Reply: Health{}, Summary: "Report whether the process runs"},
		Route{Method: "GET", Path: "/readyz", Scope: Open, handle: s.readyz, Reply: Health{}, failure: Health{}, Faults: []int{503}, Summary: "Report whether the server accepts questions"},
		Route{Method: "GET", Path: "/metrics", Scope: auth.Admin, handle: promhttp.HandlerFor(s.o.Registry, promhttp.HandlerOpts{}).ServeHTTP},
	)
	return append(routes, others...)
}

func (s *Server) routes() http.Handler {
	main := s.defaultHandler()
	mux := http.NewServeMux()
	table := s.table()
	described := table // without the route of the document itself
	// The document is expensive to make and rarely requested.
	openapi := sync.OnceValues(func() ([]byte, error) { return document(described, main.Fault, s.o.Version) })
	table = append(table, Route{Method: "GET", Path: "/openapi.json", Scope: AnyKey, handle: func(w http.ResponseWriter, _ *http.Request) {
		doc, err := openapi()
		if err != nil {
			main.replyError(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(doc) // fails if the client has disconnected
	}}, Route{Method: "GET", Path: schemasPath, Scope: AnyKey, handle: s.serveSchema}, Route{Method: "GET", Path: schemasPath + "/{name}", Scope: AnyKey, handle: s.serveSchema})
	methods := map[string][]string{}
	handlers := map[string]handler{}
	for _, r := range table {
		serve := http.Handler(r.handle)
		if r.handle == nil {
			serve = s.limited(r)
		}
		h := main
		if r.Fault != nil {
			h.Fault = r.Fault
		}
		handlers[r.Path] = h
		setDefault(&r.MaxBody, s.o.MaxBody)
		mux.Handle(r.Method+" "+r.Path, s.observed(r.Path, h.scoped(r, h.decoded(r.MaxBody, serve))))
		methods[r.Path] = append(methods[r.Path], r.Method)
	}
	for _, r := range table {
		s.patterns = append(s.patterns, r.Method+" "+r.Path)
	}
	for path, allowed := range methods {
		mux.Handle(path, s.observed(path, handlers[path].wrongMethod(allowed)))
	}
	page := s.observed(docsURL.Path, docs())
	mux.Handle("GET /docs/", page)
	mux.Handle("GET /docs", page)
	mux.Handle("/", s.observed("other", http.HandlerFunc(main.notFound)))
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		main.replyFault(w, http.StatusForbidden, &fault.Error{Code: fault.InvalidRequest, Field: "Origin", Message: "Origin: requests of pages of other sites are rejected; start the server with --allow-origin ORIGIN to permit one"})
	}))
	all := oneSlash(mux)
	guarded := guard.Handler(all)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.setDeadlines(w, r)
		if _, checked := auth.From(r.Context()); checked { // also where it comes from
			all.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// oneSlash treats several slashes at the start of a path as one. Clients send them if the base URL ends in a slash. The
// redirect of the mux would make some of them fail, because they cannot send the body again.
func oneSlash(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "//") {
			r = r.WithContext(r.Context()) // the handler must not modify the caller's request
			u := *r.URL
			u.Path = "/" + strings.TrimLeft(u.Path, "/")
			if u.RawPath != "" {
				u.RawPath = "/" + strings.TrimLeft(u.RawPath, "/")
			}
			r.URL = &u
		}
		next.ServeHTTP(w, r)
	})
}

func (h handler) wrongMethod(allowed []string) http.Handler {
	if slices.Contains(allowed, "GET") {
		allowed = append(allowed, "HEAD")
	}
	slices.Sort(allowed)
	list := strings.Join(allowed, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", list)
		h.replyFault(w, http.StatusMethodNotAllowed, fault.New(fault.InvalidRequest, "method not allowed: want %s", list))
	})
}

func (h handler) notFound(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" && r.Method == http.MethodGet {
		http.Redirect(w, r, "/docs/", http.StatusFound)
		return
	}
	h.forPath(r).replyError(w, fault.New(fault.NotFound, "no such page; /docs/ lists the routes"))
}
