package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/internal/plot"
)

// writeTable writes the report as text.
func (r *streamReport) writeTable(w io.Writer) error {
	if len(r.Medians) > 0 {
		fmt.Fprintf(w, "medians of %g s turns, log in %s; late: more than %s after the append; CPU in µs per event; busy: CPU time of the readers' process, relative to one processor\n\n",
			r.Seconds, r.Log, lateAfter)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "runs x readers x rate\tserver\tevents/s\tp50 ms\tp99 ms\tp99.9 ms\tlate %\tevents/write\tCPU\t/ net/http\t/ write(2)\treaders' CPU\tbusy %\tlost\t")
		for _, f := range r.Medians {
			fmt.Fprintf(t, "%s\t%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%d\t\n", f.Load, f.Server, f.EventsPerSecond, f.P50, f.P99, f.P999, f.Late,
				f.Joined, f.CPU, f.TimerRatio, f.RawRatio, f.ReaderCPU, f.ReaderBusy, f.Lost)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(r.Idle) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nKiB per idle reader\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "readers\tserver\tprocess\tkernel\t")
	for _, f := range r.Idle {
		fmt.Fprintf(t, "%d\t%s\t%.1f\t%.1f\t\n", f.Readers, f.Server, f.Process, f.Kernel)
	}
	return t.Flush()
}

// writePlot draws the medians and the memory of idle readers as SVG.
func (r *streamReport) writePlot(w io.Writer) error {
	c := plot.Chart{Title: "Delivery of events", Series: r.servers()}
	panel := func(name string, log bool, of func(streamResult) float64) {
		p := plot.Panel{Name: name, Log: log}
		for _, f := range r.Medians {
			p.Add(f.Load.String(), len(c.Series), slices.Index(c.Series, f.Server), of(f))
		}
		c.Panels = append(c.Panels, p)
	}
	if len(r.Medians) > 0 {
		panel("processor time of an event, µs", false, func(f streamResult) float64 { return f.CPU })
		panel("99th percentile of the latency, ms", true, func(f streamResult) float64 { return f.P99 })
		panel("events received per second", false, func(f streamResult) float64 { return f.EventsPerSecond })
		panel("events joined into one write", false, func(f streamResult) float64 { return f.Joined })
	}
	if len(r.Idle) > 0 {
		process, kernel := plot.Panel{Name: "process: KiB per idle reader"}, plot.Panel{Name: "kernel: KiB per idle reader"}
		for _, f := range r.Idle {
			at := fmt.Sprintf("%d readers", f.Readers)
			process.Add(at, len(c.Series), slices.Index(c.Series, f.Server), math.Max(f.Process, 0))
			kernel.Add(at, len(c.Series), slices.Index(c.Series, f.Server), math.Max(f.Kernel, 0))
		}
		c.Panels = append(c.Panels, process, kernel)
	}
	return c.Write(w)
}

// servers returns the servers of the report in order.
func (r *streamReport) servers() (names []string) {
	for _, s := range servers {
		for _, f := range r.Medians {
			if f.Server == s {
				names = append(names, s)
				break
			}
		}
	}
	if len(names) > 0 {
		return names
	}
	for _, f := range r.Idle {
		if slices.Index(names, f.Server) < 0 {
			names = append(names, f.Server)
		}
	}
	return names
}
