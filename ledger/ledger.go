// Package ledger keeps the credits of a tenant by double entry: amounts are whole micro-credits, transfers are only appended, the entries of each
// transfer sum to zero, and the balance of an account is the sum of its entries. A run is charged in two phases: a hold reserves the most that it
// may cost, and is then posted with the fee, or voided. [Billing] charges runs by a price list. A back end implements [Runs] and [Book].
//
// The design follows TigerBeetle (https://docs.tigerbeetle.com/coding/two-phase-transfers/).
package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// Credits is an amount in micro-credits.
type Credits = event.Credits

// MaxCredits is the greatest amount and balance: a million million credits.
const MaxCredits Credits = 1e18

// The accounts of the ledger itself: see [corpus.ValidAccount].
const (
	Platform = corpus.PlatformAccount // earns what is not distributed to contributors
	Issuer   = corpus.IssuerAccount   // credits come from it; the only account whose balance may be below zero
)

// Errors of a store. Test for them with [errors.Is].
var (
	ErrNotFound     = errors.New("no such account")
	ErrInsufficient = errors.New("the balance is too low")
	ErrVoided       = errors.New("the run was voided")
	ErrExists       = errors.New("the transfer exists already, with other contents")
)

// Runs holds and posts what runs cost. Each method is idempotent by the id of the run. A store is safe for concurrent use, also by several processes.
// A method that writes returns after the change is durable.
type Runs interface {
	// Hold reserves an amount above zero of the account for the run. ErrInsufficient: the balance without what is held already is less. ErrVoided: the
	// run was voided.
	Hold(ctx context.Context, run event.RunID, account string, amount Credits, at time.Time) error
	// Run returns the state of a run. It is the zero value for a run that is not in the ledger.
	Run(ctx context.Context, run event.RunID) (Run, error)
	// Post charges a run, releases its hold, and returns the settlement with the fields Transaction, Before and After. A run that was posted already
	// keeps its charge: Post returns the first settlement. ErrVoided: the run was voided. A fee above the hold is an error.
	Post(ctx context.Context, c Charge) (event.Settled, error)
	// Void releases the hold of a run. It does nothing for a run without a hold, such as one that was posted.
	Void(ctx context.Context, run event.RunID, at time.Time) error
	// Refund returns the charge of a run to its payer; without a charge, it is Void. What a contributor has spent of its share, the platform bears,
	// and what the platform lacks, the issuer.
	Refund(ctx context.Context, run event.RunID, at time.Time) error
	// Holds returns the runs that hold credits.
	Holds(ctx context.Context) ([]event.RunID, error)
}

// Run is the state of a run in the ledger.
type Run struct {
	Held    Credits        // by a hold that was neither posted nor voided
	Settled *event.Settled // nil: not posted
	Voided  bool           // nothing can be posted for it any more
}

// Charge is what a run costs, with what the usage report needs.
type Charge struct {
	Run        event.RunID
	Account    string // that pays
	At         time.Time
	Settlement event.Settled // its Fee, Distributed and Shares are posted
	Model      string
	Collection string
	Input      int // tokens
	Output     int // tokens
	Cached     bool
	// Free means that the run has no hold and costs nothing. The charge only counts its usage, and a loss of power may lose it.
	Free bool
}

// Book shows accounts and moves credits between them. It is safe for concurrent use, as [Runs] is.
type Book interface {
	// Account returns one account. ErrNotFound: it has no entries.
	Account(ctx context.Context, id string) (Account, error)
	// Accounts lists accounts by id, after the given one.
	Accounts(ctx context.Context, after string, limit int) ([]Account, error)
	// Statement lists the entries of an account, or of all accounts if its id is empty, the newest first.
	Statement(ctx context.Context, account string, before Cursor, limit int) ([]Entry, error)
	// Transfer moves credits between two accounts. ErrInsufficient: the balance of From without what is held is less. ErrExists: another transfer has
	// the id.
	Transfer(ctx context.Context, t Transfer) error
	// Usage sums the charges that match the query.
	Usage(ctx context.Context, q UsageQuery) ([]Usage, error)
	// Verify recomputes everything from the entries.
	Verify(ctx context.Context) (Report, error)
}

// Account is an account.
type Account struct {
	ID      string
	Balance Credits
	Held    Credits // part of the balance that runs in progress may cost
}

// Available returns what can be held or transferred.
func (a Account) Available() Credits { return a.Balance - a.Held }

// Kind is what a transfer does.
type Kind string

// The kinds of transfers.
const (
	KindCredit   Kind = "credit"   // from the issuer
	KindTransfer Kind = "transfer" // between other accounts
	KindHold     Kind = "hold"     // reserves what a run may cost
	KindCharge   Kind = "charge"   // posts what it cost
	KindVoid     Kind = "void"     // releases the hold of a run that failed
	KindRefund   Kind = "refund"   // returns the charge of a run that failed
)

// Transfer is a credit or a transfer between two accounts.
type Transfer struct {
	ID       string // idempotency key: 1 to 128 bytes of printable ASCII without spaces, not beginning with hold_, charge_, void_ or refund_
	From, To string // From [Issuer] is a credit
	Amount   Credits
	At       time.Time
	Note     string // at most 500 bytes
}

// Cursor is a position in a statement. The zero value is before the newest entry.
type Cursor struct {
	Transfer int64
	Account  string // within a transfer, for statements of all accounts
}

// Entry is the part of a transfer that belongs to one account.
type Entry struct {
	Transfer int64 // sequence number
	Account  string
	ID       string // of the transfer
	Kind     Kind
	Run      event.RunID
	At       time.Time
	Amount   Credits // added to the balance
	Held     Credits // added to what is held
	Balance  Credits // after the entry
	Note     string
}

// Cursor returns the position after the entry.
func (e Entry) Cursor() Cursor { return Cursor{e.Transfer, e.Account} }

// Group is what a usage report groups by.
type Group string

// The groups.
const (
	ByDay        Group = "day" // in UTC
	ByModel      Group = "model"
	ByCollection Group = "collection"
)

// UsageQuery selects charges.
type UsageQuery struct {
	Account  string    // that paid; empty: all
	From, To time.Time // To is exclusive; the zero time is no limit
	By       []Group   // empty: one sum
}

// Usage is a sum of charges. Refunded charges do not count.
type Usage struct {
	Day         string // 2026-01-31; empty unless grouped by
	Model       string // empty unless grouped by
	Collection  string // empty unless grouped by
	Runs        int64
	Cached      int64 // answered from the cache; part of Runs
	Input       int64 // tokens
	Output      int64 // tokens
	Duration    time.Duration
	Fee         Credits
	Distributed Credits
}

// Report is the result of [Book.Verify].
type Report struct {
	Accounts, Transfers, Entries int
	Problems                     []string // empty: everything agrees
}
