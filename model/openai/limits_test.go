package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/openai"
)

// pages starts a server that answers each path with a text, which may begin with a status.
func pages(t *testing.T, all map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := all[r.Method+" "+r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model string
		pages       map[string]string
		context     int
		want        model.Limits
		tokenizer   string
	}{
		{name: "llama.cpp", model: "any", pages: map[string]string{
			"GET /v1/models": `{"models":[{"name":"qwen"}],"object":"list","data":[{"id":"qwen","object":"model","owned_by":"llamacpp",` +
				`"meta":{"vocab_type":2,"n_vocab":151936,"n_ctx_train":40960,"n_embd":2560}}]}`,
			"GET /props": `{"default_generation_settings":{"id":0,"n_ctx":4096,"params":{}},"total_slots":1}`,
		}, want: model.Limits{Context: 4096}, tokenizer: "server"},
		{name: "llama.cpp that keeps its props", pages: map[string]string{
			"GET /v1/models": `{"data":[{"id":"qwen","owned_by":"llamacpp","meta":{"n_ctx_train":40960}}]}`,
		}, want: model.Limits{Context: 40960}, tokenizer: "estimate"},
		{name: "vLLM", model: "b", pages: map[string]string{
			"GET /v1/models": `{"data":[{"id":"a","max_model_len":1},{"id":"b","owned_by":"vllm","max_model_len":8192}]}`,
		}, want: model.Limits{Context: 8192}, tokenizer: "estimate"},
		{name: "OpenRouter", model: "openai/gpt-4o", pages: map[string]string{
			"GET /v1/models": `{"data":[{"id":"x"},{"id":"openai/gpt-4o","context_length":128000,"top_provider":{"max_completion_tokens":16384}}]}`,
		}, want: model.Limits{Context: 128000, Output: 16384}, tokenizer: "o200k"},
		{name: "Ollama with num_ctx", model: "llama3.2", pages: map[string]string{
			"GET /v1/models": `{"data":[{"id":"llama3.2:latest","owned_by":"library"},{"id":"x"}]}`,
			"POST /api/show": `{"parameters":"stop \"<|eot|>\"\nnum_ctx                        16384","model_info":{"llama.context_length":131072}}`,
		}, want: model.Limits{Context: 16384}, tokenizer: "estimate"},
		{name: "Ollama that runs", model: "llama3.2", pages: map[string]string{
			"GET /v1/models": `{"data":[{"id":"llama3.2","owned_by":"library"}]}`,
			"POST /api/show": `{"model_info":{"llama.context_length":131072}}`,
			"GET /api/ps":    `{"models":[{"name":"llama3.2:latest","context_length":32768}]}`,
		}, want: model.Limits{Context: 32768}, tokenizer: "estimate"},
		{name: "Ollama as it starts", model: "llama3.2", pages: map[string]string{
			"POST /api/show": `{"model_info":{"llama.context_length":131072}}`,
		}, want: model.Limits{Context: 4096}, tokenizer: "estimate"},
		{name: "set", model: "m", context: 2000, pages: map[string]string{
			"GET /v1/models": `{"data":[{"id":"m","max_model_len":8192}]}`,
		}, want: model.Limits{Context: 2000}, tokenizer: "estimate"},
		{name: "hostile", model: "m", pages: map[string]string{
			"GET /v1/models": `{"data":[{"id":"m","max_model_len":1e300,"context_length":-5,"context_window":"many"}]}`,
			"GET /props":     `{"default_generation_settings":{"n_ctx":null}}`, "POST /api/show": `[`,
		}, tokenizer: "estimate"},
		{name: "known", model: "gpt-4.1-mini", want: model.Limits{Context: 1047576, Output: 32768}, tokenizer: "o200k"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := open(t, openai.Options{URL: pages(t, c.pages), Model: c.model, Context: c.context})
			if diff := cmp.Diff(c.want, m.Limits(t.Context())); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if got := m.Tokenizer(t.Context()); got != c.tokenizer {
				t.Errorf("it counts by %s", got)
			}
		})
	}
}

// TestOfficialLimits checks that OpenAI is not asked for limits, which it does not report.
func TestOfficialLimits(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"gpt-4o-mini": 128000, "gpt-4": 8192, "gpt-5.1": 400000, "gpt-5-chat-latest": 128000, "o3-mini": 200000, "davinci": 0,
	} {
		m := open(t, openai.Options{Model: name, HTTP: &http.Client{Transport: refusing{t}}})
		if got := m.Limits(t.Context()).Context; got != want {
			t.Errorf("%s takes %d tokens", name, got)
		}
	}
}

type refusing struct{ t *testing.T }

func (r refusing) RoundTrip(q *http.Request) (*http.Response, error) {
	r.t.Errorf("asked %s", q.URL)
	return nil, io.EOF
}

