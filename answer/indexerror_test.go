package answer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
)

// damaged is an index whose calls fail in part.
type damaged struct {
	*embedded.Index
	calls []string
}

var errSecret = errors.New("secret")

func (d damaged) fails(call string) error {
	if slices.Contains(d.calls, call) {
		return errSecret
	}
	return nil
}

func (d damaged) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	hits, err := d.Index.Search(ctx, q)
	return hits, errors.Join(err, d.fails("search"))
}

func (d damaged) Documents(ctx context.Context, c string, after corpus.DocumentID, n int) ([]corpus.Document, error) {
	docs, err := d.Index.Documents(ctx, c, after, n)
	if n == 1 {
		return docs, err // the check that there are any
	}
	return docs, errors.Join(err, d.fails("documents"))
}

func (d damaged) DocumentChunks(ctx context.Context, c string, id corpus.DocumentID, level corpus.Level, from, limit int) ([]corpus.Chunk, error) {
	chunks, err := d.Index.DocumentChunks(ctx, c, id, level, from, limit)
	return chunks, errors.Join(err, d.fails("within"))
}

func (d damaged) Walk(ctx context.Context, w index.WalkQuery) ([]index.WalkHit, error) {
	to, err := d.Index.Walk(ctx, w)
	return to, errors.Join(err, d.fails("walk"))
}

// surviving is a planner that continues after an index error.
type surviving struct{ plans }

func (s surviving) Next(ctx context.Context, v agent.View) (agent.Plan, error) {
	v.Failed(errSecret)
	return s.plans.Next(ctx, v)
}

// TestNoAbstentionAfterFailure asks questions without a useful result while part of the index fails: the run fails with the code of the index. If
// the rest of the index finds an answer, the run only warns.
func TestNoAbstentionAfterFailure(t *testing.T) {
	t.Parallel()
	const unknown, known = "Which zyxwv quorbles the fnord?", "What is rye bread baked from?"
	for _, c := range []struct {
		name, question string
		calls          []string
		planner        agent.Planner
		tools          []string
		answered       bool
	}{
		{name: "a search and a walk that works", question: unknown, calls: []string{"search"},
			planner: plans{{{Tool: event.ToolHybridSearch, Query: unknown}, {Tool: event.ToolGraphTraverse, Query: unknown}}}},
		{name: "a search that works and a walk", question: unknown, calls: []string{"walk"},
			planner: plans{{{Tool: event.ToolHybridSearch, Query: unknown}, {Tool: event.ToolGraphTraverse, Query: unknown}}}},
		{name: "an answer beside a walk", question: known, calls: []string{"walk"}, answered: true,
			planner: plans{{{Tool: event.ToolHybridSearch, Query: known}, {Tool: event.ToolGraphTraverse, Query: known}}}},
		{name: "the planner", question: unknown, planner: surviving{plans{{{Tool: event.ToolHybridSearch, Query: unknown}}}}},
		{name: "finding the document of pages", question: "What is on page 3 of the zyxwv quorbles?", calls: []string{"documents"}, tools: bothTools},
		{name: "listing", question: "List the documents about zyxwv quorbles", calls: []string{"search"}, tools: bothTools},
		{name: "finding the document of an account", question: "Summarize the zyxwv quorbles", calls: []string{"documents"}, tools: bothTools},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := archive(t, 3)
			p.Index = damaged{p.Index.(*embedded.Index), c.calls}
			mode := event.Direct
			if c.planner != nil {
				p.Planner, mode = c.planner, event.Agentic
			}
			log := begin(t, p, event.RunStarted{Question: event.Question{Query: c.question, Mode: mode, Tools: c.tools}})
			s := event.Fold(log)
			switch {
			case c.answered && (code(log) != "" || len(s.Citations) == 0 || len(s.Warnings) == 0):
				t.Errorf("%s: %q, %d citations, warnings %v", code(log), s.Text, len(s.Citations), s.Warnings)
			case !c.answered && code(log) != fault.Index:
				t.Errorf("ends with %q, says %q, warnings %v", code(log), s.Text, s.Warnings)
			}
			for _, w := range s.Warnings {
				if strings.Contains(w.Message, "secret") {
					t.Errorf("warning %v", w)
				}
			}
		})
	}
}
