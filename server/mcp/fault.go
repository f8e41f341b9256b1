package mcp

import "github.com/sluice-rag/sluice/fault"

// The codes of JSON-RPC errors: those of https://www.jsonrpc.org/specification#error_object, and one of the server, for requests that are refused because
// of who sends them, or how many.
const (
	codeRefused  = -32010
	codeInvalid  = -32600
	codeInternal = -32603
)

// refusal is a JSON-RPC error without an id: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server.
type refusal struct {
	JSONRPC string       `json:"jsonrpc" enum:"2.0"`
	Error   refusalError `json:"error"`
}

type refusalError struct {
	Code    int         `json:"code"`
	Message string      `json:"message"`
	Data    refusalData `json:"data"`
}

type refusalData struct {
	Code  fault.Code `json:"code"`
	Field string     `json:"field,omitempty" description:"Header or part of the request that is invalid."`
}

// FaultOf returns the reply to a request that is refused before its message is read.
func FaultOf(f *fault.Error) any {
	code := codeRefused
	switch f.Code {
	case fault.InvalidRequest, fault.NotFound, fault.TooLarge, fault.Conflict:
		code = codeInvalid
	case fault.Internal, fault.Unavailable, fault.Index, fault.Model, fault.Timeout, fault.NoSpace, fault.NoDocuments, fault.Cancelled:
		code = codeInternal
	case fault.Unauthenticated, fault.Forbidden, fault.Overloaded, fault.Quota, fault.Payment:
	}
	return refusal{"2.0", refusalError{code, f.Message, refusalData{f.Code, f.Field}}}
}
