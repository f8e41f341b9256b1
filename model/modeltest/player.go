package modeltest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// player is a server that plays a recording.
type player struct {
	t     *testing.T
	r     *Recording
	url   string
	again bool // plays it again and again

	mu    sync.Mutex
	next  int
	asked chan struct{} // closed with the first request that is part of the recording
	gone  chan time.Time
	once  sync.Once
}

func newPlayer(t *testing.T, r *Recording) *player {
	p := &player{t: t, r: r, asked: make(chan struct{}), gone: make(chan time.Time, 1)}
	s := httptest.NewServer(p)
	t.Cleanup(func() {
		s.CloseClientConnections() // a response that is held ends by this
		s.Close()
	})
	p.url = s.URL
	return p
}

// ServeHTTP answers a request. Requests that are not recorded get status 404.
func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	x := p.take(r)
	if x == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	p.once.Do(func() { close(p.asked) })
	p.check(x, r, body)
	p.send(x, w, r)
}

// take returns the exchange of a request.
func (p *player) take(r *http.Request) *exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.again && p.next == len(p.r.exchanges) {
		p.next = 0
	}
	if p.next == len(p.r.exchanges) {
		for _, x := range p.r.exchanges {
			if x.path == r.URL.Path && x.method == r.Method {
				p.t.Errorf("%s %s was asked once more than is recorded", r.Method, r.URL.Path)
			}
		}
		return nil
	}
	x := &p.r.exchanges[p.next]
	if x.path == "" && r.Method != http.MethodPost || x.path != "" && (x.path != r.URL.Path || x.method != r.Method) {
		return nil
	}
	p.next++
	return x
}

// check compares a request with the expected one.
func (p *player) check(x *exchange, r *http.Request, body []byte) {
	for name, want := range x.headers {
		for _, v := range want {
			if v = strings.ReplaceAll(v, "{{key}}", Key); !slices.Contains(r.Header[name], v) {
				p.t.Errorf("the header %s is %q, not %q", name, r.Header[name], v)
			}
		}
	}
	if strings.Contains(r.URL.String(), Key) {
		p.t.Errorf("the key stands in the address %s", r.URL)
	}
	if x.holds == nil {
		return
	}
	var got any
	if err := json.Unmarshal(body, &got); err != nil {
		p.t.Errorf("the request is not JSON: %v", err)
	}
	for _, m := range missing("request", x.holds, got) {
		p.t.Error(m)
	}
}

// send plays the response.
func (p *player) send(x *exchange, w http.ResponseWriter, r *http.Request) {
	if x.silent {
		p.untilGone(r)
		return
	}
	for name, values := range x.reply {
		w.Header()[name] = values
	}
	w.WriteHeader(x.status)
	c := http.NewResponseController(w)
	if x.bytes > 0 || x.every > 0 || x.hold || x.aborted {
		_ = c.Flush() // and so in chunks
	}
	for _, part := range x.parts() {
		if _, err := io.WriteString(w, part); err != nil {
			break
		}
		if x.bytes > 0 || x.every > 0 {
			_ = c.Flush()
		}
		if x.every > 0 {
			select {
			case <-time.After(x.every):
			case <-r.Context().Done():
			}
		}
	}
	switch {
	case x.hold:
		_ = c.Flush()
		p.untilGone(r)
	case x.aborted:
		_ = c.Flush()
		panic(http.ErrAbortHandler)
	}
}

// parts cuts the body as it is to be sent.
func (x *exchange) parts() []string {
	switch {
	case x.aborted:
		return []string{strings.TrimRight(x.body, "\n")}
	case x.bytes > 0:
		var parts []string
		for c := range slices.Chunk([]byte(x.body), x.bytes) {
			parts = append(parts, string(c))
		}
		return parts
	case x.every > 0:
		return strings.SplitAfter(x.body, "\n")
	}
	return []string{x.body}
}

func (p *player) untilGone(r *http.Request) {
	<-r.Context().Done()
	select {
	case p.gone <- time.Now():
	default:
	}
}

// wentAway checks that the adapter let the request go, and soon after this time.
func (p *player) wentAway(t *testing.T, after time.Time) {
	t.Helper()
	select {
	case at := <-p.gone:
		// a cancelled run should free its connection within 100 ms; a busy machine gets more
		if late := at.Sub(after); late > time.Second {
			t.Errorf("the provider's side ended %v late", late)
		}
	case <-time.After(patient):
		t.Error("the provider's side never ended")
	}
}

// finished checks that all recorded requests were sent.
func (p *player) finished(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next != len(p.r.exchanges) {
		t.Errorf("%d of %d requests were made", p.next, len(p.r.exchanges))
	}
}
