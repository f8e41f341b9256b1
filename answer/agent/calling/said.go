package calling

import (
	"context"
	"errors"
	"strings"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

const (
	maxHeard   = 1 << 20 // bytes of text and reasoning that are listened to
	maxThought = 2000    // of them that are kept
)

// said is what a model did.
type said struct {
	calls   []model.ToolCall // no more than are read
	broken  bool             // it called something in a way that cannot be read
	prose   bool             // it wrote text
	thought string           // what it thought and wrote
}

// complete listens to a model. A call that is no JSON is no error of its own: the model can be told.
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
	s.thought = lang.Head(strings.TrimSpace(lang.Clean(lang.Head(thought.String(), 4*maxThought))), maxThought)
	switch stop {
	case model.StopIncomplete:
		return said{}, &model.Error{Model: m.judge.Name(), Failure: model.Truncated}
	case model.StopFiltered:
		return said{}, &model.Error{Model: m.judge.Name(), Failure: model.Rejected}
	}
	return s, ctx.Err()
}
