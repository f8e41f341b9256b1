package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/anthropic"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// reader is a client: it checks the order of the events and adds them up to a message.
type reader struct {
	message anthropic.Message
	blocks  []any // *anthropic.TextBlock and *anthropic.ThinkingBlock
	state   string
	failed  *anthropic.Error
}

// The states of a reader.
const (
	inMessage = "message"
	inBlock   = "block"
	stopping  = "stopping"
	ended     = "ended"
)

func (r *reader) next(f wire.Frame) error {
	var head struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Delta struct {
			Type string `json:"type"`
		} `json:"delta"`
		ContentBlock struct {
			Type string `json:"type"`
		} `json:"content_block"`
	}
	if err := json.Unmarshal(f.Data, &head); err != nil {
		return err
	}
	if f.Event != head.Type {
		return fmt.Errorf("the event %s has the type %s", f.Event, head.Type)
	}
	want := map[string]string{"message_start": "", "content_block_start": inMessage, "content_block_delta": inBlock, "content_block_stop": inBlock, "message_delta": inMessage, "message_stop": stopping, "error": inMessage}[head.Type]
	last := len(r.blocks) - 1
	switch {
	case r.state != want:
		return fmt.Errorf("%s in the state %q", head.Type, r.state)
	case head.Type == "content_block_start" && head.Index != last+1, r.state == inBlock && head.Index != last:
		return fmt.Errorf("%s has the index %d after %d blocks", head.Type, head.Index, last+1)
	}
	switch head.Type + " " + head.ContentBlock.Type + head.Delta.Type {
	case "message_start ":
		var e anthropic.MessageStart
		r.state = inMessage
		err := wiretest.Strict(f.Data, &e)
		r.message = e.Message
		return err
	case "content_block_start text":
		var e anthropic.TextStart
		r.state = inBlock
		err := wiretest.Strict(f.Data, &e)
		r.blocks = append(r.blocks, &e.ContentBlock)
		return err
	case "content_block_start thinking":
		var e anthropic.ThinkingStart
		r.state = inBlock
		err := wiretest.Strict(f.Data, &e)
		r.blocks = append(r.blocks, &e.ContentBlock)
		return err
	case "content_block_delta text_delta":
		var e anthropic.TextDelta
		block, ok := r.blocks[last].(*anthropic.TextBlock)
		err := wiretest.Strict(f.Data, &e)
		if !ok || len(block.Citations) > 0 && strings.Trim(e.Delta.Text, ".,!?") != "" {
			return errors.New("text after a citation, or in another block")
		}
		block.Text += e.Delta.Text
		return err
	case "content_block_delta citations_delta":
		var e anthropic.CitationsDelta
		block, ok := r.blocks[last].(*anthropic.TextBlock)
		if !ok || block.Text == "" {
			return errors.New("a citation without text")
		}
		err := wiretest.Strict(f.Data, &e)
		block.Citations = append(block.Citations, e.Delta.Citation)
		return err
	case "content_block_delta thinking_delta":
		var e anthropic.ThinkingDelta
		err := wiretest.Strict(f.Data, &e)
		r.blocks[last].(*anthropic.ThinkingBlock).Thinking += e.Delta.Thinking
		return err
	case "content_block_stop ":
		r.state = inMessage
		return wiretest.Strict(f.Data, new(anthropic.BlockStop))
	case "message_delta ":
		var e anthropic.MessageDelta
		r.state = stopping
		err := wiretest.Strict(f.Data, &e)
		r.message.StopReason, r.message.Usage.Counts = &e.Delta.StopReason, e.Usage
		return err
	case "message_stop ":
		r.state = ended
		return wiretest.Strict(f.Data, new(anthropic.MessageStop))
	case "error ":
		r.state = ended
		r.failed = new(anthropic.Error)
		return wiretest.Strict(f.Data, r.failed)
	}
	return fmt.Errorf("an unknown event: %s", f.Data)
}

