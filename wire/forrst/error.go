package forrst

import (
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// maxMessage limits messages and names of fields, in bytes.
const maxMessage = 300

// Document is a response document.
type Document struct {
	Protocol   Version     `json:"protocol"`
	ID         *string     `json:"id"` // of the request; null if it is not known
	Result     any         `json:"result"`
	Errors     []Error     `json:"errors,omitempty"`
	Extensions []Extension `json:"extensions,omitempty"`
}

// Version is the version of the protocol.
type Version struct {
	Name    string `json:"name" enum:"forrst"`
	Version string `json:"version"`
}

// version is the one that this package implements.
var version = Version{"forrst", "0.1.0"}

// Error is an error of a response document.
type Error struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Details *Details `json:"details,omitempty"`
}

// Details are additional information of Sluice about an error.
type Details struct {
	Code  string `json:"code"`            // the code of the server, which the other protocols show
	Field string `json:"field,omitempty"` // of the request
}

// Extension is the data of an extension in a response document.
type Extension struct {
	URN  string `json:"urn"`
	Data any    `json:"data,omitempty"`
}

// PaymentRequired is the code for a balance that is too low. The protocol has none for it.
const PaymentRequired = "SLUICE_PAYMENT_REQUIRED"

// CodeOf returns the code of the protocol for a code of the server.
func CodeOf(c fault.Code) string {
	switch c {
	case fault.InvalidRequest, fault.TooLarge:
		return "INVALID_REQUEST"
	case fault.NotFound, fault.NoDocuments:
		return "NOT_FOUND"
	case fault.Conflict:
		return "CONFLICT"
	case fault.Payment:
		return PaymentRequired
	case fault.Overloaded, fault.Quota:
		return "RATE_LIMITED"
	case fault.Unavailable, fault.NoSpace:
		return "UNAVAILABLE"
	case fault.Model, fault.Index:
		return "DEPENDENCY_ERROR"
	case fault.Timeout:
		return "DEADLINE_EXCEEDED"
	case fault.Cancelled:
		return "CANCELLED"
	case fault.Unauthenticated:
		return "UNAUTHORIZED"
	case fault.Forbidden:
		return "FORBIDDEN"
	}
	return "INTERNAL_ERROR"
}

// ErrorOf converts an error. Texts are shortened and valid UTF-8.
func ErrorOf(f *fault.Error) Error {
	return Error{CodeOf(f.Code), clip(f.Message), &Details{string(f.Code), clip(f.Field)}}
}

// FaultOf returns the response to a request that was refused before it was read.
func FaultOf(f *fault.Error) Document {
	return Document{Protocol: version, Errors: []Error{ErrorOf(f)}}
}

func clip(s string) string { return wire.Clip(strings.ToValidUTF8(s, "\uFFFD"), maxMessage) }
