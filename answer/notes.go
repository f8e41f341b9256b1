package answer

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/model"
)

// notes collects what model calls report during a step. Failures are emitted as soon as the order of events allows it, and costs
// when the step ends.
type notes struct {
	mu    sync.Mutex
	told  map[string]bool // messages of failures, each of which is told once a step
	wait  []event.Warned  // from before the run's analysis
	spent []event.ModelUsed
	err   error  // of telling
	next  string // the model that took over last where the answer is written
}

// traced returns a step's context, whose model calls are recorded in the run.
func (j *job) traced(ctx context.Context, step string) context.Context {
	return model.WithTrace(ctx, &model.Trace{
		Failed: func(err error, name, next string) { j.survived(ctx, step, err, name, next) },
		Used:   func(name string, u model.Usage) { j.notes.used(step, name, u) },
	})
}

// survived emits a warning for a model that failed, with what replaces it.
func (j *job) survived(ctx context.Context, step string, err error, name, next string) {
	message := name + " failed"
	if e, ok := errors.AsType[*model.Error](err); ok {
		message = e.Public()
	}
	switch next {
	case "":
		message += "; the answer ends here"
	case name:
		message += "; it is asked again"
	default:
		message += "; " + next + " takes over"
	}
	w := event.Warned{Code: fault.Model, Message: message, Step: step}
	n := &j.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told == nil {
		n.told = map[string]bool{}
	}
	if step == generating && next != "" {
		n.next = next
	}
	// Report only once that a model is skipped, and only in the step that writes the answer.
	e, _ := errors.AsType[*model.Error](err)
	known := e != nil && e.Failure == model.Skipped && n.told[name] && step != generating
	if known || n.told[step+message] {
		return
	}
	n.told[name], n.told[step+message] = true, true
	if j.rec.State().Analysis == nil {
		n.wait = append(n.wait, w)
		return
	}
	n.err = errors.Join(n.err, j.rec.Emit(ctx, w))
}

// generating is the step that writes the answer.
const generating = "generate"

// writer returns the name of the model that took over the answer last; empty if none did.
func (n *notes) writer() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.next
}

// used adds the cost of a step's requests to a model.
func (n *notes) used(step, name string, u model.Usage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := 0
	for i < len(n.spent) && (n.spent[i].Step != step || n.spent[i].Model != name) {
		i++
	}
	if i == len(n.spent) {
		n.spent = append(n.spent, event.ModelUsed{Step: step, Model: name})
	}
	s := &n.spent[i]
	s.Calls++
	s.Input += max(u.Input, 0)
	s.Output += max(u.Output, 0)
	s.Reasoning += max(u.Reasoning, 0)
	s.Cached += max(u.Cached, 0)
	s.Estimated = s.Estimated || u.Estimated
}

// spent returns the tokens that a step has cost so far.
func (j *job) spent(step string) int {
	n := &j.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	sum := 0
	for _, s := range slices.Concat(j.rec.State().Usage, n.spent) {
		if s.Step == step {
			sum += s.Input + s.Output
		}
	}
	return sum
}

// settle emits the remaining notes, also if the run was stopped, since its requests are paid for.
func (j *job) settle(ctx context.Context) error {
	n := &j.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	err := n.err
	if j.rec.State().Analysis == nil {
		return err // stopped before anything could be told
	}
	for _, w := range n.wait {
		err = errors.Join(err, j.rec.Emit(ctx, w))
	}
	for _, u := range n.spent {
		err = errors.Join(err, j.rec.Emit(ctx, u))
	}
	n.wait, n.spent, n.err = nil, nil, nil
	return err
}
