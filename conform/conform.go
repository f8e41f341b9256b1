// Package conform checks whether a server speaks a streaming protocol: the order and the schema of its frames, reading again, resuming after each frame, cut
// connections, slow readers, cancelling and errors. It only uses HTTP, so the server may be any. A protocol is a [Protocol] in protocols.go.
package conform

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluice-rag/sluice/wire/sse"
)

// Limits of what is read from a server.
const (
	maxFrame  = 4 << 20  // bytes of a frame
	maxStream = 64 << 20 // bytes of a stream
	maxFrames = 50_000   // of a stream
	maxReply  = 1 << 20  // bytes of a reply without a stream
)

// Options configure a test of a server.
type Options struct {
	URL      string // of the server, without a path; with MCP a path replaces /mcp
	Key      string // sent as a bearer token; may be empty
	Tool     string // of MCP that is asked; default "ask"
	Argument string // of the tool, with the question; default "query"
	Question string // whose answer should be long enough to be cut
	// CancelQuestion is asked to be cancelled; empty: Question. Only a question whose answer takes some time shows whether the server cancels.
	CancelQuestion string
	Timeout        time.Duration // of each check; default 30 s
	Only           []string      // names of checks; empty: all
	Schema         []byte        // JSON Schema of a frame; its part parts.error is that of errors
	Resumes        int           // how many frames are resumed after; default 200, at equal distances if there are more frames
}

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	OK   Status = "ok"
	Fail Status = "FAIL"
	Skip Status = "skip"
)

// Result is the outcome of a check.
type Result struct {
	Name       string `json:"name"`
	Status     Status `json:"status"`
	Reason     string `json:"reason,omitempty"` // of a failure or a skip: what was expected and what came
	DurationMS int64  `json:"duration_ms"`
}

// Frame is a server-sent event of a stream.
type Frame struct {
	N              int // from 1
	ID, Name, Data string
	JSON           any // nil: the data is not JSON
}

// String returns the place and the beginning of the frame.
func (f Frame) String() string { return fmt.Sprintf("frame %d (id %.40q): %.200s", f.N, f.ID, f.Data) }

