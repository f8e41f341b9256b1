package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/sluice-rag/sluice/model/transport"
)

// The bounds of what is read from the API.
const (
	maxLine   = 1 << 20  // of a stream's line
	maxStream = 64 << 20 // of a stream
	maxAnswer = 4 << 20  // of an answer's text, reasoning and calls together
	maxBody   = 64 << 10 // of a reply that is no stream; what is longer is not read
	maxBlocks = 1 << 10  // of an answer
	maxWait   = time.Hour
)

const (
	official = "https://api.anthropic.com/"
	// stall is long, as nothing comes while a model begins to read a long request; later a ping comes now and then.
	stall = 30 * time.Second
	// aside is how long a question besides the answer may take.
	aside = 3 * time.Second
)

var (
	errStalled  = errors.New("no byte for too long")
	errTooLarge = errors.New("the reply is too large")
	errMoved    = errors.New("the server redirects to another address, which is not followed")
)

// address reads where the API stands. The URL that it gives ends in a slash, and what follows it begins with v1.
func address(given string) (*url.URL, error) {
	if given == "" {
		given = official
	}
	base, err := url.Parse(given)
	if err != nil {
		return nil, errors.New("read the model's URL: it is not one") // the error of url.Parse repeats it, password and all
	}
	if base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("read the model's URL: it must begin with http:// or https://")
	}
	if base.Hostname() == "" {
		return nil, errors.New("read the model's URL: it names no host")
	}
	if base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("read the model's URL: it must end with the path")
	}
	base.RawPath = ""
	base.Path = strings.TrimSuffix(strings.TrimRight(base.Path, "/"), "/v1") + "/"
	return base, nil
}

// isKey tells whether a key can be sent in a header.
func isKey(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// newClient gives a client that follows no redirect: where a server sends it, neither the key nor the prompt should go.
func newClient(given *http.Client) *http.Client {
	var c http.Client
	if given != nil {
		c = *given
	} else {
		c.Transport = transport.New()
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// refusal is a reply that is no success. It holds the body for this package alone: Error does not tell it.
type refusal struct {
	status int
	header http.Header
	body   []byte
}

// Error gives the status alone.
func (r *refusal) Error() string { return fmt.Sprintf("HTTP status %d", r.status) }

// refuse turns each reply that is no success into a [refusal], reading no more of it than an error needs.
func refuse(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(r)
	if err != nil || res.StatusCode/100 == 2 {
		return res, err
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxBody))
	return nil, &refusal{status: res.StatusCode, header: res.Header, body: body}
}

// watch ends a request whose server says nothing for too long. The time that the reader of an answer takes does not count.
// It is for one goroutine.
type watch struct {
	stall  time.Duration
	timer  *time.Timer
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// newWatch gives the context for a request and what ends it. The clock stands still at first.
func newWatch(ctx context.Context, stall time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{stall: stall, ctx: ctx, cancel: cancel}
	w.timer = time.AfterFunc(stall, func() { cancel(errStalled) })
	w.timer.Stop()
	return ctx, w
}

func (w *watch) start() { w.timer.Reset(w.stall) }
func (w *watch) stop()  { w.timer.Stop() }

// end frees the request.
func (w *watch) end() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// cause gives why the request failed where the watch ended it.
func (w *watch) cause(err error) error {
	if errors.Is(context.Cause(w.ctx), errStalled) {
		return errStalled
	}
	return err
}

func (w *watch) reader(r io.Reader) io.Reader { return &watched{w: w, r: r} }

type watched struct {
	w *watch
	r io.Reader
}

// Read reads within the watch's time.
func (r *watched) Read(p []byte) (int, error) {
	r.w.start()
	n, err := r.r.Read(p)
	r.w.stop()
	return n, err
}

// drain reads what follows the end of a stream, so that the connection can serve again: a few bytes that have mostly come by
// then.
func drain(body io.Reader, w *watch) {
	w.timer.Reset(100 * time.Millisecond)
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	w.stop()
}
