package forrst

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Code identifies the kind of an error. Functions may use codes of their own, in SCREAMING_SNAKE_CASE and with a prefix
// of their domain, such as ORDERS_OUT_OF_STOCK. Their HTTP status is 400 and they are not retryable.
type Code string

// The codes of the protocol.
const (
	ParseError               Code = "PARSE_ERROR"
	InvalidRequest           Code = "INVALID_REQUEST"
	InvalidProtocolVersion   Code = "INVALID_PROTOCOL_VERSION"
	FunctionNotFound         Code = "FUNCTION_NOT_FOUND"
	VersionNotFound          Code = "VERSION_NOT_FOUND"
	FunctionDisabled         Code = "FUNCTION_DISABLED"
	InvalidArguments         Code = "INVALID_ARGUMENTS"
	SchemaValidationFailed   Code = "SCHEMA_VALIDATION_FAILED"
	ExtensionNotSupported    Code = "EXTENSION_NOT_SUPPORTED"
	ExtensionNotApplicable   Code = "EXTENSION_NOT_APPLICABLE"
	Unauthorized             Code = "UNAUTHORIZED"
	Forbidden                Code = "FORBIDDEN"
	NotFound                 Code = "NOT_FOUND"
	Conflict                 Code = "CONFLICT"
	Gone                     Code = "GONE"
	DeadlineExceeded         Code = "DEADLINE_EXCEEDED"
	RateLimited              Code = "RATE_LIMITED"
	InternalError            Code = "INTERNAL_ERROR"
	Unavailable              Code = "UNAVAILABLE"
	DependencyError          Code = "DEPENDENCY_ERROR"
	ServerMaintenance        Code = "SERVER_MAINTENANCE"
	FunctionMaintenance      Code = "FUNCTION_MAINTENANCE"
	Cancelled                Code = "CANCELLED"
	CancellationTokenUnknown Code = "CANCELLATION_TOKEN_UNKNOWN"
	CancellationTooLate      Code = "CANCELLATION_TOO_LATE"
	IdempotencyConflict      Code = "IDEMPOTENCY_CONFLICT"
	IdempotencyProcessing    Code = "IDEMPOTENCY_PROCESSING"
	AsyncOperationNotFound   Code = "ASYNC_OPERATION_NOT_FOUND"
	AsyncOperationFailed     Code = "ASYNC_OPERATION_FAILED"
	AsyncCannotCancel        Code = "ASYNC_CANNOT_CANCEL"
)

// statusCancelled is the HTTP status of a cancelled request, which has no name in net/http.
const statusCancelled = 499

// codes maps each code of the protocol to its HTTP status and whether the same call may succeed later.
var codes = map[Code]struct {
	status int
	retry  bool
}{
	ParseError:               {http.StatusBadRequest, false},
	InvalidRequest:           {http.StatusBadRequest, false},
	InvalidProtocolVersion:   {http.StatusBadRequest, false},
	FunctionNotFound:         {http.StatusNotFound, false},
	VersionNotFound:          {http.StatusNotFound, false},
	FunctionDisabled:         {http.StatusServiceUnavailable, true},
	InvalidArguments:         {http.StatusBadRequest, false},
	SchemaValidationFailed:   {http.StatusUnprocessableEntity, false},
	ExtensionNotSupported:    {http.StatusBadRequest, false},
	ExtensionNotApplicable:   {http.StatusBadRequest, false},
	Unauthorized:             {http.StatusUnauthorized, false},
	Forbidden:                {http.StatusForbidden, false},
	NotFound:                 {http.StatusNotFound, false},
	Conflict:                 {http.StatusConflict, false},
	Gone:                     {http.StatusGone, false},
	DeadlineExceeded:         {http.StatusRequestTimeout, true},
	RateLimited:              {http.StatusTooManyRequests, true},
	InternalError:            {http.StatusInternalServerError, true},
	Unavailable:              {http.StatusServiceUnavailable, true},
	DependencyError:          {http.StatusBadGateway, true},
	ServerMaintenance:        {http.StatusServiceUnavailable, true},
	FunctionMaintenance:      {http.StatusServiceUnavailable, true},
	Cancelled:                {statusCancelled, false},
	CancellationTokenUnknown: {http.StatusNotFound, false},
	CancellationTooLate:      {http.StatusConflict, false},
	IdempotencyConflict:      {http.StatusConflict, false},
	IdempotencyProcessing:    {http.StatusConflict, true},
	AsyncOperationNotFound:   {http.StatusNotFound, false},
	AsyncOperationFailed:     {http.StatusInternalServerError, false},
	AsyncCannotCancel:        {http.StatusBadRequest, false},
}

