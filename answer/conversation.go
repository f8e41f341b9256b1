package answer

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluice-rag/sluice/answer/analyze"
	"github.com/sluice-rag/sluice/answer/history"
	"github.com/sluice-rag/sluice/event"
)

// readHistory replaces the older messages of a long history by a summary, and drops small talk from the others. The following steps read the result.
func (j *job) readHistory(ctx context.Context) error {
	s := j.resumed.Summarized
	if s == nil && j.resumed.Analysis == nil {
		made, long, err := history.Shorten(ctx, j.Summarizer, j.q.Summary, slices.Clone(j.q.History), j.HistoryTokens)
		if err != nil {
			return err
		}
		if long {
			if err := j.rec.Emit(ctx, made); err != nil {
				return err
			}
			s = &made
		}
	}
	if s != nil {
		j.q.Summary, j.q.History = s.Summary, j.q.History[max(0, min(s.Turns, len(j.q.History))):]
	}
	j.q.History = withoutSmallTalk(j.q.History)
	return nil
}

// withoutSmallTalk returns the messages without those that thank or agree, and their replies: a question after "Thanks!" refers to what was said before that.
func withoutSmallTalk(messages []event.Message) (out []event.Message) {
	skip := false
	for _, m := range messages {
		if m.Role == event.RoleUser {
			question, _ := analyze.SmallTalk(m.Text, len(out) > 0)
			skip = question == ""
		}
		if !skip {
			out = append(out, m)
		}
	}
	return out
}

// condense makes the question self-contained. The following steps work on the result.
func (j *job) condense(ctx context.Context) error {
	if a := j.resumed.Analysis; a != nil {
		j.rewritten = a.Standalone != "" && a.Standalone != j.q.Query
		j.standalone = a.Standalone
		j.q.Query = cmp.Or(a.Standalone, j.q.Query)
		return nil
	}
	if len(j.q.History) == 0 && j.q.Summary == "" {
		return nil
	}
	asked, err := j.Condenser.Condense(ctx, j.q.Query, j.q.Summary, slices.Clone(j.q.History))
	if err != nil {
		return err
	}
	if asked != j.q.Query {
		j.q.Query, j.standalone, j.rewritten = asked, asked, true
	}
	return nil
}
