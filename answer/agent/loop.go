package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
)

// Defaults of [Budget] and [Options].
const (
	DefaultIterations = 6
	DefaultTokens     = 20_000
	DefaultActions    = 6
)

// Maximum lengths of the texts of an action, in bytes.
const (
	maxQuery  = 8192
	maxReason = 512 // may quote titles and names of documents
	maxName   = 1024
)

// Options are those of [Run]. The zero value works.
type Options struct {
	Budget  Budget                                  // its time is at most half of the time until the deadline of the run
	Actions int                                     // maximum per round; default 6
	Now     func() time.Time                        // default time.Now
	Spent   func() int                              // returns the tokens spent on planning so far; may be nil
	OnPlan  func(ctx context.Context, p Plan) error // called with each plan before it is carried out; may be nil
	// Replay returns the actions that were chosen for an iteration before the process was restarted; ok is false if the
	// iteration has to be planned. The returned actions are executed without asking the planner, and an empty list ends the
	// loop. May be nil.
	Replay func(iteration int) (actions []Action, ok bool)
}

// ErrTime is the cause of a context of a loop whose time is spent while its run continues.
var ErrTime = errors.New("the time for searching is over")

// loop is a loop in progress.
type loop struct {
	Options
	tools Tools
	view  View
	done  map[string]bool // executed actions
	until time.Time       // zero: no limit
}

// Run lets a planner choose tools until it is finished or the budget is spent. v describes the question; the loop fills in
// its rounds, evidence and budget, and shortens the question by [TrimQuestion]. A question with parts is decomposed first. No
// action is executed twice. If the planner finishes without useful evidence, the loop continues with [Rules] as often as
// [NeedsMore] says, and no loop ends without a search. Errors are those of the tools and of ctx; spending the budget is not
// an error.
func Run(ctx context.Context, v View, p Planner, t Tools, o Options) error {
	o.Actions = cmp.Or(max(o.Actions, 0), DefaultActions)
	o.Budget.Iterations = cmp.Or(max(o.Budget.Iterations, 0), DefaultIterations)
	o.Budget.Tokens = cmp.Or(max(o.Budget.Tokens, 0), DefaultTokens)
	if o.Now == nil {
		o.Now = time.Now
	}
	v.Question, v.Parts = TrimQuestion(v.Question), each(v.Parts, maxQuery) // as actions have them
	l := &loop{Options: o, tools: t, view: v, done: map[string]bool{}}
	within, cancel := l.limit(ctx)
	defer cancel()
	err := l.run(within, p)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(within), ErrTime) && errors.Is(err, within.Err()) {
		return nil
	}
	return err
}

// limit bounds the loop's time, so that there is time left for the answer.
func (l *loop) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	most := l.Budget.Time
	if deadline, ok := ctx.Deadline(); ok {
		if half := time.Until(deadline) / 2; most <= 0 || half < most {
			most = half
		}
	}
	if most <= 0 {
		return ctx, func() {}
	}
	l.until = l.Now().Add(most)
	return context.WithTimeoutCause(ctx, most, ErrTime)
}

