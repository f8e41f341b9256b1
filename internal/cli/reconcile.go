package cli

import (
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/files"
)

type reconcileCmd struct {
	indexSettings
	tenantFlag
	DryRun bool `name:"dry-run" help:"Only show the differences."`
	JSON   bool `name:"json" help:"Print JSON, one kind of difference per line."`
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
	rows := slices.DeleteFunc(report.Rows, func(row files.ReportRow) bool { return row.Found == 0 })
	switch {
	case c.JSON:
		err = printLines(e, rows...)
	case len(rows) == 0:
		_, err = fmt.Fprintln(e.Out, "nothing to repair")
	default:
		err = printDifferences(e, rows, c.DryRun)
	}
	left := slices.ContainsFunc(rows, func(row files.ReportRow) bool { return row.Repaired < row.Found })
	if err == nil && left && !c.DryRun {
		return exit(1)
	}
	return err
}

func printDifferences(e *env, rows []files.ReportRow, dry bool) error {
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROBLEM\tFOUND\tREPAIRED\tACTION")
	for _, row := range rows {
		repaired := fmt.Sprint(row.Repaired)
		if dry {
			repaired = "-"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", row.Problem, row.Found, repaired, row.Action)
	}
	return w.Flush()
}
