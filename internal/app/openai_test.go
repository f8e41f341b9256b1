package app_test

import (
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// openAIClient returns OpenAI's client for Go and a server with documents.
func openAIClient(t *testing.T) (client openai.Client, url string) {
	t.Helper()
	_, url, key := openMCP(t)
	return openai.NewClient(option.WithBaseURL(url+"/openai/v1"), option.WithAPIKey(key), option.WithMaxRetries(0)), url
}

// TestOpenAIChat asks with OpenAI's client for Go.
func TestOpenAIChat(t *testing.T) {
	t.Parallel()
	client, url := openAIClient(t)
	question := openai.ChatCompletionNewParams{Model: "sluice-direct/lands", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Who keeps Farland?")}}
	whole, err := client.Chat.Completions.New(t.Context(), question)
	require.NoError(t, err)
	text := whole.Choices[0].Message.Content
	if !strings.Contains(text, "Zelda Quux") || whole.Choices[0].FinishReason != "stop" {
		t.Errorf("%s", whole.RawJSON())
	}
	notes := whole.Choices[0].Message.Annotations
	if len(notes) == 0 {
		t.Fatalf("no citations: %s", whole.RawJSON())
	}
	for _, n := range notes {
		if link := n.URLCitation.URL; !strings.HasPrefix(link, url+"/documents/") || text[n.URLCitation.StartIndex] != '[' {
			t.Errorf("a citation of %s at %d", link, n.URLCitation.StartIndex)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.URLCitation.URL, http.NoBody)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		if _ = res.Body.Close(); res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			t.Errorf("the page of the document: %s", res.Status)
		}
	}
	stream := client.Chat.Completions.NewStreaming(t.Context(), question)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Fatalf("not a chunk of the completion: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil || all.Choices[0].Message.Content != text {
		t.Errorf("stream %q, %v; want %q", all.Choices[0].Message.Content, err, text)
	}
	question.N = openai.Int(2)
	_, err = client.Chat.Completions.New(t.Context(), question)
	if failed, ok := errors.AsType[*openai.Error](err); !ok || failed.StatusCode != http.StatusBadRequest || failed.Param != "n" {
		t.Errorf("n=2: %v", err)
	}
}

// TestOpenAIResponses asks, shows, streams again, follows up and deletes with OpenAI's client for Go.
func TestOpenAIResponses(t *testing.T) {
	t.Parallel()
	client, _ := openAIClient(t)
	question := responses.ResponseNewParams{Model: "sluice-direct/lands", Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("Who keeps Farland?")}}
	stream := client.Responses.NewStreaming(t.Context(), question)
	var text string
	var done responses.Response
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseCompletedEvent:
			done = e.Response
		case nil:
			t.Errorf("an unknown event: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil || !strings.Contains(text, "Zelda Quux") || done.OutputText() != text {
		t.Fatalf("stream %q, %v; response %q", text, err, done.OutputText())
	}
	shown, err := client.Responses.Get(t.Context(), done.ID, responses.ResponseGetParams{})
	if err != nil || shown.OutputText() != text {
		t.Errorf("shown %v, %v", shown, err)
	}
	follow := question
	follow.PreviousResponseID = param.NewOpt(done.ID)
	follow.Input = responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("And who keeps Nearland?")}
	second, err := client.Responses.New(t.Context(), follow)
	require.NoError(t, err)
	for order, want := range map[responses.InputItemListParamsOrder][]string{"asc": {"Who keeps Farland?", text, "And who keeps Nearland?"}, "desc": {"And who keeps Nearland?", text, "Who keeps Farland?"}} {
		var got []string
		items := client.Responses.InputItems.ListAutoPaging(t.Context(), second.ID, responses.InputItemListParams{Limit: param.NewOpt(int64(2)), Order: order})
		for items.Next() {
			switch m := items.Current().AsAny().(type) {
			case responses.ResponseInputMessageItem:
				got = append(got, m.Content[0].Text)
			case responses.ResponseOutputMessage:
				got = append(got, m.Content[0].Text)
			default:
				got = append(got, items.Current().RawJSON())
			}
		}
		if err := items.Err(); err != nil || !slices.Equal(got, want) {
			t.Errorf("input items: %q, %v; want %q", got, err, want)
		}
	}
	for _, p := range []responses.InputItemListParams{{After: param.NewOpt("x")}, {Limit: param.NewOpt(int64(101))}, {Order: "up"}} {
		if _, err := client.Responses.InputItems.List(t.Context(), second.ID, p); err == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	if err := client.Responses.Delete(t.Context(), done.ID); err == nil {
		t.Error("a key without the scope write deleted a response")
	}
}

