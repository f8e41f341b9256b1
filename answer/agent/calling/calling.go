// Package calling is the planner that lets a model choose tools by tool calls. Its only input about a run is the
// [agent.View], so it keeps no state per run.
//
// Calls are validated against the schemas in tools.json, which are also sent to the model, and against limits. Documents
// cannot cause actions: their text is fenced (see [prompt]), and the tools can only search.
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
	Timeout time.Duration // for a plan; default 10 s, and at most a quarter of the run's remaining time
}

// rules is the name of the planner without a model in [agent.Plan].
const rules = "rules"

// Causes of a [model.Error], except for the first. None of them contains text of the model.
var (
	errSpent = errors.New("the tokens for planning are used up")
	errCalls = errors.New("it called no tool as it should, nor did it at a second try")
	errRoom  = errors.New("the question and the tools leave no room in its context")
	errLong  = errors.New("it said more than any plan is long")
)

// planner is the [agent.Planner] that asks a model.
type planner struct {
	judge   *prompt.Judge // records whether the model can call tools
	prompts *prompt.Set
	then    agent.Planner
	tools   toolbox
	plain   atomic.Bool // a server did not accept earlier calls in its model's format
	Options
}

// New returns the [agent.Planner] that lets a model call tools. Invalid calls are described to the model, which is asked
// once more. If that fails, or the model fails or is late, then plans this and all further rounds of the run, and the
// failure is reported to the trace. For a simple question then plans the first search, and the model is only asked if that
// finds nothing correct, so most questions cost no tokens. A model whose server does not support tools, or that called
// none three times in a row, is suspended for a few minutes. When the token budget is spent, then plans without a report.
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
	share, cancel := prompt.WithShare(ctx, most, 4)
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
		model.Failed(ctx, prompt.ShareError(ctx, share, m.judge.Name(), err), m.judge.Name(), next.By)
	}
	return next, nil
}

// easy reports whether no model is needed: for a simple question, until the evidence shows that it is not simple.
func easy(v agent.View) bool {
	return v.Complexity == event.Simple && (!searched(v) ||
		slices.ContainsFunc(v.Evidence, func(e agent.Evidence) bool { return e.Class == event.Correct }))
}

// handed reports whether the run has been handed to the rules. Decomposing the question, or the first search for a simple
// one, does not count.
func handed(v agent.View) bool {
	n := 0
	for _, r := range v.Rounds {
		if r.By == rules && slices.ContainsFunc(r.Outcomes, func(o agent.Outcome) bool { return o.Tool != event.ToolDecomposeQuery }) {
			n++
		}
	}
	return n > 1 || n == 1 && v.Complexity != event.Simple
}

// ask asks the model, a second time if that can help, and records what the model can do.
func (m *planner) ask(ctx context.Context, v agent.View) (agent.Plan, error) {
	if err := m.judge.Skipped(); err != nil {
		return agent.Plan{}, err
	}
	plan, err := m.plan(ctx, v)
	e, _ := errors.AsType[*model.Error](err)
	switch {
	case refused(err):
		m.judge.Suspend() // most likely because of the tools, the only unusual part of the request
	case e != nil && e.Failure == model.Empty: // for example a call without an end
		m.judge.Record(&model.Error{Failure: model.Malformed})
	default:
		m.judge.Record(err)
	}
	return plan, err
}

// refused reports whether a server rejected the request as invalid.
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
			// Some servers require the reasoning before a call, and some chat templates do not support tool results.
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
