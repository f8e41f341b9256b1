package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/openai"
)

func startProvider(t *testing.T, rate float64, tokens int) (*provider, string) {
	t.Helper()
	p := newProvider(rate, tokens)
	s := httptest.NewUnstartedServer(p)
	s.Config.ConnState = p.track
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return p, s.URL
}

// chunk is an event of a streamed chat completion.
type chunk struct {
	Object  string `json:"object"`
	Choices []struct {
		Delta struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
	} `json:"usage"`
}

func complete(t *testing.T, url, body string) (status int, data []string) {
	t.Helper()
	res, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = append(data, d)
		}
	}
	return res.StatusCode, data
}

func TestProviderSpeaksTheProtocol(t *testing.T) {
	p, url := startProvider(t, 5000, 0)
	before := time.Now().UnixNano()
	_, data := complete(t, url, `{"model":"bench","stream":true,"max_tokens":17,"stream_options":{"include_usage":true},
		"messages":[{"role":"user","content":"What burns in lamp 7?"}]}`)
	after := time.Now().UnixNano()
	if len(data) != 1+17+3 || data[len(data)-1] != "[DONE]" {
		t.Fatalf("%d events, the last %q", len(data), data[len(data)-1])
	}
	var all []chunk
	for _, d := range data[:len(data)-1] {
		var c chunk
		if err := json.Unmarshal([]byte(d), &c); err != nil || c.Object != "chat.completion.chunk" {
			t.Fatalf("%v: %s", err, d)
		}
		all = append(all, c)
	}
	if role := all[0].Choices[0].Delta; role.Role != "assistant" || role.Content != "" {
		t.Errorf("begins with %+v", role)
	}
	text := ""
	for _, c := range all[1:18] {
		if c.Choices[0].FinishReason != nil {
			t.Errorf("ends early: %+v", c)
		}
		text += c.Choices[0].Delta.Content
	}
	want := regexp.MustCompile(`^ Lamp @\d{19}( @\d{19}){11}\.⟦1⟧ Lamp @\d{19} @\d{19}$`)
	if !want.MatchString(text) {
		t.Errorf("says %q", text)
	}
	last := int64(0)
	for _, digits := range regexp.MustCompile(`\d{19}`).FindAllString(text, -1) {
		at, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || at < before || at > after || at < last {
			t.Errorf("sent at %d, after %d: not in order between %d and %d", at, last, before, after)
		}
		last = at
	}
	if r := all[18].Choices[0].FinishReason; r == nil || *r != "length" {
		t.Errorf("finishes with %v", r)
	}
	if u := all[19].Usage; u == nil || u.CompletionTokens != 17 || u.TotalTokens != u.PromptTokens+17 || len(all[19].Choices) != 0 {
		t.Errorf("usage %+v", all[19])
	}
	if s := p.stats(); s.Requests != 1 || s.Open != 0 || s.Tokens != 17 || s.Dials != 1 || len(s.Cancelled) != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestProviderRejectsInvalidRequests(t *testing.T) {
	_, url := startProvider(t, 5000, 2)
	for _, body := range []string{``, `{`, `{"messages":[]}`, `{"stream":false}`} {
		if status, _ := complete(t, url, body); status != http.StatusBadRequest {
			t.Errorf("%q: status %d", body, status)
		}
	}
	res, err := http.Get(url + "/props")
	require.NoError(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("/props: status %d", res.StatusCode)
	}
}

// TestProviderWorksWithOpenAIClient reads an answer with the client that the server uses.
func TestProviderWorksWithOpenAIClient(t *testing.T) {
	p, url := startProvider(t, 5000, 30)
	chat, err := openai.New(openai.Options{URL: url + "/v1"})
	require.NoError(t, err)
	var used []model.Usage
	ctx := model.WithTrace(t.Context(), &model.Trace{Used: func(_ string, u model.Usage) { used = append(used, u) }})
	text, stop, pieces := "", model.StopReason(""), 0
	for piece, err := range chat.Complete(ctx, userMessage("What burns in lamp 7?")) {
		require.NoError(t, err)
		if piece.Text != "" {
			pieces++
		}
		text, stop = text+piece.Text, piece.Stop
	}
	if pieces != 30 || stop != model.StopEnd || strings.Count(text, ".⟦1⟧") != 2 || strings.Count(text, "@") != 24 {
		t.Errorf("%d pieces, stop %q: %s", pieces, stop, text)
	}
	if diff := cmp.Diff([]model.Usage{{Input: 100, Output: 30}}, used); diff != "" {
		t.Errorf("usage: %s", diff)
	}
	if name := chat.Name(); name != "bench" {
		t.Errorf("its name is %q", name)
	}
	if s := p.stats(); s.Requests != 1 || s.Tokens != 30 || len(s.Cancelled) != 0 {
		t.Errorf("stats %+v", s)
	}
}

func userMessage(question string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: question}}}
}

func TestProviderRecordsCancelledRequests(t *testing.T) {
	p := newProvider(1000, 0)
	over := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.ServeHTTP(w, r)
		if r.Method == http.MethodPost {
			over <- struct{}{}
		}
	}))
	t.Cleanup(s.Close)
	chat, err := openai.New(openai.Options{URL: s.URL + "/v1"})
	require.NoError(t, err)
	before := time.Now().UnixNano()
	for piece, err := range chat.Complete(t.Context(), userMessage("Lamp 1? No, lamp 2? What burns in lamp 7?")) {
		require.NoError(t, err)
		if piece.Text != "" {
			break
		}
	}
	<-over
	seen := p.stats()
	if at := seen.Cancelled["7"]; len(seen.Cancelled) != 1 || seen.Open != 0 || at < before || at > time.Now().UnixNano() {
		t.Errorf("stats %+v", seen)
	}
}

// TestProxyForwardsStream runs two providers and the proxy within the process of the test. The providers get requests in turn.
func TestProxyForwardsStream(t *testing.T) {
	var providers []string
	for _, tokens := range []int{4, 6} {
		provider, _ := process(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
			return serveProvider(ctx, 5000, tokens, in, out)
		})
		providers = append(providers, "http://"+provider)
	}
	relay, control := process(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return serveProxy(ctx, providers, in, out)
	})
	got := map[int]int{}
	for range 4 {
		_, data := complete(t, "http://"+relay, `{"stream":true}`)
		got[len(data)]++
	}
	if d := cmp.Diff(map[int]int{1 + 4 + 2: 2, 1 + 6 + 2: 2}, got); d != "" {
		t.Errorf("replies by their length (-want +got)\n%s", d)
	}
	res, err := http.Get("http://" + control + "/usage")
	require.NoError(t, err)
	defer res.Body.Close()
	var u processUsage
	if err := json.NewDecoder(res.Body).Decode(&u); err != nil || u.CPU <= 0 {
		t.Errorf("usage %+v, %v", u, err)
	}
}

// process runs a server that is otherwise a process of its own, returns its addresses, and stops it at the end of the test.
func process(t *testing.T, run func(ctx context.Context, in io.Reader, out io.Writer) error) (addr, control string) {
	t.Helper()
	in, end := io.Pipe()
	said, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(context.WithoutCancel(t.Context()), in, out) }()
	t.Cleanup(func() {
		_ = end.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if _, err := fmt.Fscan(said, &addr, &control); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	return addr, control
}
