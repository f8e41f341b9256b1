// Package session holds conversations: their messages, the order of their turns, and the history that a follow-up question needs.
//
// A [Session] is a tree of messages. A turn is a question and its answer. A new turn follows an answer of the session. An edited question and
// a second answer to a question are siblings of the first ones, so both are kept.
//
// A run makes the answer of a turn. A turn is open until its answer has ended: the answer is queued or running, and its text is only in the
// log of the run. When the run ends, the session gets a copy of the answer, which stays when the run expires. The session has the id of the
// run, so the stream of the answer can be read again in any protocol.
//
// A session belongs to an account. The server or the client chooses its id, which is unique within the account.
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
	ErrSiblings  = errors.New("the message has too many siblings")
)

// BusyError is the error for a turn that cannot begin because an earlier turn of its session is open.
type BusyError struct {
	Run event.RunID // run of the earlier turn
	// Expired is set if the lease of the earlier turn has expired, so its server must have stopped.
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

// MaxSiblings is the maximum number of messages with the same parent. It bounds [Message.Siblings].
const MaxSiblings = 200

// MaxWords is the maximum number of words of a search. A [Store] ignores the others.
const MaxWords = 32

// Key identifies a session in its store. It is not the id, which is only unique within an account.
type Key int64

// Session is a conversation.
type Session struct {
	Key       Key
	Account   string // account that the session belongs to
	ID        string // at most [event.MaxSession] bytes
	Title     string
	TitleBy   string // "user", "rules" or the name of a model; empty: it has no title yet
	Archived  bool
	Head      string // id of the last message of the active branch; empty: there is no message
	Turns     int    // answers in all branches
	CreatedAt time.Time
	UsedAt    time.Time // when its last turn began, or when it was created
	KeepRuns  bool      // for a hidden session: its runs are not deleted
}

// TitleByUser is the value of [Session.TitleBy] for a title that a request has set. The server does not replace it.
const TitleByUser = "user"

// Status is the status of a message.
type Status string

// The statuses. A question is always Completed.
const (
	Queued    Status = "queued"    // the answer waits for an earlier turn
	Running   Status = "running"   // the run has not ended
	Completed Status = "completed" // the answer has ended; its end is missing if the model was cut off
	Failed    Status = "failed"    // the run failed; the text ends where it failed
	Cancelled Status = "cancelled" // the run was cancelled; the text ends where it was cancelled
	Deleted   Status = "deleted"   // the run was deleted, and with it the text of the answer
)

// Open reports whether a turn whose answer has the status is open.
func (s Status) Open() bool { return s == Queued || s == Running }

// Message is a question or an answer.
type Message struct {
	ID      string // see [event.RunID.QuestionID] and [event.RunID.AnswerID]
	Parent  string // id of the message before it; empty: it is the first one of its branch
	Depth   int    // number of messages before it on its branch
	Role    string // [event.RoleUser] or [event.RoleAssistant]
	Text    string // of an answer without citation marks; empty while it is open
	At      time.Time
	Summary string // summary of the conversation up to this message; empty: there is none
	// Siblings are the ids of the messages with the same parent and role, including this one, in the order of their creation. It is nil if
	// there are no others.
	Siblings []string

	Answer // a question only has a Status, which is Completed
}

// Answer has the fields that only answers have.
type Answer struct {
	Run        event.RunID
	Status     Status
	Asked      event.Question // the question with its parameters, without History and Request; used to ask it again
	Protocol   string         // protocol of the request
	Standalone string         // the question as it was searched for; empty: as it was asked
	Failure    *event.RunFailed
	Citations  []Citation
	Confidence float64 // 0..1
	Abstained  bool    // the documents do not hold an answer
	Tokens     event.ModelUsed
	EndedAt    time.Time
	Feedback   *Feedback
}

// Citation is a citation in a stored answer.
type Citation struct {
	At     int          `json:"at"` // byte offset in the text: the end of the cited text
	N      int          `json:"n"`  // number of the source, from 1
	Source event.Source `json:"source"`
}

// Feedback is a user's rating of an answer.
type Feedback struct {
	Good   bool
	Reason string // at most [MaxReason] bytes
	At     time.Time
}

// Turn is the place of a question in a session. The zero value continues the active branch, and creates the session if it does not exist.
type Turn struct {
	wire.Turn
	Existing bool // the session must exist
}

// AtHead is the Parent of a question that follows the head of its session at the time of [Turns.Begin].
const AtHead = "head"

// Begin is a new turn for a [Store].
type Begin struct {
	Run      event.RunID
	Question Message // an existing message, or a new one, whose Parent may be [AtHead]
	New      bool    // the question is a new message
	Asked    event.Question
	Protocol string
	At       time.Time
	Until    time.Time // when its lease expires
	Server   string    // name of the server that answers it: see [Options]
	Wait     bool      // wait for earlier turns instead of failing
	Title    string    // title by rules, for a session without a title
}

// End is the end of a turn for a [Store].
type End struct {
	Run    event.RunID
	Text   string
	Answer // its Run, Asked, Protocol and Feedback are not used
	// Summary is the summary of the conversation up to the message with the id SummaryOf; empty: there is none. It is dropped if that message
	// was deleted.
	Summary, SummaryOf string
}

// Interrupted reports whether the turn was ended with [Interrupted].
func (a Answer) Interrupted() bool {
	return a.Status == Failed && a.Failure != nil && *a.Failure == Interrupted
}

// OpenTurn is a turn that is open.
type OpenTurn struct {
	Key    Key
	Run    event.RunID
	Server string    // that answers it
	Until  time.Time // when its lease expires
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
