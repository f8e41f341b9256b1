// Package display shows a run as it is told: a handler follows the snapshots of a stream and has a processor for each kind of what is in them tell a
// display what changed. Displays see whole states and no differences, so that it does not matter which snapshots a client has missed.
package display

import (
	"errors"
	"fmt"
	"iter"

	"github.com/sluice-rag/sluice/client"
)

// Display renders a run. Its methods are called by one goroutine, with a snapshot that holds all that is known by then, also of what the call is
// not about. Errors, which are those of writing, end the showing.
type Display interface {
	// Step shows the snapshot's step i, which began or changed.
	Step(s *client.Snapshot, i int) error
	// Reasoning shows what models think: more of it than before, or something else.
	Reasoning(s *client.Snapshot) error
	// Answer shows the text and its citations, of which something is new.
	Answer(s *client.Snapshot) error
	// Warning shows the snapshot's warning i.
	Warning(s *client.Snapshot, i int) error
	// Close shows how the run ended, and ends the display; nothing is called after it. Cause is why the stream broke off before the run's end;
	// nil: it did not.
	Close(s *client.Snapshot, cause error) error
}

// Processor tells a display what changed between two snapshots of a run, of one kind of what is in them. It is told of whole states: was is what the
// display has seen, which may lie any number of events behind now.
type Processor interface {
	Process(was, now *client.Snapshot, d Display) error
}

// Handler follows a run's snapshots. It is for one goroutine.
type Handler struct {
	d     Display
	order []Processor
	was   client.Snapshot
}

// NewHandler makes a handler that knows everything that a snapshot holds. Steps of kinds that it does not know are passed over.
func NewHandler(d Display) *Handler {
	return &Handler{d: d, order: []Processor{
		steps{kinds: []client.Kind{client.Stage, client.Search, client.Tool}}, warnings{}, reasoning{}, message{}}}
}

// Show takes up the next snapshot.
func (h *Handler) Show(now client.Snapshot) error {
	for _, p := range h.order {
		if err := p.Process(&h.was, &now, h.d); err != nil {
			return fmt.Errorf("show answer: %w", err)
		}
	}
	h.was = now
	return nil
}

// Source is what a handler follows; [client.Stream] is one.
type Source interface {
	Events() iter.Seq2[client.Event, error]
	Snapshot() client.Snapshot
}

// Run reads a stream to its end and shows it. It gives the last snapshot, and the error that ended the stream or the showing.
func Run(s Source, d Display) (client.Snapshot, error) {
	h := NewHandler(d)
	var cause error
	for _, err := range s.Events() {
		if err != nil {
			cause = err
			break
		}
		if err := h.Show(s.Snapshot()); err != nil {
			return s.Snapshot(), both(err, d.Close(&h.was, nil))
		}
	}
	last := s.Snapshot()
	if err := h.Show(last); err != nil {
		cause = errors.Join(cause, err)
	}
	return last, both(cause, d.Close(&last, cause))
}

// both joins two errors, the second of which may be the first once more.
func both(err, again error) error {
	if again == nil || errors.Is(err, again) {
		return err
	}
	return errors.Join(err, again)
}
