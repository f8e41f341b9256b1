package session

import (
	"context"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// Store stores sessions. All methods may be called at once, also by several processes. Each is one transaction, which is durable when the
// method returns. Times have microsecond precision. Back ends are in sub-packages and pass the suite in sessiontest.
type Store interface {
	Sessions
	Turns
	Messages
	Eraser
}

// Sessions stores what is known of each session.
type Sessions interface {
	// Create adds a session; its ID and Account must not exist: [ErrExists]. Its Key, Head, Turns and KeepRuns are not used. If UsedAt is zero, it becomes
	// CreatedAt.
	Create(ctx context.Context, s Session) (Session, error)
	// Session returns a session. Errors: [ErrNotFound].
	Session(ctx context.Context, account, id string) (Session, error)
	// List returns sessions by descending UsedAt and Key.
	List(ctx context.Context, f Filter, after Cursor, limit int) ([]Session, error)
	// Update sets the fields that are not nil. A Head that is not a message of the session is [ErrNoMessage]. Errors: [ErrNotFound].
	Update(ctx context.Context, key Key, c Change) (Session, error)
	// Hide begins to delete a session, with its runs or without: no other method finds it or its messages any more, except for Hidden, Runs and Erase. Its
	// ID may be used again. Errors: [ErrNotFound].
	Hide(ctx context.Context, key Key, keepRuns bool) error
}

// Eraser finishes the deletion of sessions that are hidden. If it is interrupted, it can be repeated.
type Eraser interface {
	// Hidden returns the sessions that are hidden, by Key.
	Hidden(ctx context.Context) ([]Session, error)
	// Runs returns the runs of a session, hidden or not, in the order of their ids, after an id.
	Runs(ctx context.Context, key Key, after event.RunID, limit int) ([]event.RunID, error)
	// Erase deletes a session, hidden or not, in several transactions. When it returns, its texts are not in the files of the store any more. Without
	// such a session, it only makes sure of that.
	Erase(ctx context.Context, key Key) error
	// EraseRun deletes what a message has of a run that was deleted: the text, the standalone question, the citations, and the summaries up to the
	// message or a later one of its branches; its status becomes [Deleted]. When it returns, they are not in the files of the store any more.
	// Without such a message, it does nothing.
	EraseRun(ctx context.Context, run event.RunID) error
}

// Filter selects sessions.
type Filter struct {
	Account  *string // nil: of all accounts
	Archived *bool   // nil: both
	// Words selects the sessions that have all of these words in the title or in one message. The last one may be the beginning of a
	// word. Only the first [MaxWords] are used. None: all sessions. The words are those of lang.Words.
	Words []string
}

// Cursor is the place of a session in a list. The zero value is the place before the first one.
type Cursor struct {
	UsedAt time.Time
	Key    Key
}

// Change changes a session. Nil fields stay.
type Change struct {
	Title    *string // empty: it has no title any more, and no TitleBy
	TitleBy  string  // with Title. A title by another than [TitleByUser] does not replace one by the user
	Archived *bool
	Head     *string
}

// Turns stores the turns of sessions in their order: at most one is [Running], and the others of its session that are open wait in
// the order of their Begin.
type Turns interface {
	// Begin appends the question, if it is new, and the answer, which is Running or, if other turns are open, Queued. The Head becomes
	// the answer, UsedAt the time of the turn. If one of the other open turns has expired, nothing is written and the error is a [BusyError] with
	// the first that has; if others are open and b.Wait is not set, with the first of them. Errors: [ErrNotFound]; [ErrNoMessage] if the parent is
	// not an answer of the session, or the question, if it is not new, is not one of its questions.
	Begin(ctx context.Context, key Key, b Begin) (Message, error)
	// Start makes a queued answer Running if its turn is the first one that is open, and sets the time until which its lease lasts. Otherwise
	// the error is a BusyError with the first one, and the lease is extended all the same. Errors: ErrNoMessage if the turn is not open.
	Start(ctx context.Context, run event.RunID, now, until time.Time) error
	// End ends an open turn with a status that is not open. Without an open turn of the run, it does nothing.
	End(ctx context.Context, e End) error
	// Open returns the turns in progress of all sessions.
	Open(ctx context.Context) ([]OpenTurn, error)
}

// Messages stores messages.
type Messages interface {
	// Branch returns at most limit messages: the last one and those before it on its branch, the last one first. Errors: [ErrNoMessage].
	Branch(ctx context.Context, key Key, last string, limit int) ([]Message, error)
	// All returns the messages of all branches in the order of their creation, beginning with the offset.
	All(ctx context.Context, key Key, offset, limit int) ([]Message, error)
	// ByRun returns the answer of a run with its session. Errors: ErrNoMessage.
	ByRun(ctx context.Context, run event.RunID) (Session, Message, error)
	// Rate sets the feedback on an answer; nil removes it. Errors: ErrNoMessage, also for a question.
	Rate(ctx context.Context, key Key, message string, f *Feedback) error
	// Rated returns the answers with feedback of all sessions, or of an account, in the order of the ids of their runs, after a run.
	Rated(ctx context.Context, account *string, after event.RunID, limit int) ([]Rated, error)
}
