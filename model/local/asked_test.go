package local_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestAskedByHeading has a list of frequent questions: what stands under a question answers it, from its first sentence, though only the second one
// begins with what could be a name.
func TestAskedByHeading(t *testing.T) {
	m := local.New(local.Options{Patience: 1})
	for _, c := range []struct{ question, heading, text, want string }{
		{"Who decides about refunds?", "Who decides about refunds?", "The manager, together with the accountant. Complaints go to the board.", "The manager, together with the accountant. Complaints go to the board."},
		{"How can I become a member?", "How do I become a member?", "Come to the desk with an identity card. The form takes five minutes. You get the chip at once.",
			"Come to the desk with an identity card. The form takes five minutes. You get the chip at once."},
		{"When do I get the deposit back?", "Who gets the deposit back?", "Every tenant who has paid. The deposit is sent back on 5 June 2025.", "The deposit is sent back on 5 June 2025."},
	} {
		got, _ := answer(t, m, model.Task{Question: c.question, Passages: parts("Gym", []string{"Gym", c.heading}, c.heading+"\n\n"+c.text)})
		if d := cmp.Diff(c.want, got); d != "" {
			t.Error(d)
		}
	}
}
