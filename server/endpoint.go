package server

import (
	"net/http"
	"strings"

	"github.com/sluice-rag/sluice/wire"
)

// Endpoint is a protocol with the paths at which questions are asked in it.
type Endpoint struct {
	wire.API
	StreamPath string // POST: the reply is a stream, unless the request has [wire.Request.NoStream]
	ReplyPath  string // POST: the reply is one JSON object; empty: none
	// Session is set if the parameter {id} of the paths is the id of an existing session, to which the question belongs.
	Session bool
	// AlwaysOK is set if the reply to a failed run has the status 200, because the object in the reply reports the failure.
	AlwaysOK bool
	// OwnKeys is set if requests may have a key of the caller for the model, in the header x-openai-key or x-anthropic-key: see
	// [Options.OwnModel].
	OwnKeys bool
}

// handler has the handlers of an endpoint. Errors have the form of its protocol.
type handler struct {
	*Server
	Endpoint
}

// defaultHandler returns the handler of the default protocol.
func (s *Server) defaultHandler() handler { return handler{s, s.o.Protocols[0]} }

// forPath returns the handler whose paths begin with the same segment as the path of the request. It determines the form of errors.
func (h handler) forPath(r *http.Request) handler {
	for _, e := range h.o.Protocols {
		if firstSegment(e.StreamPath) == firstSegment(r.URL.Path) {
			h.Fault = e.Fault
			break
		}
	}
	return h
}

func firstSegment(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}