func (l *loop) run(ctx context.Context, p Planner) error {
	for iteration := 1; iteration <= l.Budget.Iterations; iteration++ {
		plan, err := l.plan(ctx, p, iteration)
		if err != nil || len(plan.Actions) == 0 {
			return err
		}
		outcomes, err := l.tools.Do(ctx, iteration, plan.Actions)
		if err != nil {
			return err
		}
		l.record(Round{By: plan.By, Outcomes: outcomes})
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// plan returns the next plan; an empty one ends the loop.
func (l *loop) plan(ctx context.Context, p Planner, iteration int) (Plan, error) {
	if l.Replay != nil {
		if actions, ok := l.Replay(iteration); ok {
			return l.allowed(Plan{Actions: actions}), nil
		}
	}
	if iteration == 1 && len(l.view.Parts) > 0 && l.Budget.Iterations > 1 {
		return l.allowed(Plan{By: rules, Actions: []Action{
			{Tool: event.ToolDecomposeQuery, Query: l.view.Question, Reason: "the question has several parts"}}}), nil
	}
	l.view.Left = l.left(iteration)
	plan, err := p.Next(ctx, l.view)
	if err != nil {
		return Plan{}, err
	}
	if l.OnPlan != nil {
		if err := l.OnPlan(ctx, plan); err != nil {
			return Plan{}, err
		}
	}
	if plan = l.allowed(plan); len(plan.Actions) > 0 || l.searched() && !NeedsMore(l.view) {
		return plan, nil
	}
	if plan, err = (Rules{}).Next(ctx, l.view); err != nil {
		return Plan{}, err
	}
	return l.allowed(plan), nil
}

// left returns the remaining budget of the planner.
func (l *loop) left(iteration int) Budget {
	b := Budget{Iterations: l.Budget.Iterations - iteration + 1, Tokens: l.Budget.Tokens}
	if l.Spent != nil {
		b.Tokens = max(0, b.Tokens-l.Spent())
	}
	if !l.until.IsZero() {
		b.Time = max(0, l.until.Sub(l.Now()))
	}
	return b
}

// allowed returns a plan without actions that are invalid, were executed before, or exceed the limit of a round. An action
// that ranks or generates removes all actions, which ends the loop.
func (l *loop) allowed(p Plan) Plan {
	var out []Action
	round := map[string]bool{}
	for _, a := range p.Actions {
		switch a.Tool {
		case event.ToolRerank, event.ToolGenerate:
			return Plan{Thought: p.Thought, By: p.By}
		case event.ToolHybridSearch, event.ToolSemanticSearch, event.ToolPropositionSearch, event.ToolHydeSearch,
			event.ToolGraphTraverse, event.ToolDecomposeQuery:
		case event.ToolReadPages, event.ToolListDocuments:
			if !slices.Contains(l.view.Tools, a.Tool) {
				continue
			}
		default:
			continue
		}
		a.Query, a.Document = TrimQuestion(a.Query), clean(a.Document, maxName)
		if a.Tool == event.ToolReadPages && (a.Document == "" || a.From < 1 || a.To < a.From) {
			continue
		}
		if a.Query == "" && !ReadsDocuments(a.Tool) && (a.Tool != event.ToolGraphTraverse || len(a.Entities) == 0) {
			continue
		}
		if a.Asked = TrimQuestion(a.Asked); a.Asked == "" {
			a.Asked = cmp.Or(a.Query, l.view.Question)
		}
		a.Reason = strings.Join(strings.Fields(clean(a.Reason, maxReason)), " ")
		a.Entities, a.Parts = each(a.Entities, maxName), each(a.Parts, maxQuery)
		key := a.key()
		if l.done[key] || round[key] || len(out) == l.Actions {
			continue
		}
		round[key] = true
		out = append(out, a)
	}
	for key := range round {
		l.done[key] = true
	}
	return Plan{Actions: out, Thought: p.Thought, By: p.By}
}

// TrimQuestion returns a question as actions contain it: clean, trimmed, and at most as long as a search may be. It is
// idempotent.
func TrimQuestion(question string) string { return clean(question, maxQuery) }

func clean(s string, most int) string {
	return strings.TrimSpace(lang.Truncate(lang.Clean(lang.Truncate(s, most)), most)) // cleaning may lengthen a text
}

// maxNames is the maximum number of entities and parts of an action.
const maxNames = 16

func each(all []string, most int) []string {
	var out []string
	for _, s := range all {
		if s = clean(s, most); s != "" && len(out) < maxNames {
			out = append(out, s)
		}
	}
	return out
}

// key is equal for equal actions.
func (a Action) key() string {
	from := slices.Concat(a.Entities, a.Parts)
	for i := range from {
		from[i] = strings.ToLower(from[i])
	}
	slices.Sort(from)
	if a.Tool == event.ToolReadPages {
		return fmt.Sprintf("%s\x00%s\x00%d\x00%d", a.Tool, strings.ToLower(a.Document), a.From, a.To)
	}
	return a.Tool + "\x00" + strings.ToLower(strings.Join(strings.Fields(a.Query), " ")) + "\x00" + strings.Join(slices.Compact(from), "\x00")
}

// Searches reports whether the tool is a search, whose passages are graded.
func Searches(tool string) bool {
	switch tool {
	case event.ToolHybridSearch, event.ToolSemanticSearch, event.ToolPropositionSearch, event.ToolHydeSearch:
		return true
	}
	return false
}

// ReadsDocuments reports whether the tool reads documents as such and does not search.
func ReadsDocuments(tool string) bool {
	return tool == event.ToolReadPages || tool == event.ToolListDocuments
}

// rounds counts the rounds with a search.
func rounds(rs []Round) int {
	n := 0
	for _, r := range rs {
		if slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return Searches(o.Tool) }) {
			n++
		}
	}
	return n
}

// searched reports whether there was a search, or a result about documents as such.
func (l *loop) searched() bool {
	return rounds(l.view.Rounds) > 0 || slices.ContainsFunc(l.view.Rounds, func(r Round) bool {
		return slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return ReadsDocuments(o.Tool) && len(o.Found) > 0 })
	})
}

// maxRetries is the maximum number of additional searches.
const maxRetries = 2

// NeedsMore reports whether the searches found nothing useful, so that another one should be made: at most twice.
func NeedsMore(v View) bool {
	n := rounds(v.Rounds)
	return n > 0 && n <= maxRetries && !useful(v)
}

func useful(v View) bool {
	return slices.ContainsFunc(v.Evidence, func(e Evidence) bool { return e.Class != event.Incorrect })
}

// record records a round and its evidence.
func (l *loop) record(r Round) {
	l.view.Rounds = append(slices.Clip(l.view.Rounds), r)
	evidence := slices.Clone(l.view.Evidence) // a planner may keep the previous slice
	for _, o := range r.Outcomes {
		for _, e := range o.Found {
			i := slices.IndexFunc(evidence, func(k Evidence) bool { return k.Chunk.ID == e.Chunk.ID })
			switch {
			case i < 0:
				evidence = append(evidence, e)
			case e.Score > evidence[i].Score:
				path := evidence[i].Path
				evidence[i] = e
				if evidence[i].Path == nil {
					evidence[i].Path = path
				}
			}
		}
	}
	slices.SortStableFunc(evidence, func(a, b Evidence) int { return cmp.Compare(b.Score, a.Score) })
	l.view.Evidence = evidence
}
