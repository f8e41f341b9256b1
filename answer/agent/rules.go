package agent

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// rules is the name of this planner in events.
const rules = "rules"

// Rules is the [Planner] that needs no model. The zero value works.
type Rules struct {
	Index index.Reader // nil: all words of a question have the same weight
	Graph index.Graph  // nil: no names are followed
}

// Next implements [Planner]. A simple question takes one search. The only error is that of ctx.
func (r Rules) Next(ctx context.Context, v View) (Plan, error) {
	if err := ctx.Err(); err != nil {
		return Plan{}, err
	}
	switch {
	case rounds(v.Rounds) == 0:
		return plan(firstSearches(v)...), nil
	case NeedsMore(v):
		next, err := r.hops(ctx, v)
		return plan(append(rewrittenSearches(v), next...)...), err
	case !useful(v) && rounds(v.Rounds) == 3:
		return plan(), nil // nothing left to follow
	case rounds(v.Rounds) <= maxHops && (rounds(v.Rounds) > 1 || !satisfied(v)):
		next, err := r.hops(ctx, v)
		if err == nil && len(next) > 0 {
			next = append(next, r.walk(v)...)
		}
		return plan(next...), err
	}
	return plan(), nil
}

// walk follows the graph once, from the names in the question and the best evidence, together with the first followed
// names.
func (r Rules) walk(v View) []Action {
	if r.Graph == nil || slices.ContainsFunc(v.Rounds, func(r Round) bool {
		return slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return o.Tool == event.ToolGraphTraverse })
	}) {
		return nil
	}
	return []Action{{Tool: event.ToolGraphTraverse, Query: v.Question, Weight: 0.8, Reason: "passages linked to the entities of the question"}}
}

// explainRE matches questions for reasons or methods, to which names do not lead.
var explainRE = regexp.MustCompile(`(?i)^\W*(?:why|how (?:do|does|did|can|could|should|to|is|are|was|were)|what happens)\b`)

// satisfied reports whether correct evidence was found for a question without names to follow, and for each of its parts.
func satisfied(v View) bool {
	switch {
	case v.Chained:
		return false
	case len(v.Parts) == 0:
		return (v.Complexity == event.Simple || explainRE.MatchString(v.Question)) && len(v.Evidence) > 0 && v.Evidence[0].Class == event.Correct
	}
	return !slices.ContainsFunc(v.Parts, func(part string) bool { return !answered(v, part) })
}

// answered reports whether correct evidence was found for a question.
func answered(v View, asked string) bool {
	for _, r := range v.Rounds {
		for _, o := range r.Outcomes {
			if cmp.Or(o.Asked, o.Query) == asked && len(o.Found) > 0 && o.Found[0].Class == event.Correct {
				return true
			}
		}
	}
	return false
}

func plan(actions ...Action) Plan { return Plan{Actions: actions, By: rules} }

// firstSearches returns searches for the question and for its parts.
func firstSearches(v View) []Action {
	out := []Action{{Tool: event.ToolHybridSearch, Query: v.Question, Reason: "the question as it was asked"}}
	for _, part := range v.Parts {
		out = append(out, Action{Tool: event.ToolHybridSearch, Query: part, Reason: "a part of the question"})
	}
	return out
}

// rewrittenSearches returns two searches, not made before, for what was not found.
func rewrittenSearches(v View) []Action {
	words := strings.Join(lang.ContentWords(lang.Truncate(v.Question, maxQuery), maxWords), " ")
	done := map[string]bool{}
	for _, r := range v.Rounds {
		for _, o := range r.Outcomes {
			done[o.key()] = true
		}
	}
	var out []Action
	for _, a := range []Action{
		{Tool: event.ToolHydeSearch, Query: v.Question, Reason: "nothing relevant was found: search for passages that resemble an answer"},
		{Tool: event.ToolPropositionSearch, Query: v.Question, Reason: "nothing relevant was found: search single statements"},
		{Tool: event.ToolSemanticSearch, Query: words, Asked: v.Question, Reason: "still nothing relevant: search by meaning"},
		{Tool: event.ToolHybridSearch, Query: words, Asked: v.Question, Reason: "still nothing relevant: search for the content words alone"},
		{Tool: event.ToolSemanticSearch, Query: v.Question, Reason: "still nothing relevant: search by meaning"},
	} {
		if a.Query != "" && !done[a.key()] && len(out) < 2 {
			out = append(out, a)
		}
	}
	return out
}

// maxWords is how many words of a question are searched for.
const maxWords = 256
