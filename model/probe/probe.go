// Package probe tests the abilities of a model with short requests.
package probe

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/model"
)

// answerTokens is enough for a model that reasons first.
const answerTokens = 512

// Abilities are the observed abilities of a chat model.
type Abilities struct {
	Stream     bool          // the answer was streamed
	Tools      bool          // it called a tool
	JSON       bool          // it answered with JSON of the requested schema
	Usage      bool          // the provider reported the usage
	Reasoning  bool          // it streamed its reasoning
	Context    int           // tokens of a request and its answer; 0: unknown
	Output     int           // tokens of an answer; 0: unknown
	Tokenizer  string        // how tokens are counted; empty: unknown
	FirstToken time.Duration // of the first request
	Err        error         // if the first request failed; the rest is then undefined
}

// Chat sends three short requests: to count, to call a tool, and to answer in JSON.
func Chat(ctx context.Context, m model.Chat) Abilities {
	var a Abilities
	begun := time.Now()
	first := send(ctx, m, model.Request{
		MaxTokens: answerTokens,
		Messages:  []model.Message{{Role: model.User, Text: "Count from 1 to 9 in digits, with spaces between them. Write nothing else."}},
	})
	a.Err = first.err
	a.Stream = first.pieces > 2
	a.Usage = first.usage
	a.Reasoning = first.reasoning
	if !first.at.IsZero() {
		a.FirstToken = first.at.Sub(begun)
	}
	limits := m.Limits(ctx)
	a.Context, a.Output = limits.Context, limits.Output
	if t, ok := m.(interface {
		Tokenizer(ctx context.Context) string
	}); ok {
		a.Tokenizer = t.Tokenizer(ctx)
	}
	if a.Err != nil {
		return a
	}
	called := send(ctx, m, model.Request{
		MaxTokens: answerTokens,
		Messages:  []model.Message{{Role: model.User, Text: "How high is the water at the gate called North? Use the tool to find out."}},
		Tools: []model.Tool{{
			Name: "water_level", Description: "Gives the height of the water at a gate, in metres.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"gate":{"type":"string"}},"required":["gate"]}`),
		}},
	})
	a.Tools = called.err == nil && called.call == "water_level"
	formed := send(ctx, m, model.Request{
		MaxTokens: answerTokens,
		Messages:  []model.Message{{Role: model.User, Text: "A gate is 3 metres high and open. Describe it."}},
		Schema: &model.Schema{Name: "gate", JSON: json.RawMessage(
			`{"type":"object","properties":{"metres":{"type":"integer"},"open":{"type":"boolean"}},` +
				`"required":["metres","open"],"additionalProperties":false}`)},
	})
	a.JSON = formed.err == nil && isValid(formed.text)
	a.Reasoning = a.Reasoning || called.reasoning || formed.reasoning
	if ctx.Err() != nil {
		a.Err = ctx.Err()
	}
	return a
}

// response summarizes the answer to one request.
type response struct {
	text      string
	pieces    int
	reasoning bool
	call      string
	usage     bool
	at        time.Time // of the first piece
	err       error
}

func send(ctx context.Context, m model.Chat, r model.Request) (a response) {
	var text strings.Builder
	var mu sync.Mutex
	reported := false
	inner := model.WithTrace(ctx, &model.Trace{Used: func(name string, u model.Usage) {
		model.Used(ctx, name, u) // the cost of the probe counts, too
		mu.Lock()
		defer mu.Unlock()
		reported = reported || !u.Estimated
	}})
	for p, err := range m.Complete(inner, r) {
		if err != nil {
			a.err = err
			break
		}
		if a.at.IsZero() {
			a.at = time.Now()
		}
		if p.Text != "" || p.Reasoning != "" {
			a.pieces++
		}
		a.reasoning = a.reasoning || p.Reasoning != ""
		text.WriteString(p.Text)
		if p.Call != nil {
			a.call = p.Call.Name
		}
	}
	mu.Lock()
	defer mu.Unlock()
	a.text, a.usage = text.String(), reported
	return a
}

// isValid reports whether a text is the requested JSON and nothing else.
func isValid(text string) bool {
	var form struct {
		Metres *int  `json:"metres"`
		Open   *bool `json:"open"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(&form) == nil && !d.More() && form.Metres != nil && form.Open != nil
}

// EmbedAbilities are the observed abilities of an embedder.
type EmbedAbilities struct {
	Space    string
	Dim      int  // dimension of the vectors
	PerToken bool // it returns a vector per token
	Took     time.Duration
	Err      error // if the request failed
}

// Embedder embeds a short text.
func Embedder(ctx context.Context, e model.Embedder) EmbedAbilities {
	a := EmbedAbilities{Space: e.Space()}
	begun := time.Now()
	vectors, err := e.Embed(ctx, []string{"A sluice is a gate for water."}, model.ForPassage)
	a.Took = time.Since(begun)
	if a.Err = err; err != nil {
		return a
	}
	if len(vectors) == 1 {
		a.Dim = len(vectors[0])
	}
	_, a.PerToken = e.(model.TokenEmbedder)
	if p, ok := e.(interface {
		PerToken(ctx context.Context) bool
	}); ok {
		a.PerToken = a.PerToken && p.PerToken(ctx)
	}
	return a
}
