// Package probe finds out what a model can do by asking it.
package probe

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/model"
)

// answerTokens is enough for a model that thinks first to come to its word.
const answerTokens = 512

// Abilities are what a language model was seen to do.
type Abilities struct {
	Stream     bool          // the answer came in pieces
	Tools      bool          // it called the tool that it was given
	JSON       bool          // it answered with JSON of the form that was asked for
	Usage      bool          // the provider told what the answer cost
	Reasoning  bool          // it gave what it thinks
	Context    int           // tokens of a request and its answer; 0: not known
	Output     int           // tokens of an answer; 0: not known
	Tokenizer  string        // what tokens are counted by; empty: it does not say
	FirstToken time.Duration // until the first piece of the first answer
	Err        error         // why it could not be asked; then the rest says little
}

// Chat asks a model three short questions: to count, to call a tool, and to fill in a form.
func Chat(ctx context.Context, m model.Chat) Abilities {
	var a Abilities
	begun := time.Now()
	first := ask(ctx, m, model.Request{
		MaxTokens: answerTokens,
		Messages:  []model.Message{{Role: model.User, Text: "Count from 1 to 9 in digits, with spaces between them. Write nothing else."}},
	})
	a.Err = first.err
	a.Stream = first.pieces > 2
	a.Usage = first.told
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
	called := ask(ctx, m, model.Request{
		MaxTokens: answerTokens,
		Messages:  []model.Message{{Role: model.User, Text: "How high is the water at the gate called North? Use the tool to find out."}},
		Tools: []model.Tool{{
			Name: "water_level", Description: "Gives the height of the water at a gate, in metres.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"gate":{"type":"string"}},"required":["gate"]}`),
		}},
	})
	a.Tools = called.err == nil && called.call == "water_level"
	formed := ask(ctx, m, model.Request{
		MaxTokens: answerTokens,
		Messages:  []model.Message{{Role: model.User, Text: "A gate is 3 metres high and open. Describe it."}},
		Schema: &model.Schema{Name: "gate", JSON: json.RawMessage(
			`{"type":"object","properties":{"metres":{"type":"integer"},"open":{"type":"boolean"}},` +
				`"required":["metres","open"],"additionalProperties":false}`)},
	})
	a.JSON = formed.err == nil && fits(formed.text)
	a.Reasoning = a.Reasoning || called.reasoning || formed.reasoning
	if ctx.Err() != nil {
		a.Err = ctx.Err()
	}
	return a
}

// answer is what was seen of one.
type answer struct {
	text      string
	pieces    int
	reasoning bool
	call      string
	told      bool
	at        time.Time // of the first piece
	err       error
}

func ask(ctx context.Context, m model.Chat, r model.Request) (a answer) {
	var text strings.Builder
	var mu sync.Mutex
	told := false
	inner := model.WithTrace(ctx, &model.Trace{Used: func(name string, u model.Usage) {
		model.Used(ctx, name, u) // whoever counts the cost is told of this, too
		mu.Lock()
		defer mu.Unlock()
		told = told || !u.Estimated
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
	a.text, a.told = text.String(), told
	return a
}

// fits says whether a text is the form that was asked for, and nothing else.
func fits(text string) bool {
	var form struct {
		Metres *int  `json:"metres"`
		Open   *bool `json:"open"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(&form) == nil && !d.More() && form.Metres != nil && form.Open != nil
}

// EmbedAbilities are what an embedder was seen to do.
type EmbedAbilities struct {
	Space    string
	Dim      int  // of its vectors
	PerToken bool // it gives a vector for each token
	Took     time.Duration
	Err      error // why it could not be asked
}

// Embedder asks an embedder for the vector of a short text.
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
