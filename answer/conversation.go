package answer

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluice-rag/sluice/answer/history"
)

// summarizeHistory replaces the older messages of a long history by a summary. The following steps read the summary and the other messages.
func (j *job) summarizeHistory(ctx context.Context) error {
	s := j.resumed.Summarized
	if s == nil && j.resumed.Analysis == nil {
		made, long, err := history.Shorten(ctx, j.Summarizer, j.q.Summary, slices.Clone(j.q.History), j.HistoryTokens)
		if err != nil || !long {
			return err
		}
		if err := j.rec.Emit(ctx, made); err != nil {
			return err
		}
		s = &made
	}
	if s != nil {
		j.q.Summary, j.q.History = s.Summary, j.q.History[max(0, min(s.Turns, len(j.q.History))):]
	}
	return nil
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
