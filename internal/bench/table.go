package bench

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// WriteTable writes the report for a person.
func (r *ModelReport) WriteTable(w io.Writer) error {
	for _, part := range []func(io.Writer) error{r.writeTurns, r.writeCancel, r.writeDead} {
		if err := part(w); err != nil {
			return err
		}
	}
	return nil
}

func (r *ModelReport) writeTurns(w io.Writer) error {
	if len(r.Turns) == 0 {
		return nil
	}
	fmt.Fprintf(w, "%d streams of %g tokens/s, %g s a turn; %g tokens/s are due; CPU in µs a token\n\n",
		r.Streams, r.Rate, r.Seconds, float64(r.Streams)*r.Rate)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "read through\ttokens/s\tp50 ms\tp99 ms\tp99.9 ms\tCPU of it\tits idle CPU %\tprovider's\treaders'\t")
	for _, f := range r.Turns {
		fmt.Fprintf(t, "%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%.2f\t%.2f\t\n",
			f.Side, f.TokensPerSecond, f.P50, f.P99, f.P999, f.CPU, f.Idle, f.ProviderCPU, f.ReaderCPU)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nmedians: Sluice adds %+.2f ms at p50, %+.2f at p99, %+.2f at p99.9 and %.2f µs of CPU a token; the reverse proxy %+.2f, %+.2f, %+.2f and %.2f; CPU %.2f times the proxy's\n\n",
		r.Added.P50, r.Added.P99, r.Added.P999, r.Added.CPU, r.ProxyAdded.P50, r.ProxyAdded.P99, r.ProxyAdded.P999, r.ProxyAdded.CPU, r.CPURatio)
	return err
}

func (r *ModelReport) writeCancel(w io.Writer) error {
	if r.Cancel == nil {
		return nil
	}
	fmt.Fprintf(w, "%d answers broken off, %d connections to the provider left\n\n", r.Cancel.Streams, r.Cancel.Connections)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "until the provider sees the end\tanswers\tp50 ms\tmax ms\t")
	fmt.Fprintf(t, "run cancelled\t%d\t%.2f\t%.2f\t\n", r.Cancel.Asked.Answers, r.Cancel.Asked.P50, r.Cancel.Asked.Max)
	fmt.Fprintf(t, "reader gone\t%d\t%.2f\t%.2f\t\n", r.Cancel.Left.Answers, r.Cancel.Left.P50, r.Cancel.Left.Max)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (r *ModelReport) writeDead(w io.Writer) error {
	if len(r.Dead) == 0 {
		return nil
	}
	fmt.Fprint(w, "delay to an answer's first token\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "first model\tquestions\tconnections to it\tfirst answer ms\tothers p50 ms\tp99 ms\tfirst adds ms\tothers add ms\t")
	for _, d := range r.Dead {
		order, attempts, first, firstAdds := "one by one", strconv.FormatInt(d.Attempts, 10), fmt.Sprintf("%.2f", d.Earliest), fmt.Sprintf("%+.2f", d.EarliestAdded)
		if d.Together {
			order, first, firstAdds = "at once", "", ""
		}
		adds := fmt.Sprintf("%+.2f", d.P50Added)
		if d.First == Alive {
			firstAdds, adds = "", ""
		}
		if d.Attempts < 0 || d.First == Alive {
			attempts = ""
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.2f\t%.2f\t%s\t%s\t\n", d.First, order, cmp.Or(attempts, "-"), cmp.Or(first, "-"),
			d.P50, d.P99, cmp.Or(firstAdds, "-"), cmp.Or(adds, "-"))
	}
	return t.Flush()
}
