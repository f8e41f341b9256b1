// Package agent is the loop that chooses tools: a [Planner] reads what is known so far and chooses the next actions, until
// the evidence is sufficient or the [Budget] is spent. The pipeline implements the tools and writes their events.
package agent

import (
	"context"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// Action is a tool with its arguments.
type Action struct {
	Tool     string   // one of event.Tool*
	Query    string   // search text
	Asked    string   // the question that the results are graded by; empty: Query
	Entities []string // of graph_traverse: start of the walk; empty: names in Query and in the best evidence
	Parts    []string // of decompose_query: the sub-questions; empty: those of the View
	Document string   // of page_reader: name, title or id of a document
	From, To int      // of page_reader: pages, from 1
	Follows  string   // the name, found in earlier evidence, that the action follows
	Weight   float64  // trust in its results relative to those of the question itself, up to 1; 0 means 1
	Reason   string   // the reason in one sentence, for people; may be empty
}

// Plan is the next step. Its actions run concurrently. The loop ends if there are none, or if one of them ranks or
// generates.
type Plan struct {
	Actions []Action
	Thought string // reasoning of the planner, which is streamed separately from the answer
	By      string // who planned: "rules" or the name of a model
}

// Evidence is a retrieved passage.
type Evidence struct {
	Chunk corpus.Chunk
	Score float64     // grade, 0..1
	Class event.Class // class of the grade
	Path  []string    // of a passage found through the graph: the names that led to it
}

// Outcome is the result of an action.
type Outcome struct {
	Action
	Found    []Evidence // best first
	Parts    []string   // of decompose_query
	Entities []string   // of graph_traverse: start of the walk
	Count    int        // of list_documents: number of documents
	Failed   string     // public message if the tool failed
}

// Round is a finished iteration.
type Round struct {
	By       string // who planned it
	Outcomes []Outcome
}

// View is what a planner sees of a run. Planners must not change it.
type View struct {
	Collection string
	Question   string
	Complexity event.Complexity
	Parts      []string // sub-questions of the analysis, in order of dependency
	Chained    bool     // part of the question has to be answered first
	Rounds     []Round
	Evidence   []Evidence // all evidence so far, each passage once, best first
	TopK       int        // number of passages that the generator will read
	Tools      []string   // tools offered in addition to the search tools: page_reader, list_documents
	Left       Budget
	Failed     func(error) // called with an index error after which the planner continues; may be nil
}

func (v View) reportFailure(err error) {
	if v.Failed != nil {
		v.Failed(err)
	}
}

// Budget limits a loop. Zero fields of Options.Budget mean the defaults: 6 iterations and half of the run's time.
type Budget struct {
	Iterations int
	Time       time.Duration
	Tokens     int // limit of model tokens for planning; 0 in Options: 20,000
}

// Planner chooses tools. It is safe for concurrent use by different runs. An implementation that asks a model falls back
// to one that does not and reports the failure to the trace of ctx. The only error is that of ctx.
type Planner interface {
	Next(ctx context.Context, v View) (Plan, error)
}

// Tools executes the chosen actions. The outcomes are in the order of the actions. Errors end the run; the failure of a
// single tool is an outcome.
type Tools interface {
	Do(ctx context.Context, iteration int, actions []Action) ([]Outcome, error)
}
