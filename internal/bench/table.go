package bench

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// writeTable writes the report as text.
func (r *modelReport) writeTable(w io.Writer) error {
	for _, part := range []func(io.Writer) error{r.writeTurns, r.writeCancel, r.writeDead} {
		if err := part(w); err != nil {
			return err
		}
	}
	return nil
}

func (r *modelReport) writeTurns(w io.Writer) error {
	if len(r.Turns) == 0 {
		return nil
	}
	fmt.Fprintf(w, "%d streams of %g tokens/s, %g s per turn; %g tokens/s offered; CPU in µs per token\n\n",
		r.Streams, r.Rate, r.Seconds, float64(r.Streams)*r.Rate)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "relay\ttokens/s\tp50 ms\tp99 ms\tp99.9 ms\trelay CPU\tidle CPU %\tprovider CPU\treader CPU\t")
	for _, f := range r.Turns {
		fmt.Fprintf(t, "%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%.2f\t%.2f\t\n",
			f.Relay, f.TokensPerSecond, f.P50, f.P99, f.P999, f.CPU, f.Idle, f.ProviderCPU, f.ReaderCPU)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nmedians: Sluice adds %+.2f ms at p50, %+.2f at p99, %+.2f at p99.9 and %.2f µs of CPU per token; the reverse proxy %+.2f, %+.2f, %+.2f and %.2f; CPU %.2f times the proxy's\n\n",
		r.Added.P50, r.Added.P99, r.Added.P999, r.Added.CPU, r.ProxyAdded.P50, r.ProxyAdded.P99, r.ProxyAdded.P999, r.ProxyAdded.CPU, r.CPURatio)
	return err
}

func (r *modelReport) writeCancel(w io.Writer) error {
	if r.Cancel == nil {
		return nil
	}
	fmt.Fprintf(w, "%d answers cancelled, %d connections to the provider left open\n\n", r.Cancel.Streams, r.Cancel.Connections)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "provider notices\tanswers\tp50 ms\tmax ms\t")
	fmt.Fprintf(t, "run cancelled\t%d\t%.2f\t%.2f\t\n", r.Cancel.Cancelled.Answers, r.Cancel.Cancelled.P50, r.Cancel.Cancelled.Max)
	fmt.Fprintf(t, "reader disconnected\t%d\t%.2f\t%.2f\t\n", r.Cancel.Disconnected.Answers, r.Cancel.Disconnected.P50, r.Cancel.Disconnected.Max)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (r *modelReport) writeDead(w io.Writer) error {
	if len(r.Dead) == 0 {
		return nil
	}
	fmt.Fprint(w, "latency of the first token\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "failed model\tquestions\tconnections to it\tfirst answer ms\tothers p50 ms\tp99 ms\tfirst answer adds ms\tothers add ms\t")
	for _, d := range r.Dead {
		order, attempts, first, firstAdds := "sequential", strconv.FormatInt(d.Attempts, 10), fmt.Sprintf("%.2f", d.FirstAnswer), fmt.Sprintf("%+.2f", d.FirstAnswerAdded)
		if d.Concurrent {
			order, first, firstAdds = "concurrent", "", ""
		}
		overheadOf := fmt.Sprintf("%+.2f", d.P50Added)
		if d.First == firstAlive {
			firstAdds, overheadOf = "", ""
		}
		if d.Attempts < 0 || d.First == firstAlive {
			attempts = ""
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.2f\t%.2f\t%s\t%s\t\n", d.First, order, cmp.Or(attempts, "-"), cmp.Or(first, "-"),
			d.P50, d.P99, cmp.Or(firstAdds, "-"), cmp.Or(overheadOf, "-"))
	}
	return t.Flush()
}