// TestOpenAIEmbeddings embeds texts with OpenAI's client for Go.
func TestOpenAIEmbeddings(t *testing.T) {
	t.Parallel()
	client, _ := openAIClient(t)
	embed := func(texts ...string) (*openai.CreateEmbeddingResponse, error) {
		return client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{Model: "any", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts}})
	}
	r, err := embed("a ship in the harbour", "a boat at the pier", "the price of bread", "zzqqxx")
	require.NoError(t, err)
	dot := func(a, b int) (sum float64) {
		for i := range r.Data[a].Embedding {
			sum += r.Data[a].Embedding[i] * r.Data[b].Embedding[i]
		}
		return sum
	}
	if len(r.Data) != 4 || math.Abs(dot(0, 0)-1) > 1e-3 || dot(0, 1) <= dot(0, 2) || len(r.Data[3].Embedding) != len(r.Data[0].Embedding) || dot(3, 3) != 0 {
		t.Errorf("%d vectors; the same %f, alike %f, different %f, unknown %f", len(r.Data), dot(0, 0), dot(0, 1), dot(0, 2), dot(3, 3))
	}
	for field, texts := range map[string][]string{"input": {}, "input[1]": {"a", " "}, "input[0]": {strings.Repeat("a", 40_000)}} {
		_, err := embed(texts...)
		if failed, ok := errors.AsType[*openai.Error](err); !ok || failed.StatusCode != http.StatusBadRequest || failed.Param != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestOpenAIRates: replies say how much of the rate of the key is left, and OpenAI's client for Go waits as long as a refusal says.
func TestOpenAIRates(t *testing.T) {
	t.Parallel()
	c, url, _ := openMCP(t)
	client := func(rate, quota auth.Limit) openai.Client {
		key, _, err := auth.Create(t.Context(), c.keys, auth.Key{Tenant: "acme", Account: "ada", Scopes: []auth.Scope{auth.Ask}, Rate: rate, Quota: quota}, time.Now())
		require.NoError(t, err)
		return openai.NewClient(option.WithBaseURL(url+"/openai/v1"), option.WithAPIKey(key))
	}
	const prefix = "X-Ratelimit-"
	question := openai.ChatCompletionNewParams{Model: "sluice-direct/lands", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Who keeps Farland?")}}
	hourly := client(auth.Limit{N: 2, Unit: "h"}, auth.Limit{})
	for _, left := range []string{"1", "0"} {
		var res *http.Response
		if _, err := hourly.Chat.Completions.New(t.Context(), question, option.WithResponseInto(&res)); err != nil {
			t.Fatal(err)
		}
		reset, err := time.ParseDuration(res.Header.Get(prefix + "Reset-Requests"))
		most := map[string]time.Duration{"1": 30 * time.Minute, "0": time.Hour}[left]
		if res.Header.Get(prefix+"Limit-Requests") != "2" || res.Header.Get(prefix+"Remaining-Requests") != left || err != nil || reset > most || reset < most-time.Minute {
			t.Errorf("%v", res.Header)
		}
	}
	_, err := hourly.Models.List(t.Context(), option.WithMaxRetries(0))
	refused, ok := errors.AsType[*openai.Error](err)
	if !ok || refused.StatusCode != http.StatusTooManyRequests || refused.Code != "rate_limit_exceeded" {
		t.Fatalf("over the rate: %v", err)
	}
	h := refused.Response.Header
	if ms, err := strconv.Atoi(h.Get("Retry-After-Ms")); err != nil || ms > 30*60_000 || ms < 29*60_000 || h.Get(prefix+"Remaining-Requests") != "0" || h.Get("X-Should-Retry") != "" {
		t.Errorf("%v", h)
	}
	fast := client(auth.Limit{N: 5, Unit: "s"}, auth.Limit{})
	for i := range 8 { // the last ones are refused at first, and repeated by the client
		if _, err := fast.Models.List(t.Context(), option.WithMaxRetries(10)); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	daily := client(auth.Limit{}, auth.Limit{N: 1, Unit: "day"})
	var res *http.Response
	if _, err := daily.Chat.Completions.New(t.Context(), question, option.WithResponseInto(&res)); err != nil || res.Header.Get(prefix+"Limit-Requests") != "" {
		t.Errorf("a key without a rate: %v %v", err, res.Header)
	}
	network := &lossy{}
	network.requests.Store(1) // loses nothing
	_, err = daily.Chat.Completions.New(t.Context(), question, option.WithHTTPClient(&http.Client{Transport: network}))
	if failed, ok := errors.AsType[*openai.Error](err); !ok || failed.Code != "insufficient_quota" || network.requests.Load() != 2 {
		t.Errorf("over the quota: %v after %d requests", err, network.requests.Load()-1)
	}
}

// lossy loses the reply to the first request, as a network that fails does. It counts the requests.
type lossy struct{ requests atomic.Int64 }

func (c *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if c.requests.Add(1) == 1 && err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return nil, errors.New("the connection was cut")
	}
	return res, err
}

// TestOpenAIRetry: a request that OpenAI's client for Go repeats by itself has one run, and counts once.
func TestOpenAIRetry(t *testing.T) {
	t.Parallel()
	c, url, _ := openMCP(t)
	key, _, err := auth.Create(t.Context(), c.keys, auth.Key{Tenant: "acme", Account: "ada", Scopes: []auth.Scope{auth.Ask, auth.Read}, Quota: auth.Limit{N: 1, Unit: "month"}}, time.Now())
	require.NoError(t, err)
	network := &lossy{}
	client := openai.NewClient(option.WithBaseURL(url+"/openai/v1"), option.WithAPIKey(key), option.WithHTTPClient(&http.Client{Transport: network}),
		option.WithHeader("Idempotency-Key", "2a9f"))
	question := openai.ChatCompletionNewParams{Model: "sluice-direct/lands", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Who keeps Farland?")}}
	var res *http.Response
	whole, err := client.Chat.Completions.New(t.Context(), question, option.WithResponseInto(&res))
	if err != nil || !strings.Contains(whole.Choices[0].Message.Content, "Zelda Quux") || res.Header.Get("Idempotent-Replayed") != "true" || network.requests.Load() != 2 {
		t.Fatalf("%v, %v after %d requests", whole, err, network.requests.Load())
	}
	question.Model = "sluice/lands"
	_, err = client.Chat.Completions.New(t.Context(), question)
	if failed, ok := errors.AsType[*openai.Error](err); !ok || failed.StatusCode != http.StatusUnprocessableEntity || failed.Param != "Idempotency-Key" {
		t.Errorf("another body: %v", err)
	}
	_, err = client.Chat.Completions.New(t.Context(), question, option.WithHeader("Idempotency-Key", "77c0"), option.WithMaxRetries(0))
	if failed, ok := errors.AsType[*openai.Error](err); !ok || failed.StatusCode != http.StatusTooManyRequests || failed.Code != "insufficient_quota" {
		t.Errorf("another question: %v", err)
	}
}

// TestWrongBaseURLs: requests with usual mistakes in the base URL get an error that names the right one.
func TestWrongBaseURLs(t *testing.T) {
	t.Parallel()
	c, url, _ := openMCP(t)
	key, _, err := auth.Create(t.Context(), c.keys, auth.Key{Tenant: "acme", Account: "ada", Scopes: []auth.Scope{auth.Ask}}, time.Now())
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/v1/chat/completions": "/openai/v1", "/v1/embeddings": "/openai/v1", "/openai/chat/completions": "/openai/v1", "/openai/embeddings": "/openai/v1", "/openai/responses": "/openai/v1",
		"/v1/messages": "ends in /anthropic,", "/anthropic/messages": "/anthropic/v1/messages", "/anthropic/v1/v1/messages": "ends in /anthropic,",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader("{}"))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusNotFound || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d %s, %v", path, res.StatusCode, text, err)
		}
	}
}
