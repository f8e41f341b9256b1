package uistream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/uistream"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// chunks are the types of chunks by their name.
var chunks = map[string]func() any{
	"start": new1[uistream.Start], "start-step": new1[uistream.Step], "finish-step": new1[uistream.Step], "text-start": new1[uistream.TextStart], "text-delta": new1[uistream.TextDelta],
	"text-end": new1[uistream.TextEnd], "reasoning-start": new1[uistream.Reasoning], "reasoning-end": new1[uistream.Reasoning], "reasoning-delta": new1[uistream.ReasoningDelta],
	"tool-input-available": new1[uistream.ToolInput], "tool-output-available": new1[uistream.ToolOutput], "tool-output-error": new1[uistream.ToolError],
	"source-url": new1[uistream.SourceURL], "source-document": new1[uistream.SourceDocument], "data-confidence": new1[uistream.ConfidencePart], "data-cost": new1[uistream.CostPart],
	"finish": new1[uistream.Finish], "error": new1[uistream.Error], "abort": new1[uistream.Abort],
}

func new1[T any]() any { return new(T) }

// reader is a client: it checks the order of the chunks as the package ai does, and more strictly.
type reader struct {
	out   []string
	last  string // type of the last chunk
	text  strings.Builder
	open  map[string]bool // parts and tool calls that are open
	ended map[string]bool
}

func (r *reader) begin(id string) error {
	if r.open[id] || r.ended[id] {
		return fmt.Errorf("%s begins again", id)
	}
	r.open[id] = true
	return nil
}

func (r *reader) end(id string) error {
	if !r.open[id] {
		return fmt.Errorf("%s is not open", id)
	}
	delete(r.open, id)
	r.ended[id] = true
	return nil
}

func (r *reader) next(f wire.Frame) error {
	terminal := r.last == "finish" || r.last == "error" || r.last == "abort"
	if string(f.Data) == "[DONE]" {
		if !terminal {
			return fmt.Errorf("the end follows %s", r.last)
		}
		r.last = "done"
		r.out = append(r.out, f.ID.String()+" done")
		return nil
	}
	var c struct{ Type, ID, ToolCallID, Delta string }
	if err := json.Unmarshal(f.Data, &c); err != nil {
		return err
	}
	typed, ok := chunks[c.Type]
	if !ok {
		return fmt.Errorf("a chunk of the type %q", c.Type)
	}
	if err := wiretest.Strict(f.Data, typed()); err != nil {
		return err
	}
	var err error
	switch {
	case terminal || r.last == "done" || (c.Type == "start") != (r.last == "") || (c.Type == "start-step") != (r.last == "start") || (c.Type == "finish") != (r.last == "finish-step"):
		err = errors.New("out of place")
	case len(r.open) > 0 && (c.Type == "finish-step" || c.Type == "error" || c.Type == "abort"):
		err = fmt.Errorf("open: %v", slices.Collect(maps.Keys(r.open)))
	case c.Type == "text-start" || c.Type == "reasoning-start":
		err = r.begin(c.ID)
	case c.Type == "tool-input-available":
		err = r.begin(c.ToolCallID)
	case c.Type == "text-end" || c.Type == "reasoning-end":
		err = r.end(c.ID)
	case c.Type == "tool-output-available" || c.Type == "tool-output-error":
		err = r.end(c.ToolCallID)
	case c.Type == "text-delta" || c.Type == "reasoning-delta":
		if !r.open[c.ID] {
			err = fmt.Errorf("%s is not open", c.ID)
		}
	}
	if err != nil {
		return fmt.Errorf("%s after %s: %w", c.Type, r.last, err)
	}
	r.last = c.Type
	if c.Type == "text-delta" {
		r.text.WriteString(c.Delta)
	} else {
		r.out = append(r.out, f.ID.String()+" "+string(f.Data))
	}
	return nil
}

func read(frames []wire.Frame) ([]string, error) {
	r := reader{open: map[string]bool{}, ended: map[string]bool{}}
	for _, f := range frames {
		if err := r.next(f); err != nil {
			return nil, fmt.Errorf("frame %s: %w: %.200s", f.ID, err, f.Data)
		}
	}
	if r.last != "done" {
		return nil, fmt.Errorf("the stream ends with %s", r.last)
	}
	return append(r.out, "text: "+r.text.String()), nil
}

