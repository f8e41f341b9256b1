package server

import (
	"context"
	"net/http"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// maxKey limits a key of a caller, in bytes.
const maxKey = 512

// ownKeys are the headers with the key of a caller, by provider.
var ownKeys = map[string]string{"openai": "X-Openai-Key", "anthropic": "X-Anthropic-Key"}

// ownKeyParams describes the headers.
type ownKeyParams struct {
	OpenAI    string `header:"x-openai-key" maxLength:"512" description:"A key of OpenAI. It pays the model of this question only, and is not stored."`
	Anthropic string `header:"x-anthropic-key" maxLength:"512" description:"A key of Anthropic, instead."`
}

// ownModel returns the context of a question, in which the caller's own key pays the model if the request has one. Such a question is
// neither cached nor shared. The key is removed from the request. Errors do not repeat it.
func (h handler) ownModel(r *http.Request, q *wire.Request) (context.Context, error) {
	if !h.OwnKeys {
		return r.Context(), nil
	}
	provider, key := "", ""
	for kind, header := range ownKeys {
		values := r.Header.Values(header)
		r.Header.Del(header)
		switch {
		case len(values) == 0:
			continue
		case provider != "":
			return nil, fault.Invalid("x-openai-key", "send either this header or x-anthropic-key, not both")
		case len(values) > 1:
			return nil, fault.Invalid(header, "given twice")
		case values[0] == "" || len(values[0]) > maxKey:
			return nil, fault.Invalid(header, "want a key of 1 to %d bytes", maxKey)
		case h.o.OwnModel == nil:
			return nil, fault.Invalid(header, "this server does not accept keys of callers")
		}
		provider, key = kind, values[0]
	}
	if provider == "" {
		return r.Context(), nil
	}
	q.NoCache, q.Model = true, q.OwnModel
	return h.o.OwnModel(r.Context(), provider, key, q.OwnModel)
}
