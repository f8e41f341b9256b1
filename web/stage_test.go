package web_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// stage is everything that the scenarios use: eight servers, an OpenID provider, a scripted model, and a proxy that serves made-up runs.
type stage struct {
	main, empty, keyed, fragile *program
	fresh, library              *program // scenarios upload documents; the first has none before
	folder                      string   // whose documents the library has; a scenario changes them
	federated                   *program // people log in at the provider
	sourced                     *program // has no documents; scenarios add sources
	places                      string   // a folder for those sources
	keeper                      string   // a key for sourced, with the scopes admin and tenants
	provider                    string   // address
	key, operator               string   // for keyed; the second has the scopes admin and tenants
	synthetic, control          string   // addresses
	site, stranger              string   // pages of other origins with the chat; the public key allows the first one

	mu      sync.Mutex
	scripts map[string]*script // by a part of the question
	runs    map[string]*madeUp // by id
}

// script is what the model writes for a question.
type script struct {
	Match  string
	Pieces []string
	Every  int // milliseconds between two pieces
	Hold   int // the number of pieces after which it waits for a release; 0: never

	released chan struct{}
	once     sync.Once
}

// madeUp is a run whose events are made up. They are sent at a pace.
type madeUp struct {
	Run    string
	Events []json.RawMessage
	Every  int // milliseconds between two events
	After  int // the number of events that are sent at once
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{scripts: map[string]*script{}, runs: map[string]*madeUp{}}
	model := httptest.NewServer(http.HandlerFunc(s.complete))
	t.Cleanup(model.Close)
	binary := filepath.Join(t.TempDir(), "sluice")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "../cmd/sluice").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	docs := writeAll(t, documents)
	withModel := []string{"--model-url=" + model.URL + "/v1", "--model-name=scripted", "--judge=none"}
	keys, sourced := t.TempDir(), t.TempDir()
	for key, flags := range map[*string][]string{&s.key: {keys, "--account=alice", "--scope=ask,read,write"}, &s.operator: {keys, "--account=olga", "--scope=admin,tenants"}, &s.keeper: {sourced, "--account=kim", "--scope=admin,tenants"}} {
		text, err := exec.Command(binary, append([]string{"keys", "add", "--data=" + flags[0]}, flags[1:]...)...).Output()
		if err != nil {
			t.Fatal("keys add: ", err)
		}
		*key = strings.TrimSpace(string(text))
	}
	s.main = &program{binary: binary, args: append([]string{"--data=" + t.TempDir(), "--docs=" + docs}, withModel...)}
	if *screenshots != "" { // of the quick start
		s.main.args = []string{"--data=" + t.TempDir(), "--docs=../docs"}
	}
	for _, p := range []**program{&s.empty, &s.fresh, &s.library} {
		*p = &program{binary: binary, args: []string{"--data=" + t.TempDir()}}
	}
	s.folder = writeAll(t, map[string]string{"tides.pdf": pdfOf("High water is at noon on the quay."), "moorings.md": "# Moorings\n\nThe old mooring holds two tons.\n", "torn.pdf": "%PDF-1.7 and nothing else"})
	s.library.args = append(s.library.args, "--docs="+s.folder)
	s.keyed = &program{binary: binary, args: append([]string{"--data=" + keys, "--docs=" + docs}, withModel...)}
	s.fragile = &program{binary: binary, args: append([]string{"--data=" + t.TempDir(), "--docs=" + docs}, withModel...)}
	s.places = t.TempDir()
	s.sourced = &program{binary: binary, args: []string{"--data=" + sourced, "--source-folder=" + filepath.Join(s.places, "shared")}}
	provider, address := newProvider(t)
	s.provider = address
	s.federated = &program{binary: binary, args: []string{"--data=" + t.TempDir(), "--docs=" + docs, "--oidc-issuer=" + address, "--oidc-client-id=page", "--oidc-name=Example", "--oidc-default-role=ask,read"}}
	for _, p := range []*program{s.main, s.empty, s.fresh, s.library, s.keyed, s.fragile, s.federated, s.sourced} {
		require.NoError(t, p.start())
		t.Cleanup(p.kill)
	}
	provider.clients["page"] = storage.NativeClient("page", s.federated.url+"/auth/oidc/callback")
	s.serve(t)
	s.openSites(t, keys)
	return s
}

