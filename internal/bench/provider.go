package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	providerModel = "bench"
	maxRequest    = 16 << 20
)

// sentenceTokens are the tokens that a provider repeats. A token that ends with timeMark is followed by its time of sending.
// The citation marker is split over two tokens, as models split it.
var sentenceTokens = [...]string{
	" Lamp @", " @", " @", " @", " @", " @", " @", " @", " @", " @", " @", " @", ".", "⟦1", "⟧",
}

// lampNumber finds the number that identifies a question: see modelBench.question.
var lampNumber = regexp.MustCompile(`lamp (\d+)\?`)

// provider is an OpenAI-compatible server (https://platform.openai.com/docs/api-reference/chat, as implemented by vLLM) that
// streams tokens at an even rate. The tokens hold their time of sending. It supports only streaming. It is safe for concurrent
// use.
type provider struct {
	rate   float64
	tokens int

	requests, open, sent, dials, conns atomic.Int64

	mu        sync.Mutex
	cancelled map[string]int64
}

// providerStats counts the requests, tokens and connections of a provider.
type providerStats struct {
	Requests    int64 `json:"requests"` // chat completions
	Open        int64 `json:"open"`     // chat completions that are not complete
	Tokens      int64 `json:"tokens"`
	Dials       int64 `json:"dials"`       // connections opened since the start
	Connections int64 `json:"connections"` // connections open now
	// Cancelled maps the lamp number of each cancelled request to the time when it ended, in Unix nanoseconds.
	Cancelled map[string]int64 `json:"cancelled"`
}

// newProvider returns a provider whose answers have the given number of tokens, the first sent at once and the others at the
// rate per second. With 0 tokens, the request limits the length of an answer.
func newProvider(rate float64, tokens int) *provider {
	return &provider{rate: rate, tokens: tokens, cancelled: map[string]int64{}}
}

// serveProvider runs a provider until in ends. It prints two addresses to out: that of the provider, and that of a handler
// whose paths /stats and /usage return the providerStats and the processUsage.
func serveProvider(ctx context.Context, rate float64, tokens int, in io.Reader, out io.Writer) error {
	p := newProvider(rate, tokens)
	var control http.ServeMux
	control.HandleFunc("/usage", usage(nil))
	control.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(p.stats()) // fails only if the parent process is gone
	})
	return serveWithStats(ctx, p, p.track, &control, in, out)
}

// serveWithStats serves h, and the handler of its statistics on a second listener, until in ends.
func serveWithStats(ctx context.Context, h http.Handler, track func(net.Conn, http.ConnState), stats http.Handler, in io.Reader, out io.Writer) error {
	ctx, cancel := whileOpen(ctx, in)
	defer cancel()
	l, control, err := listen(ctx, 0)
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(control, stats) }() //nolint:gosec // the parent is its only client
	fmt.Fprintln(out, l.Addr(), control.Addr())
	s := &http.Server{Handler: h, ConnState: track, ReadHeaderTimeout: controlTimeout}
	return serveUntil(ctx, s, l)
}

// stats returns the current counts.
func (p *provider) stats() providerStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return providerStats{
		Requests: p.requests.Load(), Open: p.open.Load(), Tokens: p.sent.Load(), Dials: p.dials.Load(), Connections: p.conns.Load(),
		Cancelled: maps.Clone(p.cancelled),
	}
}

// track counts connections. It is a [http.Server.ConnState] hook.
func (p *provider) track(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		p.dials.Add(1)
		p.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.conns.Add(-1)
	}
}

// ServeHTTP implements [http.Handler].
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/models":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"`+providerModel+`","object":"model","created":1700000000,"owned_by":"sluice"}]}`)
	case "POST /v1/chat/completions":
		p.complete(w, r)
	default: // such as /props of llama.cpp
		writeError(w, http.StatusNotFound, "no such path")
	}
}

func writeError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":null}}`, message)
}

func (p *provider) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var q struct {
		Stream        bool `json:"stream"`
		MaxTokens     int  `json:"max_tokens"`
		MaxCompletion int  `json:"max_completion_tokens"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err != nil || json.Unmarshal(body, &q) != nil || !q.Stream {
		writeError(w, http.StatusBadRequest, "only streamed chat completions are supported")
		return
	}
	a := &answerWriter{p: p, w: w, flusher: w.(http.Flusher), limit: p.tokens, finish: "stop"} // net/http's writer is one
	if allowed := max(q.MaxTokens, q.MaxCompletion); allowed > 0 && (a.limit == 0 || allowed < a.limit) {
		a.limit, a.finish = allowed, "length"
	}
	id := p.requests.Add(1)
	p.open.Add(1)
	defer p.open.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	a.head = fmt.Sprintf(`data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":%d,"model":"%s",`, id, time.Now().Unix(), providerModel)
	if !a.run(r.Context(), q.StreamOptions.IncludeUsage) {
		p.recordCancelled(body, time.Now())
	}
}

// recordCancelled records that the client closed the request before the end of the answer.
func (p *provider) recordCancelled(body []byte, at time.Time) {
	tags := lampNumber.FindAllSubmatch(body, -1)
	if len(tags) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancelled[string(tags[len(tags)-1][1])] = at.UnixNano()
}

// answerWriter streams one answer.
type answerWriter struct {
	p       *provider
	w       io.Writer
	flusher http.Flusher
	head    string // start of each event
	buf     []byte
	n       int
	limit   int // maximum number of tokens; 0 is unlimited
	finish  string
}

var errComplete = errors.New("the answer is complete")

// run reports whether the answer was sent completely.
func (a *answerWriter) run(ctx context.Context, usage bool) bool {
	if a.event(`"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`) != nil {
		return false
	}
	err := a.token() // without delay, so that the latency of the first token is not the provider's
	if err == nil {
		err = ticks(ctx, a.p.rate, nil, func(int64) error { return a.token() })
	}
	if !errors.Is(err, errComplete) {
		return false
	}
	err = a.event(`"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"` + a.finish + `"}]}`)
	if usage && err == nil {
		err = a.event(fmt.Sprintf(`"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":%d,"total_tokens":%d}}`, a.n, 100+a.n))
	}
	if err == nil {
		_, err = io.WriteString(a.w, "data: [DONE]\n\n")
	}
	return err == nil
}

func (a *answerWriter) event(rest string) error {
	a.buf = append(append(append(a.buf[:0], a.head...), rest...), "\n\n"...)
	return a.write()
}

func (a *answerWriter) write() error {
	_, err := a.w.Write(a.buf)
	a.flusher.Flush()
	return err
}

// token sends the next token.
func (a *answerWriter) token() error {
	text := sentenceTokens[a.n%len(sentenceTokens)]
	a.buf = append(append(a.buf[:0], a.head...), `"choices":[{"index":0,"delta":{"content":"`...)
	a.buf = append(a.buf, text...)
	if text[len(text)-1] == timeMark {
		a.buf = strconv.AppendInt(a.buf, time.Now().UnixNano(), 10)
	}
	a.buf = append(a.buf, `"},"logprobs":null,"finish_reason":null}]}`+"\n\n"...)
	if err := a.write(); err != nil {
		return err
	}
	a.p.sent.Add(1)
	if a.n++; a.n == a.limit {
		return errComplete
	}
	return nil
}
