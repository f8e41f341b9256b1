package prompt_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/prompt"
)

// TestJudgeIsSuspended checks that three consecutive invalid replies suspend a model, and that a valid reply resets the count.
func TestJudgeIsSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, says := 0, "I think it is a simple question."
		judge := prompt.NewJudge(modeltest.ReplyFunc(func(context.Context, model.Request) (string, error) {
			asked++
			return says, nil
		}))
		ask := func() model.Failure {
			_, err := prompt.Ask[struct {
				Complexity event.Complexity
			}](t.Context(), judge, nil, prompt.Analysis{Question: "Why?"}, nil)
			if e, ok := errors.AsType[*model.Error](err); ok {
				return e.Failure
			}
			require.NoError(t, err)
			return ""
		}
		const good, bad = `{"complexity": "simple", "questions": []}`, "I think it is a simple question."
		for i, c := range []struct {
			says string
			want model.Failure
		}{{bad, model.Malformed}, {bad, model.Malformed}, {good, ""}, {bad, model.Malformed}, {bad, model.Malformed}, {bad, model.Malformed}, {good, model.Skipped}} {
			says = c.says
			if got := ask(); got != c.want {
				t.Fatalf("question %d: %q, want %q", i, got, c.want)
			}
		}
		if asked != 11 { // two for each invalid reply
			t.Errorf("asked %d times", asked)
		}
		time.Sleep(5 * time.Minute) // in the synctest bubble
		says = good
		if got := ask(); got != "" {
			t.Errorf("after the suspension: %q", got)
		}
	})
}
