package openai

import (
	"context"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// fail returns the error of a failed request.
func fail(ctx context.Context, name string, err error) error {
	return transport.NewError(ctx, name, err, func(r *transport.StatusError) transport.Problem {
		return problem(r.Status, gjson.ParseBytes(r.Body), string(r.Body))
	})
}

// problem reads an error object and classifies it. Only OpenAI's and Ollama's formats have a message that may be shown.
func problem(status int, v gjson.Result, text string) transport.Problem {
	p := transport.Problem{Failure: classify(status, v, text)}
	switch e := v.Get("error"); {
	case e.IsObject():
		p.Message = e.Get("message").Str
		if p.Code = e.Get("code").Str; p.Code == "" {
			p.Code = e.Get("type").Str
		}
	default:
		p.Message = e.Str
	}
	return p
}

// reported returns the error object of a stream. Servers place it differently: {"error": {"message", "type", "code", "param"}},
// {"error": "message"}, and {"object": "error", "message", "type", "code"} of vLLM.
func reported(v gjson.Result, text string) *transport.StreamError {
	status := 0
	for _, path := range []string{"error.code", "code", "error.status", "error.http_code"} {
		if n := int(v.Get(path).Int()); n >= 400 && n < 600 {
			status = n
			break
		}
	}
	return &transport.StreamError{Problem: problem(status, v, text)}
}

// classify returns the failure for a status and the words of an error. Status 0 is an error in a stream.
func classify(status int, v gjson.Result, text string) model.Failure {
	words := strings.ToLower(errorText(v, text))
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.Unauthorized
	case http.StatusPaymentRequired, http.StatusTooManyRequests:
		return model.RateLimited
	case http.StatusRequestEntityTooLarge:
		return model.TooLong
	}
	if status < 500 && tooLong(words) || status >= 500 && strings.Contains(words, "is too large to process") {
		return model.TooLong
	}
	switch {
	case status == http.StatusNotImplemented, // llama.cpp without --embeddings: a retry does not help
		status >= 500 && strings.Contains(words, "requires --jinja"): // its older versions without tools
		return model.Rejected
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return model.ServerError
	case status != 0:
		return model.Rejected
	case containsAny(words, "rate limit", "rate_limit", "too many requests", "insufficient_quota", "quota"):
		return model.RateLimited
	}
	return model.ServerError
}

// tooLong reports whether an error is about a request that exceeds the context window.
func tooLong(words string) bool {
	return containsAny(words, "context_length_exceeded", "exceed_context_size", "context length", "context size",
		"context window", "maximum context", "prompt is too long", "input is too long", "string_above_max_length",
		"too many tokens", "maximum input length", "longer than the maximum", "is too large to process",
		"input length exceeds", "batch size", "array too long", "array_above_max_length", "exceeds the maximum number of tokens")
}

// errorText returns the message, type and code of an error, or the whole text if it is not JSON.
func errorText(v gjson.Result, text string) string {
	if !v.IsObject() {
		return text
	}
	e := v.Get("error")
	if !e.IsObject() {
		return strings.Join([]string{e.String(), v.Get("message").String(), v.Get("type").String(), v.Get("detail").String()}, " ")
	}
	return strings.Join([]string{e.Get("message").String(), e.Get("type").String(), e.Get("code").String()}, " ")
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
