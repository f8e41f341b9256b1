// Package generate writes answers with a language model: it packs the passages into the model's context, asks, and makes text
// and citations of what comes.
package generate

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// NoAnswer is what is said where there is no passage to answer from. The model-free generator says the same.
const NoAnswer = "The documents do not seem to hold an answer to this question."

// temperature keeps a model close to what it reads. At 0 small models fall into loops.
const temperature = 0.2

// reserve is the time that a model which says nothing leaves to the generator behind it, which takes no more than a moment; of
// less than four times as much, a quarter is left.
const reserve = time.Second

var errSilent = errors.New("it said nothing while there was time for the answer")

// Options are what may be said about a [Model]. The zero value works.
type Options struct {
	// Context is how many tokens a request and its answer may have together, where the model tells nothing or more. 0: as
	// the model tells, and 8192 where it does not.
	Context int
	// MaxTokens is how long an answer may get, in tokens, what a model thinks included where it counts that. Models of
	// less context than four times as much are asked for a quarter of it. 0: 1024.
	MaxTokens int
}

// Model is a [model.Generator] on a language model. Its methods may be called at once.
type Model struct {
	chat    model.Chat
	prompts *prompt.Set
	then    model.Generator
	opts    Options
}

var (
	_ model.Generator        = (*Model)(nil)
	_ model.ParameterSupport = (*Model)(nil)
)

// NewModel makes a generator that asks chat by the prompt answer.md; nil prompts are the program's own. Where the model says
// nothing, then answers in its place, if it is not nil.
func NewModel(chat model.Chat, prompts *prompt.Set, then model.Generator, o Options) *Model {
	o.Context = max(o.Context, 0)
	if o.MaxTokens <= 0 {
		o.MaxTokens = 1024
	}
	return &Model{chat: chat, prompts: prompts, then: then, opts: o}
}

// Name gives that of the model.
func (m *Model) Name() string { return m.chat.Name() }

// SupportsParameters implements [model.ParameterSupport].
func (m *Model) SupportsParameters() bool { return true }

// Generate implements [model.Generator]. Of a task that [Model.Fit] has not seen, or of one that fits no longer, the model
// reads what fits.
//
// A model that fails before it has said anything, also by giving no text, is told to the trace of ctx, and the generator
// that was given for this answers the task; without one, the error ends the sequence. One that fails later is told too,
// and the answer ends with [model.StopIncomplete] and no error. So does the answer of a model that cannot go on with what was
// said before ([model.Task.Prefix]).
func (m *Model) Generate(ctx context.Context, t model.Task) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if len(t.Passages) == 0 || t.Prefix != "" && !continues(m.chat) {
			if rest, ok := strings.CutPrefix(NoAnswer, t.Prefix); !ok || len(t.Passages) > 0 {
				yield(model.Delta{Stop: model.StopIncomplete}, nil)
			} else if rest != "" {
				yield(model.Delta{Text: rest}, nil)
			}
			return
		}
		a := &answer{Model: m, markers: markers{yield: yield}}
		err := a.ask(ctx, t)
		switch {
		case a.stopped:
		case err == nil:
			if a.stop != model.StopEnd {
				yield(model.Delta{Stop: a.stop}, nil)
			}
		case ctx.Err() != nil:
			yield(model.Delta{}, ctx.Err())
		case a.told:
			model.Failed(ctx, err, m.failed(err), "")
			yield(model.Delta{Stop: model.StopIncomplete}, nil)
		case m.then == nil:
			yield(model.Delta{}, err)
		default:
			model.Failed(ctx, err, m.failed(err), m.then.Name())
			m.then.Generate(ctx, t)(yield)
		}
	}
}

func continues(chat model.Chat) bool {
	c, ok := chat.(model.Continuer)
	return ok && c.CanContinue()
}

// failed names the model that failed: of a chain, the one that the error is about.
func (m *Model) failed(err error) string {
	if e, ok := errors.AsType[*model.Error](err); ok && e.Model != "" {
		return e.Model
	}
	return m.chat.Name()
}

// answer is one that is being written.
type answer struct {
	*Model
	markers
	stop model.StopReason
}

// ask yields what the model says. The error is how it failed; all that it said before was yielded.
func (a *answer) ask(ctx context.Context, t model.Task) error {
	own, speaks, done := a.patience(ctx)
	defer done()
	plan := a.plan(own, t)
	shown := plan.talk
	shown.Passages = ends(plan.passages)
	messages, err := a.prompts.Render(shown)
	if err != nil {
		return err
	}
	for _, p := range plan.passages {
		a.numbers = append(a.numbers, p.ID)
	}
	a.continueFrom(t.Prefix)
	low := temperature
	if t.Temperature != nil && *t.Temperature == *t.Temperature { // a number
		low = max(0, min(1, *t.Temperature))
	}
	r := model.Request{Messages: messages, MaxTokens: plan.output, Temperature: &low, Prefix: t.Prefix}
	for p, perr := range a.chat.Complete(own, r) {
		if perr != nil {
			err = perr
			break
		}
		if !a.take(p) {
			return nil
		}
		if a.told {
			speaks()
		}
		if a.stop != "" {
			break
		}
	}
	if !a.end() || err != nil {
		return late(ctx, own, a.chat.Name(), err)
	}
	switch {
	case a.stop == "":
		return &model.Error{Model: a.chat.Name(), Failure: model.Truncated}
	case !a.told:
		return &model.Error{Model: a.chat.Name(), Failure: model.Empty}
	case a.stop == model.StopTools: // none were offered
		a.stop = model.StopIncomplete
	}
	return nil
}

// patience gives the context for asking, which ends before ctx does unless speaks was called by then. Done frees it.
func (a *answer) patience(ctx context.Context) (own context.Context, speaks, done func()) {
	own, cancel := context.WithCancelCause(ctx)
	deadline, ok := ctx.Deadline()
	if !ok || a.then == nil {
		return own, func() {}, func() { cancel(nil) }
	}
	left := time.Until(deadline)
	timer := time.AfterFunc(left-min(reserve, left/4), func() { cancel(errSilent) })
	return own, func() { timer.Stop() }, func() {
		timer.Stop()
		cancel(nil)
	}
}

// late gives the error of a model whose patience ended as one of the model.
func late(ctx, own context.Context, name string, err error) error {
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(own), errSilent) {
		return &model.Error{Model: name, Failure: model.TimedOut, Cause: errSilent}
	}
	return err
}

// take yields what a piece holds, and says whether anybody listens still.
func (a *answer) take(p model.Piece) bool {
	switch {
	case p.Text != "":
		return a.write(p.Text)
	case p.Resumed:
		a.resume()
	case p.Reasoning != "":
		if s := visible(p.Reasoning); s != "" {
			a.stopped = !a.yield(model.Delta{Reasoning: restored.Replace(s)}, nil)
		}
	case p.Stop != "":
		a.stop = p.Stop
	}
	return !a.stopped
}

// visible gives s without what is never shown.
func visible(s string) string {
	never := func(r rune) bool {
		if r < utf8.RuneSelf {
			return kinds[r] == hidden
		}
		return r != '⟧' && kindOf(r, utf8.RuneLen(r)) == hidden
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, never) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if never(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// limit is the smaller of two limits, 0 being none.
func limit(a, b int) int { return min(cmp.Or(a, b), cmp.Or(b, a)) }
