package local_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestChains asks what only three documents together answer: the last one shares few words with the question.
func TestChains(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{})
	creek := titled(1, "Lunden Creek", "Lunden Creek is a claim on the upper river. The sluice at Lunden Creek was built by Ada Vale.")
	builder := titled(2, "Ada Vale", "Ada Vale kept bees. Ada Vale, a builder of mills, was born in Osterby and went to sea at twelve.")
	town := titled(3, "Osterby", "Osterby lies on the river Ask. The mayor of Osterby is Karl Holm, a baker.")
	port := titled(4, "Westerby", "Westerby has a port. The mayor of Westerby is Nils Lund.")
	bees := titled(5, "Bees", "Bees live in hives. A hive has one queen.")
	const question = "Who is the mayor of the town where the builder of the sluice at Lunden Creek was born?"
	for name, c := range map[string]struct {
		passages []model.Passage
		cites    []int
		says     string
	}{
		"each step is said":                {[]model.Passage{creek, builder, town, port, bees}, []int{1, 2, 3}, "Karl Holm"},
		"whatever the order":               {[]model.Passage{port, town, bees, creek, builder}, []int{3, 1, 2}, "Karl Holm"},
		"without the step between the two": {[]model.Passage{creek, port, bees}, nil, ""},
	} {
		got, cites := answer(t, m, model.Task{Question: question, Passages: c.passages})
		if c.cites != nil {
			if d := cmp.Diff(c.cites, cites); d != "" || !strings.Contains(got, c.says) {
				t.Errorf("%s: %q: %s", name, got, d)
			}
		} else if strings.Contains(got, "Nils Lund") && len(cites) > 2 {
			t.Errorf("%s: links what is not linked: %q", name, got)
		}
	}
}

// TestReasoningPaths asks for what a document says that no sentence names by its title, and for what the second sentence of a
// document says.
func TestReasoningPaths(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{})
	builder := titled(1, "Ada Vale", "Ada Vale kept bees. Ada Vale, a builder of mills, died in Osterby at the age of ninety.")
	clock := titled(2, "Osterby town clock", "It shows the phases of the moon. The dial of the clock was built by a smith in 1410.")
	other := titled(3, "Westerby town clock", "It has no hands. The clock of Westerby was built in 1720.")
	owner := titled(4, "Karl Holm", "Karl Holm was the chairman of Lunden Mills.")
	mills := titled(5, "Lunden Mills", "Lunden Mills is a company of millers with forty mills. It is headquartered in Tarnby.")
	for question, c := range map[string]struct {
		cites []int
		says  string
	}{
		"When was the clock built in the city where Ada Vale died?":                      {[]int{1, 2}, "1410"},
		"Karl Holm was the chairman of a company of millers headquartered in what city?": {[]int{4, 5}, "Tarnby"},
	} {
		got, cites := answer(t, m, model.Task{Question: question, Passages: []model.Passage{builder, clock, other, owner, mills}})
		if d := cmp.Diff(c.cites, cites); d != "" || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q: %s", question, got, d)
		}
	}
}

// TestLongChains gives passages that all name each other; the time that go test gives is the limit.
func TestLongChains(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{Patience: -1})
	var ps []model.Passage
	var names strings.Builder
	for i := range 40 {
		fmt.Fprintf(&names, "Town%d of Lunden and ", i)
	}
	for i := range 40 {
		ps = append(ps, titled(i+1, fmt.Sprintf("Town%d", i), strings.Repeat("The mayor of "+names.String()+" was born there. ", 60)))
	}
	answer(t, m, model.Task{Question: "Who is the mayor of the town where the builder of Town3 at Lunden was born?", Passages: ps})
}

// TestWeakSteps asks a question whose steps each say little of it: the best sentence alone covers nearly as much of it as all steps do.
func TestWeakSteps(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{})
	shops := titled(1, "Merrow", "Merrow is a chain of bakeries that its workers own. There are shops in Aldland (785), Berland (186) and Corland (42).")
	song := titled(2, "Hollow Bell (song)", "\"Hollow Bell\" is a single by Ada Vale.")
	singer := titled(3, "Ada Vale", "Ada Vale kept bees. She settled in Osterby in Corland in 1949.")
	bees := titled(4, "Bees", "Bees live in hives. A hive has one queen.")
	const question = "How many Merrow shops are there in the province in which the performer of Hollow Bell grew old?"
	got, cites := answer(t, m, model.Task{Question: question, Passages: []model.Passage{bees, shops, song, singer}})
	if !strings.Contains(got, "Corland (42)") || !strings.Contains(got, "by Ada Vale") {
		t.Errorf("%q cites %v: a step is missing", got, cites)
	}
}
