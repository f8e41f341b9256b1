package calling_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/answer/agent/calling"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
)

// TestToolsForDocuments: a model may call them where the asker offers them, and is told of them only then.
func TestToolsForDocuments(t *testing.T) {
	t.Parallel()
	pages := agent.Action{Tool: event.ToolReadPages, Document: "film.pdf", From: 2, To: 4, Reason: "the page is named"}
	list := agent.Action{Tool: event.ToolListDocuments}
	for name, c := range map[string]struct {
		tools []string
		says  []string
		want  []agent.Action
	}{
		"pages":        {[]string{event.ToolReadPages}, []string{event.ToolReadPages, `{"document": " film.pdf\n", "start_page": 2, "end_page": 4, "reason": "the page is named"}`}, []agent.Action{pages}},
		"all":          {[]string{event.ToolListDocuments}, []string{event.ToolListDocuments, `{"query": ""}`}, []agent.Action{list}},
		"turned pages": {[]string{event.ToolReadPages}, []string{event.ToolReadPages, `{"document": "film.pdf", "start_page": 4, "end_page": 2}`}, nil},
		"no document":  {[]string{event.ToolReadPages}, []string{event.ToolReadPages, `{"document": " ", "start_page": 1, "end_page": 2}`}, nil},
		"part of one":  {[]string{event.ToolReadPages}, []string{event.ToolReadPages, `{"document": "film.pdf", "start_page": 1.5, "end_page": 2}`}, nil},
		"not offered":  {nil, []string{event.ToolReadPages, `{"document": "film.pdf", "start_page": 2, "end_page": 4}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chat := &scripted{script: [][]model.Piece{calls(c.says...), calls(c.says...)}}
			v := view()
			v.Tools = c.tools
			plan, err := calling.New(chat, nil, &ruled{}, calling.Options{}).Next(t.Context(), v)
			require.NoError(t, err)
			if c.want == nil {
				if plan.By != "rules" || len(chat.asked) != 2 {
					t.Errorf("%+v after %d requests", plan, len(chat.asked))
				}
			} else if d := cmp.Diff(c.want, plan.Actions); d != "" {
				t.Error(d)
			}
			var told []string
			for _, tool := range chat.asked[0].Tools {
				if agent.ReadsDocuments(tool.Name) {
					told = append(told, tool.Name)
				}
			}
			if d := cmp.Diff(c.tools, told); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestDocumentsAreShown: a model sees the titles of what it had listed.
func TestDocumentsAreShown(t *testing.T) {
	t.Parallel()
	v := after(agent.Action{Tool: event.ToolListDocuments, Query: "films"}, directed)
	v.Rounds[0].Outcomes[0].Count = 33
	v.Rounds = append(v.Rounds, agent.Round{By: "qwen", Outcomes: []agent.Outcome{{Action: agent.Action{Tool: event.ToolReadPages, Document: "film.pdf", From: 2, To: 4}, Found: []agent.Evidence{directed}}}})
	v.Tools = []string{event.ToolListDocuments, event.ToolReadPages}
	chat := &scripted{script: [][]model.Piece{calls("generate_answer", `{}`)}}
	if _, err := calling.New(chat, nil, &ruled{}, calling.Options{}).Next(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	all := shown(chat.asked[0])
	for _, want := range []string{"There are 33 documents.", "Inception (film)", `"start_page":2`, "directed by Christopher Nolan"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %s", want, all)
		}
	}
	if !slices.ContainsFunc(chat.asked[0].Messages, func(m model.Message) bool { return len(m.ToolCalls) == 1 }) {
		t.Error("the calls are not repeated")
	}
}
