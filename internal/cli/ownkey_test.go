package cli_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/program"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// provider is a scripted server of both protocols. The name of the model selects what it does.
type provider struct {
	*httptest.Server
	elsewhere string // where it redirects

	mu   sync.Mutex
	keys map[string]map[string]int // requests by model and key
}

func newProvider(t *testing.T, elsewhere string) *provider {
	p := &provider{elsewhere: elsewhere, keys: map[string]map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	var body struct{ Model string }
	raw, _ := io.ReadAll(r.Body)
	if json.Unmarshal(raw, &body) != nil {
		http.NotFound(w, r) // lists of models
		return
	}
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key")
	p.mu.Lock()
	if p.keys[body.Model] == nil {
		p.keys[body.Model] = map[string]int{}
	}
	p.keys[body.Model][key]++
	p.mu.Unlock()
	flush := func(s string) { _, _ = io.WriteString(w, s); w.(http.Flusher).Flush() }
	piece := func(text string) {
		flush(`data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n")
	}
	if strings.HasPrefix(r.URL.Path, "/v1/messages") {
		piece = func(text string) {
			flush(`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}` + "\n\n")
		}
	}
	refuse := func(status int) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","code":"invalid_api_key","message":"Incorrect API key provided: %s. You can find it in your account."}}`, key)
	}
	behaviour := body.Model
	if behaviour == "m-endless" && bytes.Contains(raw, []byte("response_format")) { // a judgement before the answer
		behaviour = "m-good"
	}
	switch behaviour {
	case "m-401":
		refuse(http.StatusUnauthorized)
	case "m-429":
		refuse(http.StatusTooManyRequests)
	case "m-500":
		refuse(http.StatusInternalServerError)
	case "m-redirect":
		http.Redirect(w, r, p.elsewhere+"/?key="+key, http.StatusTemporaryRedirect)
	case "m-hang":
		<-r.Context().Done()
	case "m-junk":
		flush("data: {" + key + "\n\n")
	case "m-cut":
		piece("A ship pays")
		panic(http.ErrAbortHandler)
	case "m-broken":
		flush(`data: {"type":"error","error":{"type":"server_error","message":"The key ` + key + ` failed"}}` + "\n\n")
	case "m-endless":
		piece("A ship pays 12 euros for each metre of its length ⟦1⟧. ")
		for tick := time.NewTicker(20 * time.Millisecond); r.Context().Err() == nil; <-tick.C {
			piece("Fishing boats ")
		}
	default:
		if strings.HasPrefix(r.URL.Path, "/v1/messages") {
			flush(`data: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}` + "\n\n" +
				`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n")
			piece("A ship pays 12 euros for each metre of its length ⟦1⟧.")
			flush(`data: {"type":"content_block_stop","index":0}` + "\n\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}` +
				"\n\n" + `data: {"type":"message_stop"}` + "\n\n")
			return
		}
		piece("A ship pays 12 euros for each metre of its length ⟦1⟧.")
		flush(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
	}
}

// TestKeysOfCallersAreNotKept asks with a key of the caller, through every kind of failure, and then searches for the keys in everything
// that the server wrote: replies, output, metrics, files and its environment. The keys only reach the provider that they are for.
func TestKeysOfCallersAreNotKept(t *testing.T) {
	folder, data := docs(t), t.TempDir()
	const platform = "sk-platform-0123456789abcdefghij"
	t.Setenv("OPENAI_API_KEY", platform)
	t.Setenv("ANTHROPIC_API_KEY", platform)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("a redirect was followed: %s", r.URL) }))
	t.Cleanup(elsewhere.Close)
	providers := map[string]*provider{"openai": newProvider(t, elsewhere.URL), "anthropic": newProvider(t, elsewhere.URL)}
	args := []string{"serve", "--addr=127.0.0.1:0", "--log-level=debug", "--docs=" + folder, "--data=" + data, "--own-keys=configured", "--model-stall=2s", "--deadline=60s", "--model=openai", "--model=anthropic",
		"--model-url=" + providers["openai"].URL + "/v1", "--model-url=" + providers["anthropic"].URL, "--model-name=m-platform", "--model-name=m-platform"}
	s := program.Serve(t, program.Command(t, args...))
	var keys []string
	var replies bytes.Buffer
	ask := func(model, path string, header map[string]string) (run string, reply string) {
		body := fmt.Sprintf(`{"question":"What does a ship pay for each metre?","model":%q}`, model)
		if path != "/functions/v1/rag" {
			body = `{"query":"What does a ship pay?","mode":"direct","no_cache":true}`
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		for k, v := range header {
			req.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		run = res.Header.Get("Sluice-Run-Id")
		var all bytes.Buffer
		lines := bufio.NewReader(res.Body)
		for {
			line, err := lines.ReadString('\n')
			all.WriteString(line)
			if err != nil || model == "m-endless" && strings.Contains(line, "Fishing") {
				break
			}
		}
		fmt.Fprintf(&replies, "%v\n%s", res.Header, all.Bytes())
		return run, all.String()
	}
	newKey := func(kind, model string) string {
		key := fmt.Sprintf("sk-caller-%s-%s-Zq7Xw2Lk9Pv4Rt8N", kind, model)
		keys = append(keys, key)
		return key
	}
	for kind, p := range providers {
		for _, model := range []string{"m-good", "m-401", "m-429", "m-500", "m-redirect", "m-hang", "m-junk", "m-cut", "m-broken"} {
			key := newKey(kind, model)
			_, reply := ask(model, "/functions/v1/rag", map[string]string{"x-" + kind + "-key": key})
			want := []string{fmt.Sprintf(`"type":"model_info","provider":%q,"model":%q,"mode":"byok"`, kind, model)}
			if model == "m-good" {
				want = append(want, "12 euros", `"phase":"completed"`)
			} else if model != "m-cut" {
				want = append(want, `"type":"error"`)
			}
			for _, w := range want {
				if !strings.Contains(reply, w) {
					t.Errorf("%s, %s: no %s in …%s", kind, model, w, reply[max(0, len(reply)-1500):])
				}
			}
			p.mu.Lock()
			if got := p.keys[model]; got[key] == 0 || len(got) != 1 {
				t.Errorf("%s, %s: requests by key %v", kind, model, got)
			}
			p.mu.Unlock()
		}
		for other, q := range providers {
			q.mu.Lock()
			for model, by := range q.keys {
				for key := range by {
					if strings.HasPrefix(key, "sk-caller-") && !strings.HasPrefix(key, "sk-caller-"+other+"-") {
						t.Errorf("%s got the key of another provider for %s", other, model)
					}
				}
			}
			q.mu.Unlock()
		}
	}
	// Without a key, and in a protocol without keys of callers, the platform's model answers, whatever was asked for.
	for path, key := range map[string]string{"/functions/v1/rag": "", "/api/query/stream": newKey("openai", "m-forge")} {
		header := map[string]string{}
		if key != "" {
			header["x-openai-key"] = key
		}
		_, reply := ask("m-other", path, header)
		if !strings.Contains(reply, "12 euros") || path == "/functions/v1/rag" && !strings.Contains(reply, `"provider":"openai","model":"m-platform","mode":"platform"`) {
			t.Errorf("%s without a key of its own:\n%s", path, reply)
		}
	}
	if got := providers["openai"].keys; len(got["m-other"]) != 0 || len(got["m-platform"]) != 1 || got["m-platform"][platform] == 0 {
		t.Errorf("requests by model and key: %v", got)
	}
	// What is refused before the stream.
	for name, header := range map[string]map[string]string{
		"both": {"x-openai-key": newKey("openai", "m-both"), "x-anthropic-key": newKey("anthropic", "m-both")}, "empty": {"x-openai-key": ""},
		"long": {"x-openai-key": newKey("openai", "m-long") + strings.Repeat("a", 600)}, "blanks": {"x-anthropic-key": newKey("anthropic", "m-blank") + " and more"},
	} {
		if run, reply := ask("m-refused", "/functions/v1/rag", header); run != "" || !strings.Contains(reply, `"code":"INVALID_REQUEST"`) {
			t.Errorf("%s: %s", name, reply)
		}
	}
	// The run of a killed server does not go on without the key.
	key := newKey("openai", "m-endless")
	run, _ := ask("m-endless", "/functions/v1/rag", map[string]string{"x-openai-key": key})
	fetch := func(path string) string {
		res, err := http.Get(s.URL + path)
		require.NoError(t, err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		replies.Write(b)
		return string(b)
	}
	metrics := fetch("/metrics")
	if !strings.Contains(metrics, `model="own key"`) || strings.Contains(metrics, "m-good") {
		t.Errorf("metrics name the models of callers:\n%s", metrics)
	}
	environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.Process.Pid)) // only on Linux
	s.Kill()
	written := s.Output() + string(environment)
	s = program.Serve(t, program.Command(t, args...))
	for _, protocol := range []string{"ragevents", "forge", "knowledge"} {
		if reply := fetch("/runs/" + run + "/stream?protocol=" + protocol); !strings.Contains(reply, "the server restarted") {
			t.Errorf("%s after a restart: …%s", protocol, reply[max(0, len(reply)-500):])
		}
	}
	s.Kill()
	written += s.Output() + replies.String()
	files := 0
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		files++
		written += path + "\n" + string(b)
		return err
	})
	if err != nil || files < 5 {
		t.Fatalf("%d files, %v", files, err)
	}
	for _, key := range keys {
		for _, form := range []string{key, key[len(key)-16:], base64.StdEncoding.EncodeToString([]byte(key)), base64.StdEncoding.EncodeToString([]byte("Bearer " + key))} {
			if at := strings.Index(written, form); at >= 0 {
				t.Errorf("a key was written: …%q…", written[max(0, at-200):min(len(written), at+80)])
				break
			}
		}
	}
	for _, w := range []string{run, "m-endless", "listening on", `"level":"DEBUG"`, string(environment)} {
		if !strings.Contains(written, w) {
			t.Errorf("%q is not in what was written, so the search was incomplete", w)
		}
	}
}
