// Package calling is the planner that asks a model which tools to use, by the model's own calls of tools. All that it knows of
// a run it reads from the [agent.View], so that it keeps nothing of one.
//
// What a model calls is held against the schemas in tools.json, which is what the model is told of the tools, and against
// bounds. Documents cannot reach anything by it: what they say stands between marks (see [prompt]), and the tools search and
// do nothing else.
package calling

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// Options are those of [New]. The zero value works.
type Options struct {
	Timeout time.Duration // for a plan; default 10 s, and never more than a quarter of what is left of the run's time
}

// rules is what [agent.Plan] calls the form that asks no model.
const rules = "rules"

// Errors that are the causes of a [model.Error], but for the first. What a model said is in none of them.
var (
	errSpent = errors.New("the tokens for planning are used up")
	errCalls = errors.New("it called no tool as it should, nor did it at a second try")
	errRoom  = errors.New("the question and the tools leave no room in its context")
	errLong  = errors.New("it said more than any plan is long")
)

// planner is the form that asks a model.
type planner struct {
	judge   *prompt.Judge // remembers whether the model can call tools
	prompts *prompt.Set
	then    agent.Planner
	tools   toolbox
	plain   atomic.Bool // a server did not take calls that were told as its model's own
	Options
}

// New returns the [agent.Planner] that has a model call the tools. Where what it calls makes no sense, the model is told why and
// asked once more. Where that makes none either, or where the model fails or is late, then plans this and all further
// rounds of the run, and the trace is told. Of a simple question then plans the first search, and the model is asked only if
// that finds nothing which is correct: most questions cost neither its time nor tokens. A model whose server takes no tools, or that called none three times in a row, is
// left alone for a few minutes. Once the tokens of the budget are spent, then plans without a word.
func New(chat model.Chat, prompts *prompt.Set, then agent.Planner, o Options) agent.Planner {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	return &planner{judge: prompt.NewJudge(chat), prompts: prompts, then: then, tools: newToolbox(), Options: o}
}

// Next implements [agent.Planner].
func (m *planner) Next(ctx context.Context, v agent.View) (agent.Plan, error) {
	if handed(v) || easy(v) {
		return m.then.Next(ctx, v)
	}
	most := m.Timeout
	if v.Left.Time > 0 {
		most = min(most, v.Left.Time)
	}
	share, cancel := prompt.Share(ctx, most, 4)
	defer cancel()
	own, by := model.TrackModel(share)
	plan, err := m.ask(own, v)
	if err == nil {
		plan.By = by(m.judge.Name())
		return plan, nil
	}
	if ctx.Err() != nil {
		return agent.Plan{}, ctx.Err()
	}
	next, failed := m.then.Next(ctx, v)
	if failed != nil {
		return agent.Plan{}, failed
	}
	if !errors.Is(err, errSpent) {
		model.Failed(ctx, prompt.Late(ctx, share, m.judge.Name(), err), m.judge.Name(), next.By)
	}
	return next, nil
}

// easy tells whether a model is not needed: for a simple question, as long as what was found does not show that it is none.
func easy(v agent.View) bool {
	return v.Complexity == event.Simple && (!searched(v) ||
		slices.ContainsFunc(v.Evidence, func(e agent.Evidence) bool { return e.Class == event.Correct }))
}

// handed tells whether the run is in the hands of the rules already. That they took the question apart, or searched for a
// simple one first, is not meant by it.
func handed(v agent.View) bool {
	n := 0
	for _, r := range v.Rounds {
		if r.By == rules && slices.ContainsFunc(r.Outcomes, func(o agent.Outcome) bool { return o.Tool != event.ToolDecomposeQuery }) {
			n++
		}
	}
	return n > 1 || n == 1 && v.Complexity != event.Simple
}

// ask asks the model, a second time where that is of use, and learns what the model can do.
func (m *planner) ask(ctx context.Context, v agent.View) (agent.Plan, error) {
	if err := m.judge.Skipped(); err != nil {
		return agent.Plan{}, err
	}
	plan, err := m.plan(ctx, v)
	e, _ := errors.AsType[*model.Error](err)
	switch {
	case refused(err):
		m.judge.Rest() // most likely for the tools, as nothing else in the request is out of the ordinary
	case e != nil && e.Failure == model.Empty: // as of a model that never ends a call
		m.judge.Saw(&model.Error{Failure: model.Malformed})
	default:
		m.judge.Saw(err)
	}
	return plan, err
}

// refused tells whether a server took a request for none that can be answered.
func refused(err error) bool {
	e, ok := errors.AsType[*model.Error](err)
	return ok && e.Failure == model.Rejected && e.Status != 0
}

func (m *planner) plan(ctx context.Context, v agent.View) (agent.Plan, error) {
	var spent atomic.Int64
	own := model.WithTrace(ctx, &model.Trace{
		Failed: func(err error, name, next string) { model.Failed(ctx, err, name, next) },
		Used: func(name string, u model.Usage) {
			spent.Add(int64(max(u.Input, 0) + max(u.Output, 0)))
			model.Used(ctx, name, u)
		},
	})
	complaint := ""
	for try := 0; try < 2; try++ {
		plain := m.plain.Load()
		r, err := m.request(own, v, v.Left.Tokens-int(spent.Load()), complaint, plain)
		if errors.Is(err, errSpent) && complaint != "" {
			break
		}
		if err != nil {
			return agent.Plan{}, err
		}
		s, err := m.complete(own, r)
		if refused(err) && !plain && len(r.Messages) > 2 {
			// Some want the thoughts back that came with a call, and some templates know no replies of tools.
			m.plain.Store(true)
			try--
			continue
		}
		if err != nil {
			return agent.Plan{}, err
		}
		var actions []agent.Action
		if actions, complaint = m.tools.read(v, s); complaint == "" {
			return agent.Plan{Actions: actions, Thought: s.thought}, nil
		}
	}
	return agent.Plan{}, &model.Error{Model: m.judge.Name(), Failure: model.Malformed, Cause: errCalls}
}
