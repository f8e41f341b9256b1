package local_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestFollowUps answers questions with and without the turns before them, which decide between two sentences.
func TestFollowUps(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{})
	passage := func(n int, document corpus.DocumentID, text string) model.Passage {
		return model.Passage{N: n, Score: 0.8, Chunk: corpus.Chunk{ID: corpus.ChunkID(document), Document: document, Text: text}}
	}
	trip := passage(1, "trip", "The school trip to the salt works of Lunden is on 7 May. In case of rain the trip goes on, since the workshop has a roof.")
	guide := passage(1, "guide", "The guided tour of the mill takes one hour. Tickets of the mill cost 4 euros.")
	bikes := passage(1, "bikes", "| Bike | Day (€) | Deposit (€) |\n| --- | --- | --- |\n| City bike | 18 | 50 |\n| Tandem | 34 | 100 |\n| Cargo bike | 48 | 200 |")
	life := passage(1, "life", "Ada Vale worked for a locksmith in Lunden. Then came five years at a shipyard in Aldenmouth. Later Ada Vale worked in the museum of Osterby, where her works are shown.")
	castle := passage(2, "castle", "Tickets of the castle cost 9 euros.")
	for _, c := range []struct {
		name, asked, question, last string
		passages                    []model.Passage
		alone, want                 string
	}{
		{"the last answer said it already", "And in case of rain?", "When is the school trip to the salt works of Lunden in case of rain?",
			"The school trip to the salt works of Lunden is on 7 May.", []model.Passage{trip}, "7 May", "In case of rain the trip goes on"},
		{"the document of the last answer", "", "What do tickets cost?", "The guided tour of the mill takes one hour.",
			[]model.Passage{castle, guide}, "9 euros", "4 euros"},
		{"another column of the row", "And the deposit?", "What is the deposit?", "Tandem: Day (€) 34.", []model.Passage{bikes}, "City bike", "Tandem: Deposit (€) 100"},
		{"another row", "And a cargo bike?", "What does a cargo bike cost for a day?", "Tandem: Day (€) 34.", []model.Passage{bikes}, "", "Cargo bike: Day (€) 48"},
		{"what comes next", "And where did she work after that?", "Where did Ada Vale work after that?", "Ada Vale worked for a locksmith in Lunden.", []model.Passage{life}, "museum", "shipyard"},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := model.Task{Question: c.question, Passages: c.passages}
			if got, _ := answer(t, m, task); !strings.Contains(got, c.alone) {
				t.Errorf("without the conversation: got %q, want %s", got, c.alone)
			}
			task.Asked, task.History = c.asked, []model.Message{{Role: model.User, Text: "?"}, {Role: model.Assistant, Text: c.last}}
			if got, _ := answer(t, m, task); !strings.Contains(got, c.want) || c.alone != "" && strings.Contains(got, c.alone) {
				t.Errorf("after %q: got %q, want %s", c.last, got, c.want)
			}
		})
	}
}

// TestReasons: a sentence that states a reason needs less evidence, one without a negation can say why not, and a sentence is judged with the one that
// completes it.
func TestReasons(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{})
	for _, c := range []struct{ question, text, want string }{
		{"Why did the hockey ladies get no grant?", "## Grants to clubs\n\nThe chess club gets 450 euros. The hockey club was refused because its accounts were missing. The rowers get 1,500 euros.", "accounts"},
		{"Why was the tilting bowl not sold to the firm from Sheffield?", "The tilting bowl made the company known. The owner refused to sell it to a competitor from Sheffield, because he feared for the jobs in the town.", "jobs"},
		{"When will the pipe under the path be repaired?", "A pipe had burst under the path. Mick will have it mended by 14 March. The job costs 420 euros.", "14 March"},
		{"Warum hat der Rat kein Geld für den Kunstrasen gegeben?", "## Kunstrasen\n\nDer Rat hat den Zuschuss im Juni abgelehnt, weil zuerst die Kläranlage saniert werden muss. Der Verein versucht es noch einmal.", "Kläranlage"},
		{"Why are there crumbs in the pan and no flour?", "Butter the pan and put crumbs in the pan. Stir in the flour. Put the pan in the oven. Crumbs instead of flour: that way it never sticks. Bake it for an hour.", "sticks"},
		{"Perché non posso usare l'aceto per togliere il calcare?", "Per togliere il calcare usare il liquido. Svuotare il serbatoio per togliere il calcare. Non usare aceto: rovina le guarnizioni. Il ciclo dura mezz'ora.", "guarnizioni"},
		{"Why does the example name the release explicitly?", "The example names the release explicitly because stable changes. For example:\n\n```\ndeb example release stable explicitly\n```\n", "changes"},
		{"Why does Ada write in April?", "Ada writes to everybody in April.", ""},
	} {
		got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{{N: 1, Score: 0.8, Chunk: corpus.Chunk{ID: "c", Document: "d", Text: c.text}}}})
		if !strings.Contains(got, c.want) || c.want == "" && got != local.NoAnswer {
			t.Errorf("%s %q, want %q", c.question, got, c.want)
		}
	}
}
