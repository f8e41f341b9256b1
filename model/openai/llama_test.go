package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest/llama"
	"github.com/sluice-rag/sluice/model/openai"
)

// story is the answer of the tiny model at temperature 0. The é is two tokens.
const story = " Sluice gates hold back river water until someone at Montréal decides that fields below need it."

// TestLlama runs the adapter against llama.cpp itself: with a tiny model that knows one story, and with a real one where a
// variable names it.
func TestLlama(t *testing.T) {
	t.Parallel()
	t.Run("tiny", func(t *testing.T) {
		t.Parallel()
		l := newLive(t, llama.Tiny(t))
		l.everyModel(t)
		l.tiny(t)
	})
	t.Run("named", func(t *testing.T) {
		t.Parallel()
		newLive(t, llama.Named(t, llama.ChatVariable)).everyModel(t)
	})
}

// live is an engine and a chat over it. Its tests run one after the other, as they ask what the engine did last.
type live struct {
	*llama.Server
	chat *openai.Chat
}

func newLive(t *testing.T, file string) live {
	t.Helper()
	s := llama.Start(t, file, llama.Options{Context: llama.TinyContext})
	chat, err := openai.New(openai.Options{URL: s.URL, Stall: time.Minute})
	require.NoError(t, err)
	return live{s, chat}
}

// everyModel checks the rules that do not depend on the model.
func (l live) everyModel(t *testing.T) {
	t.Run("limits", func(t *testing.T) {
		if got := l.chat.Limits(t.Context()).Context; got != llama.TinyContext {
			t.Errorf("a context of %d tokens, want %d", got, llama.TinyContext)
		}
		if strings.HasPrefix(l.URL, "http://"+l.chat.Name()) {
			t.Errorf("the model's name was not learnt: %s", l.chat.Name())
		}
	})
	t.Run("tokens are counted as the model cuts them", func(t *testing.T) {
		for _, text := range []string{"river", "An answer, and 12 figures.", "Montréal — 水", strings.Repeat("ab ", 500)} {
			if got, want := l.chat.Count(t.Context(), text), len(l.Tokens(t, text)); got != want {
				t.Errorf("%.20q has %d tokens, want %d", text, got, want)
			}
		}
	})
	t.Run("an answer is streamed, and cut at the limit", func(t *testing.T) {
		a := l.ask(t.Context(), model.Request{Messages: user("Count from 1 to 100, in words."), MaxTokens: 24, Temperature: new(0.0)})
		if a.err != nil || a.stop != model.StopLength {
			t.Fatalf("stop %q, error %v", a.stop, a.err)
		}
		if len(a.pieces) < 10 {
			t.Errorf("24 tokens came in %d pieces", len(a.pieces))
		}
		if len(a.used) != 1 || a.used[0].Output != 24 || a.used[0].Input < 10 || a.used[0].Estimated {
			t.Errorf("reported usage: %+v", a.used)
		}
		if want := (llama.Ended{Reason: "length", Tokens: 24}); l.Idle(t) != want {
			t.Errorf("the engine ended with %+v, want %+v", l.Idle(t), want)
		}
	})
	t.Run("an answer holds to a schema", l.schema)
	t.Run("a tool is called and its result read", l.tools)
	t.Run("the engine stops when nobody reads", l.leave)
	t.Run("a request may be too long", func(t *testing.T) {
		a := l.ask(t.Context(), model.Request{Messages: user(strings.Repeat("water ", 3*llama.TinyContext))})
		if e, ok := errors.AsType[*model.Error](a.err); !ok || e.Failure != model.TooLong || e.Status != 400 {
			t.Errorf("got %v", a.err)
		}
	})
}

// schema requests an object that a model only writes with a grammar.
func (l live) schema(t *testing.T) {
	a := l.ask(t.Context(), model.Request{
		Messages: user("Tell me a story."), MaxTokens: 400, Temperature: new(0.0),
		Schema: &model.Schema{Name: "verdict", JSON: json.RawMessage(`{"type": "object", "properties": {
			"verdict": {"enum": ["supported", "contradicted"]}, "sure": {"type": "boolean"}, "why": {"type": "string", "maxLength": 30}},
			"required": ["verdict", "sure", "why"], "additionalProperties": false}`)},
	})
	if a.err != nil || a.stop != model.StopEnd {
		t.Fatalf("stop %q, error %v", a.stop, a.err)
	}
	var got struct {
		Verdict *string `json:"verdict"`
		Sure    *bool   `json:"sure"`
		Why     *string `json:"why"`
	}
	d := json.NewDecoder(strings.NewReader(a.text()))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatalf("%q: %v", a.text(), err)
	}
	if got.Verdict == nil || *got.Verdict != "supported" && *got.Verdict != "contradicted" || got.Sure == nil || got.Why == nil {
		t.Errorf("got %s", a.text())
	}
}

