// Package generate writes answers with a language model: it fits the passages into the model's context, sends the request,
// and converts the reply to text and citations.
package generate

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// temperature keeps a model close to what it reads. At 0 small models fall into loops.
const temperature = 0.2

// fallbackTime is the time that is left for the fallback generator if the model does not start to answer, at most a quarter of
// the remaining time.
const fallbackTime = time.Second

var errNoOutput = errors.New("no output before the time reserved for the fallback")

// Options are options of a [Model]. The zero value works.
type Options struct {
	// Context limits the tokens of a request with its answer. 0: the model's limit, or 8192 if the model does not report
	// one.
	Context int
	// MaxTokens limits the tokens of an answer, including reasoning if the model counts it. At most a quarter of the model's
	// context is used. 0: 1024.
	MaxTokens int
}

// Model is a [model.Generator] that uses a language model. It is safe for concurrent use.
type Model struct {
	chat     model.Chat
	prompts  *prompt.Set
	fallback model.Generator
	opts     Options
}

var (
	_ model.Generator        = (*Model)(nil)
	_ model.ParameterSupport = (*Model)(nil)
)

// NewModel returns a generator that asks chat with the prompt answer.md; nil prompts are the built-in ones. If the model
// fails before it has written anything, then answers instead, unless it is nil.
func NewModel(chat model.Chat, prompts *prompt.Set, then model.Generator, o Options) *Model {
	o.Context = max(o.Context, 0)
	if o.MaxTokens <= 0 {
		o.MaxTokens = 1024
	}
	return &Model{chat: chat, prompts: prompts, fallback: then, opts: o}
}

// Name returns the name of the model.
func (m *Model) Name() string { return m.chat.Name() }

// SupportsParameters implements [model.ParameterSupport].
func (m *Model) SupportsParameters() bool { return true }

// Generate implements [model.Generator]. If the task was not fitted by [Model.Fit], or does not fit any more, the model
// reads what fits.
//
// The failure of a model before it has written text, or an empty reply, is reported to the trace of ctx, and the fallback
// generator answers the task; without one the sequence ends with the error. A later failure is reported too, and the
// answer ends with [model.StopIncomplete] and no error. The same applies to a model that cannot continue earlier text
// ([model.Task.Prefix]).
func (m *Model) Generate(ctx context.Context, t model.Task) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if len(t.Passages) == 0 || t.Prefix != "" && !continues(m.chat) {
			if rest, ok := strings.CutPrefix(lang.NoAnswer, t.Prefix); !ok || len(t.Passages) > 0 {
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
		case a.yielded:
			model.Failed(ctx, err, m.failed(err), "")
			yield(model.Delta{Stop: model.StopIncomplete}, nil)
		case m.fallback == nil:
			yield(model.Delta{}, err)
		default:
			model.Failed(ctx, err, m.failed(err), m.fallback.Name())
			m.fallback.Generate(ctx, t)(yield)
		}
	}
}

func continues(chat model.Chat) bool {
	c, ok := chat.(model.Continuer)
	return ok && c.CanContinue()
}

// failed returns the name of the model that failed; of a chain, the one in the error.
func (m *Model) failed(err error) string {
	if e, ok := errors.AsType[*model.Error](err); ok && e.Model != "" {
		return e.Model
	}
	return m.chat.Name()
}

// answer is an answer in progress.
type answer struct {
	*Model
	markers
	stop model.StopReason
}

// ask yields the model's reply and returns the error that ended it, if any.
func (a *answer) ask(ctx context.Context, t model.Task) error {
	own, started, done := a.startTimeout(ctx)
	defer done()
	plan := a.plan(own, t)
	shown := plan.prompt
	shown.Passages = bestAtEnds(plan.passages)
	messages, err := a.prompts.Render(shown)
	if err != nil {
		return err
	}
	for _, p := range plan.passages {
		a.numbers = append(a.numbers, p.ID)
	}
	a.continueFrom(t.Prefix)
	low := temperature
	if t.Temperature != nil && *t.Temperature == *t.Temperature { // not NaN
		low = max(0, min(1, *t.Temperature))
	}
	r := model.Request{Messages: messages, MaxTokens: plan.output, Temperature: &low, Prefix: t.Prefix}
	for p, perr := range a.chat.Complete(own, r) {
		if perr != nil {
			err = perr
			break
		}
		if !a.handle(p) {
			return nil
		}
		if a.yielded {
			started()
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
	case !a.yielded:
		return &model.Error{Model: a.chat.Name(), Failure: model.Empty}
	case a.stop == model.StopTools: // no tools were offered
		a.stop = model.StopIncomplete
	}
	return nil
}

// startTimeout returns the context of a request, which ends before ctx unless started is called by then. done releases it.
func (a *answer) startTimeout(ctx context.Context) (own context.Context, started, done func()) {
	own, cancel := context.WithCancelCause(ctx)
	deadline, ok := ctx.Deadline()
	if !ok || a.fallback == nil {
		return own, func() {}, func() { cancel(nil) }
	}
	left := time.Until(deadline)
	timer := time.AfterFunc(left-min(fallbackTime, left/4), func() { cancel(errNoOutput) })
	return own, func() { timer.Stop() }, func() {
		timer.Stop()
		cancel(nil)
	}
}

// late converts the error of a model that did not start in time.
func late(ctx, own context.Context, name string, err error) error {
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(own), errNoOutput) {
		return &model.Error{Model: name, Failure: model.TimedOut, Cause: errNoOutput}
	}
	return err
}

// handle yields the content of a piece, and reports whether the consumer wants more.
func (a *answer) handle(p model.Piece) bool {
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

// visible returns s without characters that are never shown.
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

// limit returns the smaller of two limits; 0 means no limit.
func limit(a, b int) int { return min(cmp.Or(a, b), cmp.Or(b, a)) }
