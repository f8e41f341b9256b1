package knowledge

import (
	"maps"
	"net/http"
	"slices"

	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

func (s *routes) statusRoutes() []server.Route {
	return []server.Route{
		{Method: "GET", Path: "/v1/serverstatus", Scope: server.AnyKey, Serve: s.status, Summary: "Show the status of the server", Reply: knowledge.ServerStatus{}},
		{Method: "GET", Path: "/v1/serverstatus/health", Scope: server.AnyKey, Serve: s.health, Summary: "Report whether the server is healthy",
			Reply: knowledge.ServerHealth{}, Faults: []int{http.StatusServiceUnavailable}},
	}
}

// issues returns the overall status, the status of each service, and the problems.
func (s *routes) issues(r *http.Request) (status string, services map[string]string, issues []string) {
	status, services = healthy, map[string]string{"responses": healthy}
	note := func(name, state, issue string) {
		services[name] = state
		if issue != "" {
			issues = append(issues, issue)
		}
		if state == unhealthy || state == degraded && status == healthy {
			status = state
		}
	}
	if s.o.Engine.Closing() {
		note("responses", unhealthy, "the server is stopping")
	}
	parts := s.o.Parts(r.Context())
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		switch p := parts[name]; p.Status {
		case server.PartOK:
			note(name, healthy, "")
		case server.PartDegraded:
			note(name, degraded, p.Detail)
		default:
			note(name, unhealthy, p.Detail)
		}
	}
	return status, services, issues
}

const (
	healthy   = "healthy"
	degraded  = "degraded"
	unhealthy = "unhealthy"
)

func (s *routes) status(w http.ResponseWriter, r *http.Request) error {
	status, services, _ := s.issues(r)
	now := s.o.Now()
	out := knowledge.ServerStatus{Status: status, Version: s.o.Version, Timestamp: now.Unix(), Uptime: int64(now.Sub(s.started).Seconds()), Services: services,
		Metrics:  map[string]int64{"live_responses": int64(s.o.Engine.Live())},
		Features: map[string]bool{"streaming": true, "file_search": true, "page_reader": true, "list_documents": true, "web_search": false, "stored_responses": true}}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

func (s *routes) health(w http.ResponseWriter, r *http.Request) error {
	state, _, issues := s.issues(r)
	out := knowledge.ServerHealth{Status: state, Timestamp: s.o.Now().Unix(), Issues: issues}
	status := http.StatusOK
	if state == unhealthy {
		status = http.StatusServiceUnavailable
	}
	server.ReplyJSON(w, status, out)
	return nil
}
