package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// ErrRedirect is the cause of a [StatusError] that is a redirect.
var ErrRedirect = errors.New("the server redirects to another address, which is not followed")

const (
	maxWait    = time.Hour // maximum that a server may ask for
	maxRefused = 64 << 10  // bytes of an error reply that are read
)

// Client returns a copy of a client that follows no redirects, so that key and prompt only go to the configured server. For nil
// it returns a client with the transport of [New].
func Client(given *http.Client) *http.Client {
	var c http.Client
	if given != nil {
		c = *given
	} else {
		c.Transport = New()
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// StatusError is a reply with another status than 2xx. Error does not return the body.
type StatusError struct {
	Status  int
	Header  http.Header
	Body    []byte
	Request *http.Request
}

// Error returns the status alone.
func (r *StatusError) Error() string { return fmt.Sprintf("HTTP status %d", r.Status) }

// CheckStatus sends a request with next. It returns a [StatusError] for a status other than 2xx.
func CheckStatus(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(r)
	if err != nil || res.StatusCode/100 == 2 {
		return res, err
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefused))
	return nil, &StatusError{Status: res.StatusCode, Header: res.Header, Body: body, Request: r}
}

// Cause returns what may be logged besides the status.
func (r *StatusError) Cause() error {
	if r.Status/100 == 3 {
		return ErrRedirect
	}
	return nil
}

// RetryAfter returns how long the server asks to wait, at most an hour: retry-after-ms, or Retry-After (RFC 9110, 10.2.3) in seconds
// or as a date.
func (r *StatusError) RetryAfter() time.Duration {
	var d time.Duration
	if ms, err := strconv.ParseFloat(r.Header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		d = time.Duration(min(ms, float64(maxWait/time.Millisecond)) * float64(time.Millisecond))
	} else if s, err := strconv.ParseFloat(r.Header.Get("Retry-After"), 64); err == nil && s > 0 {
		d = time.Duration(min(s, maxWait.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(r.Header.Get("Retry-After")); err == nil {
		d = time.Until(at)
	}
	return max(0, min(d, maxWait))
}

// WithoutURL removes the URL from an error of net/http, which may hold a password or a key.
func WithoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
