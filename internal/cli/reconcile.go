package cli

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/internal/config"
)

type reconcileCmd struct {
	config.Store
	config.Index
	tenantFlag
	config.Ingest
	config.Parsing
	config.Models
	DryRun bool `name:"dry-run" help:"Only show the differences."`
}

// Run repairs the data folder, which no server may use, and prints the differences. The exit status is 1 if some cannot be repaired.
func (c *reconcileCmd) Run(e *env) (err error) {
	a, err := c.openExisting(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	report, err := a.Reconcile(e.ctx, c.DryRun)
	if err != nil {
		return err
	}
	if report.Clean() {
		fmt.Fprintln(e.Out, "nothing to repair")
		return nil
	}
	left, err := printReport(e, report, c.DryRun)
	if err == nil && left > 0 && !c.DryRun {
		return exit(1)
	}
	return err
}

func printReport(e *env, report files.Report, dry bool) (left int, err error) {
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROBLEM\tFOUND\tREPAIRED\tACTION")
	for _, row := range report.Rows {
		if row.Found == 0 {
			continue
		}
		repaired := fmt.Sprint(row.Repaired)
		if dry {
			repaired = "-"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", row.Problem, row.Found, repaired, row.Action)
		left += row.Found - row.Repaired
	}
	return left, w.Flush()
}
