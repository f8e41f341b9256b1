package openai_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/model/openai"
)

func newEmbedder(t *testing.T, o openai.EmbedOptions) *openai.Embedder {
	t.Helper()
	e, err := openai.NewEmbedder(t.Context(), o)
	require.NoError(t, err)
	return e
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	s := modeltest.NewOpenAI(t, modeltest.Script{Dim: 24})
	e := newEmbedder(t, openai.EmbedOptions{URL: s.URL, BatchTexts: 8})
	var texts []string
	for i := range 100 {
		texts = append(texts, fmt.Sprintf("text number %d", i))
	}
	texts[17], texts[99] = "", " \n"
	reported, mu := 0, sync.Mutex{}
	ctx := model.WithTrace(t.Context(), &model.Trace{Used: func(_ string, u model.Usage) {
		mu.Lock()
		defer mu.Unlock()
		reported += u.Input
	}})
	got, err := e.Embed(ctx, texts, model.ForPassage)
	if err != nil || len(got) != len(texts) {
		t.Fatalf("%d vectors, %v", len(got), err)
	}
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			if got[i] != nil {
				t.Errorf("text %d is empty and has a vector", i)
			}
			continue
		}
		if !near(got[i], modeltest.Vector(text, 24)) {
			t.Errorf("text %d has another's vector", i)
		}
	}
	if n := s.Counts().Embeddings; n != 13 {
		t.Errorf("%d requests", n)
	}
	if reported != 98 {
		t.Errorf("usage of %d tokens reported", reported)
	}
	if e.Dim() != 24 || e.Space() != "test-model" || e.PerToken(t.Context()) {
		t.Errorf("dimension %d, space %s, per token %v", e.Dim(), e.Space(), e.PerToken(t.Context()))
	}
	if none, err := e.Embed(t.Context(), nil, model.ForQuery); err != nil || len(none) != 0 {
		t.Errorf("of no texts: %v, %v", none, err)
	}
	if _, err := e.EmbedTokens(t.Context(), []string{"a"}, model.ForQuery); err == nil {
		t.Error("a server without per-token vectors gave some")
	}
}

func near(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 1e-5 {
			return false
		}
	}
	return true
}

func TestSpace(t *testing.T) {
	t.Parallel()
	space := func(query, passage string) string {
		return newEmbedder(t, openai.EmbedOptions{URL: "http://localhost", Model: "m", QueryPrefix: query, PassagePrefix: passage}).Space()
	}
	if space("", "") != "m" {
		t.Errorf("the space is %q", space("", ""))
	}
	seen := map[string]bool{space("", ""): true}
	for _, p := range [][2]string{{"q: ", ""}, {"", "q: "}, {"q: ", "p: "}, {"q: p: ", ""}} {
		if s := space(p[0], p[1]); seen[s] {
			t.Errorf("%q has the space of others: %s", p, s)
		} else {
			seen[s] = true
		}
	}
}

// sent is a request for vectors.
type sent struct {
	Input  []string `json:"input"`
	Format string   `json:"encoding_format"`
}

// embedServer answers requests for vectors sequentially with the results of a function.
func embedServer(t *testing.T, answer func(n int, r sent) (status int, header, body string)) string {
	t.Helper()
	var mu sync.Mutex
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var q sent
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/v1/embeddings" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		status, header, body := answer(n, q)
		n++
		if header != "" {
			w.Header().Set("Retry-After-Ms", header)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// lengths returns the vector (bytes, 1) for each text.
func lengths(texts []string) string {
	var data []string
	for i, text := range texts {
		data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(text)))
	}
	return `{"data":[` + strings.Join(data, ",") + `]}`
}

