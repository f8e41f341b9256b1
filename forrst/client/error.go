package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

// Errors that are not errors of the server. Calls return them wrapped.
var (
	// ErrResponse means that a reply does not follow the protocol.
	ErrResponse = errors.New("the reply is not valid")
	// ErrTooLarge means that a message of a reply is larger than Options.MaxResponse.
	ErrTooLarge = errors.New("the reply is too large")
	// ErrBroken means that the reply ended before it was complete. The call may have run.
	ErrBroken = errors.New("the connection ended before the reply was complete")
)

// Error is an error that the server reports. Use errors.As to get it from the error of a call. errors.Is finds
// context.DeadlineExceeded in an error with the code DEADLINE_EXCEEDED.
type Error struct {
	Code    forrst.Code
	Message string
	// Pointer is the JSON pointer to the cause in the request, such as /call/arguments/limit.
	Pointer string
	// Position is an offset into the request in bytes, for requests that the server cannot parse.
	Position *int64
	Details  json.RawMessage // a JSON object, or nil
	// Status is the HTTP status of the reply. Transports without a status have that of the code.
	Status int
	// Retry is the server's advice, or nil.
	Retry *Advice
	// Others are the further errors of the reply.
	Others []*Error
}

// Advice is the advice of the server whether and when to repeat a call that failed.
type Advice struct {
	Allowed bool
	// Strategy is immediate, fixed or exponential.
	Strategy string
	After    time.Duration
	// MaxAttempts is how often the call may be repeated. Zero: the server does not say.
	MaxAttempts int
}

// Error returns the codes and the messages, one error a line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Code, e.Message)
	if e.Pointer != "" {
		fmt.Fprintf(&b, " (at %s)", e.Pointer)
	}
	for _, o := range e.Others {
		b.WriteByte('\n')
		b.WriteString(o.Error())
	}
	return b.String()
}

// Unwrap returns the further errors.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Others))
	for i, o := range e.Others {
		errs[i] = o
	}
	return errs
}

// Is reports whether the error means the same as target.
func (e *Error) Is(target error) bool {
	return target == context.DeadlineExceeded && e.Code == forrst.DeadlineExceeded
}

// Decode decodes the details.
func (e *Error) Decode(details any) error { return json.Unmarshal(e.Details, details) }

// CodeOf returns the code of the first error of the server in err, and nothing if there is none.
func CodeOf(err error) forrst.Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// wireError is an error object of a response, or the data of an error event.
type wireError struct {
	Code    forrst.Code     `json:"code"`
	Message string          `json:"message"`
	Source  *forrst.Source  `json:"source"`
	Details json.RawMessage `json:"details"`
}

func (w wireError) decode() *Error {
	e := &Error{Code: w.Code, Message: w.Message}
	if string(w.Details) != "null" {
		e.Details = w.Details
	}
	if w.Source != nil {
		e.Position = w.Source.Position
		if w.Source.Pointer != nil {
			e.Pointer = *w.Source.Pointer
		}
	}
	return e
}

// joinErrors returns the errors of a response as one.
func joinErrors(status int, all []wireError) *Error {
	first := all[0].decode()
	for _, w := range all[1:] {
		first.Others = append(first.Others, w.decode())
	}
	if status == 0 {
		status = first.Code.Status()
		if len(all) > 1 {
			status = http.StatusBadRequest
		}
	}
	for _, e := range append([]*Error{first}, first.Others...) {
		e.Status = status
	}
	return first
}

// httpCodes are the codes of replies that are not documents of the protocol, such as those of proxies.
var httpCodes = map[int]forrst.Code{
	http.StatusUnauthorized: forrst.Unauthorized, http.StatusForbidden: forrst.Forbidden, http.StatusTooManyRequests: forrst.RateLimited,
	http.StatusBadGateway: forrst.Unavailable, http.StatusServiceUnavailable: forrst.Unavailable, http.StatusGatewayTimeout: forrst.Unavailable,
}

// foreign returns the error of a reply that is not a document of the protocol.
func foreign(m Message) error {
	code, known := httpCodes[m.Status]
	if !known {
		if m.Status == 0 || m.Status == http.StatusOK {
			return ErrResponse
		}
		return fmt.Errorf("%w: HTTP status %d without a document of the protocol", ErrResponse, m.Status)
	}
	e := &Error{Code: code, Message: "the reply is not from the service: " + http.StatusText(m.Status), Status: m.Status}
	if code == forrst.Unavailable || code == forrst.RateLimited {
		e.Retry = &Advice{Allowed: true, Strategy: "exponential", After: time.Second, MaxAttempts: 3}
		if n, err := strconv.Atoi(m.Header.Get("Retry-After")); err == nil && n >= 0 && n < 1<<31 {
			e.Retry.Strategy, e.Retry.After = "fixed", time.Duration(n)*time.Second
		}
	}
	return e
}
