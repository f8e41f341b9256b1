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

// modelCalls collects the failures and the costs of model calls during a step. Failures are emitted as soon as the order of events
// allows it, and costs when the step ends.
type modelCalls struct {
	mu        sync.Mutex
	reported  map[string]bool // failures that were reported in this step; each is reported once
	pending   []event.Warned  // warnings from before the run's analysis
	usage     []event.ModelUsed
	err       error  // of emitting
	successor string // the model that took over last in the step that writes the answer
}

// traced returns a step's context, whose model calls are recorded in the run.
func (j *job) traced(ctx context.Context, step string) context.Context {
	return model.WithTrace(ctx, &model.Trace{
		Failed: func(err error, name, next string) { j.modelFailed(ctx, step, err, name, next) },
		Used:   func(name string, u model.Usage) { j.modelCalls.used(step, name, u) },
	})
}

// modelFailed emits a warning for a model that failed, with what replaces it.
func (j *job) modelFailed(ctx context.Context, step string, err error, name, next string) {
	message := name + " failed"
	if e, ok := errors.AsType[*model.Error](err); ok {
		message = e.Public()
	}
	switch next {
	case "":
		message += "; the answer ends here"
	case name:
		message += "; trying it again"
	default:
		message += "; " + next + " takes over"
	}
	w := event.Warned{Code: fault.Model, Message: message, Step: step}
	m := &j.modelCalls
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reported == nil {
		m.reported = map[string]bool{}
	}
	if step == event.StepGenerate && next != "" {
		m.successor = next
	}
	// Report only once that a model is skipped, and only in the step that writes the answer.
	e, _ := errors.AsType[*model.Error](err)
	known := e != nil && e.Failure == model.Skipped && m.reported[name] && step != event.StepGenerate
	if known || m.reported[step+message] {
		return
	}
	m.reported[name], m.reported[step+message] = true, true
	if j.rec.State().Analysis == nil {
		m.pending = append(m.pending, w)
		return
	}
	m.err = errors.Join(m.err, j.rec.Emit(ctx, w))
}

// writer returns the name of the model that took over the answer last; empty if none did.
func (m *modelCalls) writer() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.successor
}

// used adds the cost of a step's requests to a model.
func (m *modelCalls) used(step, name string, u model.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := 0
	for i < len(m.usage) && (m.usage[i].Step != step || m.usage[i].Model != name) {
		i++
	}
	if i == len(m.usage) {
		m.usage = append(m.usage, event.ModelUsed{Step: step, Model: name})
	}
	s := &m.usage[i]
	s.Calls++
	s.Input += max(u.Input, 0)
	s.Output += max(u.Output, 0)
	s.Reasoning += max(u.Reasoning, 0)
	s.Cached += max(u.Cached, 0)
	s.Estimated = s.Estimated || u.Estimated
}

// spent returns the tokens that a step has cost so far.
func (j *job) spent(step string) int {
	m := &j.modelCalls
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := 0
	for _, s := range slices.Concat(j.rec.State().Usage, m.usage) {
		if s.Step == step {
			sum += s.Input + s.Output
		}
	}
	return sum
}

// flushModelCalls emits the remaining warnings and the costs, even if the run was stopped, since its requests cost money.
func (j *job) flushModelCalls(ctx context.Context) error {
	m := &j.modelCalls
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.err
	if j.rec.State().Analysis == nil {
		return err // warnings and costs come after the analysis, which is the first event of some protocols
	}
	for _, w := range m.pending {
		err = errors.Join(err, j.rec.Emit(ctx, w))
	}
	for _, u := range m.usage {
		err = errors.Join(err, j.rec.Emit(ctx, u))
	}
	m.pending, m.usage, m.err = nil, nil, nil
	return err
}
