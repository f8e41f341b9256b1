// Package fault is the closed set of error codes that may cross a boundary of the program: an HTTP answer, an event of a
// run, an exit status. Everything else is wrapped in plain errors and becomes [Internal] at the boundary, without its text.
package fault

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// Code says what kind of thing went wrong. The set is closed; protocols map it to their own words.
type Code string

// The codes.
const (
	InvalidRequest  Code = "INVALID_REQUEST"      // the caller's input; Field names the part
	NotFound        Code = "NOT_FOUND"            // no such run, document or route
	Conflict        Code = "CONFLICT"             // something else holds what was asked for
	TooLarge        Code = "TOO_LARGE"            // a body, header or document over its limit
	Payment         Code = "PAYMENT_REQUIRED"     // the account's balance is less than the answer may cost
	Overloaded      Code = "OVERLOADED"           // too many runs at once; try again later
	Unavailable     Code = "UNAVAILABLE"          // the server is stopping; ask another
	NoDocuments     Code = "NO_DOCUMENTS"         // nothing is indexed where the question looks
	Model           Code = "LLM_ERROR"            // a language model failed
	Index           Code = "VECTOR_DB_ERROR"      // the index failed
	Timeout         Code = "TIMEOUT"              // a run's deadline passed
	Cancelled       Code = "CANCELLED"            // somebody stopped the run, or nobody was left reading it
	NoSpace         Code = "INSUFFICIENT_STORAGE" // the disk of the server is full; it goes on when there is room
	Unauthenticated Code = "UNAUTHENTICATED"      // the request has no valid key
	Forbidden       Code = "FORBIDDEN"            // the key lacks a scope, or the page of the request may not use it
	Quota           Code = "QUOTA_EXCEEDED"       // the key's questions of the day or month are used up
	Internal        Code = "INTERNAL"             // everything else
)

// Codes lists every code, for checks and documents.
func Codes() []Code {
	return []Code{InvalidRequest, NotFound, Conflict, TooLarge, Payment, Overloaded, Unavailable, NoDocuments, Model, Index, Timeout, Cancelled, NoSpace, Unauthenticated, Forbidden, Quota, Internal}
}

// Error is an error with a code that is fit to leave the process: Message is written for the caller and holds no
// document text, no prompt and no secret. The cause stays inside, for logs.
type Error struct {
	Code    Code
	Message string
	Field   string // the request field at fault, if one is
	cause   error
}

// New returns an error of the code with a message for the caller.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error of the code that keeps cause for logs and [errors.Is].
func Wrap(code Code, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// Invalid returns an [InvalidRequest] that names the field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: InvalidRequest, Field: field, Message: field + ": " + fmt.Sprintf(format, args...)}
}

// Of names the request field at fault, and returns e.
func (e *Error) Of(field string) *Error {
	e.Field = field
	return e
}

// Error returns the code, the message and the cause: a text for logs.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of err, or an empty text if it has none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// DiskFull reports whether err was caused by a full disk or a used-up quota.
func DiskFull(err error) bool {
	const diskFull, handleDiskFull = syscall.Errno(112), syscall.Errno(39) // ERROR_DISK_FULL and ERROR_HANDLE_DISK_FULL of Windows
	return CodeOf(err) == NoSpace || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		runtime.GOOS == "windows" && (errors.Is(err, diskFull) || errors.Is(err, handleDiskFull))
}

// Public returns what of err may leave the process. It is the one funnel: an error that a full disk caused becomes [NoSpace],
// whatever code it carries. An error that carries no code becomes [Timeout] or [Cancelled] where it is a context's, and otherwise
// [Internal] with a fixed message.
func Public(err error) *Error {
	if err == nil {
		return nil
	}
	if DiskFull(err) {
		return New(NoSpace, "the disk of the server is full")
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{Code: e.Code, Message: e.Message, Field: e.Field}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return New(Timeout, "the time limit was reached")
	case errors.Is(err, context.Canceled):
		return New(Cancelled, "the run was cancelled")
	}
	return New(Internal, "internal error")
}