// tools asks for a call, and answers it.
func (l live) tools(t *testing.T) {
	r := model.Request{
		Messages: user("What is the weather in Montréal?"), MaxTokens: 400, Temperature: new(0.0),
		Tools: []model.Tool{{Name: "weather", Description: "The weather of a day.", Parameters: json.RawMessage(`{"type": "object",
			"properties": {"day": {"enum": ["today", "tomorrow"]}, "wind": {"type": "boolean"}}, "required": ["day", "wind"]}`)}},
	}
	a := l.ask(t.Context(), r)
	if a.err != nil || a.stop != model.StopTools || len(a.calls) != 1 || a.calls[0].Name != "weather" || a.text() != "" {
		t.Fatalf("stop %q, error %v, calls %+v, text %q", a.stop, a.err, a.calls, a.text())
	}
	var input struct {
		Day  string `json:"day"`
		Wind *bool  `json:"wind"`
	}
	err := json.Unmarshal(a.calls[0].Input, &input)
	if err != nil || input.Day != "today" && input.Day != "tomorrow" || input.Wind == nil {
		t.Errorf("the tool is called with %s (%v)", a.calls[0].Input, err)
	}
	r.MaxTokens = 8
	r.Messages = append(r.Messages, model.Message{Role: model.Assistant, ToolCalls: a.calls},
		model.Message{Role: model.ToolResult, ToolCallID: a.calls[0].ID, Text: "Rain."})
	if a := l.ask(t.Context(), r); a.err != nil || a.text() == "" || len(a.calls) > 0 {
		t.Errorf("with the result: error %v, calls %+v, text %q", a.err, a.calls, a.text())
	}
}

// leave stops reading an answer that would go on, once by the context and once by leaving the loop.
func (l live) leave(t *testing.T) {
	long := model.Request{Messages: user("Count from 1 to 2000, in words."), Temperature: new(0.0)}
	for _, by := range []string{"context", "break"} {
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		for piece, e := range l.chat.Complete(ctx, long) {
			if err = e; err != nil || by == "break" {
				break
			}
			if piece.Text != "" {
				cancel()
			}
		}
		cancel()
		if by == "context" && !errors.Is(err, context.Canceled) {
			t.Errorf("by %s: got %v", by, err)
		}
		ended := l.Idle(t)
		if ended.Reason != "gone" {
			t.Errorf("by %s: the engine ended with %+v", by, ended)
		}
		t.Logf("by %s: the engine stopped after %d tokens", by, ended.Tokens)
	}
}

// tiny checks the answers of the tiny model.
func (l live) tiny(t *testing.T) {
	tell := model.Request{Messages: user("Tell me a story."), MaxTokens: 19, Temperature: new(0.0)}
	t.Run("letters are whole", func(t *testing.T) {
		a := l.ask(t.Context(), tell)
		if diff := cmp.Diff(story, a.text()); diff != "" {
			t.Error(diff)
		}
		for _, piece := range a.pieces {
			if !utf8.ValidString(piece) || strings.ContainsRune(piece, utf8.RuneError) {
				t.Errorf("a piece is %q", piece)
			}
		}
	})
	t.Run("an answer ends by itself", func(t *testing.T) {
		a := l.ask(t.Context(), model.Request{Messages: user("Tell me a story."), Temperature: new(0.8)})
		if a.err != nil || a.stop != model.StopEnd || !strings.HasSuffix(a.text(), " four months") {
			t.Errorf("stop %q, error %v, text %q", a.stop, a.err, a.text())
		}
	})
	t.Run("or goes on", func(t *testing.T) {
		a := l.ask(t.Context(), model.Request{Messages: user("Tell me a story."), MaxTokens: 400, Temperature: new(0.0)})
		if a.err != nil || a.stop != model.StopLength || !strings.Contains(a.text(), " four months while gates hold") {
			t.Errorf("stop %q, error %v, text %q", a.stop, a.err, a.text())
		}
	})
	t.Run("more at once than the engine takes", func(t *testing.T) {
		var wait sync.WaitGroup
		for range 6 {
			wait.Go(func() {
				if a := l.ask(t.Context(), tell); a.text() != story || a.stop != model.StopLength || a.err != nil {
					t.Errorf("stop %q, error %v, text %q", a.stop, a.err, a.text())
				}
			})
		}
		wait.Wait()
	})
	t.Run("what is said before counts", func(t *testing.T) {
		short, long := l.ask(t.Context(), tell), tell
		long.Messages = append([]model.Message{
			{Role: model.System, Text: "Be brief."}, {Role: model.User, Text: "Hello."}, {Role: model.Assistant, Text: "Hello!"},
		}, tell.Messages...)
		more := l.ask(t.Context(), long)
		// Each turn has a marker, a new line, its text in letters, an end and another new line.
		if got, want := more.used[0].Input-short.used[0].Input, 3*4+l.chat.Count(t.Context(), "Be brief.Hello.Hello!"); got != want {
			t.Errorf("three more turns have %d tokens, want %d", got, want)
		}
	})
}

