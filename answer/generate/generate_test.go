package generate_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/generate"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/failover"
	"github.com/sluice-rag/sluice/model/local"
)

// chat says what it is told to. Its tokens are words, so that texts can be counted by hand.
type chat struct {
	name   string
	limits model.Limits
	pieces []model.Piece
	err    error
	before func() // the last piece

	asked []model.Request
	left  bool // whoever asked left before the end
}

func (c *chat) Name() string                          { return c.name }
func (c *chat) Limits(context.Context) model.Limits   { return c.limits }
func (c *chat) Count(_ context.Context, s string) int { return len(strings.Fields(s)) }
func says(pieces ...model.Piece) *chat                { return &chat{name: "model", pieces: pieces} }
func text(s string) model.Piece                       { return model.Piece{Text: s} }
func failing(f model.Failure, pieces ...model.Piece) *chat {
	return &chat{name: "model", pieces: pieces, err: &model.Error{Model: "model", Failure: f}}
}

var end = model.Piece{Stop: model.StopEnd}

func (c *chat) Complete(_ context.Context, r model.Request) iter.Seq2[model.Piece, error] {
	return func(yield func(model.Piece, error) bool) {
		c.asked = append(c.asked, r)
		for i, p := range c.pieces {
			if c.before != nil && i == len(c.pieces)-1 {
				c.before()
			}
			if !yield(p, nil) {
				c.left = true
				return
			}
		}
		if c.err != nil {
			yield(model.Piece{}, c.err)
		}
	}
}

func task(texts ...string) model.Task {
	t := model.Task{Question: "Why does gold settle?"}
	for i, s := range texts {
		t.Passages = append(t.Passages, model.Passage{N: i + 1, Score: 1 / float64(i+1),
			Chunk: corpus.Chunk{ID: corpus.ChunkID(fmt.Sprint("c", i+1)), Title: "Mining", Headings: []string{"Gold"}, Text: s, End: len(s)}})
	}
	return t
}

// told runs a generator and gives the answer with its citations as {n}, its reasoning as (…), its end as <…> and its error, and
// what the trace was told.
func told(ctx context.Context, g model.Generator, t model.Task) (answer string, trace []string) {
	ctx = model.WithTrace(ctx, &model.Trace{Failed: func(err error, name, next string) {
		trace = append(trace, fmt.Sprintf("%v: %s, then %q", err, name, next))
	}})
	var b strings.Builder
	for d, err := range g.Generate(ctx, t) {
		b.WriteString(d.Text)
		if d.Cite != 0 {
			fmt.Fprintf(&b, "{%d}", d.Cite)
		}
		if d.Reasoning != "" {
			b.WriteString("(" + d.Reasoning + ")")
		}
		if d.Stop != "" {
			b.WriteString("<" + string(d.Stop) + ">")
		}
		if err != nil {
			b.WriteString("! " + err.Error())
		}
	}
	return b.String(), trace
}

const gold = "Gold is heavier than gravel, so gold settles behind the riffles."

