package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
)

// tenantFlag selects the tenant whose data folder a command opens.
type tenantFlag struct {
	Tenant string `default:"default" placeholder:"NAME" help:"Tenant whose data folder the command opens. A server must not use it meanwhile."`
}

// Validate implements the interface of kong.
func (f tenantFlag) Validate() error { return auth.ValidateTenant(f.Tenant) }

// isDefault reports whether the command is for the default tenant. The server that uses the data folder answers only for that one,
// since requests for others need a key.
func (f tenantFlag) isDefault() bool { return f.Tenant == auth.DefaultTenant }

// open opens the data folder of the tenant.
func (f tenantFlag) open(ctx context.Context, e *env, logger *slog.Logger) (*app.App, error) {
	a, err := app.OpenTenant(ctx, e.cfg, f.Tenant, logger)
	if errors.Is(err, app.ErrInUse) && !f.isDefault() {
		err = fmt.Errorf("%w: ask it with --server and a key of the tenant, or try again when the tenant is idle", err)
	}
	return a, err
}

// openExisting opens the data folder of the tenant if it exists. Commands that only read or repair must not create a mistyped folder.
func (f tenantFlag) openExisting(e *env) (*app.App, error) {
	if err := exists(app.Folder(e.cfg.Store.Data, f.Tenant)); err != nil {
		return nil, err
	}
	return f.open(e.ctx, e, e.logger)
}

// exists returns an error if the data folder of a tenant cannot be read.
func exists(folder string) error {
	_, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read data folder: %s does not exist; \"sluice ingest PATH\" and \"sluice serve\" create it, and --data names another one", folder)
	case err != nil:
		return fmt.Errorf("read data folder: %w", err)
	}
	return nil
}

// server returns the server to ask: the given one, or else the one that uses the data folder. Its address is empty if there is none.
func (f tenantFlag) server(e *env, given string) (at remote, err error) {
	switch {
	case given != "" && !f.isDefault():
		return at, usagef("--tenant and --server exclude each other: the key selects the tenant of a server")
	case given == "" && f.isDefault():
		at, _ = running(e.ctx, e.cfg.Store.Data)
		return at, nil
	}
	return remote{url: given}, nil
}

// openOrRunning is [openOrRunning] for the folder of a tenant. No server is asked for another tenant than the default one.
func (f tenantFlag) openOrRunning(ctx context.Context, e *env, open func() (*app.App, error)) (a *app.App, at remote, err error) {
	if !f.isDefault() {
		a, err = open()
		return a, at, err
	}
	return openOrRunning(ctx, e, open)
}

type tenantsCmd struct {
	List   tenantsListCmd   `cmd:"" default:"withargs" help:"List the tenants that have data, with the size of their folders."`
	Delete tenantsDeleteCmd `cmd:"" help:"Revoke the keys of a tenant, and delete all its data."`
}

type tenantsListCmd struct {
	config.Store
	JSON bool `name:"json" help:"Print JSON, one tenant per line."`
}

// Run lists the tenants.
func (c *tenantsListCmd) Run(e *env) error {
	var keys []auth.Key
	err := withKeys(e, false, func(m auth.Manager) (err error) { keys, err = m.List(e.ctx); return err })
	if err != nil && !errors.Is(err, app.ErrNoKeys) && !errors.Is(err, auth.ErrLost) {
		return err
	}
	records, err := app.OpenRecords(e.ctx, e.cfg.Store)
	if err != nil {
		return err
	}
	defer records.Close()
	names, err := records.TenantNames(e.ctx, keys)
	if err != nil {
		return err
	}
	list := make([]app.TenantInfo, len(names))
	for i, name := range names {
		if list[i], err = app.DescribeTenant(e.cfg.Store.Data, name, keys); err != nil {
			return err
		}
	}
	if c.JSON {
		return printLines(e, list...)
	}
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENANT\tBYTES\tKEYS\tLAST USED\tFOLDER")
	for _, one := range list {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", one.Name, one.Bytes, one.Keys, localTime(one.Used), app.Folder(e.cfg.Store.Data, one.Name))
	}
	return w.Flush()
}

type tenantsDeleteCmd struct {
	config.Store
	config.Index
	Name string `arg:"" help:"Name of the tenant."`
	Yes  bool   `help:"Confirm that all data of the tenant is deleted. There is no way back."`
}

// Run deletes a tenant.
func (c *tenantsDeleteCmd) Run(e *env) error {
	if !c.Yes {
		return fmt.Errorf("tenants: this deletes all documents, runs and files of the tenant %.64q, which cannot be undone: confirm it with --yes", c.Name)
	}
	err := withKeys(e, false, func(keys auth.Manager) error { return app.DeleteTenant(e.ctx, e.cfg, c.Name, keys) })
	if errors.Is(err, app.ErrNoKeys) {
		err = app.DeleteTenant(e.ctx, e.cfg, c.Name, nil)
	}
	if errors.Is(err, app.ErrInUse) {
		err = fmt.Errorf("%w: its keys are revoked; delete it on the page of the server, or after the server was restarted", err)
	}
	return err
}