// openSites opens two web sites with the chat. Their pages have a strict policy. The parameter c is the collection.
func (s *stage) openSites(t *testing.T, keys string) {
	var public string
	page := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src "+s.keyed.url+"; connect-src "+s.keyed.url+"; require-trusted-types-for 'script'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Site</title><main><h1>Our site</h1><div id="here"></div></main><script src="%s/embed.js" data-collection="%s" data-key="%s" data-heading="Ask us" %s></script>`,
			s.keyed.url, html.EscapeString(r.FormValue("c")), public, map[bool]string{true: `data-target="#here"`}[r.FormValue("inline") != ""])
	}
	for _, address := range []*string{&s.site, &s.stranger} {
		server := httptest.NewServer(http.HandlerFunc(page))
		t.Cleanup(server.Close)
		*address = server.URL
	}
	key, err := exec.Command(s.keyed.binary, "keys", "add", "--data="+keys, "--account=site", "--scope=ask", "--collections=default", "--origin="+s.site).Output()
	if err != nil {
		t.Fatal("keys add: ", err)
	}
	public = strings.TrimSpace(string(key))
}

// serve starts what the scenarios call, and the proxy of the made-up runs.
func (s *stage) serve(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /script", func(_ http.ResponseWriter, r *http.Request) {
		sc := &script{released: make(chan struct{})}
		_ = json.NewDecoder(r.Body).Decode(sc)
		s.mu.Lock()
		s.scripts[sc.Match] = sc
		s.mu.Unlock()
	})
	mux.HandleFunc("POST /release", func(_ http.ResponseWriter, r *http.Request) {
		match, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		if sc := s.scripts[string(match)]; sc != nil {
			sc.once.Do(func() { close(sc.released) })
		}
		s.mu.Unlock()
	})
	mux.HandleFunc("POST /run", func(_ http.ResponseWriter, r *http.Request) {
		m := new(madeUp)
		_ = json.NewDecoder(r.Body).Decode(m)
		s.mu.Lock()
		s.runs[m.Run] = m
		s.mu.Unlock()
	})
	mux.HandleFunc("POST /kill", func(http.ResponseWriter, *http.Request) { s.fragile.kill() })
	mux.HandleFunc("POST /start", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.fragile.start(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	control := httptest.NewServer(mux)
	t.Cleanup(control.Close)
	s.control = control.URL

	target, err := url.Parse(s.main.url)
	require.NoError(t, err)
	pass := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(target)
		p.Out.Host = p.In.Host
	}}
	front := http.NewServeMux()
	front.Handle("/", pass)
	front.HandleFunc("GET /runs/{id}/stream", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		m := s.runs[r.PathValue("id")]
		s.mu.Unlock()
		if m == nil {
			pass.ServeHTTP(w, r)
			return
		}
		m.stream(w, r)
	})
	proxy := httptest.NewServer(front)
	t.Cleanup(proxy.CloseClientConnections)
	s.synthetic = proxy.URL
}

func (m *madeUp) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Sluice-Run-Id", m.Run)
	began := time.Now()
	for i, e := range m.Events {
		if i >= m.After && m.Every > 0 {
			wait := time.Duration(i-m.After)*time.Duration(m.Every)*time.Millisecond - time.Since(began)
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprintf(w, "id: %d\ndata: %s\n\n", i+1, e)
		if i+1 >= m.After {
			w.(http.Flusher).Flush()
		}
	}
}

// complete is the model: a server of OpenAI's protocol. A question without a script gets one sentence with a citation.
func (s *stage) complete(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost {
		fmt.Fprint(w, `{"data":[{"id":"scripted"}]}`)
		return
	}
	sc := s.scriptFor(string(body))
	for i, p := range sc.Pieces {
		if sc.Hold > 0 && i == sc.Hold {
			select {
			case <-sc.released:
			case <-r.Context().Done():
				return
			}
		}
		if sc.Every > 0 && i > 0 {
			select {
			case <-time.After(time.Duration(sc.Every) * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		text, _ := json.Marshal(p)
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":%s}}]}`+"\n\n", text)
		w.(http.Flusher).Flush()
	}
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// scriptFor returns the script whose part of a question comes last in the prompt, because earlier questions of a session come before.
func (s *stage) scriptFor(prompt string) *script {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, at := &script{Pieces: []string{"A ship pays 12 euros ", "for each metre of its length ⟦1⟧."}}, -1
	for match, sc := range s.scripts {
		if i := strings.LastIndex(prompt, match); i > at {
			found, at = sc, i
		}
	}
	return found
}
