// Package openai implements two protocols for the clients of OpenAI: Chat Completions ([Chat]) and Responses ([Responses]). The objects have the
// form of the types of OpenAI's SDK for Node, version 6 (https://github.com/openai/openai-node); its API reference describes them
// (https://platform.openai.com/docs/api-reference).
package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// MaxNameLength limits the names of models, collections and users in requests, in bytes. The collection may follow the model, after a slash.
const MaxNameLength = 256

// The types and codes of errors that OpenAI's SDKs and front ends know.
const (
	typeRequest   = "invalid_request_error"
	typeServer    = "server_error"
	typeRate      = "rate_limit_error"
	typeQuota     = "insufficient_quota"
	typePermitted = "permission_error"
	codeKey       = "invalid_api_key"
	codeRate      = "rate_limit_exceeded"
)

// Error is the reply to a request that failed, and the last frame of a stream of [Chat] that failed.
type Error struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody describes an error.
type ErrorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type" enum:"invalid_request_error,permission_error,rate_limit_error,insufficient_quota,server_error"`
	Param   *string `json:"param" description:"Path of the invalid field, such as messages[1].content."`
	Code    *string `json:"code" description:"invalid_api_key, insufficient_quota, rate_limit_exceeded, or a code of Sluice in lower case."`
}

// FaultOf converts an error.
func FaultOf(f *fault.Error) Error {
	e := ErrorBody{Message: f.Message, Type: typeServer}
	code := strings.ToLower(string(f.Code))
	switch f.Code {
	case fault.InvalidRequest, fault.NotFound, fault.Conflict, fault.TooLarge, fault.NoDocuments, fault.Payment, fault.Cancelled:
		e.Type = typeRequest
	case fault.Unauthenticated:
		e.Type, code = typeRequest, codeKey
	case fault.Forbidden:
		e.Type = typePermitted
	case fault.Overloaded:
		e.Type, code = typeRate, codeRate
	case fault.Quota:
		e.Type, code = typeQuota, typeQuota
	}
	e.Code = &code
	if f.Field != "" {
		e.Param = &f.Field
	}
	return Error{e}
}

// echo is what a run keeps of a request for its projections.
type echo struct {
	Model    string            `json:"model,omitempty"`
	Tools    []Tool            `json:"tools,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// modelOf returns the model of a reply: the requested one.
func modelOf(b event.RunStarted, protocol string) string {
	var asked echo
	if b.Protocol == protocol && json.Unmarshal(b.Request, &asked) == nil && asked.Model != "" {
		return wire.Clip(asked.Model, MaxNameLength)
	}
	return wire.Clip(cmp.Or(b.Model, wire.ModelDefault), MaxNameLength)
}
