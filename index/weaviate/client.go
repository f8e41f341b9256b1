package weaviate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// Limits of a request.
const (
	maxReply       = 256 << 20 // bytes
	maxErrorText   = 500       // bytes of an error of Weaviate in a log
	attempts       = 3
	changeAttempts = 9                     // of a write while its class is being changed
	retryWait      = 50 * time.Millisecond // before the second attempt; it doubles
	connectTimeout = 3 * time.Second
	requestTimeout = 15 * time.Second // of an attempt: a server that waits for one that died does not answer for minutes, and another one does at once
	slowTimeout    = time.Minute      // of an attempt to change a schema or to delete objects, which takes longer in large classes
	bodyPerSecond  = 100_000          // bytes; a large body has more time
)

// client sends requests to one Weaviate server or cluster. All requests of this package have the same effect when they are repeated.
type client struct {
	bases   []string      // each ends without a slash
	current atomic.Uint32 // counts changes of the server that gets the requests: base
	asked   atomic.Int64  // when the last request began, in nanoseconds since 1970
	pauses  atomic.Int64  // counts pauses between requests that are longer than pauseTime
	whole   atomic.Int64  // since when all servers of the cluster are there, in nanoseconds since 1970; 0: not so when they were checked last
	lacking atomic.Int64  // a server was missing: until this time, in nanoseconds since 1970, writes go to most of the replicas without a check whether all are there; 0: all are
	key     string
	http    *http.Client
}

// CheckURLs returns an error unless text is a comma separated list of the servers of one cluster: weaviate://host:port, or weaviates://host:port, which
// have no password, path or query. The error does not contain the text.
func CheckURLs(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		if err := checkURL(one); err != nil {
			return err
		}
	}
	return nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("is not a URL")
	case u.Scheme != "weaviate" && u.Scheme != "weaviates":
		return errors.New("must begin with weaviate:// or weaviates://")
	case u.Hostname() == "":
		return errors.New("has no host")
	case u.User != nil:
		return errors.New("must not hold a password: set the API key by its own setting")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return errors.New("must end after the host and port")
	}
	return nil
}

func newClient(text, key string) (*client, error) {
	if err := CheckURLs(text); err != nil {
		return nil, fmt.Errorf("address of Weaviate: %w", err)
	}
	var bases []string
	for one := range strings.SplitSeq(text, ",") {
		u, _ := url.Parse(one) // CheckURLs has parsed it
		base := "http://" + u.Host
		if u.Scheme == "weaviates" {
			base = "https://" + u.Host
		}
		bases = append(bases, base)
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     time.Minute,
		TLSHandshakeTimeout: connectTimeout,
	}
	return &client{bases: bases, key: key, http: &http.Client{Transport: transport}}, nil
}

// statusError is a reply of Weaviate that reports a failure.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.text) }

// hasStatus reports whether err is a reply with one of the statuses.
func hasStatus(err error, statuses ...int) bool {
	e, ok := errors.AsType[*statusError](err)
	for _, s := range statuses {
		if ok && e.status == s {
			return true
		}
	}
	return false
}

// do sends a request with a JSON body and decodes the reply into out; nil: the reply is ignored. Failures of the connection and of a server that is
// busy are retried.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	return c.coded(ctx, retry(ctx, func() error { return c.once(ctx, method, path, body, out) }))
}

// retry makes a request, and repeats it while it fails for a reason that may pass. It waits twice as long each time.
func retry(ctx context.Context, request func() error) error {
	wait := retryWait
	for n := 1; ; n++ {
		err, most := request(), attempts
		if errors.Is(err, errClassChanges) {
			most = changeAttempts
		}
		if err == nil || n == most || ctx.Err() != nil || !temporary(err) {
			return err
		}
		timer := time.NewTimer(wait + rand.N(wait))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		wait *= 2
	}
}

