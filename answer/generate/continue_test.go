package generate_test

import (
	"testing"

	"github.com/sluice-rag/sluice/answer/generate"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/failover"
	"github.com/sluice-rag/sluice/model/local"
)

// TestContinuesAnAnswer gives a generator the beginning of the answer: nothing of it is given again, and no other generator answers.
func TestContinuesAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said  string
		chat  *chat
		bare  bool // without a chain
		texts []string
		want  string
	}{
		"the rest":                    {"Gold is heavy ⟦1⟧.", says(text(" It sinks ⟦2⟧."), end), false, []string{"a", "b"}, " It sinks{2}."},
		"within a sentence":           {"Gold is heavy", says(text(" and it sinks [1]"), end), false, []string{"a"}, " and it sinks{1}"},
		"the same citation again":     {"Gold is heavy ⟦1⟧", says(text(" ⟦1⟧. It sinks."), end), false, []string{"a"}, ". It sinks."},
		"text that looks like labels": {"Gold: heavy.", says(text("\n\nAnswer: it sinks."), end), false, []string{"a"}, "\n\nAnswer: it sinks."},
		"within code":                 {"Write:\n```go\nx := a", says(text("[1]\n```"), end), false, []string{"a"}, "[1]\n```"},
		"nothing more":                {"Gold is heavy.", says(end), false, []string{"a"}, ""},
		"the model is down":           {"Gold is heavy.", failing(model.Rejected), false, []string{"a"}, "<incomplete>"},
		"a model that cannot go on":   {"Gold is heavy.", says(text("Gold is heavy."), end), true, []string{"a"}, "<incomplete>"},
		"no answer, half":             {"The documents do not", says(), false, nil, " seem to hold an answer to this question."},
		"no answer":                   {lang.NoAnswer, says(), false, nil, ""},
		"the passages are gone":       {"Gold is heavy.", says(), false, nil, "<incomplete>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var chat model.Chat = c.chat
			if !c.bare {
				chat = failover.New([]model.Chat{c.chat}, failover.Options{})
			}
			task := task(c.texts...)
			task.Prefix = c.said
			got, _ := told(t.Context(), generate.NewModel(chat, nil, local.New(local.Options{}), generate.Options{}), task)
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
