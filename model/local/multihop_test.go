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