func TestGenerate(t *testing.T) {
	const extracted = gold + "{1}"
	cut := errors.New("boom")
	for name, c := range map[string]struct {
		chat  *chat
		want  string
		trace []string
	}{
		"an answer":       {says(text("Gold"), text(" is heavy ⟦"), text("1⟧."), end), "Gold is heavy{1}.", nil},
		"with reasoning":  {says(model.Piece{Reasoning: "Hm\x07,\n"}, model.Piece{Reasoning: "\x00"}, text("Gold."), end), "(Hm,\n)Gold.", nil},
		"no valid marker": {says(text("Gold is heavy [7]."), end), "Gold is heavy.", nil},
		"too long":        {says(text("Gold is ⟦1"), model.Piece{Stop: model.StopLength}), "Gold is<length>", nil},
		"filtered":        {says(text("Gold"), model.Piece{Stop: model.StopFiltered}), "Gold<filtered>", nil},
		"incomplete":      {says(text("Gold"), model.Piece{Stop: model.StopIncomplete}), "Gold<incomplete>", nil},
		"wants a tool":    {says(text("Gold"), model.Piece{Stop: model.StopTools}), "Gold<incomplete>", nil},
		"fails at once": {failing(model.Unreachable), extracted,
			[]string{`model could not be reached: model, then "sluice-extractive"`}},
		"fails before any text": {failing(model.ServerError, model.Piece{Reasoning: "Hm."}, text(" \n"), text("⟦1⟧ Answer:")), "(Hm.)" + extracted,
			[]string{`model failed: model, then "sluice-extractive"`}},
		"another kind of error": {&chat{name: "model", err: cut}, extracted, []string{`boom: model, then "sluice-extractive"`}},
		"says nothing":          {says(end), extracted, []string{`model sent no answer: model, then "sluice-extractive"`}},
		"says only markers":     {says(text("⟦1⟧\n"), end), extracted, []string{`model sent no answer: model, then "sluice-extractive"`}},
		"thinks to the limit": {says(model.Piece{Reasoning: "Hm."}, model.Piece{Stop: model.StopLength}), "(Hm.)" + extracted,
			[]string{`model sent no answer: model, then "sluice-extractive"`}},
		"fails in the middle": {failing(model.Stalled, text("Gold is"), text(" ⟦1")), "Gold is<incomplete>",
			[]string{`model stopped sending: model, then ""`}},
		"ends without a reason": {says(text("Gold")), "Gold<incomplete>", []string{`model broke off: model, then ""`}},
		"goes on elsewhere":     {says(text("Gold is ⟦"), model.Piece{Resumed: true}, text("heavy ⟦1⟧."), end), "Gold is heavy{1}.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := generate.NewModel(c.chat, nil, local.New(local.Options{}), generate.Options{})
			got, trace := told(t.Context(), g, task(gold, "Tin is light."))
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.trace, trace); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestGenerateAlone(t *testing.T) {
	g := generate.NewModel(failing(model.Unreachable), nil, nil, generate.Options{})
	if got, trace := told(t.Context(), g, task(gold)); got != "! model could not be reached" || trace != nil {
		t.Errorf("%q, %q", got, trace)
	}
	c := says(text("Made up."), end)
	if got, _ := told(t.Context(), generate.NewModel(c, nil, nil, generate.Options{}), task()); got != lang.NoAnswer || c.asked != nil {
		t.Errorf("without passages: %q, %d requests", got, len(c.asked))
	}
}

func TestGenerateStops(t *testing.T) {
	c := says(text("Gold"), text(" is"), text(" heavy."), end)
	for _, _ = range generate.NewModel(c, nil, nil, generate.Options{}).Generate(t.Context(), task(gold)) {
		break
	}
	if !c.left {
		t.Error("the model says on although nobody listens")
	}

	ctx, cancel := context.WithCancel(t.Context())
	c = failing(model.Truncated, text("Gold"), text(" is"))
	c.before, c.err = cancel, context.Canceled
	got, trace := told(ctx, generate.NewModel(c, nil, local.New(local.Options{}), generate.Options{}), task(gold))
	if got != "Gold is! context canceled" || trace != nil {
		t.Errorf("%q, %q", got, trace)
	}
	c = failing(model.Truncated)
	c.err = context.Canceled
	got, trace = told(ctx, generate.NewModel(c, nil, local.New(local.Options{}), generate.Options{}), task(gold))
	if got != "! context canceled" || trace != nil {
		t.Errorf("before any text: %q, %q", got, trace)
	}
}

// TestFailover holds that an answer which goes over from one model to another reads as one.
func TestFailover(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string
		want          string
	}{
		"in a marker":                    {"Gold is heavier than gravel ⟦1", " ⟦2⟧, so it settles ⟦1⟧.", "Gold is heavier than gravel{2}, so it settles{1}."},
		"in a marker that is told again": {"Gold is heavier than gravel ⟦1", "⟦1⟧, so it settles.", "Gold is heavier than gravel{1}, so it settles."},
		"in a marker of numbers":         {"Gold is heavy ⟦1, ", "⟦1⟧.", "Gold is heavy{1}."},
		"in a plain marker":              {"Gold is heavier than gravel [1", "] and settles [2].", "Gold is heavier than gravel{1} and settles{2}."},
		"in a word":                      {"Gold is heavier than gra", "vel ⟦1⟧.", "Gold is heavier than gravel{1}."},
		"after a marker":                 {"Gold is heavy ⟦1⟧", ". It settles ⟦2⟧.", "Gold is heavy{1}. It settles{2}."},
		"before any text":                {"", "Gold is heavy ⟦1⟧.", "Gold is heavy{1}."},
		"the sentence again":             {"Tin is light. Gold is heavier than", "Gold is heavier than gravel ⟦1⟧.", "Tin is light. Gold is heavier than gravel{1}."},
	} {
		t.Run(name, func(t *testing.T) {
			first := failing(model.Rejected, text(c.first))
			if c.first == "" {
				first.pieces = nil
			}
			second := says(text(c.second), end)
			chain := failover.New([]model.Chat{first, second}, failover.Options{})
			got, trace := told(t.Context(), generate.NewModel(chain, nil, nil, generate.Options{}), task(gold, "Tin is light."))
			if got != c.want || len(trace) != 1 {
				t.Errorf("%q, want %q; told %q", got, c.want, trace)
			}
		})
	}
}
