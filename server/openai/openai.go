// Package openai provides the routes for clients of OpenAI other than those of questions.
package openai

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/responses"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/openai"
)

// Prefix is the path of the base URL that clients of OpenAI use.
const Prefix = "/openai/v1"

// Options configures the routes.
type Options struct {
	Engine   *engine.Engine
	Models   []string // names of the models that write answers, the default one first
	Embedder model.Embedder
}

type routes struct {
	engine   *engine.Engine
	models   []Model
	embedder model.Embedder
}

// Model is a model that a request may name.
type Model struct {
	ID      string `json:"id" description:"Value of model in a request."`
	Object  string `json:"object" enum:"model"`
	Created int64  `json:"created" description:"Always 0."`
	OwnedBy string `json:"owned_by"`
}

// ModelList lists the models, those that select how questions are answered first.
type ModelList struct {
	Object string  `json:"object" enum:"list"`
	Data   []Model `json:"data"`
}

// Deleted is the reply to the deletion of a response.
type Deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object" enum:"response"`
	Deleted bool   `json:"deleted"`
}

type modelParam struct {
	Model string `path:"model" description:"Id of the model."`
}

// Routes returns the routes. Their errors have the form of OpenAI's.
func Routes(o Options) []server.Route {
	s := &routes{engine: o.Engine, models: []Model{}, embedder: o.Embedder}
	for _, name := range slices.Concat(wire.Models(), o.Models) {
		s.models = append(s.models, Model{ID: name, Object: "model", OwnedBy: "sluice"})
	}
	all := []server.Route{
		{Method: "GET", Path: Prefix + "/models", Scope: server.AnyKey, Limited: true, Serve: s.list, Reply: ModelList{}, Summary: "List models, for clients of OpenAI"},
		{Method: "GET", Path: Prefix + "/models/{model}", Scope: server.AnyKey, Limited: true, Serve: s.show, Request: []any{modelParam{}}, Reply: Model{}, Faults: []int{404},
			Summary: "Show a model, for clients of OpenAI"},
		{Method: "POST", Path: Prefix + "/embeddings", Scope: auth.Ask, MaxBody: maxInputB, Timeout: embedTime, Serve: s.embed, Request: []any{EmbeddingRequest{}}, Reply: EmbeddingList{},
			Faults: []int{400, 413, 502, 503}, Summary: "Embed texts, for clients of OpenAI"},
		{Method: "GET", Path: Prefix + "/responses/{id}/input_items", Scope: auth.Read, Own: true, Serve: s.inputItems, Request: []any{inputParams{}}, Reply: InputItemList{},
			Faults: []int{400, 404}, Summary: "List the messages that a response was given"},
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/embeddings", "/openai/chat/completions", "/openai/embeddings", "/openai/responses"} {
		all = append(all, server.Route{Method: "POST", Path: path, Scope: server.AnyKey, Limited: true, Serve: func(http.ResponseWriter, *http.Request) error { return errElsewhere }})
	}
	for i := range all {
		all[i].Fault = func(f *fault.Error) any { return openai.FaultOf(f) }
	}
	return append(all, responses.Routes(responses.Options{Path: Prefix + "/responses", API: openai.ResponsesAPI(), Engine: o.Engine, Numbered: true,
		Deleted: func(id string) any { return Deleted{ID: id, Object: "response", Deleted: true} }})...)
}

func (s *routes) list(w http.ResponseWriter, _ *http.Request) error {
	server.ReplyJSON(w, http.StatusOK, ModelList{"list", s.models})
	return nil
}

func (s *routes) show(w http.ResponseWriter, r *http.Request) error {
	for _, m := range s.models {
		if m.ID == r.PathValue("model") {
			server.ReplyJSON(w, http.StatusOK, m)
			return nil
		}
	}
	return &fault.Error{Code: fault.NotFound, Field: "model", Message: "no such model; requests may name it, and the default model answers"}
}

// errElsewhere is the error for a request with another base URL than the one of this package.
var errElsewhere = fault.New(fault.NotFound, "this is not the base URL for clients of OpenAI: use one that ends in %s", Prefix)

// RateHeaders sets the headers of https://platform.openai.com/docs/guides/rate-limits. It is a field of [server.Endpoint].
func RateHeaders(h http.Header, limit, left int, full time.Duration) {
	h.Set("X-Ratelimit-Limit-Requests", strconv.Itoa(limit))
	h.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(left))
	h.Set("X-Ratelimit-Reset-Requests", full.Round(time.Millisecond).String())
}

// Misdirected returns the error in OpenAI's form if an SDK of OpenAI asks in another protocol. Such a request works without a stream, and so do those for
// files and vector stores, but the SDKs cannot read the events of a stream. It is a field of [server.Endpoint].
func Misdirected(r *http.Request, stream bool) any {
	agent, _, _ := strings.Cut(r.UserAgent(), "/")
	if !stream || !strings.HasSuffix(agent, "OpenAI") && r.Header.Get("X-Stainless-Lang") == "" {
		return nil
	}
	return openai.FaultOf(errElsewhere)
}