// Status returns the HTTP status of a response with this error alone.
func (c Code) Status() int {
	if known, ok := codes[c]; ok {
		return known.status
	}
	return http.StatusBadRequest
}

// Retryable reports whether the same call may succeed later.
func (c Code) Retryable() bool { return codes[c].retry }

// CallError is an error that a client sees. A function returns one to choose the code; any other error of a function is
// reported as [InternalError] without its text.
type CallError struct {
	Code    Code    `json:"code"`
	Message string  `json:"message"`
	Source  *Source `json:"source,omitempty"`
	// Details is encoded as a JSON object; nil leaves it out.
	Details any `json:"details,omitempty"`
	// RetryAfter is the time after which the client should try again. It sets the header Retry-After and the advice of the retry
	// extension, and adds nothing to Details.
	RetryAfter time.Duration `json:"-"`
	// status replaces the status of the code: the transport knows some that the code does not tell apart.
	status int
}

// Source is the place in the request that caused an error: exactly one of the two.
type Source struct {
	// Pointer is a JSON pointer (RFC 6901) from the root of the request. The root itself is the empty string.
	Pointer *string `json:"pointer,omitempty"`
	// Position is an offset into the body in bytes, from 0.
	Position *int64 `json:"position,omitempty"`
}

// Errorf returns an error with a code and a message for the client.
func Errorf(code Code, format string, args ...any) *CallError {
	return &CallError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// At returns a copy of the error with a JSON pointer to its cause in the request, such as /call/arguments/limit.
func (e CallError) At(pointer string) *CallError {
	e.Source = &Source{Pointer: &pointer}
	return &e
}

// With returns a copy of the error with details.
func (e CallError) With(details any) *CallError {
	e.Details = details
	return &e
}

// Error returns the code and the message.
func (e *CallError) Error() string { return string(e.Code) + ": " + e.Message }

// Errors are several errors of one call. A response with more than one has the HTTP status 400.
type Errors []*CallError

// Error returns the messages, one a line.
func (e Errors) Error() string {
	var b strings.Builder
	for i, one := range e {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.Error())
	}
	return b.String()
}

// status returns the HTTP status of a response with these errors.
func (e Errors) status() int {
	switch {
	case len(e) == 0:
		return http.StatusOK
	case len(e) > 1:
		return http.StatusBadRequest
	case e[0].status != 0:
		return e[0].status
	}
	return e[0].Code.Status()
}

// public returns what a client may see of an error. The second result is false if the error has no code, so that its
// text is hidden.
func public(err error) (Errors, bool) {
	var several Errors
	if errors.As(err, &several) && len(several) > 0 {
		return several, true
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			var one *CallError
			if !errors.As(e, &one) {
				return Errors{internal()}, false
			}
			several = append(several, one)
		}
		if len(several) > 0 {
			return several, true
		}
	}
	var one *CallError
	switch {
	case errors.As(err, &one):
		return Errors{one}, true
	case errors.Is(err, context.DeadlineExceeded):
		return Errors{Errorf(DeadlineExceeded, "the deadline has passed")}, true
	}
	return Errors{internal()}, false
}

func internal() *CallError { return Errorf(InternalError, "internal error") }

// interruption returns the error with which a context was cancelled, and false if it ended because the client has disconnected.
func interruption(ctx context.Context) (*CallError, bool) {
	cause := context.Cause(ctx)
	if e, ok := errors.AsType[*CallError](cause); ok {
		return e, true
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return Errorf(DeadlineExceeded, "the deadline has passed"), true
	}
	return nil, false
}
