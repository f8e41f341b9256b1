package openai_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/openai"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// readChat checks the order and the form of the chunks, and joins the pieces of the text.
func readChat(frames []wire.Frame) ([]string, error) {
	var out []string
	var text strings.Builder
	ended, reason := false, ""
	for i, f := range frames {
		if ended {
			return nil, fmt.Errorf("frame %s follows the end", f.ID)
		}
		if string(f.Data) == "[DONE]" {
			ended = true
			out = append(out, f.ID.String()+" done")
			continue
		}
		var failed openai.Error
		if wiretest.Strict(f.Data, &failed) == nil && failed.Error.Message != "" {
			ended = true
			out = append(out, f.ID.String()+" "+string(f.Data))
			continue
		}
		var c openai.Chunk
		if err := wiretest.Strict(f.Data, &c); err != nil {
			return nil, fmt.Errorf("frame %s: %w", f.ID, err)
		}
		if c.ID == "" || c.Object != "chat.completion.chunk" || c.Created == 0 || c.Model == "" {
			return nil, fmt.Errorf("frame %s lacks a field: %s", f.ID, f.Data)
		}
		if len(c.Choices) == 0 {
			if c.Usage == nil || reason == "" {
				return nil, fmt.Errorf("frame %s has neither a choice nor the usage: %s", f.ID, f.Data)
			}
			out = append(out, f.ID.String()+" "+string(f.Data))
			continue
		}
		d := c.Choices[0].Delta
		if (i == 0) != (d.Role != "") || reason != "" {
			return nil, fmt.Errorf("frame %s: %s", f.ID, f.Data)
		}
		if d.Content != nil {
			text.WriteString(*d.Content)
		}
		if end := c.Choices[0].FinishReason; end != nil {
			reason = *end
		}
		if d.Content == nil || d.Role != "" {
			out = append(out, f.ID.String()+" "+string(f.Data))
		}
	}
	return append(out, "text: "+text.String()), nil
}

// linked returns a run whose sources have URLs: two are the same page.
func linked() []event.Event {
	sources := wiretest.Sources()
	sources[0].URI, sources[1].URI = "https://farland.example/chronicle", "docs/keepers.md"
	third := sources[0]
	third.N, third.Chunk = 3, "c_3"
	start := event.RunStarted{Run: "run_1", Protocol: openai.ChatName, Question: event.Question{Query: "Who keeps it?", Request: json.RawMessage(`{"model":"sluice-direct/lands"}`)}}
	return wiretest.LogOf(append(append([]event.Body{start}, wiretest.Generating()[1:]...),
		event.Token{Text: "Zoë keeps it 🕯."}, event.Cited{N: 1, Chunk: "c_1", Source: &sources[0]}, event.Cited{N: 2, Chunk: "c_2", Source: &sources[1]}, event.Cited{N: 3, Chunk: "c_3", Source: &third},
		event.Token{Text: " It burns oil."}, event.Cited{N: 1, Chunk: "c_1"},
		event.GenerationFinished{Reason: event.StopLength},
		event.ModelUsed{Step: event.StepGenerate, Model: "gpt", Calls: 1, Input: 342, Output: 9, Cached: 100, Reasoning: 2},
		event.Verified{By: "rules"}, event.Attributed{By: "rules", Sources: []event.Source{sources[0], sources[1], third}}, event.RunFinished{})...)
}

func logs() map[string][]event.Event {
	all := wiretest.Runs()
	all["linked"] = linked()
	return all
}

func TestChatLaws(t *testing.T) {
	t.Parallel()
	for _, p := range []openai.Chat{{}, {Usage: true}, {Origin: "http://localhost:8000"}} {
		wiretest.TestProtocol(t, wiretest.Subject{Protocol: p, Read: readChat}, wiretest.WithRandom(logs()))
	}
}

func TestChatGoldens(t *testing.T) {
	t.Parallel()
	for name, log := range logs() {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, event.CheckLog(log, true))
			reply, err := json.MarshalIndent(openai.Chat{}.Reply(log), "", "  ")
			require.NoError(t, err)
			golden.Check(t, filepath.Join("testdata", "chat_"+name+".txt"), wiretest.Golden(openai.Chat{Usage: true}, [][]event.Event{log})+string(reply)+"\n")
		})
	}
}

// TestChatReplyIsStream: the reply without a stream says the same as the stream.
func TestChatReplyIsStream(t *testing.T) {
	t.Parallel()
	for name, log := range logs() {
		states, err := readChat(wiretest.Project(openai.Chat{Usage: true}.New(), [][]event.Event{log}))
		require.NoError(t, err)
		whole := strings.Join(states, "\n")
		switch r := (openai.Chat{}).Reply(log).(type) {
		case openai.Completion:
			usage, _ := json.Marshal(r.Usage)
			notes, _ := json.Marshal(r.Choices[0].Message.Annotations)
			if !strings.HasSuffix(whole, "text: "+r.Choices[0].Message.Content) || !strings.Contains(whole, string(usage)) || string(notes) != "[]" && !strings.Contains(whole, string(notes)) ||
				!strings.Contains(whole, `"finish_reason":"`+*r.Choices[0].FinishReason+`"`) {
				t.Errorf("%s: the reply %+v, the stream\n%s", name, r, whole)
			}
			runes := []rune(r.Choices[0].Message.Content)
			for _, a := range r.Choices[0].Message.Annotations {
				if got := string(runes[a.Citation.StartIndex:a.Citation.EndIndex]); got != "[1]" {
					t.Errorf("%s: the annotation is at %q", name, got)
				}
			}
		case openai.Error:
			if text, _ := json.Marshal(r); !strings.Contains(whole, r.Error.Message) || strings.Contains(whole, " done") {
				t.Errorf("%s: the reply %s, the stream\n%s", name, text, whole)
			}
		}
	}
}

func TestChatUsageParameter(t *testing.T) {
	t.Parallel()
	api := openai.ChatAPI()
	for value, want := range map[string]wire.Protocol{"": openai.Chat{}, "true": openai.Chat{Usage: true}, "0": openai.Chat{}} {
		if got, err := api.Variant(openai.Chat{}, func(string) string { return value }); err != nil || got != want {
			t.Errorf("%q: %v, %v", value, got, err)
		}
	}
	if _, err := api.Variant(openai.Chat{}, func(string) string { return "perhaps" }); err == nil {
		t.Error("accepted")
	}
}
