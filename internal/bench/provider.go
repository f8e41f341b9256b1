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

// sentence is the form of what a provider says, over and over: a token each, of which the words carry the time of sending
// behind [mark]. The marker of its citation is cut, as models cut it.
var sentence = [...]string{
	" Lamp @", " @", " @", " @", " @", " @", " @", " @", " @", " @", " @", " @", ".", "⟦1", "⟧",
}

// lamp is by what a provider knows a question: see [question].
var lamp = regexp.MustCompile(`lamp (\d+)\?`)

// Provider is an OpenAI-compatible server (https://platform.openai.com/docs/api-reference/chat, in the form of vLLM) whose
// answers come at an even rate and tell when each token was sent. It streams only. It may be used at once.
type Provider struct {
	rate   float64
	tokens int

	asked, open, sent, dials, conns atomic.Int64

	mu        sync.Mutex
	cancelled map[string]int64
}

// Provided is what a [Provider] has seen.
type Provided struct {
	Requests    int64 `json:"requests"` // for an answer
	Open        int64 `json:"open"`     // of them, now
	Tokens      int64 `json:"tokens"`
	Dials       int64 `json:"dials"`       // connections that were opened
	Connections int64 `json:"connections"` // that are open now
	// Cancelled says when requests ended that were not answered to their end, in nanoseconds since 1970, by the number of the
	// lamp that they ask about.
	Cancelled map[string]int64 `json:"cancelled"`
}

// NewProvider makes a provider of answers of some tokens: the first at once, the others at a rate a second. With 0 tokens an
// answer goes on for as long as the request allows.
func NewProvider(rate float64, tokens int) *Provider {
	return &Provider{rate: rate, tokens: tokens, cancelled: map[string]int64{}}
}

// Provide is the process of a provider. It prints its addresses to out and serves until in ends. The paths /seen and /usage
// of the second address give what it has seen and its Usage.
func Provide(ctx context.Context, rate float64, tokens int, in io.Reader, out io.Writer) error {
	p := NewProvider(rate, tokens)
	var control http.ServeMux
	control.HandleFunc("/usage", usage)
	control.HandleFunc("/seen", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(p.Seen()) // the parent has left
	})
	return serveBeside(ctx, p, p.Track, &control, in, out)
}

// serveBeside serves a handler and what tells of it at an address of its own, until in ends.
func serveBeside(ctx context.Context, h http.Handler, track func(net.Conn, http.ConnState), tell http.Handler, in io.Reader, out io.Writer) error {
	ctx, cancel := whileOpen(ctx, in)
	defer cancel()
	l, control, err := listen(ctx)
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(control, tell) }() //nolint:gosec // the parent is its only client
	fmt.Fprintln(out, l.Addr(), control.Addr())
	s := &http.Server{Handler: h, ConnState: track, ReadHeaderTimeout: patience}
	return serveUntil(ctx, s, l)
}

// Seen gives what was seen so far.
func (p *Provider) Seen() Provided {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Provided{
		Requests: p.asked.Load(), Open: p.open.Load(), Tokens: p.sent.Load(), Dials: p.dials.Load(), Connections: p.conns.Load(),
		Cancelled: maps.Clone(p.cancelled),
	}
}

// Track counts connections: it is for [http.Server.ConnState].
func (p *Provider) Track(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		p.dials.Add(1)
		p.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.conns.Add(-1)
	}
}

// ServeHTTP implements [http.Handler].
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/models":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"`+providerModel+`","object":"model","created":1700000000,"owned_by":"sluice"}]}`)
	case "POST /v1/chat/completions":
		p.complete(w, r)
	default: // /props and other addresses of llama.cpp's among them
		refuse(w, http.StatusNotFound, "no such path")
	}
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":null}}`, why)
}

func (p *Provider) complete(w http.ResponseWriter, r *http.Request) {
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
		refuse(w, http.StatusBadRequest, "want a chat completion that is streamed")
		return
	}
	a := &answering{p: p, w: w, flusher: w.(http.Flusher), limit: p.tokens, finish: "stop"} // net/http's writer is one
	if allowed := max(q.MaxTokens, q.MaxCompletion); allowed > 0 && (a.limit == 0 || allowed < a.limit) {
		a.limit, a.finish = allowed, "length"
	}
	id := p.asked.Add(1)
	p.open.Add(1)
	defer p.open.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	a.head = fmt.Sprintf(`data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":%d,"model":"%s",`, id, time.Now().Unix(), providerModel)
	if !a.run(r.Context(), q.StreamOptions.IncludeUsage) {
		p.lost(body, time.Now())
	}
}

// lost notes that the one who asked went away.
func (p *Provider) lost(body []byte, at time.Time) {
	tags := lamp.FindAllSubmatch(body, -1)
	if len(tags) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancelled[string(tags[len(tags)-1][1])] = at.UnixNano()
}

// answering is an answer as it is being given.
type answering struct {
	p       *Provider
	w       io.Writer
	flusher http.Flusher
	head    string // of each event
	buf     []byte
	n       int
	limit   int // tokens; 0: none
	finish  string
}

var errWhole = errors.New("the answer is whole")

// run says whether the answer was given to its end.
func (a *answering) run(ctx context.Context, usage bool) bool {
	if a.event(`"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`) != nil {
		return false
	}
	err := a.token() // at once, so that the delay to it is not the provider's
	if err == nil {
		err = ticks(ctx, a.p.rate, a.token)
	}
	if !errors.Is(err, errWhole) {
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

func (a *answering) event(rest string) error {
	a.buf = append(append(append(a.buf[:0], a.head...), rest...), "\n\n"...)
	return a.write()
}

func (a *answering) write() error {
	_, err := a.w.Write(a.buf)
	a.flusher.Flush()
	return err
}

// token sends the next one.
func (a *answering) token() error {
	text := sentence[a.n%len(sentence)]
	a.buf = append(append(a.buf[:0], a.head...), `"choices":[{"index":0,"delta":{"content":"`...)
	a.buf = append(a.buf, text...)
	if text[len(text)-1] == mark {
		a.buf = strconv.AppendInt(a.buf, time.Now().UnixNano(), 10)
	}
	a.buf = append(a.buf, `"},"logprobs":null,"finish_reason":null}]}`+"\n\n"...)
	if err := a.write(); err != nil {
		return err
	}
	a.p.sent.Add(1)
	if a.n++; a.n == a.limit {
		return errWhole
	}
	return nil
}