// field returns the member at a path such as "response.id", or an empty string.
func (f Frame) field(path string) string {
	v := f.JSON
	for name := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// errSkip is the reason why a check says nothing about the server.
type errSkip string

func (e errSkip) Error() string { return string(e) }

// check is a check of a server.
type check struct {
	name string
	run  func(*tester, context.Context) error
	mcp  bool // only for MCP
}

// checks returns the checks in their order. The check stream asks the question whose stream the others use.
func checks() []check {
	return []check{{"session", (*tester).session, true}, {"tools", (*tester).tools, true}, {"stream", (*tester).stream, false}, {"ids", (*tester).ids, false},
		{"grammar", (*tester).grammar, false}, {"schema", (*tester).schemas, false}, {"progress", (*tester).progress, true}, {"replay", (*tester).replay, false},
		{"resume", (*tester).resume, false}, {"cut", (*tester).cut, false}, {"slow", (*tester).slow, false}, {"cancel", (*tester).cancel, false}, {"errors", (*tester).errors, false}}
}

// Names returns the names of the checks, in their order.
func Names() (names []string) {
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// tester tests a server.
type tester struct {
	Protocol
	o             Options
	http          *http.Client
	frame, refuse *jsonschema.Schema // nil: unknown
	run, asked    string             // the run of the first stream, and the path at which it was asked for
	mcp           *mcpSession        // nil: there is none
	sessions      []string           // that were made; they are deleted at the end
	live          []Frame            // as the first stream had them
	kept          []Frame            // of the same run, read again; nil: not read
}

// Run tests a server and passes each result to report. It returns an error if the options are invalid.
func Run(ctx context.Context, p Protocol, o Options, report func(Result)) error {
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Resumes <= 0 {
		o.Resumes = 200
	}
	o.Tool, o.Argument = cmp.Or(o.Tool, "ask"), cmp.Or(o.Argument, "query")
	o.URL = strings.TrimSuffix(o.URL, "/")
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("the address of the server must be a URL such as http://localhost:8000, not %q", o.URL)
	}
	if p.MCP && u.Path == "" {
		o.URL += mcpPath
	}
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("there is no check %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	transport := &http.Transport{DisableCompression: true, Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: 64 << 10}
	defer transport.CloseIdleConnections()
	t := &tester{Protocol: p, o: o, http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if p.MCP {
		t.Grammar = func() Grammar { return &mcpGrammar{id: t.mcp.asked} }
	}
	if err := t.compile(); err != nil {
		return fmt.Errorf("compile schema: %w", err)
	}
	defer t.leave(context.WithoutCancel(ctx))
	for _, c := range checks() {
		wanted := len(o.Only) == 0 || slices.Contains(o.Only, c.name)
		if !wanted && c.name != "stream" || c.mcp && !p.MCP && len(o.Only) == 0 {
			continue
		}
		start := time.Now()
		within, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("no end within %s", o.Timeout))
		err := error(errSkip("the check is only for mcp"))
		if !c.mcp || p.MCP {
			err = c.run(t, within)
		}
		if cause := context.Cause(within); err != nil && cause != nil {
			err = fmt.Errorf("%w (%w)", cause, err)
		}
		cancel()
		r := Result{Name: c.name, Status: OK, DurationMS: time.Since(start).Milliseconds()}
		if err != nil {
			r.Status, r.Reason = Fail, err.Error()
			if skip, ok := errors.AsType[errSkip](err); ok {
				r.Status, r.Reason = Skip, string(skip)
			}
		}
		if wanted || r.Status == Fail {
			report(r)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// compile compiles the schema of the options.
func (t *tester) compile() error {
	if len(t.o.Schema) == 0 {
		return nil
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(t.o.Schema))
	if err != nil {
		return err
	}
	const name = "http://schema.invalid/protocol.json"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, tree); err != nil {
		return err
	}
	if t.frame, err = c.Compile(name); err != nil {
		return err
	}
	t.refuse, err = c.Compile(name + "#/parts/error")
	return err
}

// send sends a request. The caller closes the body.
func (t *tester) send(ctx context.Context, method, path string, body []byte, after string) (*http.Response, error) {
	req, err := t.request(ctx, method, path, body, after)
	if err != nil {
		return nil, err
	}
	return t.http.Do(req)
}

// request returns a request. If after is not empty, it resumes a stream after that id, or that number of bytes.
func (t *tester) request(ctx context.Context, method, path string, body []byte, after string) (*http.Request, error) {
	if t.MCP {
		path = "" // the URL has it
	}
	req, err := http.NewRequestWithContext(ctx, method, t.o.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", t.media()+", application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if t.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+t.o.Key)
	}
	if t.MCP {
		t.mcp.header(req.Header)
	}
	if t.Calls != nil {
		for name, value := range t.Calls.Header {
			req.Header.Set(name, value)
		}
	}
	switch {
	case after == "":
	case t.Bytes:
		query := req.URL.Query()
		query.Set("offset", after)
		req.URL.RawQuery = query.Encode()
	default:
		req.Header.Set("Last-Event-ID", after)
	}
	return req, nil
}

// open sends a request whose reply must be a stream.
func (t *tester) open(ctx context.Context, method, path string, body []byte, after string) (*http.Response, error) {
	res, err := t.send(ctx, method, path, body, after)
	if err != nil {
		return nil, err
	}
	kind := res.Header.Get("Content-Type")
	if t.MCP && res.StatusCode == http.StatusOK && strings.HasPrefix(kind, "application/json") {
		return asStream(res)
	}
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(kind, t.media()) {
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxReply))
		_ = res.Body.Close()
		if reply, err := jsonschema.UnmarshalJSON(bytes.NewReader(text)); err == nil && t.Calls != nil && t.Calls.Ended != 0 && codeOf(reply) == t.Calls.Ended {
			return nil, errSkip("the server has no stream of a run that has ended")
		}
		return nil, fmt.Errorf("%s %s: want status 200 and %s; got %d and %.60q: %.300s", method, path, t.media(), res.StatusCode, kind, text)
	}
	return res, nil
}

// asStream returns a reply of JSON as a stream with one event.
func asStream(res *http.Response) (*http.Response, error) {
	text, err := io.ReadAll(io.LimitReader(res.Body, maxFrame))
	_ = res.Body.Close()
	var line bytes.Buffer
	if err == nil {
		err = json.Compact(&line, text)
	}
	if err != nil {
		return nil, fmt.Errorf("want JSON: %w", err)
	}
	res.Body = io.NopCloser(strings.NewReader("data: " + line.String() + "\n\n"))
	return res, nil
}

// media returns the media type of streams.
func (t *tester) media() string {
	if t.Bytes {
		return "text/plain"
	}
	return "text/event-stream"
}

// bounded reads at most maxStream bytes, slowly if pause is set, and remembers the last two.
type bounded struct {
	r     io.Reader
	n     int
	last  [2]byte
	pause time.Duration
}

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	if b.pause > 0 {
		time.Sleep(b.pause)
		p = p[:min(len(p), 512)]
	}
	n, err := b.r.Read(p)
	if b.n += n; b.n > maxStream {
		return 0, fmt.Errorf("the stream has more than %d MiB", maxStream>>20)
	}
	for _, c := range p[:n] {
		b.last[0], b.last[1] = b.last[1], c
	}
	return n, err
}

// read returns at most limit frames; 0: all up to the end of the stream, which must be the end of a frame.
func (t *tester) read(body io.Reader, limit int, pause time.Duration) ([]Frame, error) {
	b := &bounded{r: body, pause: pause}
	switch {
	case t.Bytes:
		return readBytes(b, limit)
	case t.MCP:
		if limit > 0 {
			limit++ // for an event that only has an id
		}
		frames, err := readEvents(b, limit, func(Frame) bool { return false })
		return t.mcp.primed(frames), err
	}
	return readEvents(b, limit, nil)
}

// readEvents reads events up to the limit, the end, or the first for which last returns true; nil: none. An event without data has an empty text.
func readEvents(b *bounded, limit int, last func(Frame) bool) (frames []Frame, err error) {
	r := sse.NewReader(b, maxFrame)
	for limit == 0 || len(frames) < limit {
		ev, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && b.n > 0 && b.last != [2]byte{'\n', '\n'}:
			return frames, fmt.Errorf("the stream ends within a frame, after frame %d", len(frames))
		case errors.Is(err, io.EOF):
			return frames, nil
		case err != nil:
			return frames, fmt.Errorf("after frame %d: %w", len(frames), err)
		case len(frames) == maxFrames:
			return frames, fmt.Errorf("the stream has more than %d frames", maxFrames)
		}
		f := Frame{N: len(frames) + 1, ID: ev.ID, Name: ev.Name, Data: ev.Data}
		if f.JSON, err = jsonschema.UnmarshalJSON(strings.NewReader(f.Data)); err != nil && f.Data != "[DONE]" && (f.Data != "" || last == nil) {
			return frames, fmt.Errorf("want JSON; got %s", f)
		}
		if frames = append(frames, f); last != nil && last(f) {
			break
		}
	}
	return frames, nil
}
