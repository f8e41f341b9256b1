package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
)

type migrateCmd struct {
	config.Store
	config.Index
	config.Keep
	From string `placeholder:"PLACE" help:"Source: a data folder without engines, or a YAML file of settings. Default: the settings of this command."`
	To   string `placeholder:"PLACE" help:"Target: a data folder without engines, or a YAML file of settings. Default: the settings of this command."`
	JSON bool   `name:"json" help:"Print JSON, one compared part per line."`
}

// Run copies everything from one side to the other and prints what it compared.
func (c *migrateCmd) Run(e *env) error {
	if c.From == "" && c.To == "" {
		return usagef("--from or --to is required: the other side has the settings of this command")
	}
	from, err := c.side(e, "--from", c.From)
	if err != nil {
		return err
	}
	to, err := c.side(e, "--to", c.To)
	if err != nil {
		return err
	}
	show, done := newProgress(e, "copying")
	parts, err := app.Migrate(e.ctx, from, to, app.MigrateOptions{Logger: e.logger, Progress: func(part string, done int) {
		show(ingest.Progress{Done: done, Current: part})
	}})
	done()
	if errors.Is(err, app.ErrInUse) {
		return fmt.Errorf("%w: stop all servers that use the source or the target first", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(e.Err, "migration complete; the source is unchanged")
	if c.JSON {
		return printLines(e, parts...)
	}
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENANT\tPART\tCOUNT\tCHECKSUM\tRESULT")
	for _, p := range parts {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\tequal\n", cmp.Or(p.Tenant, "(all)"), p.Part, p.Count, p.Checksum)
	}
	return w.Flush()
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