// TestLimitsAreRequestedOnce requests limits concurrently. A server that reports none is only asked again after a while.
func TestLimitsAreRequestedOnce(t *testing.T) {
	t.Parallel()
	var asked, told atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			asked.Add(1)
			if told.Load() > 0 {
				_, _ = io.WriteString(w, `{"data":[{"id":"m","max_model_len":99}]}`)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer s.Close()
	m := open(t, openai.Options{URL: s.URL, Model: "m"})
	clock := openai.SetClock(m, time.Now())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { m.Limits(t.Context()) })
	}
	wg.Wait()
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	told.Store(1)
	if m.Limits(t.Context()).Context != 0 || asked.Load() != 1 {
		t.Error("asked again at once")
	}
	clock(time.Now().Add(time.Hour))
	for range 3 {
		if got := m.Limits(t.Context()).Context; got != 99 {
			t.Errorf("after an hour it takes %d tokens", got)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// texts are samples for the comparison of the estimate with a real tokenizer.
var texts = map[string]string{
	"English": "The sluice gate, which was built in 1894, regulates the flow of water between the upper and the lower basin; " +
		"its mechanism has been restored twice.",
	"German":   "Die Schleusenanlage wurde 1894 errichtet und regelt den Durchfluss zwischen Ober- und Unterwasser, außerdem dient sie dem Hochwasserschutz.",
	"French":   "L'écluse, construite en 1894, règle l'écoulement de l'eau entre le bassin supérieur et le bassin inférieur.",
	"Russian":  "Шлюз был построен в 1894 году и регулирует поток воды между верхним и нижним бассейном.",
	"Chinese":  "水閘建於一八九四年，調節上下游之間的水流，並曾兩度修復。",
	"Japanese": "この水門は1894年に建設され、上流と下流の間の水の流れを調整する。",
	"Arabic":   "بنيت بوابة السد في عام 1894 وتنظم تدفق المياه بين الحوضين.",
	"Go":       "func (s *server) watch(ctx context.Context) (context.Context, *watch) {\n\tctx, cancel := context.WithCancelCause(ctx)\n\treturn ctx, w\n}",
	"JSON":     `{"id":"chatcmpl-BxTvK3Ys","created":1752571230,"choices":[{"index":0,"delta":{"content":" sluice"}}]}`,
	"digits":   "3.14159265358979323846264338327950288419716939937510",
	"emoji":    "🙂 👩‍👩‍👧 🏳️‍🌈",
	"table":    "| gate | height |\n|------|--------|\n| North | 3.20 m |\n| South | 2.75 m |\n",
}

// TestEstimate checks that the estimate is above the count of real vocabularies, but not far above.
func TestEstimate(t *testing.T) {
	t.Parallel()
	estimated := open(t, openai.Options{URL: pages(t, nil), Model: "llama"})
	for _, name := range []string{"gpt-4o", "gpt-4"} {
		exact := open(t, openai.Options{URL: pages(t, nil), Model: name})
		for kind, text := range texts {
			got, want := estimated.Count(t.Context(), text), exact.Count(t.Context(), text)
			if got < want || got > 3*want {
				t.Errorf("%s: estimated %d tokens of %d (%s)", kind, got, want, name)
			}
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	m := open(t, openai.Options{URL: pages(t, nil), Model: "gpt-4o"})
	for text, want := range map[string]int{"": 0, "hello world": 2, "tiktoken is great!": 6} {
		if got := m.Count(t.Context(), text); got != want {
			t.Errorf("%q has %d tokens, not %d", text, got, want)
		}
	}
	// Long texts: if the time was quadratic, the test would exceed its timeout.
	for _, text := range []string{strings.Repeat("a", 1<<20), strings.Repeat("🙂", 1<<16), strings.Repeat("a ", 1<<16), strings.Repeat("\n", 1<<17)} {
		if got := m.Count(t.Context(), text); got < len(text)/64 {
			t.Errorf("%.8q of %d bytes has %d tokens", text, len(text), got)
		}
	}
}

// TestCountAsksLlama counts with llama.cpp's server, which gets each text once, and falls back to the estimate.
func TestCountAsksLlama(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent struct{ Content string }
		switch r.URL.Path {
		case "/props":
			_, _ = io.WriteString(w, `{"default_generation_settings":{"n_ctx":512}}`)
		case "/tokenize":
			asked.Add(1)
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || sent.Content == "broken" {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			_, _ = fmt.Fprintf(w, `{"tokens":[%s0]}`, strings.Repeat("7,", 41))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	m := open(t, openai.Options{URL: s.URL, Model: "m"})
	for range 3 {
		if got := m.Count(t.Context(), "a text"); got != 42 {
			t.Errorf("%d tokens", got)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	if got := m.Count(t.Context(), "broken"); got != 2 {
		t.Errorf("without the server it has %d tokens", got)
	}
	for i := range 600 { // more than are remembered
		m.Count(t.Context(), fmt.Sprint(i))
	}
	before := asked.Load()
	m.Count(t.Context(), "a text")
	if asked.Load() != before+1 {
		t.Error("nothing is ever forgotten")
	}
}
