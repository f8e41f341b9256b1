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

// maxWait is the longest of the growing waits. A server may ask for six times as much.
const maxWait = 10 * time.Second

// refusal is an answer of 400 and over: what the server says went wrong, as a [fault.Error].
type refusal struct {
	status int
	after  time.Duration // when the server wants to be asked again; 0: it did not say
	fault  *fault.Error
}

// Error is the fault's.
func (r *refusal) Error() string { return r.fault.Error() }

// Unwrap gives the fault.
func (r *refusal) Unwrap() error { return r.fault }

// refused reads an error's answer: of this server's routes, of others in the manner of OpenAI's, or of a proxy between.
func refused(res *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	var p struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
		Field   string          `json:"field"`
		Inner   struct {
			Code    json.RawMessage `json:"code"`
			Message string          `json:"message"`
			Param   string          `json:"param"`
		} `json:"error"`
		Detail struct {
			Code  string `json:"code"`
			Field string `json:"field"`
		} `json:"detail"`
	}
	_ = json.Unmarshal(raw, &p) // what could be read of it counts
	f := &fault.Error{Code: codeOf(res.StatusCode), Message: p.Message, Field: p.Field}
	if f.Message == "" {
		f.Message, f.Field = p.Inner.Message, p.Inner.Param
	}
	if f.Field == "" {
		f.Field = p.Detail.Field
	}
	for _, code := range []string{text(p.Code), text(p.Inner.Code), p.Detail.Code} {
		if known(fault.Code(strings.ToUpper(code))) {
			f.Code = fault.Code(strings.ToUpper(code))
		}
	}
	if f.Message = clip(f.Message, maxLine); f.Message == "" {
		f.Message = "the server answered " + strconv.Itoa(res.StatusCode)
	}
	return &refusal{status: res.StatusCode, after: retryAfter(res.Header.Get("Retry-After")), fault: f}
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // a number names no code of ours
	return s
}

func known(code fault.Code) bool { return slices.Contains(fault.Codes(), code) }

// codeOf gives the code of a status that comes without one.
func codeOf(status int) fault.Code {
	switch status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return fault.InvalidRequest
	case http.StatusNotFound, http.StatusGone:
		return fault.NotFound
	case http.StatusConflict:
		return fault.Conflict
	case http.StatusRequestEntityTooLarge:
		return fault.TooLarge
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

// retryAfter reads the header's seconds or date.
func retryAfter(v string) time.Duration {
	if s, err := strconv.Atoi(v); err == nil && s >= 0 {
		return time.Duration(min(s, 1<<20)) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}

// unsent tells whether a request surely did not reach the server, or was turned away there: no connection was made, or the server
// says that it takes nothing now.
func unsent(err error) bool {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// repeatable tells whether a request may be sent again after an error.
func repeatable(method string, err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if unsent(err) {
		return true
	}
	return (method == http.MethodGet || method == http.MethodDelete) && passing(err)
}

// passing tells whether an error is of the connection, or of a server that may be better soon.
func passing(err error) bool {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status >= 500 || r.status == http.StatusTooManyRequests
	}
	return true
}

// waits are the waits between the tries of one request.
func (c *Client) waits() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.RandomizationFactor, b.MaxInterval = c.o.Backoff, 2, 0.5, maxWait
	b.Reset()
	return b
}

// pause waits before the next try: as long as the server asks for, or the next of the waits.
func (c *Client) pause(ctx context.Context, waits *backoff.ExponentialBackOff, err error) error {
	wait := waits.NextBackOff()
	if r, ok := errors.AsType[*refusal](err); ok && r.after > wait {
		if r.after > 6*maxWait {
			return err // nobody wants to wait that long and not know
		}
		wait = r.after
	}
	if c.o.Retrying != nil {
		c.o.Retrying(err, wait)
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
