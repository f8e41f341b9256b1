package modeltest

import (
	"encoding/json"
	"io"
	"maps"
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
	t      *testing.T
	r      *Recording
	url    string
	repeat bool // starts again after the last exchange

	mu    sync.Mutex
	next  int
	asked chan struct{}  // closed with the first request that is part of the recording
	gone  chan time.Time // the time when a client disconnected
	once  sync.Once
}

func newPlayer(t *testing.T, r *Recording) *player {
	p := &player{t: t, r: r, asked: make(chan struct{}), gone: make(chan time.Time, 1)}
	s := httptest.NewServer(p)
	t.Cleanup(func() {
		s.CloseClientConnections() // ends responses that are held
		s.Close()
	})
	p.url = s.URL
	return p
}

// ServeHTTP answers a request. Requests that are not recorded get status 404.
func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	x := p.nextExchange(r)
	if x == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	p.once.Do(func() { close(p.asked) })
	p.check(x, r, body)
	p.send(x, w, r)
}

// nextExchange returns the exchange for a request, or nil if none is recorded.
func (p *player) nextExchange(r *http.Request) *exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.repeat && p.next == len(p.r.exchanges) {
		p.next = 0
	}
	if p.next == len(p.r.exchanges) {
		for _, x := range p.r.exchanges {
			if x.path == r.URL.Path && x.method == r.Method {
				p.t.Errorf("%s %s: more requests than recorded", r.Method, r.URL.Path)
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
		p.t.Errorf("the URL contains the key: %s", r.URL)
	}
	if x.want == nil {
		return
	}
	var got any
	if err := json.Unmarshal(body, &got); err != nil {
		p.t.Errorf("the request is not JSON: %v", err)
	}
	for _, m := range missing("request", x.want, got) {
		p.t.Error(m)
	}
}

// send plays the response.
func (p *player) send(x *exchange, w http.ResponseWriter, r *http.Request) {
	if x.silent {
		p.waitDisconnected(r)
		return
	}
	maps.Copy(w.Header(), x.reply)
	w.WriteHeader(x.status)
	c := http.NewResponseController(w)
	if x.bytes > 0 || x.every > 0 || x.hold || x.aborted {
		_ = c.Flush() // selects chunked encoding
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
		p.waitDisconnected(r)
	case x.aborted:
		_ = c.Flush()
		panic(http.ErrAbortHandler)
	}
}

// parts splits the body into the parts to send.
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

// waitDisconnected waits until the client disconnects.
func (p *player) waitDisconnected(r *http.Request) {
	<-r.Context().Done()
	select {
	case p.gone <- time.Now():
	default:
	}
}

// checkDisconnected checks that the adapter ended the request soon after the given time.
func (p *player) checkDisconnected(t *testing.T, after time.Time) {
	t.Helper()
	select {
	case at := <-p.gone:
		// a cancelled run should free its connection within 100 ms; a busy machine gets more
		if late := at.Sub(after); late > time.Second {
			t.Errorf("the request ended %v after its cancellation", late)
		}
	case <-time.After(longTimeout):
		t.Error("the request did not end")
	}
}

// finished checks that all recorded requests were sent.
func (p *player) finished(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next != len(p.r.exchanges) {
		t.Errorf("%d of %d requests were sent", p.next, len(p.r.exchanges))
	}
}
