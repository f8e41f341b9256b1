package eval

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/event"
)

// WriteModes writes a table for each kind of measure, with a row for each set, mode and group of questions, and the interval below
// each mean. Kinds and measures without values are left out.
func WriteModes(w io.Writer, reports ...*ModeReport) error {
	first := true
	for _, kind := range []Kind{OfRetrieval, OfAnswers, OfCitations} {
		measures := slices.DeleteFunc(Measures(), func(m Measure) bool { return m.Kind != kind || !measured(reports, m.Key) })
		if len(measures) == 0 {
			continue
		}
		if !first {
			fmt.Fprintln(w)
		}
		first = false
		var rows []tableRow
		for _, r := range reports {
			rows = append(rows, rowsOf(r, true, r.Rows...)...)
		}
		if err := writeRows(w, rows, measures, kind == OfRetrieval); err != nil {
			return err
		}
	}
	return nil
}

// WriteOverview writes one table of the leading measures, with a row for each set and mode. The last report of each mode, which is that of all sets if there are several, also has its
// intervals and its groups of questions.
func WriteOverview(w io.Writer, reports ...*ModeReport) error {
	last := map[event.Mode]*ModeReport{}
	for _, r := range reports {
		last[r.Mode] = r
	}
	var rows []tableRow
	for _, r := range reports {
		if len(r.Rows) == 0 {
			continue
		}
		rows = append(rows, rowsOf(r, last[r.Mode] == r, r.Rows[0])...)
		if last[r.Mode] == r {
			rows = append(rows, rowsOf(r, false, r.Rows[1:]...)...)
		}
	}
	return writeRows(w, rows, slices.DeleteFunc(Measures(), func(m Measure) bool { return !m.Leading || !measured(reports, m.Key) }), true)
}

func measured(reports []*ModeReport, key string) bool {
	return slices.ContainsFunc(reports, func(r *ModeReport) bool {
		return slices.ContainsFunc(r.Rows, func(row Row) bool { _, ok := row.Measures[key]; return ok })
	})
}

// tableRow is a row of a table of measures.
type tableRow struct {
	of *ModeReport
	Row
	intervals bool // below the means
}

func rowsOf(r *ModeReport, intervals bool, rows ...Row) (out []tableRow) {
	for _, row := range rows {
		out = append(out, tableRow{r, row, intervals})
	}
	return out
}

// writeRows writes a table. Rows without values of the measures are left out.
func writeRows(w io.Writer, rows []tableRow, measures []Measure, latencies bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "set\tmode\tquestions\t%s\t", strings.Join(names(measures), "\t"))
	if latencies {
		fmt.Fprint(t, "p50 ms\tp99 ms\tfailed\t")
	}
	fmt.Fprintln(t)
	partial := false // some questions of a row do not have a measure
	for _, row := range rows {
		if !slices.ContainsFunc(measures, func(m Measure) bool { _, ok := row.Measures[m.Key]; return ok }) {
			continue
		}
		r, set, below := row.of, row.of.Set, ""
		if row.Group != "" {
			set += ", " + row.Group
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t", set, r.Mode, row.Questions)
		for _, m := range measures {
			e, ok := row.Measures[m.Key]
			if !ok {
				fmt.Fprint(t, "\t")
				below += "\t"
				continue
			}
			fmt.Fprintf(t, "%.3f", e.Mean)
			if e.N < row.Questions {
				partial = true
				fmt.Fprintf(t, " (%d)", e.N)
			}
			fmt.Fprint(t, "\t")
			below += fmt.Sprintf("%.2f–%.2f\t", e.Low, e.High)
		}
		if latencies && row.Group == "" {
			fmt.Fprintf(t, "%.1f\t%.1f\t%d\t", r.P50.Seconds()*1000, r.P99.Seconds()*1000, r.Failed)
			below += "\t\t\t"
		} else if latencies {
			fmt.Fprint(t, "\t\t\t")
			below += "\t\t\t"
		}
		fmt.Fprintln(t)
		if row.intervals {
			fmt.Fprintf(t, "\t\t\t%s\n", below)
		}
	}
	if err := t.Flush(); err != nil || !partial {
		return err
	}
	_, err := fmt.Fprintln(w, "In parentheses: the number of questions that the figure is the mean of. The others do not have the measure.")
	return err
}

func names(measures []Measure) []string {
	out := make([]string, len(measures))
	for i, m := range measures {
		out[i] = m.Name
	}
	return out
}

// WriteModeComparisons writes a line for each measure in which two modes differ; for groups, only the leading measures. If there is none, it says so.
func WriteModeComparisons(w io.Writer, comparisons ...ModeComparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "set\tcompared\tmeasure\tdifference\t95 % interval\twins\tlosses\tties\tp\t")
	differ := false
	for _, c := range comparisons {
		set := c.Set
		if c.Group != "" {
			set += ", " + c.Group
		}
		for _, m := range Measures() {
			d, ok := c.Measures[m.Key]
			if !ok || c.Group != "" && !m.Leading || d.Wins+d.Losses == 0 && d.Mean == 0 {
				continue
			}
			differ = true
			fmt.Fprintf(t, "%s\t%s to %s\t%s\t%+.4f\t%+.3f to %+.3f\t%d\t%d\t%d\t%.4f\t\n", set, c.A, c.B, m.Name, d.Mean, d.Low, d.High, d.Wins, d.Losses, d.Ties, d.P)
		}
	}
	if !differ {
		_, err := fmt.Fprintln(w, "The compared answers do not differ in any measure.")
		return err
	}
	return t.Flush()
}

// WriteClaims writes the scores of claims, and how often each label got each verdict.
func WriteClaims(w io.Writer, reports ...*ClaimsReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "set\tby\tcites\tsupport is\tagainst\tprecision\trecall\tF1\taccuracy\tTP\tFP\tFN\tTN\t")
	for _, r := range reports {
		for _, l := range []struct {
			is, against string
			counts      Counts
		}{{"supported", "contradict, unrelated", r.Supported}, {"supported, partially", "contradict, unrelated", r.Partially},
			{"supported", "contradict", r.Contradicted}, {"supported", "unrelated", r.Unrelated}} {
			c := l.counts
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t%d\t%d\t%d\t\n", r.Set, r.By, r.Cites, l.is, l.against, c.Precision, c.Recall, c.F1,
				c.Accuracy, c.TP, c.FP, c.FN, c.TN)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "set\tcites\tlabel\tsupported\tpartially\tunsupported\t")
	for _, r := range reports {
		for _, label := range []string{Supports, Contradicts, Unrelated} {
			n := r.Confusion[label]
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t\n", r.Set, r.Cites, label, n[event.Supported], n[event.PartiallySupported], n[event.Unsupported])
		}
	}
	return t.Flush()
}
