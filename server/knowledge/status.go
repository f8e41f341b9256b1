package knowledge

import (
	"net/http"

	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

func (s *routes) ofStatus() []server.Route {
	return []server.Route{
		{Method: "GET", Path: "/v1/serverstatus", Serve: s.status, Summary: "Show how the server is", Reply: knowledge.ServerStatus{}},
		{Method: "GET", Path: "/v1/serverstatus/health", Serve: s.health, Summary: "Tell whether the server is healthy",
			Reply: knowledge.ServerHealth{}, Faults: []int{http.StatusServiceUnavailable}},
	}
}

// issues tells what does not work, by the service that does not.
func (s *routes) issues(r *http.Request) (services map[string]string, issues []string) {
	services = map[string]string{"files": "healthy", "index": "healthy", "responses": "healthy", "storage": "healthy"}
	if _, err := s.o.Files.Files(r.Context(), "", 1); err != nil {
		services["files"] = "unhealthy"
		issues = append(issues, "files cannot be listed")
	}
	if _, err := s.o.Index.Documents(r.Context(), "default", "", 1); err != nil {
		services["index"] = "unhealthy"
		issues = append(issues, "the index cannot be read")
	}
	if s.o.Engine.Closing() {
		services["responses"] = "unhealthy"
		issues = append(issues, "the server is stopping")
	}
	if more := s.o.Unwell(r.Context()); len(more) > 0 {
		services["storage"] = "unhealthy"
		issues = append(issues, more...)
	}
	return services, issues
}

func (s *routes) status(w http.ResponseWriter, r *http.Request) error {
	services, issues := s.issues(r)
	now := s.o.Now()
	out := knowledge.ServerStatus{Status: "healthy", Version: s.o.Version, Timestamp: now.Unix(), Uptime: int64(now.Sub(s.started).Seconds()), Services: services,
		Metrics:  map[string]int64{"live_responses": int64(s.o.Engine.Live())},
		Features: map[string]bool{"streaming": true, "file_search": true, "page_reader": true, "list_documents": true, "web_search": false, "stored_responses": true}}
	if len(issues) > 0 {
		out.Status = "unhealthy"
	}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

func (s *routes) health(w http.ResponseWriter, r *http.Request) error {
	_, issues := s.issues(r)
	out := knowledge.ServerHealth{Status: "healthy", Timestamp: s.o.Now().Unix(), Issues: issues}
	status := http.StatusOK
	if len(issues) > 0 {
		out.Status, status = "unhealthy", http.StatusServiceUnavailable
	}
	server.ReplyJSON(w, status, out)
	return nil
}
