package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/ledger"
	ledgerdb "github.com/sluice-rag/sluice/ledger/sqlstore"
)

// ledgerMark is a file that says that the folder has a ledger. Without it, a lost ledger would be replaced by an empty one.
const ledgerMark = "ledger.exists"

// ErrNoLedger says that a folder has no ledger. Test for it with [errors.Is].
var ErrNoLedger = errors.New("there is no ledger")

// Ledger opens the ledger of a tenant. The server of the tenant may have it open. If the folder never had one, Ledger makes it if create is set, and
// returns [ErrNoLedger] otherwise; in a database, it always makes it. A ledger that was lost is another error.
func (r *Records) Ledger(ctx context.Context, tenant string, create bool) (*ledgerdb.Store, error) {
	if _, err := os.Stat(r.path(tenant, ledgerMark)); err != nil && !create && !r.External() {
		if info, err := os.Stat(r.path(tenant, ledgerFile)); err != nil || info.Size() == 0 {
			return nil, fmt.Errorf("open ledger: %w in %s", ErrNoLedger, Folder(r.Data, tenant))
		}
	}
	return r.ledger(ctx, tenant)
}

// openMarked opens a database that must not be lost. At its first use it makes a file, the mark, which says that the database exists; if the
// database is missing or empty later, that is an error.
func openMarked[T io.Closer](what, path, mark string, open func() (T, error)) (T, error) {
	var none T
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return none, fmt.Errorf("open %s: %w", what, err)
	}
	_, unmarked := os.Stat(mark)
	if lost := err != nil || info.Size() == 0; lost && unmarked == nil {
		return none, fmt.Errorf("open %s: %s was lost or emptied: restore it from a backup, or remove %s to begin with an empty one", what, path, mark)
	}
	store, err := open()
	if err != nil || unmarked == nil {
		return store, err
	}
	if err := atomicfile.WriteSync(mark, nil, 0o600); err != nil {
		return none, fmt.Errorf("open %s: %w", what, errors.Join(err, store.Close()))
	}
	return store, nil
}

// openLedger opens the ledger and lets it charge the runs that have an account.
func (a *App) openLedger(ctx context.Context, o *engine.Options) error {
	billing, err := billingOptions(a.Config)
	if err != nil {
		return err
	}
	err = a.reserve.Use(func() (err error) {
		a.ledger, err = a.records.ledger(ctx, a.Tenant)
		return err
	})
	if err != nil {
		return err
	}
	if err := a.ledger.Check(ctx); err != nil {
		return fmt.Errorf("%w; sluice ledger verify shows all problems", err)
	}
	billing.Writers = a.Models.writers
	o.Billing = ledger.NewBilling(reservedRuns{a.ledger, a.reserve}, billing)
	return nil
}

// reservedRuns lets the charges and voids of runs in progress use the disk reserve, as their last events may. A hold may not: it begins new work.
type reservedRuns struct {
	ledger.Runs
	space *reserve.File
}

// Post implements [ledger.Runs].
func (r reservedRuns) Post(ctx context.Context, c ledger.Charge) (s event.Settled, err error) {
	err = r.space.Use(func() (err error) {
		s, err = r.Runs.Post(ctx, c)
		return err
	})
	return s, err
}

// Void implements [ledger.Runs].
func (r reservedRuns) Void(ctx context.Context, run event.RunID, at time.Time) error {
	return r.space.Use(func() error { return r.Runs.Void(ctx, run, at) })
}

// Refund implements [ledger.Runs].
func (r reservedRuns) Refund(ctx context.Context, run event.RunID, at time.Time) error {
	return r.space.Use(func() error { return r.Runs.Refund(ctx, run, at) })
}

func billingOptions(cfg config.Config) (ledger.Options, error) {
	prices, err := cfg.Billing.Prices()
	if err != nil {
		return ledger.Options{}, fmt.Errorf("open ledger: price: %w", err)
	}
	return ledger.Options{Prices: prices, Share: cfg.Billing.Share,
		Limits: ledger.Limits{Deadline: cfg.Runs.Deadline, Input: cfg.Billing.HoldInput, Output: cfg.Billing.HoldOutput}}, nil
}

func (a *App) closeLedger() error {
	if a.ledger == nil {
		return nil
	}
	return a.ledger.Close()
}