// whole reads a stream to its end.
func whole(frames []wire.Frame) (*reader, error) {
	var r reader
	for _, f := range frames {
		if err := r.next(f); err != nil {
			return nil, fmt.Errorf("frame %s: %w: %.200s", f.ID, err, f.Data)
		}
	}
	if r.state != ended {
		return nil, fmt.Errorf("the stream ends in the state %q", r.state)
	}
	for _, b := range r.blocks {
		switch b := b.(type) {
		case *anthropic.TextBlock:
			r.message.Content = append(r.message.Content, *b)
		case *anthropic.ThinkingBlock:
			r.message.Content = append(r.message.Content, *b)
		}
	}
	return &r, nil
}

func read(frames []wire.Frame) ([]string, error) {
	r, err := whole(frames)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent([]any{r.message, r.failed}, "", " ")
	return strings.Split(string(text), "\n"), err
}

// logs are the runs of the goldens.
func logs() map[string][]event.Event {
	all := wiretest.Runs()
	sources := wiretest.Sources()
	sources[0].URI, sources[1].URI = "https://farland.example/chronicle", "docs/keepers.md"
	again := sources[0]
	again.Quote, again.QuoteEnd, again.Pages = 40, len(again.Text), []int{6}
	start := event.RunStarted{Run: "run_1", Protocol: anthropic.Name, Question: event.Question{Query: "Who keeps it?", Request: json.RawMessage(`{"model":"sluice-direct/lands"}`)}}
	all["linked"] = wiretest.LogOf(append(append([]event.Body{start}, wiretest.Generating()[1:]...),
		event.Token{Text: "Zoë keeps it 🕯."}, event.Cited{N: 1, Chunk: "c_1", Source: &sources[0]}, event.Cited{N: 2, Chunk: "c_2", Source: &sources[1]},
		event.Token{Text: " It burns"}, event.Token{Text: " oil."}, event.Cited{N: 1, Chunk: "c_1", Source: &again}, event.Cited{N: 1, Chunk: "c_1"},
		event.GenerationFinished{Reason: event.StopLength}, event.ModelUsed{Step: event.StepGenerate, Model: "gpt", Calls: 1, Input: 342, Output: 9, Cached: 100, Reasoning: 2},
		event.Verified{By: "rules", Flagged: true}, event.Attributed{By: "rules", Sources: sources}, event.RunFinished{})...)
	first, second := wiretest.Sources()[0], wiretest.Sources()[1]
	all["early"] = wiretest.LogOf(append(wiretest.Generating(), event.Token{Text: "Zoë keeps it"}, event.Cited{N: 1, Chunk: "c_1", Source: &first}, event.Token{Text: ". It burns"}, event.Token{Text: " oil"},
		event.Cited{N: 2, Chunk: "c_2", Source: &second}, event.Token{Text: "!"}, event.GenerationFinished{Reason: event.StopEnd}, event.Verified{By: "rules"},
		event.Attributed{By: "rules", Sources: wiretest.Sources()}, event.RunFinished{})...)
	return all
}

func TestLaws(t *testing.T) {
	t.Parallel()
	for _, p := range []anthropic.Protocol{{}, {Thinking: true}} {
		wiretest.TestProtocol(t, wiretest.Subject{Protocol: p, Read: read}, wiretest.WithRandom(logs()))
	}
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	for name, log := range logs() {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, event.CheckLog(log, true))
			p := anthropic.Protocol{Thinking: true}
			reply, err := json.MarshalIndent(p.Reply(log), "", "  ")
			require.NoError(t, err)
			golden.Check(t, filepath.Join("testdata", name+".txt"), wiretest.Golden(p, [][]event.Event{log})+string(reply)+"\n")
		})
	}
}

