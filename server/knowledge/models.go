package knowledge

import (
	"net/http"

	"github.com/sluice-rag/sluice/server"
)

func (s *routes) modelRoutes() []server.Route {
	return []server.Route{{Method: "GET", Path: "/v1/models", Scope: server.AnyKey, Serve: s.models, Reply: ModelList{},
		Summary: "List the models that a question may request; the first is the default"}}
}

func (s *routes) models(w http.ResponseWriter, _ *http.Request) error {
	out := ModelList{Object: "list", Data: []Model{}}
	for _, name := range s.o.Models {
		out.Data = append(out.Data, Model{ID: name, Object: "model", OwnedBy: "sluice"})
	}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

// ModelList lists the models that a question may request, in order of preference.
type ModelList struct {
	Object string  `json:"object" enum:"list"`
	Data   []Model `json:"data"`
}

// Model is an entry of [ModelList].
type Model struct {
	ID      string `json:"id" description:"Value of model in a request."`
	Object  string `json:"object" enum:"model"`
	Created int64  `json:"created" description:"Always 0."`
	OwnedBy string `json:"owned_by"`
}