// logs are the runs of the goldens.
func logs() map[string][]event.Event {
	all := wiretest.Runs()
	all["linked"] = wiretest.Linked()
	all["searching"] = wiretest.LogOf(append(wiretest.Opening(""), event.CacheChecked{}, event.RetrievalStarted{Call: 1, Tool: event.ToolHybridSearch, Query: "keeper", Iteration: 1},
		event.ToolCalled{Call: 2, Tool: event.ToolDecomposeQuery, Input: json.RawMessage(`{"query":"And?"}`), Iteration: 1}, event.ToolReturned{Call: 2, Tool: event.ToolDecomposeQuery, Result: json.RawMessage(`{"parts":["a","b"]}`)},
		event.ToolCalled{Call: 3, Tool: event.ToolListDocuments, Input: json.RawMessage(`{}`), Iteration: 1}, event.RunFailed{Code: "CANCELLED", Message: "the run was cancelled"})...)
	return all
}

func TestLaws(t *testing.T) {
	t.Parallel()
	for _, p := range []uistream.Protocol{{}, {Origin: "http://localhost:8000"}} {
		wiretest.TestProtocol(t, wiretest.Subject{Protocol: p, Read: read}, wiretest.WithRandom(logs()))
	}
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	wiretest.TestGoldens(t, uistream.Protocol{}, ".txt", logs())
}

// TestCitations: the positions are those of strings in JavaScript.
func TestCitations(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"linked":   {"source-1 Zoë keeps it 🕯.", "source-2 Zoë keeps it 🕯.", "source-1 It burns oil."},
		"answered": {"source-1 Zoë keeps it 🕯.", "source-2 Zoë keeps it 🕯.", "source-1 The lamp\u2028 burns oil."},
		"cached":   {"source-1 Zoë keeps it."},
	} {
		var got []string
		var text strings.Builder
		for _, f := range wiretest.Project(uistream.Protocol{}.New(), [][]event.Event{logs()[name]}) {
			var c struct {
				Type, Delta string
				Citations   []uistream.Citation
			}
			if json.Unmarshal(f.Data, &c) != nil {
				continue
			}
			if c.Type == "text-delta" {
				text.WriteString(c.Delta)
			}
			units := utf16.Encode([]rune(text.String()))
			for _, cited := range c.Citations {
				got = append(got, cited.Source.ID+" "+string(utf16.Decode(units[cited.StartIndex:cited.EndIndex])))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNoCost: an answer that costs nothing has no part that says so.
func TestNoCost(t *testing.T) {
	t.Parallel()
	for fee, want := range map[event.Credits]bool{0: false, 7: true} {
		log := wiretest.LogOf(append(wiretest.Opening(""), event.CacheChecked{Hit: true}, event.Token{Text: "Zoë."}, event.Attributed{By: "cache"},
			event.Settled{Transaction: "t_1", Fee: fee}, event.RunFinished{})...)
		if got := strings.Contains(wiretest.Golden(uistream.Protocol{}, [][]event.Event{log}), "data-cost"); got != want {
			t.Errorf("a fee of %d: %v", fee, got)
		}
	}
}

// TestLargeInputs: what clients send back with each question stays small.
func TestLargeInputs(t *testing.T) {
	t.Parallel()
	large := json.RawMessage(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	found := make([]event.Found, 500)
	log := wiretest.LogOf(append(wiretest.Opening(""), event.CacheChecked{},
		event.ToolCalled{Call: 1, Tool: event.ToolReadPages, Input: large, Iteration: 1}, event.ToolReturned{Call: 1, Tool: event.ToolReadPages, Result: large},
		event.RetrievalStarted{Call: 2, Tool: event.ToolHybridSearch, Query: string(large), Iteration: 1}, event.RetrievalFinished{Call: 2, Tool: event.ToolHybridSearch, Found: found},
		event.RunFailed{Code: "TIMEOUT", Message: string(large)})...)
	frames := wiretest.Project(uistream.Protocol{}.New(), [][]event.Event{log})
	if _, err := read(frames); err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if len(f.Data) > 4<<10 {
			t.Errorf("frame %s has %d bytes", f.ID, len(f.Data))
		}
	}
}
