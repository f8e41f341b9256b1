// Package event defines the events of a run. A run answers one question and is an append-only log of [Event]s: sequence numbers
// 1, 2, 3 …, a [RunStarted] first and exactly one terminal event last. [Check] checks these rules. [State] is the fold of a log,
// from which all views of a run are made.
package event

import "time"

// Seq is the position of an event in its run, from 1. As a cursor, 0 is the position before the first event.
type Seq uint64

// RunID identifies a run: 1 to 64 letters, digits, dashes and underscores. Ids sort by the time of the run.
type RunID string

// Valid reports whether the id has that form, which is safe in paths and headers.
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

// QuestionID returns the id of the message of a session with the question for which the run was started first.
func (id RunID) QuestionID() string { return "ask_" + string(id) }

// AnswerID returns the id of the message of a session with the answer of the run.
func (id RunID) AnswerID() string { return "msg_" + string(id) }

// Event is an entry of a log. Events are values that do not change after they are appended.
type Event struct {
	Seq  Seq
	At   time.Time // UTC, to the microsecond, never before the previous event
	Body Body
}

// Gap is the number of sequence numbers that a log skips before the RunFailed of a run that was live when the machine lost
// power. Readers may have seen events that were lost then, and their numbers are not used again: a run has fewer events than
// this.
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

// Kind is the name of a type of body, as in its JSON.
type Kind string

// The kinds, one for each type of [Body].
const (
	KindRunStarted         Kind = "run_started"
	KindHistorySummarized  Kind = "history_summarized"
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
	KindSettled            Kind = "settled"
	KindModelUsed          Kind = "model_used"
	KindWarned             Kind = "warned"
	KindRunFinished        Kind = "run_finished"
	KindRunFailed          Kind = "run_failed"
)

// Body is the content of an event. The set of its types is closed: those of this package.
type Body interface {
	Kind() Kind
	sealed()
}

// Terminal reports whether b ends its run.
func Terminal(b Body) bool {
	switch b.(type) {
	case RunFinished, RunFailed:
		return true
	}
	return false
}
