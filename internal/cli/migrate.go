package cli

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
)

type migrateCmd struct {
	config.Store
	config.Index
	config.Keep
	From string `placeholder:"PLACE" help:"Source: a data folder without engines, or a YAML file of settings. Default: the settings of this command."`
	To   string `placeholder:"PLACE" help:"Target: a data folder without engines, or a YAML file of settings. Default: the settings of this command."`
}

// Run copies everything from one side to the other and prints what it compared.
func (c *migrateCmd) Run(e *env) error {
	if c.From == "" && c.To == "" {
		return errors.New("--from or --to is required: the other side has the settings of this command")
	}
	from, err := c.side(e, "--from", c.From)
	if err != nil {
		return err
	}
	to, err := c.side(e, "--to", c.To)
	if err != nil {
		return err
	}
	show, done := migrationProgress(e)
	began := time.Now()
	parts, err := app.Migrate(e.ctx, from, to, app.MigrateOptions{Progress: show, Logger: e.logger})
	done()
	if errors.Is(err, app.ErrInUse) {
		return fmt.Errorf("%w: stop all servers that use the source or the target first", err)
	}
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENANT\tPART\tCOUNT\tCHECKSUM\tRESULT")
	for _, p := range parts {
		tenant := p.Tenant
		if tenant == "" {
			tenant = "(all)"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\tequal\n", tenant, p.Part, p.Count, p.Checksum)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	e.logger.Info("migration complete; the source is unchanged", "ms", time.Since(began).Milliseconds())
	return nil
}

// side returns the settings of a side.
func (c *migrateCmd) side(e *env, flag, place string) (config.Config, error) {
	if place == "" {
		return e.cfg, nil
	}
	info, err := os.Stat(place)
	if err == nil && !info.IsDir() {
		file := config.Loader{Lookup: func(name string) (string, bool) { return place, name == "SLUICE_CONFIG" }, Environ: func() []string { return nil }}
		cfg, err := file.Load()
		if err != nil {
			return cfg, fmt.Errorf("%s: %w", flag, err)
		}
		return cfg, nil
	}
	cfg := config.Default()
	cfg.Store.Data = place
	return cfg, nil
}

// migrationProgress returns functions that show and end the progress.
func migrationProgress(e *env) (show func(part string, done int), end func()) {
	if isTerminal(e.Err) {
		bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(e.Err), progressbar.OptionShowCount(), progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
		return func(part string, done int) {
			bar.Describe(part)
			_ = bar.Set(done)
		}, func() { _ = bar.Finish() }
	}
	var last time.Time
	return func(part string, done int) {
		if now := time.Now(); now.Sub(last) > 5*time.Second {
			last = now
			e.logger.Info("migrate", "part", part, "done", done)
		}
	}, func() {}
}
