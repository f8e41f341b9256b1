// Package anthropic provides the routes for clients of Anthropic other than that of questions.
package anthropic

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/anthropic"
)

// Prefix is the path of the routes. Clients of Anthropic use a base URL without /v1.
const Prefix = "/anthropic/v1"

// RequestID is the header with the id of a request. Replies to questions have that of the run.
const RequestID = "Request-Id"

// Limits of a page of models.
const (
	defaultPage = 20
	maxPage     = 1000
)

type routes struct {
	models []Model
}

// Model is a model that a request may name. What is not known of it is null.
type Model struct {
	ID             string    `json:"id" description:"Value of model in a request."`
	Type           string    `json:"type" enum:"model"`
	DisplayName    string    `json:"display_name"`
	CreatedAt      time.Time `json:"created_at" description:"Always 1970-01-01T00:00:00Z: it is not known."`
	Lifecycle      string    `json:"lifecycle" enum:"active"`
	Capabilities   *struct{} `json:"capabilities"`
	DeprecatedAt   *string   `json:"deprecated_at"`
	RetiresAt      *string   `json:"retires_at"`
	Line           *string   `json:"line"`
	MaxInputTokens *int      `json:"max_input_tokens"`
	MaxTokens      *int      `json:"max_tokens"`
}

// ModelList is a page of models. Those that select how questions are answered are first.
type ModelList struct {
	Data    []Model `json:"data"`
	HasMore bool    `json:"has_more"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
}

type modelParam struct {
	Model string `path:"model" description:"Id of the model."`
}

type listParams struct {
	Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"20" description:"Most models of the page."`
	AfterID  string `query:"after_id" description:"The page begins after this model."`
	BeforeID string `query:"before_id" description:"The page ends before this model."`
}

// Routes returns the routes for the names of the models that write answers, the default one first. Their errors have the form of Anthropic's.
func Routes(models []string) []server.Route {
	s := &routes{models: []Model{}}
	for _, name := range slices.Concat(wire.Models(), models) {
		s.models = append(s.models, Model{ID: name, Type: "model", DisplayName: name, CreatedAt: time.Unix(0, 0).UTC(), Lifecycle: "active"})
	}
	all := []server.Route{
		{Method: "GET", Path: Prefix + "/models", Scope: server.AnyKey, Limited: true, Serve: s.list, Request: []any{listParams{}}, Reply: ModelList{}, Faults: []int{400},
			Summary: "List models, for clients of Anthropic"},
		{Method: "GET", Path: Prefix + "/models/{model}", Scope: server.AnyKey, Limited: true, Serve: s.show, Request: []any{modelParam{}}, Reply: Model{}, Faults: []int{404},
			Summary: "Show a model, for clients of Anthropic"},
	}
	for path, err := range map[string]error{"/v1/messages": errElsewhere, "/anthropic/messages": errNoVersion, Prefix + "/v1/messages": errElsewhere, Prefix + "/messages/count_tokens": errCount} {
		all = append(all, server.Route{Method: "POST", Path: path, Scope: server.AnyKey, Limited: true, Serve: func(http.ResponseWriter, *http.Request) error { return err }})
	}
	for i := range all {
		all[i].Fault = func(f *fault.Error) any { return anthropic.FaultOf(f, "") }
	}
	return all
}

// Errors for routes that clients of Anthropic may expect.
var (
	errElsewhere = fault.New(fault.NotFound, "this is not the base URL for clients of Anthropic: use one that ends in %s, without /v1", strings.TrimSuffix(Prefix, "/v1"))
	errNoVersion = fault.New(fault.NotFound, "the path of messages is %s/messages: the base URL of SDKs ends in %s, and that of other clients in %s", Prefix, strings.TrimSuffix(Prefix, "/v1"), Prefix)
	errCount     = fault.New(fault.NotFound, "tokens cannot be counted before the answer: which passages a model reads depends on the search")
)

// list replies with a page of models. As with other lists of Anthropic, has_more is about the direction in which the client reads.
func (s *routes) list(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit := defaultPage
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxPage {
			return fault.Invalid("limit", "want 1 to %d", maxPage)
		}
	}
	from, to := 0, len(s.models)
	for name, set := range map[string]func(i int){"after_id": func(i int) { from = i + 1 }, "before_id": func(i int) { to = i }} {
		if id := q.Get(name); id != "" {
			i := s.index(id)
			if i < 0 {
				return fault.Invalid(name, "no such model")
			}
			set(i)
		}
	}
	page := ModelList{Data: s.models[from:max(to, from)]}
	if page.HasMore = len(page.Data) > limit; page.HasMore && q.Get("before_id") != "" {
		page.Data = page.Data[len(page.Data)-limit:]
	} else if page.HasMore {
		page.Data = page.Data[:limit]
	}
	if n := len(page.Data); n > 0 {
		page.FirstID, page.LastID = &page.Data[0].ID, &page.Data[n-1].ID
	}
	server.ReplyJSON(w, http.StatusOK, page)
	return nil
}

func (s *routes) index(id string) int {
	return slices.IndexFunc(s.models, func(m Model) bool { return m.ID == id })
}

func (s *routes) show(w http.ResponseWriter, r *http.Request) error {
	i := s.index(r.PathValue("model"))
	if i < 0 {
		return &fault.Error{Code: fault.NotFound, Field: "model", Message: "no such model; requests may name it, and the default model answers"}
	}
	server.ReplyJSON(w, http.StatusOK, s.models[i])
	return nil
}

// RateHeaders sets the headers of https://platform.claude.com/docs/en/api/rate-limits#response-headers. It is a field of [server.Endpoint].
func RateHeaders(h http.Header, limit, left int, full time.Duration) {
	const prefix = "Anthropic-Ratelimit-Requests-"
	h.Set(prefix+"Limit", strconv.Itoa(limit))
	h.Set(prefix+"Remaining", strconv.Itoa(left))
	h.Set(prefix+"Reset", time.Now().Add(full+time.Second-1).UTC().Format(time.RFC3339))
}
