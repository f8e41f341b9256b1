package modeltest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Failure is the kind of failure of a [Script].
type Failure string

// The failures. All but Refuse happen after Script.After pieces.
const (
	Cut    Failure = "cut"    // the connection breaks
	Stall  Failure = "stall"  // the server sends nothing more
	Broken Failure = "broken" // an error within the stream
	Junk   Failure = "junk"   // an event that is not JSON
	Refuse Failure = "refuse" // status instead of an answer
)

// Script is the answer of a [Server]. The zero value is "A sluice is a gate for water." at once.
type Script struct {
	Tokens    []string      // the pieces of the answer
	Reasoning []string      // reasoning before the answer
	Calls     []ScriptCall  // tool calls after the answer
	Wait      time.Duration // until the first piece
	Every     time.Duration // between pieces; 0: all at once, each an event and a flush of its own
	Stop      string        // the finish reason; empty: stop, or tool_calls where there are any
	NoUsage   bool

	Fail       Failure
	After      int // pieces before it fails
	Status     int // of Refuse; 0: 503
	RetryAfter time.Duration

	Context int      // context window that the server reports, as vLLM does; 0: none
	Models  []string // nil: "test-model"
	Dim     int      // of embeddings; 0: 32
	// Next returns the script for a request, given its number, from 0, and its body; nil: this script. Calls are sequential.
	Next func(n int, request []byte) Script
}

// ScriptCall is a tool call of a script.
type ScriptCall struct{ ID, Name, Input string }

// Server is a provider with OpenAI's protocol that plays a script. Its methods may be called concurrently.
type Server struct {
	URL string // with /v1

	script    Script
	server    *httptest.Server
	turn      sync.Mutex
	n         int
	mu        sync.Mutex
	changed   chan struct{} // closed with each change of the counts
	counts    Counts
	opened    atomic.Int64
	requested [][]byte
}

// Counts are the requests that a server received.
type Counts struct {
	Requests   int // for answers
	Embeddings int // requests for vectors
	Running    int // answers that are being sent
	Cancelled  int // answers whose client disconnected before the end
	Finished   int // answers sent completely, including failures
	Tokens     int // pieces sent
}

// NewOpenAI starts a server. It is closed with its connections at the end of the test.
func NewOpenAI(t testing.TB, script Script) *Server {
	t.Helper()
	s := &Server{script: script, changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("POST /v1/embeddings", s.embeddings)
	mux.HandleFunc("GET /v1/models", s.models)
	s.server = httptest.NewUnstartedServer(mux)
	s.server.Config.ConnState = s.connState
	s.server.Start()
	t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	s.URL = s.server.URL + "/v1"
	return s
}

// Counts returns the counts so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Opened returns the number of connections so far.
func (s *Server) Opened() int { return int(s.opened.Load()) }

// Requests returns the bodies of the requests for answers, in order.
func (s *Server) Requests() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte(nil), s.requested...)
}

// Wait waits for the wanted counts, and fails the test after 20 s.
func (s *Server) Wait(t testing.TB, wanted func(Counts) bool) Counts {
	t.Helper()
	timeout := time.NewTimer(longTimeout)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		now, changed := s.counts, s.changed
		s.mu.Unlock()
		if wanted(now) {
			return now
		}
		select {
		case <-changed:
		case <-timeout.C:
			t.Fatalf("timeout: the counts are %+v", now)
		}
	}
}

func (s *Server) count(change func(*Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.counts)
	close(s.changed)
	s.changed = make(chan struct{})
}

// writef writes a part of a reply. Callers detect disconnected clients otherwise.
func writef(w io.Writer, format string, arguments ...any) {
	_, _ = fmt.Fprintf(w, format, arguments...)
}

func quoted(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func (s *Server) connState(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		s.opened.Add(1)
	}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	names := s.script.Models
	if names == nil {
		names = []string{"test-model"}
	}
	var all []map[string]any
	for _, name := range names {
		m := map[string]any{"id": name, "object": "model", "owned_by": "modeltest"}
		if s.script.Context > 0 {
			m["max_model_len"] = s.script.Context
		}
		all = append(all, m)
	}
	w.Header().Set("Content-Type", "application/json")
	writef(w, "%s", quoted(map[string]any{"object": "list", "data": all}))
}

// play returns the script of the next request.
func (s *Server) play(body []byte) Script {
	s.turn.Lock()
	defer s.turn.Unlock()
	n := s.n
	s.n++
	if s.script.Next != nil {
		return s.script.Next(n, body)
	}
	return s.script
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requested = append(s.requested, body)
	s.mu.Unlock()
	s.count(func(c *Counts) { c.Requests++; c.Running++ })
	complete := false
	defer func() {
		s.count(func(c *Counts) {
			c.Running--
			if complete {
				c.Finished++
			} else {
				c.Cancelled++
			}
		})
	}()
	complete = s.answer(w, r, s.play(body))
	if !complete && r.Context().Err() == nil {
		complete = true
		panic(http.ErrAbortHandler)
	}
}