// once sends a request to the current server. If that does not answer, the next request goes to the next server.
func (c *client) once(ctx context.Context, method, path string, body []byte, out any) error {
	if now := time.Now().UnixNano(); now-c.asked.Swap(now) > int64(pauseTime) {
		c.pauses.Add(1)
	}
	at := c.current.Load()
	err := c.send(ctx, c.bases[int(at)%len(c.bases)], method, path, body, out)
	if temporary(err) && !hasStatus(err, http.StatusTooManyRequests) && !errors.Is(ctx.Err(), context.Canceled) {
		c.current.CompareAndSwap(at, at+1)
	}
	return err
}

// epoch changes when another server gets the requests, and when the server may have been away and is back without having failed a request.
func (c *client) epoch() int64 { return int64(c.current.Load())<<32 + c.pauses.Load() + 1 }

func (c *client) send(ctx context.Context, base, method, path string, body []byte, out any) error {
	limit := requestTimeout + time.Duration(len(body)/bodyPerSecond)*time.Second
	if method == http.MethodDelete || method != http.MethodGet && strings.HasPrefix(path, "/schema") {
		limit = slowTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, base+"/v1"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	switch {
	case err != nil:
		return err
	case len(reply) > maxReply:
		return fmt.Errorf("the reply has more than %d bytes", maxReply)
	case resp.StatusCode/100 != 2:
		return &statusError{resp.StatusCode, strings.ToValidUTF8(string(reply[:min(len(reply), maxErrorText)]), "")}
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(reply, out); err != nil {
		return fmt.Errorf("decode the reply: %w", err)
	}
	return nil
}

// temporary reports whether a request may succeed when it is repeated.
func temporary(err error) bool {
	if lacksReplicas(err) || starting(err) {
		return true
	}
	if _, ok := errors.AsType[*statusError](err); ok {
		return hasStatus(err, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
	}
	_, network := errors.AsType[*url.Error](err)
	return network || errors.Is(err, errClassChanges) || errors.Is(err, io.ErrUnexpectedEOF)
}

// starting reports whether a server of Weaviate refused a request because it has not read its collections yet. Weaviate accepts requests some seconds before it has read them.
func starting(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "no graphql provider present") || strings.Contains(err.Error(), "tried to browse non-existing index"))
}

// coded gives an error a code: Unavailable if Weaviate does not answer.
func (c *client) coded(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case hasStatus(err, http.StatusUnauthorized, http.StatusForbidden):
		return fault.Wrap(fault.Index, err, "Weaviate refuses the API key of the server")
	case starting(err):
		return fault.Wrap(fault.Unavailable, err, "the index, Weaviate, is starting")
	case temporary(err):
		return fault.Wrap(fault.Unavailable, err, "the index, Weaviate, cannot be reached")
	}
	return err
}

// reply is a reply to a GraphQL query: objects by the alias of their query.
type reply struct {
	Data struct {
		Get       map[string][]object
		Aggregate map[string][]struct {
			Meta struct{ Count int }
		}
	}
	Errors []struct{ Message string }
}

// graphql sends a query.
func (c *client) graphql(ctx context.Context, query string) (*reply, error) {
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return nil, err
	}
	var r *reply
	err = retry(ctx, func() error {
		r = &reply{}
		if err := c.once(ctx, http.MethodPost, "/graphql", body, r); err != nil || len(r.Errors) == 0 {
			return err
		}
		text := cmp.Or(r.Errors[0].Message, "no message")
		return errors.New(strings.ToValidUTF8(text[:min(len(text), maxErrorText)], ""))
	})
	return r, c.coded(ctx, err)
}

// ready returns an error unless the server has read its collections, so that it can tell which ones exist.
func (c *client) ready(ctx context.Context) error {
	err := c.do(ctx, http.MethodGet, "/.well-known/ready", nil, nil)
	if err != nil && fault.CodeOf(err) == "" && ctx.Err() == nil {
		return fault.Wrap(fault.Unavailable, err, "the index, Weaviate, is starting")
	}
	return err
}
