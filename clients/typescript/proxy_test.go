package typescript_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// serveProxy starts a proxy that spoils what it passes on as the start of the path says: /KEY/WHAT/... where KEY is the test's
// own and WHAT is one of
//
//	plain            nothing is spoilt
//	frames-N-END-T   each stream ends behind N events; T times, 0: always
//	bytes-N-END-T    each stream ends behind N bytes
//	packed-N-END-T   the same of a compressed stream
//	hang-N-END-T     each stream says nothing more behind N events
//	again-N-END-T    each stream is told from its start, however it is asked for, and ends behind N events
//	status-N-END-T   each request is refused with the status N, and Retry-After of END unless it is "none"
//	drop-0-END-T     each request reaches the server, and its response is lost
//
// END is "clean", as after a last chunk, or "reset". GET /KEY/counts tells how many requests of each method and path there were.
func serveProxy(t *testing.T, target string) string {
	t.Helper()
	p := &proxy{target: target, seen: map[string]int{}, counts: map[string]map[string]int{}, closed: make(chan struct{})}
	s := httptest.NewServer(p)
	t.Cleanup(func() {
		close(p.closed)
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

type proxy struct {
	target string
	closed chan struct{}

	mu     sync.Mutex
	seen   map[string]int            // by key and what
	counts map[string]map[string]int // by key
}

// fate is what becomes of a request.
type fate struct {
	kind string
	n    int
	end  string
}

func (p *proxy) fate(key, what, request string) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts[key] == nil {
		p.counts[key] = map[string]int{}
	}
	p.counts[key][request]++
	parts := strings.Split(what, "-")
	if len(parts) != 4 {
		return fate{kind: "plain"}
	}
	n, _ := strconv.Atoi(parts[1])
	times, _ := strconv.Atoi(parts[3])
	seen := p.seen[key+"/"+what]
	p.seen[key+"/"+what]++
	if times > 0 && seen >= times {
		return fate{kind: "plain"}
	}
	return fate{parts[0], n, parts[2]}
}

// ServeHTTP implements [http.Handler].
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 3)
	if len(parts) == 2 && parts[1] == "counts" {
		p.mu.Lock()
		defer p.mu.Unlock()
		fmt.Fprintf(w, "{")
		for request, n := range p.counts[parts[0]] {
			fmt.Fprintf(w, "%q:%d,", request, n)
		}
		fmt.Fprintf(w, `"":0}`)
		return
	}
	if len(parts) < 3 {
		status(w, http.StatusNotFound, "")
		return
	}
	f := p.fate(parts[0], parts[1], r.Method+" /"+parts[2])
	if f.kind == "status" {
		after := f.end
		if after == "none" {
			after = ""
		}
		status(w, f.n, after)
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.target+"/"+parts[2]+"?"+r.URL.RawQuery, r.Body)
	if err != nil {
		status(w, http.StatusBadGateway, "")
		return
	}
	req.Header = r.Header.Clone()
	if f.kind != "packed" && f.kind != "plain" {
		req.Header.Set("Accept-Encoding", "identity")
	}
	if f.kind == "again" {
		req.Header.Del("Last-Event-ID")
	}
	res, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	if f.kind == "drop" {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	_ = http.NewResponseController(w).Flush()
	p.pass(w, r, res, f)
}

// pass copies the body to where its fate ends it.
func (p *proxy) pass(w http.ResponseWriter, r *http.Request, res *http.Response, f fate) {
	streams := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	src, frames := bufio.NewReader(res.Body), 0
	rc := http.NewResponseController(w)
	for sent := 0; ; {
		if cut := streams && f.kind != "plain"; cut && (f.kind == "bytes" || f.kind == "packed") && sent >= f.n || cut && f.kind != "bytes" && f.kind != "packed" && frames >= f.n {
			if f.kind == "hang" {
				select {
				case <-r.Context().Done():
				case <-p.closed:
				}
			}
			if f.end == "reset" {
				panic(http.ErrAbortHandler)
			}
			return
		}
		chunk, err := p.next(src, f, f.n-sent)
		sent += len(chunk)
		if bytes.Contains(chunk, []byte("\ndata: ")) {
			frames++
		}
		if _, werr := w.Write(chunk); werr != nil {
			return
		}
		_ = rc.Flush()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// next reads an event with its blank line, or what there is of so many bytes.
func (p *proxy) next(src *bufio.Reader, f fate, left int) ([]byte, error) {
	switch f.kind {
	case "bytes", "packed":
		buf := make([]byte, max(left, 1))
		n, err := src.Read(buf)
		return buf[:n], err
	case "plain":
		buf := make([]byte, 32<<10)
		n, err := src.Read(buf)
		return buf[:n], err
	}
	var chunk []byte
	for {
		line, err := src.ReadSlice('\n')
		chunk = append(chunk, line...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil || string(line) == "\n" {
			return chunk, err
		}
	}
}
