package agent_test

import (
	"context"
	"testing"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
)

// keeper is a graph in which every passage names Ada Brook.
type keeper struct{ index.Graph }

func (keeper) EntitiesOf(_ context.Context, _ string, ids []corpus.ChunkID) ([][]index.Entity, error) {
	out := make([][]index.Entity, len(ids))
	for i := range ids {
		out[i] = []index.Entity{{Name: "Ada Brook", Chunks: 2, About: 1}}
	}
	return out, nil
}

// TestNamesAreFollowedWhereTheyMayLead: not for reasons and ways that were found, nor once each part of a question has what fits it, nor from a document that
// a question for one thing does not name.
func TestNamesAreFollowedWhereTheyMayLead(t *testing.T) {
	t.Parallel()
	found := agent.Evidence{Class: event.Correct, Score: 0.9,
		Chunk: corpus.Chunk{ID: "c_1", Title: "The Farland lighthouse", Text: "The Farland lighthouse is kept by Ada Brook."}}
	const who, when, cost = "Who painted the Farland lighthouse?", "When was the Farland lighthouse painted?", "What did the paint cost?"
	for name, c := range map[string]struct {
		view    agent.View
		follows bool
	}{
		"what has to be found first":          {agent.View{Question: "Where was the keeper of the Farland lighthouse born?", Chained: true}, true},
		"the same for a reason":               {agent.View{Question: "Why did the keeper of the Farland lighthouse leave Osterby?", Chained: true}, true},
		"a reason":                            {agent.View{Question: "Why was the Farland lighthouse painted?"}, false},
		"a way":                               {agent.View{Question: "How do I paint the Farland lighthouse?"}, false},
		"more than one look-up":               {agent.View{Question: "Who painted the Farland lighthouse after storms?"}, true},
		"each part has what fits it":          {agent.View{Question: "Who painted the Farland lighthouse, and when?", Parts: []string{who, when}}, false},
		"a document of another name":          {agent.View{Question: "Who painted the tower after storms?"}, false},
		"the same, and more look-ups":         {agent.View{Question: "Who painted the tower of the keeper after storms?", Chained: true}, true},
		"a part has nothing":                  {agent.View{Question: "Who painted the Farland lighthouse, and when?", Parts: []string{who, cost}}, true},
		"each part has, but leads to another": {agent.View{Question: "Who painted the Farland lighthouse, and when?", Parts: []string{who, when}, Chained: true}, true},
	} {
		v := c.view
		v.Complexity, v.Evidence = event.Moderate, []agent.Evidence{found}
		var outcomes []agent.Outcome
		for _, asked := range []string{v.Question, who, when} {
			outcomes = append(outcomes, agent.Outcome{Action: agent.Action{Tool: event.ToolHybridSearch, Query: asked, Asked: asked}, Found: v.Evidence})
		}
		v.Rounds = []agent.Round{{Outcomes: outcomes}}
		p, err := agent.Rules{Graph: keeper{}}.Next(t.Context(), v)
		if err != nil || (len(p.Actions) > 0) != c.follows {
			t.Errorf("%s: %+v, %v", name, p.Actions, err)
		}
	}
}
