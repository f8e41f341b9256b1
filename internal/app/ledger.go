package app

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/sluice-rag/sluice/engine"
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
	o.Billing = ledger.NewBilling(a.ledger, billing)
	return nil
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
