package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

var errRequest = errors.New("the request holds a schema or parameters that are no JSON object")

// fail returns the error of a failed request.
func fail(ctx context.Context, name string, err error) error {
	if errors.Is(err, errRequest) && ctx.Err() == nil {
		return &model.Error{Model: name, Failure: model.Rejected, Cause: errRequest}
	}
	return transport.NewError(ctx, name, err, func(r *transport.StatusError) transport.Problem { return problem(r.Status, r.Body) })
}

// problem reads and classifies the API's error object: {"type": "error", "error": {"type", "message"}}.
func problem(status int, body []byte) transport.Problem {
	var v struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &v) != nil {
		v.Error.Type, v.Error.Message = "", ""
	}
	p := transport.Problem{Code: v.Error.Type, Message: v.Error.Message}
	p.Failure = classify(status, p.Code, strings.ToLower(p.Message))
	return p
}

// classify returns the failure for the API's type of error or, without one, the status. Status 0 is an error in a stream. The
// message is in lower case. See https://docs.anthropic.com/en/api/errors.
func classify(status int, kind, message string) model.Failure {
	switch kind {
	case "authentication_error", "permission_error":
		return model.Unauthorized
	case "rate_limit_error", "billing_error":
		return model.RateLimited
	case "overloaded_error", "api_error", "timeout_error":
		return model.ServerError
	case "invalid_request_error":
		switch {
		case tooLong(message):
			return model.TooLong
		case strings.Contains(message, "credit balance"): // is too low: it comes with status 400
			return model.RateLimited
		}
		return model.Rejected
	case "not_found_error":
		return model.Rejected
	}
	switch {
	case kind == "request_too_large", status == http.StatusRequestEntityTooLarge:
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

// tooLong reports whether a message is about a request that exceeds the context window.
func tooLong(message string) bool {
	for _, words := range []string{"prompt is too long", "exceed context limit", "exceeds the maximum allowed", "context window"} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}
