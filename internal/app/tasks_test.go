package app_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/model/modeltest"
)

// naming is a request for the title of a conversation, as front ends send it.
var naming = openai.ChatCompletionNewParams{Model: "sluice-task", Messages: []openai.ChatCompletionMessageParamUnion{
	openai.UserMessage("Name this chat.\nReply with { \"title\": \"the name\" }\n<chat_history>\nUSER: Who keeps Farland?\nASSISTANT: Zelda Quux.\n</chat_history>")},
	StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}}

const named = `{"title":"Who keeps Farland?"}`

// TestTaskByRules: OpenAI's client for Go gets a title without a run, also as a stream.
func TestTaskByRules(t *testing.T) {
	t.Parallel()
	client, _ := openAIClient(t)
	listed, err := client.Models.Get(t.Context(), "sluice-task")
	if err != nil || listed.ID != "sluice-task" {
		t.Errorf("%+v %v", listed, err)
	}
	whole, err := client.Chat.Completions.New(t.Context(), naming)
	if err != nil || whole.Choices[0].Message.Content != named || whole.Choices[0].FinishReason != "stop" || whole.Model != "sluice-task" || whole.Usage.TotalTokens != 0 {
		t.Errorf("%+v %v", whole, err)
	}
	stream := client.Chat.Completions.NewStreaming(t.Context(), naming)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Fatalf("not a chunk of the completion: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil || all.Choices[0].Message.Content != named || all.Choices[0].FinishReason != "stop" {
		t.Errorf("%+v %v", all, err)
	}
	var runs struct{ Runs []struct{} }
	if err := client.Get(t.Context(), "../../api/runs", nil, &runs); err != nil || len(runs.Runs) != 0 {
		t.Errorf("%d runs, %v", len(runs.Runs), err)
	}
}

// TestTaskByModel: the model gets the prompt as it is, and rules write the title if it fails.
func TestTaskByModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script modeltest.Script
		want   string
	}{
		"writes": {modeltest.Script{Tokens: []string{"{\"title\": ", "\"The keeper\"}"}}, `{"title": "The keeper"}`},
		"fails":  {modeltest.Script{Fail: modeltest.Refuse, Status: 400}, named},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := modeltest.NewOpenAI(t, c.script)
			callers := secured(t, provider)
			callers.add("a", "account-a", 0, auth.Ask, auth.Read)
			srv := httptest.NewServer(callers.handler)
			t.Cleanup(srv.Close)
			client := openai.NewClient(option.WithBaseURL(srv.URL+"/openai/v1"), option.WithAPIKey(callers.texts["a"]), option.WithMaxRetries(0))
			whole, err := client.Chat.Completions.New(t.Context(), naming)
			if err != nil || whole.Choices[0].Message.Content != c.want {
				t.Fatalf("%+v %v", whole, err)
			}
			if (whole.Usage.TotalTokens > 0) != (name == "writes") {
				t.Errorf("usage %+v", whole.Usage)
			}
			requests := provider.Requests()
			if len(requests) == 0 || !strings.Contains(string(requests[len(requests)-1]), `Name this chat.\nReply with`) {
				t.Errorf("the model got %s", requests)
			}
		})
	}
}
