package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-rag/sluice/fault"
)

// maxWait limits the backoff. A server may ask for up to six times as much.
const maxWait = 10 * time.Second

// replyError is an error reply.
type replyError struct {
	status int
	after  time.Duration // from the Retry-After header; 0: none
	fault  *fault.Error
}

// Error implements error.
func (r *replyError) Error() string { return r.fault.Error() }

// Unwrap returns the fault.
func (r *replyError) Unwrap() error { return r.fault }

// refused decodes an error reply of this server, of one with the format of OpenAI's API, or of a proxy.
func refused(res *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	var p struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
		Field   string          `json:"field"`
		Error   json.RawMessage `json:"error"`
		Detail  struct {
			Code  string `json:"code"`
			Field string `json:"field"`
		} `json:"detail"`
	}
	var inner struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
		Param   string          `json:"param"`
	}
	_ = json.Unmarshal(raw, &p) // fields that cannot be decoded stay empty
	_ = json.Unmarshal(p.Error, &inner)
	f := &fault.Error{Code: codeOf(res.StatusCode), Message: p.Message, Field: p.Field}
	if f.Message == "" {
		f.Message, f.Field = inner.Message, inner.Param
	}
	if f.Field == "" {
		f.Field = p.Detail.Field
	}
	for _, code := range []string{text(p.Code), text(inner.Code), text(p.Error), p.Detail.Code} {
		if known(fault.Code(strings.ToUpper(code))) {
			f.Code = fault.Code(strings.ToUpper(code))
		}
	}
	if f.Message = clip(f.Message, maxLine); f.Message == "" {
		f.Message = "the server answered " + strconv.Itoa(res.StatusCode)
	}
	return &replyError{status: res.StatusCode, after: retryAfter(res.Header.Get("Retry-After")), fault: f}
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // a number is not one of our codes
	return s
}

func known(code fault.Code) bool { return slices.Contains(fault.Codes(), code) }

// codeOf returns the code for the HTTP status of a reply without a code.
func codeOf(status int) fault.Code {
	switch status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return fault.InvalidRequest
	case http.StatusNotFound, http.StatusGone:
		return fault.NotFound
	case http.StatusUnauthorized:
		return fault.Unauthenticated
	case http.StatusForbidden:
		return fault.Forbidden
	case http.StatusConflict:
		return fault.Conflict
	case http.StatusRequestEntityTooLarge:
		return fault.TooLarge
	case http.StatusPaymentRequired:
		return fault.Payment
	case http.StatusTooManyRequests:
		return fault.Overloaded
	case http.StatusServiceUnavailable:
		return fault.Unavailable
	case http.StatusGatewayTimeout:
		return fault.Timeout
	case http.StatusInsufficientStorage:
		return fault.NoSpace
	}
	return fault.Internal
}

// retryAfter parses the header, which is a number of seconds or a date.
func retryAfter(v string) time.Duration {
	if s, err := strconv.Atoi(v); err == nil && s >= 0 {
		return time.Duration(min(s, 1<<20)) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}

// unsent reports whether the server cannot have processed the request: there was no connection, or the server was
// overloaded or unavailable.
func unsent(err error) bool {
	if r, ok := errors.AsType[*replyError](err); ok {
		return r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// repeatable reports whether a request may be sent again after an error.
func repeatable(method string, err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if unsent(err) {
		return true
	}
	return (method == http.MethodGet || method == http.MethodDelete || method == http.MethodPut) && temporary(err)
}

// temporary reports whether an error may be temporary: it is an error of the connection, or one that a server may recover
// from.
func temporary(err error) bool {
	if r, ok := errors.AsType[*replyError](err); ok {
		return r.status >= 500 || r.status == http.StatusTooManyRequests
	}
	return true
}

// newBackoff returns the backoff of one request.
func (c *Client) newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.RandomizationFactor, b.MaxInterval = c.o.Backoff, 2, 0.5, maxWait
	b.Reset()
	return b
}

// reconnecting returns a function that waits before a stream is resumed, after a number of consecutive failures. An error ends the stream.
func (c *Client) reconnecting(ctx context.Context) func(failures int, err error) error {
	waits := c.newBackoff()
	return func(failures int, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case failures > c.o.Retries || !temporary(err):
			return err
		case failures == 1:
			waits.Reset()
		}
		return c.pause(ctx, waits, err)
	}
}

// pause waits before the next attempt: the next backoff, or the Retry-After of the server if that is longer.
func (c *Client) pause(ctx context.Context, waits *backoff.ExponentialBackOff, err error) error {
	wait := waits.NextBackOff()
	if r, ok := errors.AsType[*replyError](err); ok && r.after > wait {
		if r.after > 6*maxWait {
			return err // too long to wait silently
		}
		wait = r.after
	}
	if c.o.OnRetry != nil {
		c.o.OnRetry(err, wait)
	}
	return sleep(ctx, wait)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
