package app

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/ledger"
	ledgerdb "github.com/sluice-rag/sluice/ledger/sqlite"
)

// OpenLedger opens the ledger in the folder of a tenant. The server of the tenant may have it open.
func OpenLedger(ctx context.Context, folder string) (*ledgerdb.Store, error) {
	return ledgerdb.Open(ctx, filepath.Join(folder, "ledger.db"))
}

// openLedger opens the ledger and lets it charge the runs that have an account.
func (a *App) openLedger(ctx context.Context, o *engine.Options) error {
	billing, err := billingOptions(a.Config)
	if err != nil {
		return err
	}
	err = a.reserve.Use(func() (err error) {
		a.ledger, err = OpenLedger(ctx, a.Config.Store.Data)
		return err
	})
	if err == nil {
		err = a.ledger.Check(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w; sluice ledger verify shows all problems", err)
	}
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