// TestLlamaVectors asks llama.cpp itself for vectors, pooled and one a token.
func TestLlamaVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		file func(t testing.TB) string
		o    llama.Options
	}{
		{"tiny, pooled", llama.Tiny, llama.Options{Embeddings: true, Context: 512}},
		{"tiny, per token", llama.Tiny, llama.Options{Embeddings: true, Context: 512, PerToken: true}},
		{"named", named(llama.EmbedVariable), llama.Options{Embeddings: true, Context: 512}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := llama.Start(t, c.file(t), c.o)
			e, err := openai.NewEmbedder(t.Context(), openai.EmbedOptions{URL: s.URL, BatchTexts: 3, Stall: time.Minute})
			require.NoError(t, err)
			if strings.HasPrefix(s.URL, "http://"+e.Space()) {
				t.Errorf("the model's name was not learnt: %s", e.Space())
			}
			if got := e.PerToken(t.Context()); got != c.o.PerToken {
				t.Errorf("it says of vectors per token: %v", got)
			}
			checkVectors(t, e)
			if c.o.PerToken {
				checkTokens(t, s, e)
			}
		})
	}
}

func named(variable string) func(testing.TB) string {
	return func(t testing.TB) string { return llama.Named(t, variable) }
}

// checkVectors checks the rules for the vectors of all models.
func checkVectors(t *testing.T, e *openai.Embedder) {
	t.Helper()
	texts := []string{
		"gates hold back river water", "river water gates hold back", "When winter comes all locks are opened", "",
		"gates hold back river water", strings.Repeat("ice drifts past ", 400),
	}
	var used atomic.Int64 // several requests run at once
	ctx := model.WithTrace(t.Context(), &model.Trace{Used: func(_ string, u model.Usage) { used.Add(int64(u.Input)) }})
	got, err := e.Embed(ctx, texts, model.ForPassage)
	if err != nil || len(got) != len(texts) {
		t.Fatalf("%d vectors of %d texts: %v", len(got), len(texts), err)
	}
	for i, v := range got {
		if (v == nil) != (texts[i] == "") || v != nil && (len(v) != e.Dim() || math.Abs(dot(v, v)-1) > 1e-5) {
			t.Errorf("the vector of %.30q has %d numbers and the length %g", texts[i], len(v), dot(v, v))
		}
	}
	if same := dot(got[0], got[4]); math.Abs(same-1) > 1e-5 {
		t.Errorf("equal texts have the cosine %g", same)
	}
	if near, far := dot(got[0], got[1]), dot(got[0], got[2]); near <= far {
		t.Errorf("texts of the same words have the cosine %g, others %g", near, far)
	}
	if used.Load() < 20 {
		t.Errorf("reported usage: %d tokens", used.Load())
	}
}

// checkTokens holds that the tokens of a text come with their vectors, without the one that begins every text.
func checkTokens(t *testing.T, s *llama.Server, e *openai.Embedder) {
	t.Helper()
	text := "to gates hold river water!"
	got, err := e.EmbedTokens(t.Context(), []string{text, ""}, model.ForQuery)
	if err != nil || len(got) != 2 || len(got[1]) != 0 {
		t.Fatalf("got %v, error %v", got, err)
	}
	if want := len(s.Tokens(t, text)); len(got[0]) != want {
		t.Errorf("%d tokens, want %d", len(got[0]), want)
	}
	var words []string
	for _, token := range got[0] {
		if math.Abs(dot(token.Vector, token.Vector)-1) > 1e-5 {
			t.Errorf("the vector of %q has the length %g", token.Token, dot(token.Vector, token.Vector))
		}
		if len(token.Token) > 1 {
			words = append(words, token.Token)
		}
		if token.Token == "!" && token.Weight != 0 {
			t.Errorf("a sign weighs %g", token.Weight)
		}
	}
	if diff := cmp.Diff([]string{"gates", "hold", "river", "water"}, words); diff != "" {
		t.Error(diff)
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range min(len(a), len(b)) {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// heard is a received answer.
type heard struct {
	pieces []string
	calls  []model.ToolCall
	stop   model.StopReason
	used   []model.Usage
	err    error
}

func (h heard) text() string { return strings.Join(h.pieces, "") }

// ask reads an answer to its end.
func (l live) ask(ctx context.Context, r model.Request) (h heard) {
	ctx = model.WithTrace(ctx, &model.Trace{Used: func(_ string, u model.Usage) { h.used = append(h.used, u) }})
	for piece, err := range l.chat.Complete(ctx, r) {
		switch {
		case err != nil:
			h.err = err
		case piece.Text != "":
			h.pieces = append(h.pieces, piece.Text)
		case piece.Call != nil:
			h.calls = append(h.calls, *piece.Call)
		case piece.Stop != "":
			h.stop = piece.Stop
		}
	}
	return h
}

func user(text string) []model.Message { return []model.Message{{Role: model.User, Text: text}} }
