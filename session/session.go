// Package session holds conversations: their messages, the order of their turns, and the history that a follow-up question needs.
//
// A [Session] is a tree of messages. A turn adds a question and its answer after an answer of the session; an edited question or a second
// answer is a sibling of the first, so both are kept. The answer of a turn is a run: while it is being made, the log of the run has its
// text, and afterwards the session has a copy that outlives the run. The session refers to the run by its id, so the stream of a turn can
// be read again in any protocol.
//
// A session belongs to an account. Its id is chosen by the server or by the client, and is unique within the account.
package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Errors of a store. Test for them with [errors.Is].
var (
	ErrNotFound  = errors.New("no such session")
	ErrNoMessage = errors.New("no such message in the session")
	ErrExists    = errors.New("the session exists already")
)

// BusyError is the error for a turn that cannot begin because another turn of its session comes first.
type BusyError struct {
	Run event.RunID // of the turn that comes first
	// Expired is set if the lease of that turn has expired: whoever answered it must have stopped.
	Expired bool
}

// Error implements error.
func (b *BusyError) Error() string {
	return fmt.Sprintf("another turn of the session is in progress: run %s", b.Run)
}

// Limits of the fields of sessions, in bytes.
const (
	MaxTitle  = 300
	MaxReason = 4 << 10
)

// MaxWords is the number of words of a search that a [Store] uses.
const MaxWords = 32

// Key identifies a session in its store.
type Key int64

// Session is a conversation.
type Session struct {
	Key       Key
	Account   string // owner; empty: requests without a key
	ID        string // at most [event.MaxSession] bytes
	Title     string
	TitleBy   string // "user", "rules" or the name of a model; empty: it has no title yet
	Archived  bool
	Head      string // id of the last message of the active branch; empty: there is no message
	Turns     int    // answers in all branches
	CreatedAt time.Time
	UsedAt    time.Time // when its last turn began, or when it was created
	KeepRuns  bool      // of a session that is hidden: its runs are not deleted
}

// TitleByUser is the value of [Session.TitleBy] for a title that was set by a request. It is not replaced.
const TitleByUser = "user"

// Status is the status of a message.
type Status string

// The statuses. A question is always Completed.
const (
	Queued    Status = "queued"    // the answer waits for an earlier turn
	Running   Status = "running"   // the answer is being made
	Completed Status = "completed" // the answer is complete
	Failed    Status = "failed"    // the run failed; the text is what there was
	Cancelled Status = "cancelled" // the run was cancelled; the text is what there was
	Deleted   Status = "deleted"   // the run was deleted, and with it the text of the answer
)

// Open reports whether the turn of an answer is in progress.
func (s Status) Open() bool { return s == Queued || s == Running }

// Message is a question or an answer.
type Message struct {
	ID      string // see [event.RunID.QuestionID] and [event.RunID.AnswerID]
	Parent  string // id of the message that it follows; empty: it is the first one of its branch
	Depth   int    // number of messages before it on its branch
	Role    string // [event.RoleUser] or [event.RoleAssistant]
	Text    string // of an answer without citation marks; empty while it is open
	At      time.Time
	Summary string // of the conversation up to this message; empty: it was not summarized here
	// Siblings are the ids of the messages with the same parent and role in the order of their creation, including this one. Nil: it is the
	// only one.
	Siblings []string

	Answer // of a question only the Status, which is Completed
}

// Answer is what a message of the assistant has besides its text.
type Answer struct {
	Run        event.RunID
	Status     Status
	Asked      event.Question // how the question was asked, without history and request: to ask it again
	Protocol   string         // protocol of the request
	Standalone string         // the question as it was searched for; empty: as it was asked
	Failure    *event.RunFailed
	Citations  []Citation
	Confidence float64 // 0..1
	Abstained  bool    // the documents do not seem to hold an answer
	Tokens     event.ModelUsed
	EndedAt    time.Time
	Feedback   *Feedback
}

// Citation is a citation in a stored answer.
type Citation struct {
	At     int          `json:"at"` // byte offset into the text, after the cited text
	N      int          `json:"n"`  // number of the source, from 1
	Source event.Source `json:"source"`
}

// Feedback is the judgement of a user on an answer.
type Feedback struct {
	Good   bool
	Reason string // at most [MaxReason] bytes
	At     time.Time
}

// Turn says where a question belongs in a session. The zero value continues the active branch, and creates the session if it does not exist.
type Turn struct {
	wire.Turn
	Existing bool // the session must exist
}

// AtHead is the Parent of a question that follows the head of its session at the time of [Turns.Begin].
const AtHead = "head"

// Begin is a new turn for a [Store].
type Begin struct {
	Run      event.RunID
	Question Message // its ID is that of an existing message if the answer is regenerated; the Parent of a new one may be [AtHead]
	New      bool    // the question is a new message
	Asked    event.Question
	Protocol string
	At       time.Time
	Until    time.Time // when its lease expires
	Owner    string    // the server that answers it
	Wait     bool
	Title    string // for a session without a title; made by rules
}

// End is the end of a turn for a [Store].
type End struct {
	Run    event.RunID
	Text   string
	Answer // its Run, Asked, Protocol and Feedback are not used
	// Summary is that of the conversation up to the message SummaryOf; empty: none was made. It is dropped if that message was deleted.
	Summary, SummaryOf string
}

// OpenTurn is a turn in progress.
type OpenTurn struct {
	Key   Key
	Run   event.RunID
	Owner string
	Until time.Time
}

// Rated is an answer with feedback, its question and its session.
type Rated struct {
	Session  Session
	Question Message
	Answer   Message
}

// errBusy is the error for callers of a turn that cannot begin.
func errBusy(run event.RunID) error {
	return &fault.Error{Code: fault.Conflict, Field: "session", Message: fmt.Sprintf("another message of the session is being answered, in run %s; wait for its end, or send \"wait\": true", run)}
}
