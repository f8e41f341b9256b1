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

// The defaults of a [Budget] and of [Options].
const (
	DefaultIterations = 6
	DefaultTokens     = 20_000
	DefaultActions    = 6
)

// The longest texts of an action, in bytes.
const (
	maxQuery  = 8192
	maxReason = 512 // which may quote titles and names of documents
	maxName   = 1024
)

// Options are those of [Run]. The zero value works.
type Options struct {
	Budget  Budget                                  // its time is never more than half of what is left until the deadline of the run
	Actions int                                     // in a round, at most; default 6
	Now     func() time.Time                        // default time.Now
	Spent   func() int                              // tokens that planning has spent so far; nil: none are
	Told    func(ctx context.Context, p Plan) error // is told each plan before it is carried out; nil: nobody is
	// Logged gives the actions that were chosen for an iteration before the process was restarted; ok is false if it has to be
	// planned. Actions that it gives are done whatever the planner would choose, and none end the loop. nil: there are none.
	Logged func(iteration int) (actions []Action, ok bool)
}

// ErrTime is the cause of a context whose loop has used up its time, while its run goes on.
var ErrTime = errors.New("the time for searching is over")

// loop is one on its way.
type loop struct {
	Options
	tools Tools
	view  View
	done  map[string]bool // actions that were carried out
	until time.Time       // zero: no limit
}

// Run lets a planner choose tools until it has enough or the budget ends. V tells what is asked; its rounds, evidence and
// budget are the loop's to fill, and the question is shown as [Asked] gives it. A question with parts is decomposed first. No action is carried out twice. A loop that
// found nothing of use goes on by [Rules] where the planner would end it, as often as [Wanting] says, and none ends
// without a search. Errors are those of the tools and of ctx; that the time is over is none.
func Run(ctx context.Context, v View, p Planner, t Tools, o Options) error {
	o.Actions = cmp.Or(max(o.Actions, 0), DefaultActions)
	o.Budget.Iterations = cmp.Or(max(o.Budget.Iterations, 0), DefaultIterations)
	o.Budget.Tokens = cmp.Or(max(o.Budget.Tokens, 0), DefaultTokens)
	if o.Now == nil {
		o.Now = time.Now
	}
	v.Question, v.Parts = Asked(v.Question), each(v.Parts, maxQuery) // as actions ask for them
	l := &loop{Options: o, tools: t, view: v, done: map[string]bool{}}
	within, cancel := l.limit(ctx)
	defer cancel()
	err := l.run(within, p)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(within), ErrTime) && errors.Is(err, within.Err()) {
		return nil
	}
	return err
}

// limit bounds the loop's time, so that some is left for the answer.
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
		l.take(Round{By: plan.By, Thought: plan.Thought, Outcomes: outcomes})
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// plan gives what is to be done next: nothing, if the loop is to end.
func (l *loop) plan(ctx context.Context, p Planner, iteration int) (Plan, error) {
	if l.Logged != nil {
		if actions, ok := l.Logged(iteration); ok {
			return l.allowed(Plan{Actions: actions}), nil
		}
	}
	if iteration == 1 && len(l.view.Parts) > 0 && l.Budget.Iterations > 1 {
		return l.allowed(Plan{By: rules, Actions: []Action{
			{Tool: event.ToolDecomposeQuery, Query: l.view.Question, Reason: "the question is made of several"}}}), nil
	}
	l.view.Left = l.left(iteration)
	plan, err := p.Next(ctx, l.view)
	if err != nil {
		return Plan{}, err
	}
	if l.Told != nil {
		if err := l.Told(ctx, plan); err != nil {
			return Plan{}, err
		}
	}
	if plan = l.allowed(plan); len(plan.Actions) > 0 || l.searched() && !Wanting(l.view) {
		return plan, nil
	}
	if plan, err = (Rules{}).Next(ctx, l.view); err != nil {
		return Plan{}, err
	}
	return l.allowed(plan), nil
}

// left is what of the budget a planner may still use.
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

// allowed gives a plan without what cannot be carried out, was carried out already, or is too much for a round. One that
// ranks or generates ends the loop: nothing of it is left.
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
		a.Query, a.Document = Asked(a.Query), clean(a.Document, maxName)
		if a.Tool == event.ToolReadPages && (a.Document == "" || a.From < 1 || a.To < a.From) {
			continue
		}
		if a.Query == "" && !AsSuch(a.Tool) && (a.Tool != event.ToolGraphTraverse || len(a.Entities) == 0) {
			continue
		}
		if a.Asked = Asked(a.Asked); a.Asked == "" {
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

// Asked gives a question as actions ask it: clean and trimmed, and no longer than what may be searched for. What it gave
// it gives as it is.
func Asked(question string) string { return clean(question, maxQuery) }

func clean(s string, most int) string {
	return strings.TrimSpace(lang.Head(lang.Clean(lang.Head(s, most)), most)) // cleaning may lengthen
}

// maxNames bounds the entities and the parts of an action.
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

// key is the same for actions that are.
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

// Searches tells whether the tool is a search, which brings passages that are graded.
func Searches(tool string) bool {
	switch tool {
	case event.ToolHybridSearch, event.ToolSemanticSearch, event.ToolPropositionSearch, event.ToolHydeSearch:
		return true
	}
	return false
}

// AsSuch tells whether the tool reads documents as such, and searches nothing.
func AsSuch(tool string) bool { return tool == event.ToolReadPages || tool == event.ToolListDocuments }

// rounds counts the rounds in which something was searched.
func rounds(rs []Round) int {
	n := 0
	for _, r := range rs {
		if slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return Searches(o.Tool) }) {
			n++
		}
	}
	return n
}

// searched tells whether something was searched, or found in documents as such.
func (l *loop) searched() bool {
	return rounds(l.view.Rounds) > 0 || slices.ContainsFunc(l.view.Rounds, func(r Round) bool {
		return slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return AsSuch(o.Tool) && len(o.Found) > 0 })
	})
}

// again is how often nothing of use leads to another search.
const again = 2

// Wanting tells whether what was searched for brought nothing of use, so that it is to be asked in another way: at most twice.
func Wanting(v View) bool {
	n := rounds(v.Rounds)
	return n > 0 && n <= again && !useful(v)
}

func useful(v View) bool {
	return slices.ContainsFunc(v.Evidence, func(e Evidence) bool { return e.Class != event.Incorrect })
}

// take notes a round and what it found.
func (l *loop) take(r Round) {
	l.view.Rounds = append(slices.Clip(l.view.Rounds), r)
	evidence := slices.Clone(l.view.Evidence) // a planner may keep what it was shown
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
