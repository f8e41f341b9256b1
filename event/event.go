// Package event says what can happen in a run. A run is one question being answered, and it is one append-only log of
// [Event]s: sequence numbers 1, 2, 3 …, a [RunStarted] first and exactly one terminal event last. [Check] holds those
// rules, [State] is the fold of a log that everything else is read from.
package event

import (
	"time"
)

// Seq is the position of an event in its run, from 1. As a cursor, 0 stands before the first.
type Seq uint64

// RunID identifies a run: 1 to 64 letters, digits, dashes and underscores. Ids that sort later were made later.
type RunID string

// Valid tells whether the id is of the form that the type's comment gives, and so is safe in paths and headers.
func (id RunID) Valid() bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// Event is one thing that happened. Events are values and are never changed once appended.
type Event struct {
	Seq  Seq
	At   time.Time // UTC, to the microsecond, never before the event in front of it
	Body Body
}

// Gap is how many numbers a log leaves out before the RunFailed of a run that was live when the machine lost power. Readers
// may have seen events that were lost then. No number of theirs is used again: a run has fewer events.
const Gap = 1_000_000_000

// Follows reports whether the event's number directly follows last: it is the next number, or the one after a [Gap].
func (e Event) Follows(last Seq) bool {
	_, failed := e.Body.(RunFailed)
	return e.Seq == last+1 || failed && last > 0 && last < Gap && e.Seq == last+Gap+1
}

// Count is the number of events of a log whose last event has the number s.
func (s Seq) Count() int {
	if s > Gap {
		s -= Gap
	}
	return int(s)
}

// Kind names a type of body, as in its JSON.
type Kind string

// The kinds, one for each type of [Body].
const (
	KindRunStarted         Kind = "run_started"
	KindQueryAnalyzed      Kind = "query_analyzed"
	KindCacheChecked       Kind = "cache_checked"
	KindToolCalled         Kind = "tool_called"
	KindToolReturned       Kind = "tool_returned"
	KindRetrievalStarted   Kind = "retrieval_started"
	KindRetrievalFinished  Kind = "retrieval_finished"
	KindGraded             Kind = "graded"
	KindReranked           Kind = "reranked"
	KindGenerationStarted  Kind = "generation_started"
	KindReasoned           Kind = "reasoned"
	KindToken              Kind = "token"
	KindCited              Kind = "cited"
	KindGenerationFinished Kind = "generation_finished"
	KindVerified           Kind = "verified"
	KindAttributed         Kind = "attributed"
	KindModelUsed          Kind = "model_used"
	KindWarned             Kind = "warned"
	KindRunFinished        Kind = "run_finished"
	KindRunFailed          Kind = "run_failed"
)

// Body is what happened. The set of its types is closed: the ones in this package.
type Body interface {
	Kind() Kind
	sealed()
}

// Terminal tells whether b ends its run.
func Terminal(b Body) bool {
	switch b.(type) {
	case RunFinished, RunFailed:
		return true
	}
	return false
}