// TestReplyIsStream: the reply without a stream is the message that the events of the stream add up to, and its text is the answer.
func TestReplyIsStream(t *testing.T) {
	t.Parallel()
	for name, log := range wiretest.WithRandom(logs()) {
		for _, p := range []anthropic.Protocol{{}, {Thinking: true}} {
			r, err := whole(wiretest.Project(p.New(), wiretest.Single(log)))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var want any = r.message
			if r.failed != nil {
				want = *r.failed
			}
			if diff := cmp.Diff(want, p.Reply(log)); diff != "" {
				t.Errorf("%s (-stream +reply):\n%s", name, diff)
			}
			var text strings.Builder
			for _, b := range r.message.Content {
				if b, ok := b.(anthropic.TextBlock); ok {
					text.WriteString(b.Text)
				}
			}
			if state := event.Fold(log); text.String() != string(state.Text) {
				t.Errorf("%s: the text %q of the blocks, %q of the run", name, text.String(), state.Text)
			}
		}
	}
}

// TestCitations: each block has the citations of its text, and the numbers of a citation tell the cited sentences apart.
func TestCitations(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"linked": {`"Zoë keeps it 🕯." 0 0 https://farland.example/chronicle "Zoë has kept the lighthouse since May."`, `"Zoë keeps it 🕯." 1 0 docs/keepers.md "Keepers: Zoë <Farland>."`,
			`" It burns oil." 0 1 https://farland.example/chronicle "The lamp burns oil."`, `" It burns oil." 0 1 https://farland.example/chronicle "The lamp burns oil."`},
		"early":  {`"Zoë keeps it." 0 0 farland.pdf "Zoë has kept the lighthouse since May."`, `" It burns oil!" 1 0 docs/keepers.md "Keepers: Zoë <Farland>."`},
		"cached": {`"Zoë keeps it." 0 0 farland.pdf "Zoë has kept the lighthouse since May."`},
	} {
		r, err := whole(wiretest.Project(anthropic.Protocol{}.New(), wiretest.Single(logs()[name])))
		require.NoError(t, err)
		var got []string
		for _, b := range r.message.Content {
			for _, c := range b.(anthropic.TextBlock).Citations {
				if c.EndBlockIndex != c.StartBlockIndex+1 {
					t.Errorf("%+v", c)
				}
				got = append(got, fmt.Sprintf("%q %d %d %s %q", b.(anthropic.TextBlock).Text, c.SearchResultIndex, c.StartBlockIndex, c.Source, c.CitedText))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestThinking: only clients that want the reasoning get it.
func TestThinking(t *testing.T) {
	t.Parallel()
	api := anthropic.API()
	for value, want := range map[string]bool{"": false, "true": true, "0": false} {
		p, err := api.Variant(anthropic.Protocol{}, func(string) string { return value })
		if err != nil || p != (anthropic.Protocol{Thinking: want}) {
			t.Errorf("%q: %v, %v", value, p, err)
		}
		if got := strings.Contains(wiretest.Golden(p, [][]event.Event{logs()["answered"]}), "The first passage names the keeper."); got != want {
			t.Errorf("%q: reasoning %v", value, got)
		}
	}
	if _, err := api.Variant(anthropic.Protocol{}, func(string) string { return "perhaps" }); err == nil {
		t.Error("accepted")
	}
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	const want = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	if got := string(anthropic.Protocol{}.AppendHeartbeat(nil, time.Now())); got != want {
		t.Errorf("%q", got)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for code, want := range map[fault.Code]string{fault.InvalidRequest: "invalid_request_error", fault.Unauthenticated: "authentication_error", fault.Forbidden: "permission_error", fault.NotFound: "not_found_error",
		fault.Overloaded: "rate_limit_error", fault.Quota: "rate_limit_error", fault.Payment: "billing_error", fault.Timeout: "timeout_error", fault.Unavailable: "overloaded_error", fault.Internal: "api_error",
		fault.Model: "api_error", fault.TooLarge: "invalid_request_error"} {
		e := anthropic.FaultOf(fault.New(code, "no"), "")
		if e.Type != "error" || e.Error != (anthropic.ErrorBody{Type: want, Message: "no"}) || e.RequestID != nil {
			t.Errorf("%s: %+v", code, e)
		}
	}
	if e := anthropic.FaultOf(fault.New(fault.Internal, "no"), "run_1"); e.RequestID == nil || *e.RequestID != "run_1" {
		t.Errorf("%+v", e)
	}
}
