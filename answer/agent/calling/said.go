package calling

import (
	"context"
	"errors"
	"strings"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

const (
	maxHeard   = 1 << 20 // bytes of text and reasoning that are read
	maxThought = 2000    // bytes of them that are kept
)

// said is a model's reply.
type said struct {
	calls   []model.ToolCall // at most as many as are read
	broken  bool             // a call could not be parsed
	prose   bool             // the reply has text
	thought string           // reasoning and text
}

// complete reads a model's reply. A call with invalid JSON is not an error, because the model can be told.
func (m *planner) complete(ctx context.Context, r model.Request) (said, error) {
	var s said
	var thought strings.Builder
	var stop model.StopReason
	heard, aloud := 0, false
	for p, err := range m.judge.Complete(ctx, r) {
		if e, ok := errors.AsType[*model.Error](err); ok && e.Failure == model.Malformed {
			s.broken = true
			break
		}
		if err != nil {
			return said{}, err
		}
		if heard += len(p.Text) + len(p.Reasoning); heard > maxHeard {
			return said{}, &model.Error{Model: m.judge.Name(), Failure: model.Malformed, Cause: errLong}
		}
		if thought.Len() < 4*maxThought {
			if p.Text != "" && !aloud && thought.Len() > 0 {
				thought.WriteString("\n\n")
			}
			thought.WriteString(p.Reasoning + p.Text)
		}
		aloud = aloud || p.Text != ""
		s.prose = s.prose || strings.TrimSpace(p.Text) != ""
		if p.Call != nil && len(s.calls) < maxCalls {
			s.calls = append(s.calls, *p.Call)
		}
		if p.Stop != "" {
			stop = p.Stop
		}
	}
	s.thought = lang.Truncate(strings.TrimSpace(lang.Clean(lang.Truncate(thought.String(), 4*maxThought))), maxThought)
	switch stop {
	case model.StopIncomplete:
		return said{}, &model.Error{Model: m.judge.Name(), Failure: model.Truncated}
	case model.StopFiltered:
		return said{}, &model.Error{Model: m.judge.Name(), Failure: model.Rejected}
	}
	return s, ctx.Err()
}
