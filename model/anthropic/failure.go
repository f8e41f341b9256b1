package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/shared"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

var errRequest = errors.New("the request holds a schema or parameters that are no JSON object")

// fail gives the error for a request that failed.
func fail(ctx context.Context, name string, err error) error {
	if errors.Is(err, errRequest) && ctx.Err() == nil {
		return &model.Error{Model: name, Failure: model.Rejected, Cause: errRequest}
	}
	return transport.NewError(ctx, name, err, func(r *transport.StatusError) model.Failure { return classify(r.Status, readTrouble(r.Body)) })
}

// broke gives the error for a request that was taken and whose reply then broke off.
func broke(ctx context.Context, name string, err error) error {
	return transport.AfterResponse(fail(ctx, name, err))
}

// trouble is what the API says of an error: {"type": "error", "error": {"type", "message"}}.
type trouble struct {
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

func readTrouble(body []byte) (t trouble) {
	if json.Unmarshal(body, &t) != nil {
		return trouble{}
	}
	t.Error.Message = strings.ToLower(t.Error.Message)
	return t
}

// classify says how a request failed, from the API's type of error or, where it has none, the status. A status of 0 is an
// error in a stream. See https://docs.anthropic.com/en/api/errors.
func classify(status int, t trouble) model.Failure {
	switch shared.ErrorType(t.Error.Type) {
	case shared.ErrorTypeAuthenticationError, shared.ErrorTypePermissionError:
		return model.Unauthorized
	case shared.ErrorTypeRateLimitError, shared.ErrorTypeBillingError:
		return model.RateLimited
	case shared.ErrorTypeOverloadedError, shared.ErrorTypeAPIError, shared.ErrorTypeTimeoutError:
		return model.ServerError
	case shared.ErrorTypeInvalidRequestError:
		switch m := t.Error.Message; {
		case tooLong(m):
			return model.TooLong
		case strings.Contains(m, "credit balance"): // is too low: it comes with status 400
			return model.RateLimited
		}
		return model.Rejected
	case shared.ErrorTypeNotFoundError:
		return model.Rejected
	}
	switch {
	case t.Error.Type == "request_too_large", status == http.StatusRequestEntityTooLarge:
		return model.TooLong
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return model.Unauthorized
	case status == http.StatusPaymentRequired, status == http.StatusTooManyRequests:
		return model.RateLimited
	case status == 0, status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict:
		return model.ServerError
	}
	return model.Rejected
}

// tooLong finds the words that the API has for a request that does not fit into the context.
func tooLong(message string) bool {
	for _, words := range []string{"prompt is too long", "exceed context limit", "exceeds the maximum allowed", "context window"} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}
