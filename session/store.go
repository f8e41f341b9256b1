package session

import (
	"context"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// Store stores sessions. Its methods are safe for concurrent use, also by several processes. Each method except [Eraser.Erase] is one
// transaction, which is durable when the method returns. Times have microsecond precision. Back ends are in sub-packages and pass the suite
// in sessiontest.
type Store interface {
	Sessions
	Turns
	Messages
	Eraser
}

// Sessions stores sessions without their messages.
type Sessions interface {
	// Create adds a session and returns it with its Key. It ignores Key, Head, Turns and KeepRuns of s. If UsedAt is zero, it becomes
	// CreatedAt. Errors: [ErrExists] if the account has a session with the ID.
	Create(ctx context.Context, s Session) (Session, error)
	// Session returns a session. Errors: [ErrNotFound].
	Session(ctx context.Context, account, id string) (Session, error)
	// List returns sessions by descending UsedAt and Key.
	List(ctx context.Context, f Filter, after Cursor, limit int) ([]Session, error)
	// Update sets the fields that are not nil. Errors: [ErrNotFound]; [ErrNoMessage] if Head is not a message of the session.
	Update(ctx context.Context, key Key, c Change) (Session, error)
	// Hide begins the deletion of a session. Afterwards, only the methods of [Eraser] find it and its messages, and a new session can have its
	// ID. keepRuns is stored as KeepRuns. Errors: [ErrNotFound].
	Hide(ctx context.Context, key Key, keepRuns bool) error
}

// Eraser finishes the deletion of sessions that are hidden. If it is interrupted, it can be repeated.
type Eraser interface {
	// Hidden returns the sessions that are hidden, by Key.
	Hidden(ctx context.Context) ([]Session, error)
	// Runs returns the runs of a session, hidden or not, in the order of their ids, after an id.
	Runs(ctx context.Context, key Key, after event.RunID, limit int) ([]event.RunID, error)
	// Erase deletes a session, hidden or not, in several transactions. When it returns, the files of the store do not contain its texts any
	// more. It can be called again for a session that it has already deleted.
	Erase(ctx context.Context, key Key) error
	// EraseRun deletes the answer of a run: its text, standalone question and citations, and the summaries that cover it. Its status becomes
	// [Deleted]. When the method returns, the files of the store do not contain these texts any more. Without such an answer, it does nothing.
	EraseRun(ctx context.Context, run event.RunID) error
}

// Filter selects sessions. The zero value selects all.
type Filter struct {
	Account  *string // nil: of all accounts
	Archived *bool   // nil: archived or not
	// Words selects the sessions that have all of these words in the title or in one message. The last one may be the beginning of a
	// word. Only the first [MaxWords] are used. lang.Words splits a text into words.
	Words []string
}

// Cursor is the place of a session in a list. The zero value is the place before the first one.
type Cursor struct {
	UsedAt time.Time
	Key    Key
}

// Change changes a session. It does not change fields that are nil.
type Change struct {
	Title    *string // empty: removes the title and TitleBy
	TitleBy  string  // set with Title. Only [TitleByUser] replaces a title by the user
	Archived *bool
	Head     *string
}

// Turns stores the turns of sessions and keeps their order. In each session, at most one open turn is [Running]. The others are [Queued], in
// the order of their Begin.
type Turns interface {
	// Begin appends the answer, and the question if it is new. The answer is Running or, if other turns are open, Queued. It becomes the Head,
	// and UsedAt becomes the time of the turn. If there is an error, nothing is written.
	//
	// Errors: a [BusyError] with the first turn whose lease has expired, if there is one; a [BusyError] with the first open turn, if b.Wait is
	// not set; [ErrNotFound]; [ErrNoMessage] if the parent is not an answer of the session, or an existing question is not one of its questions;
	// [ErrSiblings] if the parent of the first message to append has [MaxSiblings] children.
	Begin(ctx context.Context, key Key, b Begin) (Message, error)
	// Start extends the lease of an open turn and, if no earlier turn of the session is open, makes its answer Running. Errors: a [BusyError]
	// with the first open turn, if there is an earlier one; the lease is extended nevertheless. [ErrNoMessage] if the turn is not open.
	Start(ctx context.Context, run event.RunID, now, until time.Time) error
	// End ends a turn that is open or [Answer.Interrupted] with a status that is not open. Errors: [ErrNoMessage] if the run has no such turn.
	End(ctx context.Context, e End) error
	// Open returns the open turns of all sessions.
	Open(ctx context.Context) ([]OpenTurn, error)
}

// Messages stores messages.
type Messages interface {
	// Branch returns at most limit messages: the one with the id last, and those before it on its branch, in reverse order. Errors:
	// [ErrNoMessage].
	Branch(ctx context.Context, key Key, last string, limit int) ([]Message, error)
	// All returns at most limit messages of all branches in the order of their creation. It leaves out the first offset messages.
	All(ctx context.Context, key Key, offset, limit int) ([]Message, error)
	// ByRun returns the answer of a run with its session. Errors: [ErrNoMessage].
	ByRun(ctx context.Context, run event.RunID) (Session, Message, error)
	// Rate sets the feedback of an answer; nil removes it. Errors: [ErrNoMessage], also for a question.
	Rate(ctx context.Context, key Key, message string, f *Feedback) error
	// Rated returns at most limit answers with feedback, of all sessions (account nil) or of an account, in the order of the ids of their runs.
	// It begins after the id of a run.
	Rated(ctx context.Context, account *string, after event.RunID, limit int) ([]Rated, error)
}