func TestEmbedPrefixes(t *testing.T) {
	t.Parallel()
	var got []string
	url := embedServer(t, func(_ int, r sent) (int, string, string) {
		got = append(got, r.Input...)
		return 200, "", lengths(r.Input)
	})
	e := newEmbedder(t, openai.EmbedOptions{URL: url, Model: "m", QueryPrefix: "query: ", PassagePrefix: "passage: "})
	for _, p := range []model.Purpose{model.ForPassage, model.ForQuery} {
		if _, err := e.Embed(t.Context(), []string{"a\xff"}, p); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"passage: a\uFFFD", "query: a\uFFFD"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestEmbedFormats decodes vectors in the formats of different servers.
func TestEmbedFormats(t *testing.T) {
	t.Parallel()
	raw := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, math.Float32bits(3)), math.Float32bits(4))
	packed := base64.StdEncoding.EncodeToString(raw)
	want := []float32{0.6, 0.8}
	for name, body := range map[string]string{
		"numbers": `{"data":[{"index":0,"embedding":[3,4]}]}`, "base64": `{"data":[{"index":0,"embedding":"` + packed + `"}]}`,
		"nested": `{"data":[{"embedding":[[3,4]]}]}`, "unknown": `{"object":"list","x":{},"data":[{"object":"embedding","embedding":[3e0,4.0]}]}`,
	} {
		url := embedServer(t, func(int, sent) (int, string, string) { return 200, "", body })
		got, err := newEmbedder(t, openai.EmbedOptions{URL: url, Model: "m"}).Embed(t.Context(), []string{"a"}, model.ForQuery)
		if err != nil || !near(got[0], want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	url := embedServer(t, func(int, sent) (int, string, string) {
		return 200, "", `{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[2,0]},{"index":2,"embedding":[0,0]}]}`
	})
	got, err := newEmbedder(t, openai.EmbedOptions{URL: url, Model: "m"}).Embed(t.Context(), []string{"a", "b", "c"}, model.ForQuery)
	if diff := cmp.Diff([][]float32{{1, 0}, {0, 1}, nil}, got); diff != "" || err != nil {
		t.Errorf("out of order: %v\n%s", err, diff)
	}
}

// TestEmbedMalformed checks that invalid replies are rejected without a retry.
func TestEmbedMalformed(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"data":[]}`, `{"data":[{"embedding":[]}]}`, `{"data":[{"embedding":[1e999]}]}`, `{"data":[{"embedding":"AAA"}]}`,
		`{"data":[{"embedding":"AADAfw=="}]}`, `{"data":[{"embedding":null}]}`, `{"data":[{"index":7,"embedding":[1]}]}`,
		`{"data":[{"embedding":[1,2]},{"embedding":[1,2]}]}`, `[]`, ``, `{"data":[{"index":-1,"embedding":[1]}]}`,
	} {
		asked := 0
		url := embedServer(t, func(int, sent) (int, string, string) { asked++; return 200, "", body })
		_, err := newEmbedder(t, openai.EmbedOptions{URL: url, Model: "m"}).Embed(t.Context(), []string{"a"}, model.ForQuery)
		if failed, ok := errors.AsType[*model.Error](err); !ok || failed.Failure != model.Malformed || asked != 1 {
			t.Errorf("%s: %v after %d requests", body, err, asked)
		}
	}
	url := embedServer(t, func(n int, _ sent) (int, string, string) {
		return 200, "", fmt.Sprintf(`{"data":[{"embedding":[1%s]}]}`, strings.Repeat(",1", n))
	})
	e := newEmbedder(t, openai.EmbedOptions{URL: url, Model: "m"})
	_, first := e.Embed(t.Context(), []string{"a"}, model.ForQuery)
	_, second := e.Embed(t.Context(), []string{"a"}, model.ForQuery)
	if first != nil || second == nil {
		t.Errorf("vectors of two dimensions: %v, %v", first, second)
	}
}

// TestEmbedTooLong halves batches and cuts texts for a server that accepts 3 texts of 100 bytes.
func TestEmbedTooLong(t *testing.T) {
	t.Parallel()
	url := embedServer(t, func(_ int, r sent) (int, string, string) {
		if len(r.Input) > 3 {
			return 413, "", `{"error":"batch size 8 > maximum allowed batch size 3","error_type":"Validation"}`
		}
		for _, text := range r.Input {
			if len(text) > 100 {
				return 500, "", `{"error":{"code":500,"message":"input (700 tokens) is too large to process. increase the physical batch size (current batch size: 512)","type":"server_error"}}`
			}
		}
		return 200, "", lengths(r.Input)
	})
	e := newEmbedder(t, openai.EmbedOptions{URL: url, Model: "m"})
	texts := []string{"a", "bb", strings.Repeat("水", 200), "dddd", "eeeee", "ffffff", "ggggggg", "hhhhhhhh"}
	got, err := e.Embed(t.Context(), texts, model.ForPassage)
	require.NoError(t, err)
	for i, text := range texts {
		n := len(text)
		if i == 2 {
			n = 75 // 600, 300, 150, 75: whole characters each time
		}
		if ratio := got[i][0] / got[i][1]; math.Abs(float64(ratio)-float64(n)) > 0.01 {
			t.Errorf("text %d was embedded with %v bytes, not %d", i, ratio, n)
		}
	}
	never := embedServer(t, func(int, sent) (int, string, string) { return 413, "", "" })
	_, err = newEmbedder(t, openai.EmbedOptions{URL: never, Model: "m"}).Embed(t.Context(), texts, model.ForPassage)
	if failed, ok := errors.AsType[*model.Error](err); !ok || failed.Failure != model.TooLong {
		t.Errorf("a server that takes nothing: %v", err)
	}
}

// TestEmbedRetry checks that only transient failures are retried.
func TestEmbedRetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fails int
		code  int
		asked int
		want  model.Failure
	}{
		{"passes", 3, 429, 4, ""}, {"lasts", 9, 503, 4, model.ServerError}, {"refused", 9, 401, 1, model.Unauthorized},
		{"not there", 9, 501, 1, model.Rejected},
	} {
		asked := 0
		url := embedServer(t, func(n int, r sent) (int, string, string) {
			if asked++; n < c.fails {
				return c.code, "1", `{"error":{"message":"no"}}`
			}
			return 200, "", lengths(r.Input)
		})
		_, err := newEmbedder(t, openai.EmbedOptions{URL: url, Model: "m"}).Embed(t.Context(), []string{"a"}, model.ForQuery)
		if failed, ok := errors.AsType[*model.Error](err); ok != (c.want != "") || failed != nil && failed.Failure != c.want || asked != c.asked {
			t.Errorf("%s: %v after %d requests", c.name, err, asked)
		}
	}
}

// TestEmbedWithoutBase64 checks the fallback for servers without base64.
func TestEmbedWithoutBase64(t *testing.T) {
	t.Parallel()
	var formats []string
	url := embedServer(t, func(_ int, r sent) (int, string, string) {
		if formats = append(formats, r.Format); r.Format != "" {
			return 422, "", `{"detail":[{"loc":["body","encoding_format"],"msg":"Extra inputs are not permitted"}]}`
		}
		return 200, "", lengths(r.Input)
	})
	e := newEmbedder(t, openai.EmbedOptions{URL: url, Model: "m"})
	for range 2 {
		if _, err := e.Embed(t.Context(), []string{"a"}, model.ForQuery); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"base64", "", ""}, formats); diff != "" {
		t.Error(diff)
	}
}

func TestEmbedCancelled(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	asked := make(chan struct{}, 8)
	gone := make(chan struct{}, 8)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	defer s.Close()
	go func() {
		<-asked
		end()
	}()
	e := newEmbedder(t, openai.EmbedOptions{URL: s.URL, Model: "m"})
	if _, err := e.Embed(ctx, []string{"a"}, model.ForQuery); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	<-gone
}

// TestPerToken imitates a llama.cpp server that was started with --pooling none.
func TestPerToken(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"list":    `[{"index":1,"embedding":[[0,2],[4,0]]},{"index":0,"embedding":[[9,9],[3,4],[0,5],[1,0],[9,9]]}]`,
		"wrapped": `{"results":[{"index":0,"embedding":[[9,9],[3,4],[0,5],[1,0],[9,9]]},{"index":1,"embedding":[[0,2],[4,0]]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"error":{"code":400,"message":"Pooling type 'none' is not OAI compatible. `+
					`Please use a different pooling type","type":"invalid_request_error"}}`)
			})
			mux.HandleFunc("POST /embedding", func(w http.ResponseWriter, r *http.Request) {
				var q struct{ Content []string }
				_ = json.NewDecoder(r.Body).Decode(&q)
				switch len(q.Content) {
				case 1:
					_, _ = io.WriteString(w, `{"embedding":[0,1]}`)
				case 2:
					_, _ = io.WriteString(w, reply)
				}
			})
			mux.HandleFunc("POST /tokenize", func(w http.ResponseWriter, r *http.Request) {
				var q struct {
					Content string
					Pieces  bool `json:"with_pieces"`
					Special bool `json:"add_special"`
				}
				_ = json.NewDecoder(r.Body).Decode(&q)
				if q.Content == "Two words!" && q.Pieces && q.Special {
					_, _ = io.WriteString(w, `{"tokens":[{"id":1,"piece":"<s>"},{"id":5,"piece":" Two"},{"id":6,"piece":"\u2581w\u00f6rds"},`+
						`{"id":7,"piece":[33]},{"id":2,"piece":"</s>"}]}`)
					return
				}
				w.WriteHeader(http.StatusNotFound)
			})
			s := httptest.NewServer(mux)
			t.Cleanup(s.Close)
			e := newEmbedder(t, openai.EmbedOptions{URL: s.URL, Model: "m"})
			if !e.PerToken(t.Context()) {
				t.Fatal("it was not found out")
			}
			tokens, err := e.EmbedTokens(t.Context(), []string{"Two words!", "", "b"}, model.ForPassage)
			want := [][]model.TokenVector{
				{{Token: "two", Weight: 1, Vector: []float32{0.6, 0.8}}, {Token: "wörds", Weight: 1, Vector: []float32{0, 1}},
					{Weight: 0, Vector: []float32{1, 0}}},
				nil,
				{{Weight: 1, Vector: []float32{0, 1}}, {Weight: 1, Vector: []float32{1, 0}}},
			}
			if diff := cmp.Diff(want, tokens); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			means, err := e.Embed(t.Context(), []string{"a", "b"}, model.ForPassage)
			if err != nil || !near(means[1], []float32{float32(2 / math.Sqrt(5)), float32(1 / math.Sqrt(5))}) {
				t.Errorf("the mean is %v, %v", means, err)
			}
		})
	}
}
