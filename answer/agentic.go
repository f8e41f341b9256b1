package answer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

const (
	maxThought = 4096 // bytes of what a planner thinks, a round
	rewrites   = 2    // how often nothing of use leads to another search
)

// agentic lets the planner choose tools until it has enough.
func (j *job) agentic(ctx context.Context) error {
	t := &tools{job: j, asked: agent.TrimQuestion(j.q.Query)}
	view := agent.View{Collection: j.q.Collection, Question: t.asked, Complexity: j.analysis.Complexity, Parts: j.analysis.Parts,
		Chained: j.analysis.Chained, TopK: j.q.TopK}
	for _, tool := range []string{event.ToolReadPages, event.ToolListDocuments} {
		if j.offered(tool) {
			view.Tools = append(view.Tools, tool)
		}
	}
	err := agent.Run(ctx, view, planning{j}, t, agent.Options{Budget: j.Budget, Now: j.Now,
		Spent: func() int { return j.spent("plan") }, OnPlan: j.think, Replay: j.past.plan})
	if err == nil && t.worked == 0 {
		return t.failed // an answer that rests on no search would say that there is none
	}
	return err
}

// planning is the job's planner. Its model calls are recorded as a step of their own.
type planning struct{ *job }

// Next implements [agent.Planner].
func (p planning) Next(ctx context.Context, v agent.View) (agent.Plan, error) {
	var failed error
	v.Failed = func(err error) { failed = cmp.Or(failed, err) }
	plan, err := p.Planner.Next(p.traced(ctx, "plan"), v)
	if failed != nil && err == nil && !late(ctx) {
		err = p.survive(ctx, "planning", failed)
	}
	return plan, err
}

// think streams the planner's reasoning.
func (j *job) think(ctx context.Context, p agent.Plan) error {
	thought := strings.TrimSpace(printable(lang.Truncate(p.Thought, maxThought)))
	if thought == "" {
		return nil
	}
	thought += "\n"
	if strings.HasSuffix(string(j.past.Reasoning), thought) && j.past.Seq == j.rec.State().Seq {
		return nil // the earlier process was stopped right after it
	}
	return j.rec.Emit(ctx, event.Reasoned{Text: thought})
}

// tools runs the tools that the planner chose.
type tools struct {
	*job
	asked  string     // the question as the loop asks it
	rounds int        // in which something was searched
	starts sync.Mutex // held while a call is started
	plan   []byte     // of the iteration, until it is in the log
	worked int        // searches and walks that did not fail
	failed error      // what the last one that failed did so with
}

// tool is a running action.
type tool struct {
	agent.Action
	call     event.CallID
	round    int     // its iteration
	search   *search // of a search
	parts    []string
	from     []string         // entities where a walk started
	found    []candidate      // of a tool that is no search
	count    int              // of documents
	document *corpus.Document // whose pages are read
	failed   error
}

