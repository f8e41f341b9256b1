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
	maxThought  = 4096 // bytes of a planner's reasoning in one iteration
	maxRewrites = 2    // further searches after rounds without a useful result
)

// agentic lets the planner choose tools until it has enough.
func (j *job) agentic(ctx context.Context) error {
	t := &tools{job: j, question: agent.TrimQuestion(j.q.Query)}
	view := agent.View{Collection: j.q.Collection, Question: t.question, Complexity: j.analysis.Complexity, Parts: j.analysis.Parts,
		Chained: j.analysis.Chained, TopK: j.q.TopK}
	for _, tool := range []string{event.ToolReadPages, event.ToolListDocuments} {
		if j.offered(tool) {
			view.Tools = append(view.Tools, tool)
		}
	}
	err := agent.Run(ctx, view, planning{j}, t, agent.Options{Budget: j.Budget, Now: j.Now,
		Spent: func() int { return j.spent("plan") }, OnPlan: j.think, Replay: j.resumed.plan})
	if err == nil && t.succeeded == 0 {
		return t.lastErr // without any result, the answer would be a wrong abstention
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
	if failed != nil && err == nil && !outOfTime(ctx) {
		err = p.warnIndexError(ctx, "planning", failed)
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
	if strings.HasSuffix(string(j.resumed.Reasoning), thought) && j.resumed.Seq == j.rec.State().Seq {
		return nil // the earlier process stopped right after it
	}
	return j.rec.Emit(ctx, event.Reasoned{Text: thought})
}

// tools runs the tools that the planner chose.
type tools struct {
	*job
	question  string     // the question, as trimmed for the agent's loop
	rounds    int        // iterations with a search
	startMu   sync.Mutex // held while the start of a call is emitted
	plan      []byte     // the actions of the iteration, until they are in the log
	succeeded int        // tool calls that did not fail, without decompositions
	lastErr   error      // the error of the last failed call
}

// toolCall is a running action.
type toolCall struct {
	agent.Action
	call      event.CallID
	round     int     // the iteration
	search    *search // nil for other tools
	parts     []string
	entities  []string         // where a walk through the graph started
	found     []candidate      // results of a tool that does not search
	documents int              // number of documents in the result of a list
	document  *corpus.Document // the document whose pages are read
	err       error
}

// Do implements [agent.Tools]. It emits the starts in the order of the actions, and the results as they arrive.
func (t *tools) Do(ctx context.Context, iteration int, actions []agent.Action) ([]agent.Outcome, error) {
	var asked []string
	for _, a := range actions {
		asked = append(asked, a.Asked, a.Query)
	}
	if err := t.loadTermStats(ctx, asked); err != nil && !outOfTime(ctx) { // words without statistics have equal weights
		if err := t.warnIndexError(ctx, "loading term statistics", err); err != nil {
			return nil, err
		}
	}
	if _, logged := t.resumed.plan(iteration); !logged {
		t.plan = toJSON(actions)
	}
	calls := make([]*toolCall, len(actions))
	for i, a := range actions {
		calls[i] = &toolCall{Action: a, call: t.call(), round: iteration}
		if err := t.beginTool(ctx, calls[i]); err != nil {
			return nil, err
		}
	}
	var all errgroup.Group
	for _, a := range calls {
		all.Go(func() error { return t.runTool(ctx, a) })
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	if err := t.gradeRound(ctx, iteration, calls); err != nil {
		return nil, err
	}
	return t.outcomes(calls), t.flushModelCalls(ctx)
}

// beginTool emits the start of a call. The start of a search by a draft is emitted when the draft exists.
func (t *tools) beginTool(ctx context.Context, a *toolCall) error {
	switch a.Tool {
	case event.ToolGraphTraverse:
		return t.emitCall(ctx, a, walkInput{Query: a.Query, Entities: a.Entities})
	case event.ToolDecomposeQuery:
		return t.emitCall(ctx, a, decomposeInput{Query: a.Query})
	case event.ToolReadPages:
		return t.beginPages(ctx, a)
	case event.ToolListDocuments:
		return t.emitCall(ctx, a, listInput{a.Query})
	}
	a.search = t.search(a.Tool, a.Query)
	a.search.call, a.search.asked, a.search.weight = a.call, t.gradingQuestion(a.Asked), cmp.Or(max(0, min(1, a.Weight)), 1)
	if a.Query != t.question {
		a.search.limit = max(maxPartHits, t.q.TopK)
	}
	if a.Follows != "" {
		a.search.vectorText = "" // names are found by lexical search
	}
	switch a.Tool {
	case event.ToolSemanticSearch:
		a.search.text, a.search.vectorText = "", a.Query
	case event.ToolPropositionSearch:
		a.search.levels = []corpus.Level{corpus.Sentence}
	case event.ToolHydeSearch:
		return nil
	}
	return t.emitSearchStart(ctx, a)
}

// gradingQuestion returns the question by which results are graded: the whole question, whatever its length.
func (t *tools) gradingQuestion(asked string) string {
	if asked == t.question {
		return t.q.Query
	}
	return asked
}

// emitSearchStart emits the start of a search.
func (t *tools) emitSearchStart(ctx context.Context, a *toolCall) error {
	return t.emitStart(ctx, a, func(plan []byte) event.Body {
		return event.RetrievalStarted{Call: a.call, Tool: a.search.tool, Query: a.search.displayed(), Iteration: a.round, Reason: a.Reason, Plan: plan}
	})
}

// emitCall emits the start of a tool that is not a search.
func (t *tools) emitCall(ctx context.Context, a *toolCall, input any) error {
	return t.emitStart(ctx, a, func(plan []byte) event.Body {
		return event.ToolCalled{Call: a.call, Tool: a.Tool, Iteration: a.round, Reason: a.Reason, Input: toJSON(input), Plan: plan}
	})
}

// emitStart emits the start of a call, the first of an iteration with the plan.
func (t *tools) emitStart(ctx context.Context, a *toolCall, start func(plan []byte) event.Body) error {
	t.startMu.Lock()
	defer t.startMu.Unlock()
	if err := t.emitOnce(ctx, a.call, start(t.plan)); err != nil {
		return err
	}
	t.plan = nil
	return nil
}

// draft writes the text to search for instead of the question. If it fails, it returns the question.
func (t *tools) draft(ctx context.Context, a *toolCall) error {
	d, err := t.job.draft(ctx, a.call, a.Query, t.bestHits())
	if err == nil && (d.Words != "" || d.Passage != "") {
		a.search.text, a.search.vectorText, a.search.purpose = d.Words, d.Passage, model.ForPassage
	}
	if err := t.emitSearchStart(ctx, a); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return t.find(ctx, a.search)
}

// runTool runs a tool and emits its result. Its error ends the run; the error of the tool itself is kept in the tool.
func (t *tools) runTool(ctx context.Context, a *toolCall) error {
	if t.restoreResult(a) {
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
		if ctx.Err() != nil && !outOfTime(ctx) {
			return ctx.Err()
		}
		if err := t.fail(ctx, a, err); err != nil {
			return err
		}
	}
	if a.search != nil {
		return t.rec.Emit(ctx, a.search.finished(t.elapsed(began)))
	}
	if a.err != nil {
		result = failure{fault.Public(a.err).Message}
	}
	return t.rec.Emit(ctx, event.ToolReturned{Call: a.call, Tool: a.Tool, Result: toJSON(result), Duration: t.elapsed(began),
		Passages: passagesOf(a.found)})
}

// restoreResult uses the result of a call that an earlier process finished, and reports whether there is one.
func (t *tools) restoreResult(a *toolCall) bool {
	if s := t.resumed.search(a.call); s != nil && s.Result != nil && a.search != nil {
		if a.search.errText = s.Result.Error; a.search.errText != "" {
			a.err = fault.New(fault.Index, "%s", a.search.errText)
		}
		a.search.hits = t.resumed.hits(s.Result)
		return true
	}
	c := t.resumed.call(a.call)
	if c == nil || c.Result == nil {
		return false
	}
	asked := t.q.Query
	switch a.Tool {
	case event.ToolGraphTraverse:
		var r walkResult
		a.err = decodeResult(c.Result, &r)
		a.entities, asked = r.Entities, t.gradingQuestion(a.Asked)
	case event.ToolDecomposeQuery:
		var r decomposeResult
		a.err = decodeResult(c.Result, &r)
		a.parts = r.Parts
	case event.ToolListDocuments:
		var r listResult
		a.err = decodeResult(c.Result, &r)
		a.documents = r.Found
	default:
		a.err = decodeResult(c.Result, &pagesResult{})
	}
	a.found = t.resumed.candidates(c.Result.Passages, asked)
	return true
}

// outOfTime reports whether ctx ended because the loop used up its time, while the run continues.
func outOfTime(ctx context.Context) bool { return errors.Is(context.Cause(ctx), agent.ErrTime) }

// fail emits a warning for a tool that failed.
func (t *tools) fail(ctx context.Context, a *toolCall, err error) error {
	a.err = t.indexFault(context.WithoutCancel(ctx), err)
	if outOfTime(ctx) {
		a.err = fault.Wrap(fault.Timeout, err, "the time for searches is over")
	}
	public := fault.Public(a.err)
	if agent.ReadsDocuments(a.Tool) && public.Code == fault.NotFound {
		return nil // the result of the call says so
	}
	if a.search != nil {
		a.search.hits, a.search.errText = nil, public.Message
	}
	return t.rec.Emit(ctx, event.Warned{Code: public.Code, Message: a.Tool + " failed: " + public.Message, Step: "search"})
}

// gradeRound grades the results of a round and adds the passages to read to the pool.
func (t *tools) gradeRound(ctx context.Context, iteration int, calls []*toolCall) error {
	var searches []*search
	searched := false
	for _, a := range calls {
		t.addAll(a.found)
		searched = searched || a.search != nil
		switch {
		case a.err != nil:
			t.lastErr = a.err
			t.keepIndexError(a.err)
		case a.search != nil:
			searches = append(searches, a.search)
			t.succeeded++
		case a.Tool == event.ToolGraphTraverse, agent.ReadsDocuments(a.Tool):
			t.succeeded++
		}
	}
	if searched {
		t.rounds++
	}
	if len(searches) == 0 {
		return nil
	}
	limit := t.Budget.Iterations
	if limit <= 0 {
		limit = agent.DefaultIterations
	}
	mayRetry := t.rounds <= maxRewrites && iteration < limit && !outOfTime(ctx)
	if outOfTime(ctx) {
		ctx = context.WithoutCancel(ctx) // grade what was found in time
		coverage := *t.job.Pipeline
		coverage.Grader = grade.Coverage{}
		t.job.Pipeline = &coverage
	}
	_, err := t.gradeSearches(t.traced(ctx, "grade"), searches, iteration, mayRetry)
	return err
}

// outcomes returns the results of a round for the planner.
func (t *tools) outcomes(calls []*toolCall) []agent.Outcome {
	out := make([]agent.Outcome, len(calls))
	for i, a := range calls {
		o := agent.Outcome{Action: a.Action, Parts: a.parts, Entities: a.entities, Count: a.documents}
		if a.err != nil {
			o.Failed = fault.Public(a.err).Message
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

// evidence appends the evidence for a chunk, or for the parent that replaces it, unless out has it already.
func (t *tools) evidence(out []agent.Evidence, id corpus.ChunkID) []agent.Evidence {
	if parent, ok := t.replacedBy[id]; ok {
		id = parent
	}
	at, ok := t.poolIndex[id]
	if !ok || slices.ContainsFunc(out, func(e agent.Evidence) bool { return e.Chunk.ID == id }) {
		return out
	}
	c := t.pool[at]
	return append(out, agent.Evidence{Chunk: c.Chunk, Score: c.grade, Class: grade.Classify(c.grade), Path: c.path})
}
