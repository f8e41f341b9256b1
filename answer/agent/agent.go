// Package agent is the loop that chooses tools: a [Planner] looks at what is known so far and says what to do next, until
// the evidence suffices or the [Budget] ends. What the tools do, and the events that tell of it, are the pipeline's.
package agent

import (
	"context"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// Action is a tool with what it is given.
type Action struct {
	Tool     string   // one of event.Tool*
	Query    string   // what is looked for
	Asked    string   // the question that what it finds is judged by; empty: Query
	Entities []string // of graph_traverse: where the walk starts; empty: at what Query names, and at the best evidence
	Parts    []string // of decompose_query: the questions that the planner took Query apart into; empty: those of the View
	Document string   // of page_reader: the name, title or id of a document
	From, To int      // of page_reader: pages, from 1
	Follows  string   // the name, in what was found before, that the action follows
	Weight   float64  // how far what it finds is trusted beside what the question itself finds, up to 1; 0 is 1
	Reason   string   // why, in a sentence, for people; may be empty
}

// Plan is what is to be done next. Its actions run side by side. Without any, or with one that ranks or generates, the loop
// ends and the answer is written.
type Plan struct {
	Actions []Action
	Thought string // what the planner thinks, which is streamed apart from the answer
	By      string // the form that planned: rules, or a model's name
}

// Evidence is a passage found.
type Evidence struct {
	Chunk corpus.Chunk
	Score float64     // the grade, 0..1
	Class event.Class // the grade's
	Path  []string    // of a passage that the graph led to: how
}

// Outcome is what came of an action.
type Outcome struct {
	Action
	Found    []Evidence // best first
	Parts    []string   // of decompose_query
	Entities []string   // of graph_traverse: where the walk started
	Count    int        // of list_documents: how many there are
	Failed   string     // public message of a tool that failed
}

// Round is an iteration that is over.
type Round struct {
	By       string // of its Plan
	Thought  string
	Outcomes []Outcome
}

// View is what a planner sees of a run. It is not to be changed.
type View struct {
	Collection string
	Question   string
	Complexity event.Complexity
	Parts      []string // the questions that the analysis took it apart into, in the order in which they depend on each other
	Chained    bool     // something is asked of what has to be found first
	Rounds     []Round
	Evidence   []Evidence // all so far, each passage once, best first
	TopK       int        // how many passages the generator will read
	Tools      []string   // offered besides those that search: page_reader, list_documents
	Left       Budget
	Failed     func(error) // called with an error of the index after which the planner goes on; nil: not
}

func (v View) survived(err error) {
	if v.Failed != nil {
		v.Failed(err)
	}
}

// Budget bounds a loop. Zero fields of Options' budget stand for the defaults, 6 iterations and half the run's time.
type Budget struct {
	Iterations int
	Time       time.Duration
	Tokens     int // that planning may spend on models; 0 in Options: 20,000
}

// Planner chooses tools. Calls may run at once, for different runs. A form that asks a model falls back on one that does not
// and tells the trace of ctx; its only error is then that of ctx.
type Planner interface {
	Next(ctx context.Context, v View) (Plan, error)
}

// Tools does what a planner chose. The outcomes are in the order of the actions. Its errors end the run; a tool that fails
// is an outcome.
type Tools interface {
	Do(ctx context.Context, iteration int, actions []Action) ([]Outcome, error)
}
