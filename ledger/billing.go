package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Options configure a [Billing].
type Options struct {
	Prices PriceList
	Limits Limits
	Share  int // percent of a fee that contributors earn
	// Writers returns the names of the models that may write answers, for holds. If one of them is not known yet, it returns none, and the hold is
	// the most of all prices. Default: the model of [event.RunStarted].
	Writers func() []string
	Now     func() time.Time // default time.Now
}

// Billing charges runs to the accounts that ask. Runs without an account are not charged. It is safe for concurrent use. Writes do not end with the
// caller's context: they are short, and half of a charge must not stay.
type Billing struct {
	runs Runs
	o    Options
}

// NewBilling returns a billing over a store.
func NewBilling(runs Runs, o Options) *Billing {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Billing{runs, o}
}

// typeUsage is the type of a settlement.
const typeUsage = "query_usage"

// Authorize holds the most that a run may cost, before its first event is written. A free run needs no hold. Errors: [fault.Payment] if the balance
// is too low.
func (b *Billing) Authorize(ctx context.Context, start event.RunStarted) error {
	models := []string{start.Writer.Model}
	if b.o.Writers != nil && !start.Writer.OwnKey {
		models = b.o.Writers()
	}
	most := b.o.Prices.Most(models, start.Writer.OwnKey, b.o.Limits)
	switch {
	case start.Account == "" || most == 0:
		return nil
	case !corpus.ValidAccount(start.Account):
		return fault.New(fault.Payment, "the account of the key cannot pay")
	}
	err := b.runs.Hold(context.WithoutCancel(ctx), start.Run, start.Account, most, b.o.Now())
	if errors.Is(err, ErrInsufficient) {
		return fault.Wrap(fault.Payment, err, "the balance is too low: an answer may cost up to %s credits, which the account %s pays", FormatCredits(most), start.Account)
	}
	if err != nil {
		return fmt.Errorf("hold credits: %w", err)
	}
	return nil
}

// Settle charges a run whose answer is complete, and returns the settlement. It is nil for a run that nobody pays for. After Settle has succeeded, the
// run is to be finished; a second call returns the same settlement. The fee is at most what was held: the platform bears the rest.
// If something is held, Settle calls durable before it charges, and charges nothing if that fails.
func (b *Billing) Settle(ctx context.Context, s event.State, durable func(context.Context) error) (*event.Settled, error) {
	if s.Account == "" {
		return nil, nil //nolint:nilnil // as documented
	}
	ctx = context.WithoutCancel(ctx)
	run, err := b.runs.Run(ctx, s.Run)
	if err != nil {
		return nil, fmt.Errorf("charge run: %w", err)
	}
	if run.Settled != nil {
		return run.Settled, nil
	}
	if run.Held > 0 && !run.Voided {
		if err := durable(ctx); err != nil {
			return nil, fmt.Errorf("charge run: %w", err)
		}
	}
	used := s.Cost()
	fee := b.o.Prices.Fee(modelOf(s), s.Writer.OwnKey, s.Cached(), s.Worked(), s.Usage)
	settled := Settle(min(fee, run.Held), b.o.Share, s.Account, s.Contributing())
	settled.Type, settled.Duration = typeUsage, event.MillisOf(s.Worked())
	settled, err = b.runs.Post(ctx, Charge{Run: s.Run, Account: s.Account, At: b.o.Now(), Settlement: settled, Model: modelOf(s),
		Collection: s.Collection, Input: used.Input, Output: used.Output, Cached: s.Cached(), Free: run.Held == 0})
	if err != nil {
		return nil, fmt.Errorf("charge run: %w", err)
	}
	return &settled, nil
}

// modelOf returns the name of the model that wrote the answer. It may be another than the one that the run started with: the next of the chain, or
// the one whose name its server told. Answers from the cache have none, and count for the model that was to write them.
func modelOf(s event.State) string {
	if s.Generation != nil && s.Generation.Model != "" {
		return s.Generation.Model
	}
	return s.Writer.Model
}

// Payment returns how far the payment of a run is.
func (b *Billing) Payment(ctx context.Context, id event.RunID) (event.Payment, error) {
	run, err := b.runs.Run(ctx, id)
	switch {
	case run.Voided:
		return event.Voided, err
	case run.Settled != nil:
		return event.Charged, err
	case run.Held > 0:
		return event.Held, err
	}
	return event.Unpaid, err
}

// Void releases the hold of a run that was not charged.
func (b *Billing) Void(ctx context.Context, id event.RunID) error {
	return b.runs.Void(context.WithoutCancel(ctx), id, b.o.Now())
}

// Refund makes a run that failed cost nothing: it releases the hold, or returns the charge.
func (b *Billing) Refund(ctx context.Context, id event.RunID) error {
	return b.runs.Refund(context.WithoutCancel(ctx), id, b.o.Now())
}

// Holds returns the runs that hold credits.
func (b *Billing) Holds(ctx context.Context) ([]event.RunID, error) { return b.runs.Holds(ctx) }
