package a2a

import (
	"encoding/json"

	"github.com/sluice-rag/sluice/fault"
)

// The codes of errors: those of JSON-RPC (https://www.jsonrpc.org/specification#error_object), those of A2A, and one of the server, for requests that are
// refused because of who sends them, or how many.
const (
	CodeParse                = -32700
	CodeRequest              = -32600
	CodeMethod               = -32601
	CodeParams               = -32602
	CodeInternal             = -32603
	CodeTaskNotFound         = -32001
	CodeTaskNotCancelable    = -32002
	CodePushNotSupported     = -32003
	CodeUnsupportedOperation = -32004
	CodeContentType          = -32005
	CodeNoExtendedCard       = -32007
	CodeVersion              = -32009
	CodeRefused              = -32010
)

// reasons are the reasons of the codes of A2A, as in its specification.
var reasons = map[int]string{
	CodeTaskNotFound: "TASK_NOT_FOUND", CodeTaskNotCancelable: "TASK_NOT_CANCELABLE", CodePushNotSupported: "PUSH_NOTIFICATION_NOT_SUPPORTED", CodeUnsupportedOperation: "UNSUPPORTED_OPERATION",
	CodeContentType: "CONTENT_TYPE_NOT_SUPPORTED", CodeNoExtendedCard: "EXTENDED_AGENT_CARD_NOT_CONFIGURED", CodeVersion: "VERSION_NOT_SUPPORTED",
}

// The domains of reasons.
const (
	domain     = "a2a-protocol.org"
	ownDomain  = "sluice"
	detailType = "type.googleapis.com/google.rpc.ErrorInfo"
)

// ErrorObject is the error of a JSON-RPC response.
type ErrorObject struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Data    []Detail `json:"data,omitempty"`
}

// Detail is a google.rpc.ErrorInfo (https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto).
type Detail struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason" description:"A code of the protocol, or one of the server."`
	Domain   string            `json:"domain" enum:"a2a-protocol.org,sluice"`
	Metadata map[string]string `json:"metadata,omitempty" description:"field is the part of the request that is invalid."`
}

// Error implements [error].
func (e *ErrorObject) Error() string { return e.Message }

// Errorf returns an error with one of the codes.
func Errorf(code int, message string) *ErrorObject {
	e := &ErrorObject{Code: code, Message: message}
	if reason := reasons[code]; reason != "" {
		e.Data = []Detail{{detailType, reason, domain, nil}}
	}
	return e
}

// ErrorOf returns the error with a code for an error of the server.
func ErrorOf(code int, f *fault.Error) *ErrorObject {
	d := Detail{detailType, string(f.Code), ownDomain, nil}
	if f.Field != "" {
		d.Metadata = map[string]string{"field": f.Field}
	}
	return &ErrorObject{code, f.Message, []Detail{d}}
}

// Refusal is the reply to a request that is refused before its message is read, or because of a limit.
type Refusal struct {
	JSONRPC string          `json:"jsonrpc" enum:"2.0"`
	ID      json.RawMessage `json:"id" description:"null"`
	Error   *ErrorObject    `json:"error"`
}

// FaultOf returns the reply to such a request.
func FaultOf(f *fault.Error) Refusal {
	code := CodeRefused
	switch f.Code {
	case fault.InvalidRequest, fault.NotFound, fault.TooLarge, fault.Conflict:
		code = CodeRequest
	case fault.Internal, fault.Unavailable, fault.Index, fault.Model, fault.Timeout, fault.NoSpace, fault.NoDocuments, fault.Cancelled:
		code = CodeInternal
	case fault.Unauthenticated, fault.Forbidden, fault.Overloaded, fault.Quota, fault.Payment:
	}
	return Refusal{version, json.RawMessage("null"), ErrorOf(code, f)}
}

// Reply returns the response to a request; id is the JSON text of its id. err replaces the result if it is not nil.
func Reply(id string, result any, err *ErrorObject) Response {
	if id == "" {
		id = "null"
	}
	if err != nil {
		result = nil
	}
	return Response{version, json.RawMessage(id), result, err}
}