// answer plays a script. It returns false if the client has gone, or if the connection must break.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, script Script) bool {
	if script.Fail == Refuse {
		status := script.Status
		if status == 0 {
			status = http.StatusServiceUnavailable
		}
		if script.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(script.RetryAfter.Seconds()))))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		writef(w, `{"error":{"message":"the script says so","type":"server_error","code":%d}}`, status)
		return true
	}
	w.Header().Set("Content-Type", "text/event-stream")
	c := http.NewResponseController(w)
	_ = c.Flush()
	deltas := script.deltas()
	for i, delta := range deltas {
		if script.Fail != "" && i == script.After {
			return s.fail(w, r, script.Fail)
		}
		pause := script.Every
		if i == 0 {
			pause = script.Wait
		}
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-r.Context().Done():
				return false
			}
		}
		writef(w, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1752571230,"model":"test-model",`+
			`"choices":[{"index":0,"delta":%s,"finish_reason":null}]}`+"\n\n", delta)
		if c.Flush() != nil || r.Context().Err() != nil {
			return false
		}
		s.count(func(c *Counts) { c.Tokens++ })
	}
	if script.Fail != "" {
		return s.fail(w, r, script.Fail)
	}
	stop := script.Stop
	if stop == "" {
		if stop = "stop"; len(script.Calls) > 0 {
			stop = "tool_calls"
		}
	}
	writef(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%s}]}\n\n", quoted(stop))
	if !script.NoUsage {
		writef(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":%d}}\n\n", len(deltas))
	}
	writef(w, "data: [DONE]\n\n")
	_ = c.Flush() // the end of the body follows separately, as most servers send it
	return true
}

// fail plays a failure within a stream.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, how Failure) bool {
	switch how {
	case Stall:
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return false
	case Broken:
		writef(w, "data: {\"error\":{\"message\":\"the script says so\",\"type\":\"server_error\",\"code\":500}}\n\n")
	case Junk:
		writef(w, "data: {\"choices\":[{]}\n\n")
	default:
		_ = http.NewResponseController(w).Flush()
		return false
	}
	return true
}

// deltas returns the pieces of a script in the format of the protocol.
func (x Script) deltas() (all []string) {
	for _, t := range x.Reasoning {
		all = append(all, `{"reasoning_content":`+quoted(t)+`}`)
	}
	tokens := x.Tokens
	if tokens == nil && len(x.Calls) == 0 {
		tokens = []string{"A", " sluice", " is", " a", " gate", " for", " water", "."}
	}
	for _, t := range tokens {
		all = append(all, `{"content":`+quoted(t)+`}`)
	}
	for i, call := range x.Calls {
		all = append(all, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}`,
			i, quoted(call.ID), quoted(call.Name), quoted(call.Input)))
	}
	return all
}

// embeddings returns similar vectors for texts with the same words.
func (s *Server) embeddings(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.count(func(c *Counts) { c.Embeddings++ })
	var asked struct {
		Input json.RawMessage `json:"input"`
	}
	_ = json.Unmarshal(body, &asked)
	var texts []string
	if json.Unmarshal(asked.Input, &texts) != nil {
		var one string
		_ = json.Unmarshal(asked.Input, &one)
		texts = []string{one}
	}
	var data []map[string]any
	for i, text := range texts {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": Vector(text, s.script.Dim)})
	}
	w.Header().Set("Content-Type", "application/json")
	writef(w, "%s", quoted(map[string]any{
		"object": "list", "model": "test-model", "data": data, "usage": map[string]int{"prompt_tokens": len(texts), "total_tokens": len(texts)},
	}))
}

// Vector returns the unit vector of a text, as the server computes it: the normalized sum of one per word. A dim of 0 is 32.
func Vector(text string, dim int) []float32 {
	if dim == 0 {
		dim = 32
	}
	sum := make([]float64, dim)
	for _, word := range append(strings.Fields(strings.ToLower(text)), "") {
		for i := range sum {
			h := fnv.New32a()
			writef(h, "%s %d", word, i)
			sum[i] += float64(h.Sum32()%2001)/1000 - 1
		}
	}
	norm := 0.0
	for _, x := range sum {
		norm += x * x
	}
	v := make([]float32, dim)
	for i, x := range sum {
		v[i] = float32(x / math.Sqrt(norm))
	}
	return v
}