// Do implements [agent.Tools]. It emits the starts in the order of the actions, and the results as they arrive.
func (t *tools) Do(ctx context.Context, iteration int, actions []agent.Action) ([]agent.Outcome, error) {
	var asked []string
	for _, a := range actions {
		asked = append(asked, a.Asked, a.Query)
	}
	if err := t.learn(ctx, asked); err != nil && !late(ctx) { // words of which nothing is known weigh alike
		if err := t.survive(ctx, "weighing the words", err); err != nil {
			return nil, err
		}
	}
	if _, logged := t.past.plan(iteration); !logged {
		t.plan = object(actions)
	}
	begun := make([]*tool, len(actions))
	for i, a := range actions {
		begun[i] = &tool{Action: a, call: t.call(), round: iteration}
		if err := t.begin(ctx, begun[i]); err != nil {
			return nil, err
		}
	}
	var all errgroup.Group
	for _, a := range begun {
		all.Go(func() error { return t.do(ctx, a) })
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	if err := t.settleRound(ctx, iteration, begun); err != nil {
		return nil, err
	}
	return t.outcomes(begun), t.settle(ctx)
}

// begin emits the start of a tool. The start of a search by a draft is emitted when the draft exists.
func (t *tools) begin(ctx context.Context, a *tool) error {
	switch a.Tool {
	case event.ToolGraphTraverse:
		return t.called(ctx, a, walkInput{Query: a.Query, Entities: a.Entities})
	case event.ToolDecomposeQuery:
		return t.called(ctx, a, decomposeInput{Query: a.Query})
	case event.ToolReadPages:
		return t.beginPages(ctx, a)
	case event.ToolListDocuments:
		return t.called(ctx, a, listInput{a.Query})
	}
	a.search = t.search(a.Tool, a.Query)
	a.search.call, a.search.asked, a.search.weight = a.call, t.judgedBy(a.Asked), cmp.Or(max(0, min(1, a.Weight)), 1)
	if a.Query != t.asked {
		a.search.limit = max(ofPart, t.q.TopK)
	}
	if a.Follows != "" {
		a.search.near = "" // a name is found by its words
	}
	switch a.Tool {
	case event.ToolSemanticSearch:
		a.search.words, a.search.near = "", a.Query
	case event.ToolPropositionSearch:
		a.search.levels = []corpus.Level{corpus.Sentence}
	case event.ToolHydeSearch:
		return nil
	}
	return t.start(ctx, a)
}

// judgedBy returns the question by which results are graded: the whole question, whatever its length.
func (t *tools) judgedBy(asked string) string {
	if asked == t.asked {
		return t.q.Query
	}
	return asked
}

// start emits the start of a search.
func (t *tools) start(ctx context.Context, a *tool) error {
	return t.emitStart(ctx, a, func(plan []byte) event.Body {
		return event.RetrievalStarted{Call: a.call, Tool: a.Tool, Query: a.search.shown(), Iteration: a.round, Reason: a.Reason, Plan: plan}
	})
}

// called emits the start of a tool that is not a search.
func (t *tools) called(ctx context.Context, a *tool, input any) error {
	return t.emitStart(ctx, a, func(plan []byte) event.Body {
		return event.ToolCalled{Call: a.call, Tool: a.Tool, Iteration: a.round, Reason: a.Reason, Input: object(input), Plan: plan}
	})
}

// emitStart emits the start of a call, the first of an iteration with the plan.
func (t *tools) emitStart(ctx context.Context, a *tool, start func(plan []byte) event.Body) error {
	t.starts.Lock()
	defer t.starts.Unlock()
	if err := t.emitOnce(ctx, a.call, start(t.plan)); err != nil {
		return err
	}
	t.plan = nil
	return nil
}

// draft writes the text to search for instead of the question. If it fails, it returns the question.
func (t *tools) draft(ctx context.Context, a *tool) error {
	d, err := t.job.draft(ctx, a.call, a.Query, t.best())
	if err == nil && (d.Words != "" || d.Passage != "") {
		a.search.words, a.search.near, a.search.purpose = d.Words, d.Passage, model.ForPassage
	}
	if err := t.start(ctx, a); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return t.find(ctx, a.search)
}

// do runs a tool and emits its result. Its error ends the run; the error of the tool itself is kept in the tool.
func (t *tools) do(ctx context.Context, a *tool) error {
	if t.recalled(a) {
		return nil
	}
	began := t.Now()
	var result any
	var err error
	switch a.Tool {
	case event.ToolGraphTraverse:
		result, err = t.walk(ctx, a)
	case event.ToolDecomposeQuery:
		result, err = t.decompose(ctx, a)
	case event.ToolHydeSearch:
		err = t.draft(ctx, a)
	case event.ToolReadPages:
		result, err = t.readPages(ctx, a)
	case event.ToolListDocuments:
		result, err = t.listDocuments(ctx, a)
	default:
		err = t.find(ctx, a.search)
	}
	if err != nil {
		if ctx.Err() != nil && !late(ctx) {
			return ctx.Err()
		}
		if err := t.fail(ctx, a, err); err != nil {
			return err
		}
	}
	if a.search != nil {
		return t.rec.Emit(ctx, a.search.finished(t.since(began)))
	}
	if a.failed != nil {
		result = failure{fault.Public(a.failed).Message}
	}
	return t.rec.Emit(ctx, event.ToolReturned{Call: a.call, Tool: a.Tool, Result: object(result), Duration: t.since(began),
		Passages: logged(a.found)})
}

// recalled uses the result of a call that an earlier process finished, if there is one.
func (t *tools) recalled(a *tool) bool {
	if s := t.past.search(a.call); s != nil && s.Result != nil && a.search != nil {
		if a.search.failed = s.Result.Error; a.search.failed != "" {
			a.failed = fault.New(fault.Index, "%s", a.search.failed)
		}
		a.search.hits = t.past.hits(s.Result)
		return true
	}
	c := t.past.call(a.call)
	if c == nil || c.Result == nil {
		return false
	}
	asked := t.q.Query
	switch a.Tool {
	case event.ToolGraphTraverse:
		var r walked
		a.failed = returned(c.Result, &r)
		a.from, asked = r.Entities, t.judgedBy(a.Asked)
	case event.ToolDecomposeQuery:
		var r decomposed
		a.failed = returned(c.Result, &r)
		a.parts = r.Parts
	case event.ToolListDocuments:
		var r listed
		a.failed = returned(c.Result, &r)
		a.count = r.Found
	default:
		a.failed = returned(c.Result, &pagesRead{})
	}
	a.found = t.past.candidates(c.Result.Passages, asked)
	return true
}

// late reports whether ctx ended because the loop used up its time, while the run continues.
func late(ctx context.Context) bool { return errors.Is(context.Cause(ctx), agent.ErrTime) }

// fail emits a warning for a tool that failed.
func (t *tools) fail(ctx context.Context, a *tool, err error) error {
	a.failed = t.indexFault(context.WithoutCancel(ctx), err)
	if late(ctx) {
		a.failed = fault.Wrap(fault.Timeout, err, "it took longer than there was time for searching")
	}
	public := fault.Public(a.failed)
	if agent.ReadsDocuments(a.Tool) && public.Code == fault.NotFound {
		return nil // which its result tells
	}
	if a.search != nil {
		a.search.hits, a.search.failed = nil, public.Message
	}
	return t.rec.Emit(ctx, event.Warned{Code: public.Code, Message: a.Tool + " failed: " + public.Message, Step: "search"})
}

// settleRound grades the results of a round and adds the passages to read to the pool.
func (t *tools) settleRound(ctx context.Context, iteration int, begun []*tool) error {
	var searches []*search
	searched := false
	for _, a := range begun {
		t.take(a.found)
		searched = searched || a.search != nil
		switch {
		case a.failed != nil:
			t.failed = a.failed
			t.lose(a.failed)
		case a.search != nil:
			searches = append(searches, a.search)
			t.worked++
		case a.Tool == event.ToolGraphTraverse, agent.ReadsDocuments(a.Tool):
			t.worked++
		}
	}
	if searched {
		t.rounds++
	}
	if len(searches) == 0 {
		return nil
	}
	most := t.Budget.Iterations
	if most <= 0 {
		most = agent.DefaultIterations
	}
	again := t.rounds <= rewrites && iteration < most && !late(ctx)
	if late(ctx) {
		ctx = context.WithoutCancel(ctx) // what was found in time is of use
		coverage := *t.job.Pipeline
		coverage.Grader = grade.Coverage{}
		t.job.Pipeline = &coverage
	}
	_, err := t.judge(t.traced(ctx, "grade"), searches, iteration, again)
	return err
}

// outcomes returns the results of a round for the planner.
func (t *tools) outcomes(begun []*tool) []agent.Outcome {
	out := make([]agent.Outcome, len(begun))
	for i, a := range begun {
		o := agent.Outcome{Action: a.Action, Parts: a.parts, Entities: a.from, Count: a.count}
		if a.failed != nil {
			o.Failed = fault.Public(a.failed).Message
		}
		if a.search != nil {
			for _, h := range a.search.hits {
				o.Found = t.evidence(o.Found, h.Chunk.ID)
			}
		}
		for _, c := range a.found {
			o.Found = t.evidence(o.Found, c.Chunk.ID)
		}
		out[i] = o
	}
	return out
}

// evidence appends the text that is read of a chunk, unless it is there already.
func (t *tools) evidence(out []agent.Evidence, id corpus.ChunkID) []agent.Evidence {
	if parent, ok := t.instead[id]; ok {
		id = parent
	}
	at, ok := t.at[id]
	if !ok || slices.ContainsFunc(out, func(e agent.Evidence) bool { return e.Chunk.ID == id }) {
		return out
	}
	c := t.pool[at]
	return append(out, agent.Evidence{Chunk: c.Chunk, Score: c.grade, Class: grade.Classify(c.grade), Path: c.path})
}
