package app_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
)

// anthropicClient returns Anthropic's client for Go.
func anthropicClient(url, key string) anthropic.Client {
	return anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(url+"/anthropic"), option.WithAPIKey(key), option.WithMaxRetries(0))
}

func askingClaude(model, text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: model, MaxTokens: 1024, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))}}
}

// readBlocks returns the content of a message as text: its type, text and cited texts.
func readBlocks(m anthropic.Message) (out []string) {
	for _, b := range m.Content {
		line := b.Type + ": " + b.Text + b.Thinking
		for _, c := range b.Citations {
			line += " [" + c.AsSearchResultLocation().Source + ": " + c.CitedText + "]"
		}
		out = append(out, line)
	}
	return out
}

// streamedMessage reads a stream with Anthropic's client for Go, which adds it up. started is called with the id of the run after the first event.
func streamedMessage(t *testing.T, client anthropic.Client, q anthropic.MessageNewParams, started func(run string)) anthropic.Message {
	t.Helper()
	var all anthropic.Message
	stream := client.Messages.NewStreaming(t.Context(), q)
	for first := true; stream.Next(); first = false {
		e := stream.Current()
		if e.AsAny() == nil {
			t.Errorf("an unknown event: %s", e.RawJSON())
		}
		require.NoError(t, all.Accumulate(e))
		if first {
			started(all.ID)
		}
	}
	require.NoError(t, stream.Err())
	return all
}

// TestAnthropicMessages asks with Anthropic's client for Go, with a model. The run is watched in another protocol while it is answered.
func TestAnthropicMessages(t *testing.T) {
	t.Parallel()
	callers := secured(t, modeltest.NewOpenAI(t, modeltest.Script{Next: helpful, Context: 8192}))
	callers.add("a", "account-a", 0, auth.Ask, auth.Read)
	srv := httptest.NewServer(callers.handler)
	t.Cleanup(srv.Close)
	client := anthropicClient(srv.URL, callers.texts["a"])
	q := askingClaude("sluice-agentic", whoKeeps)
	q.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
	var watched strings.Builder
	all := streamedMessage(t, client, q, func(run string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/runs/"+run+"/stream?protocol=forge", http.NoBody)
		require.NoError(t, err)
		r.Header.Set("X-Api-Key", callers.texts["a"])
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		if _, err := io.Copy(&watched, res.Body); err != nil {
			t.Error(err)
		}
	})
	if text := watched.String(); !strings.Contains(text, "event: retrieval_result") || !strings.Contains(text, "event: done") {
		t.Errorf("in forge: %s", text)
	}
	const cited = " [own.md: The lighthouse of Farland is kept by Ada Brook.]"
	want := []string{"text: Ada Brook is the keeper." + cited, "text:  She has kept it since 1998." + cited}
	if diff := cmp.Diff(append([]string{"thinking: Let me look."}, want...), readBlocks(all)); diff != "" || all.StopReason != anthropic.StopReasonEndTurn || all.Usage.InputTokens == 0 || all.Usage.OutputTokens == 0 {
		t.Errorf("%s (-want +got):\n%s", all.RawJSON(), diff)
	}
	q.Thinking = anthropic.ThinkingConfigParamUnion{}
	whole, err := client.Messages.New(t.Context(), q)
	require.NoError(t, err)
	if diff := cmp.Diff(want, readBlocks(*whole)); diff != "" {
		t.Errorf("from the cache (-want +got):\n%s", diff)
	}
}

// TestAnthropicErrors: Anthropic's client for Go reads the errors, before a stream and in it.
func TestAnthropicErrors(t *testing.T) {
	t.Parallel()
	callers := secured(t, modeltest.NewOpenAI(t, modeltest.Script{Fail: modeltest.Refuse, Status: http.StatusBadRequest}))
	callers.add("a", "account-a", 1, auth.Ask, auth.Read)
	srv := httptest.NewServer(callers.handler)
	t.Cleanup(srv.Close)
	client := anthropicClient(srv.URL, callers.texts["a"])
	question := askingClaude("sluice", whoKeeps)
	prefilled := question
	prefilled.Messages = append(prefilled.Messages, anthropic.NewAssistantMessage(anthropic.NewTextBlock("It is")))
	_, err := client.Messages.New(t.Context(), prefilled)
	if e, ok := errors.AsType[*anthropic.Error](err); !ok || e.StatusCode != http.StatusBadRequest || e.Type() != anthropic.ErrorTypeInvalidRequestError || !strings.Contains(e.RawJSON(), `"messages.1.role: `) {
		t.Errorf("%v", err)
	}
	nothing := askingClaude("sluice/nothing", whoKeeps)
	stream := client.Messages.NewStreaming(t.Context(), nothing)
	for stream.Next() { // the stream begins before it is known that there is no document
	}
	if e, ok := errors.AsType[*anthropic.Error](stream.Err()); !ok || e.Type() != anthropic.ErrorTypeInvalidRequestError || e.RequestID == "" {
		t.Errorf("%v", stream.Err())
	}
	_, err = client.Messages.New(t.Context(), question, option.WithMaxRetries(5))
	if e, ok := errors.AsType[*anthropic.Error](err); !ok || e.StatusCode != http.StatusTooManyRequests || e.Type() != "rate_limit_error" || e.Response.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("over the quota: %v", err)
	}
	none := anthropicClient(srv.URL, "wrong")
	_, err = none.Models.Get(t.Context(), "sluice", anthropic.ModelGetParams{})
	if e, ok := errors.AsType[*anthropic.Error](err); !ok || e.StatusCode != http.StatusUnauthorized || e.Type() != "authentication_error" {
		t.Errorf("a wrong key: %v", err)
	}
}
