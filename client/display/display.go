// Package display shows a run while it is streamed. A [Handler] follows the snapshots of a stream. For each kind of content, a [Processor]
// reports changes to a [Display]. Displays receive whole snapshots, so that missed snapshots do not matter.
package display

import (
	"errors"
	"fmt"
	"iter"

	"github.com/sluice-rag/sluice/client"
)

// Display renders a run. One goroutine calls its methods with the newest snapshot of the whole run. A method returns an error if it cannot
// write, which ends the display.
type Display interface {
	// Step shows step i of the snapshot, which has started or changed.
	Step(s *client.Snapshot, i int) error
	// Reasoning shows the reasoning of models, which has changed.
	Reasoning(s *client.Snapshot) error
	// Answer shows the text and its citations, which have changed.
	Answer(s *client.Snapshot) error
	// Warning shows warning i of the snapshot.
	Warning(s *client.Snapshot, i int) error
	// Close shows the end of the run and closes the display. It is the last call. cause is the error that ended the stream before the end of
	// the run, or nil.
	Close(s *client.Snapshot, cause error) error
}

// Processor reports the changes of one kind of content between two snapshots to a display. before is the last snapshot that the display has
// seen. Any number of events can lie between the two.
type Processor interface {
	Process(before, now *client.Snapshot, d Display) error
}

// Handler passes the snapshots of a run to a display. It is not safe for concurrent use.
type Handler struct {
	d      Display
	order  []Processor
	before client.Snapshot
}

// NewHandler returns a handler with processors for all content of a snapshot. It ignores steps of unknown kinds.
func NewHandler(d Display) *Handler {
	return &Handler{d: d, order: []Processor{
		steps{kinds: []client.Kind{client.Stage, client.Search, client.Tool}}, warnings{}, reasoning{}, message{}}}
}

// Show shows the next snapshot.
func (h *Handler) Show(now client.Snapshot) error {
	for _, p := range h.order {
		if err := p.Process(&h.before, &now, h.d); err != nil {
			return fmt.Errorf("show answer: %w", err)
		}
	}
	h.before = now
	return nil
}

// Source is a stream of snapshots, such as [client.Stream].
type Source interface {
	Events() iter.Seq2[client.Event, error]
	Snapshot() client.Snapshot
}

// Run shows a stream until its end. It returns the last snapshot, and the error that ended the stream or the display.
func Run(s Source, d Display) (client.Snapshot, error) {
	h := NewHandler(d)
	var cause error
	for _, err := range s.Events() {
		if err != nil {
			cause = err
			break
		}
		if err := h.Show(s.Snapshot()); err != nil {
			return s.Snapshot(), both(err, d.Close(&h.before, nil))
		}
	}
	last := s.Snapshot()
	if err := h.Show(last); err != nil {
		cause = errors.Join(cause, err)
	}
	return last, both(cause, d.Close(&last, cause))
}

// both joins two errors unless they are the same.
func both(err, again error) error {
	if again == nil || errors.Is(err, again) {
		return err
	}
	return errors.Join(err, again)
}
