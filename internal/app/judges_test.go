package app_test

import (
	"testing"

	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/model/modeltest"
)

// TestRunsNameWhoJudged: where the second model of a chain judges, it is not the first that is said to have done so.
func TestRunsNameWhoJudged(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]modeltest.Script{
		"401": {Fail: modeltest.Refuse, Status: 401}, "404": {Fail: modeltest.Refuse, Status: 404},
		"503": {Fail: modeltest.Refuse}, "cut": {Tokens: []string{"{"}, Fail: modeltest.Cut, After: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := modeltest.NewOpenAI(t, fails), modeltest.NewOpenAI(t, modeltest.Script{Next: helpful})
			a, _ := open(t, func(c *config.Config) {
				c.Models.ModelURL, c.Models.ModelName = []string{first.URL, second.URL}, []string{"first", "second"}
			})
			_, st := ask(t, a, question)
			if by := []string{st.Analysis.By, st.Grades[0].By, st.Check.By}; by[0] != "second" || by[1] != "second" || by[2] != "second" {
				t.Errorf("analysed, graded and verified by %q", by)
			}
		})
	}
}
