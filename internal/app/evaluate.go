package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/cache/canonical"
	"github.com/sluice-rag/sluice/internal/config"
)

// TempApp is the program over an empty temporary data folder, for evaluations of answers. Close it when done.
type TempApp struct {
	*App
	dir string
}

// OpenTempApp opens the program with the settings, except for the data folder.
func OpenTempApp(ctx context.Context, cfg config.Config, logger *slog.Logger) (*TempApp, error) {
	dir, err := os.MkdirTemp("", "sluice-app-")
	if err != nil {
		return nil, fmt.Errorf("make temporary data folder: %w", err)
	}
	cfg.Store.Data = dir
	tenant := auth.DefaultTenant
	if cfg.Index.URL != "" {
		tenant = tempTenant() // its documents are in the same server as those of others
	}
	a, err := OpenTenant(ctx, cfg, tenant, logger)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &TempApp{App: a, dir: dir}, nil
}

// Close closes the program and removes its folder.
func (t *TempApp) Close() error {
	if err := errors.Join(t.App.Close(), deleteIndex(context.Background(), t.Config, t.Tenant), os.RemoveAll(t.dir)); err != nil {
		return fmt.Errorf("remove temporary data folder: %w", err)
	}
	return nil
}

// RuleVerifier returns the verifier that asks no model.
func (t *TempApp) RuleVerifier() verify.Verifier {
	local := *t.Models
	local.Chats = nil
	var p answer.Pipeline
	local.judge(t.Config.Models, t.logger, &p)
	return p.Verifier
}

// OpenVerifier returns the verifier of the settings.
func OpenVerifier(ctx context.Context, cfg config.Config, logger *slog.Logger) (verify.Verifier, error) {
	m, err := OpenModels(ctx, cfg, logger)
	if err != nil {
		return nil, err
	}
	var p answer.Pipeline
	m.judge(cfg.Models, logger, &p)
	return p.Verifier, nil
}

// SameQuestion reports whether the cache answers one question with the answer to the other.
func SameQuestion(question, other string) bool {
	return canonical.Parse(question).Same(canonical.Parse(other))
}
