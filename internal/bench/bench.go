// Package bench measures what streaming costs: synthetic runs at a steady rate through the real server, and through bare
// net/http handlers that write and flush the same bytes, each in a process of its own, in turns.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Options say what is measured.
type Options struct {
	Runs     int           // runs at once
	Readers  int           // readers of each run
	Rate     float64       // token events a second of each run
	Warmup   time.Duration // before what is counted
	Duration time.Duration // of what is counted, each turn
	Turns    int           // each side's
	Idle     int           // readers that wait, for the memory of one
	Memory   bool          // keep the log in memory and not in a folder
	Profile  string        // prefix of files for the CPU profiles of both sides; empty: none
	Progress func(string)  // told what is being done; may be nil
}

// Figures are what one side gave in one turn.
type Figures struct {
	Side            string  `json:"side"`
	Events          int64   `json:"events"`
	EventsPerSecond float64 `json:"events_per_second"`
	P50             float64 `json:"p50_ms"` // from append to receipt
	P99             float64 `json:"p99_ms"`
	P999            float64 `json:"p99_9_ms"`
	CPU             float64 `json:"cpu_us_per_event"`    // of the server's process, user and system
	Idle            float64 `json:"idle_kib_per_reader"` // resident memory
}

// Report is a measurement.
type Report struct {
	Runs      int       `json:"runs"`
	Readers   int       `json:"readers_per_run"`
	Rate      float64   `json:"events_per_second_of_a_run"`
	Seconds   float64   `json:"seconds_a_turn"`
	Turns     []Figures `json:"turns"`
	CPURatio  float64   `json:"cpu_ratio"`             // sluice's to the bare handler's with a timer, median of the turns
	FedRatio  float64   `json:"cpu_ratio_fed"`         // to that of the one fed by a channel
	IdleExtra float64   `json:"idle_extra_kib"`        // of a reader, over the bare handler's, median of the turns
	P99       float64   `json:"sluice_p99_ms"`         // median of the turns
	Log       string    `json:"log"`                   // file or memory
	Offered   float64   `json:"events_per_second_due"` // what the rate asks for
}

// The sides that are compared.
const (
	Sluice = "sluice"
	Bare   = "net/http"           // a timer in the handler makes the events
	Fed    = "net/http + channel" // another goroutine does, and sends them
)

// sides are those of a turn, in their order.
var sides = []string{Bare, Fed, Sluice}

// Stream measures both sides in turns. exe is this program, which is started with args and the side's settings to be the
// server: see [Serve].
func Stream(ctx context.Context, exe string, args []string, o Options) (*Report, error) {
	tell := o.Progress
	if tell == nil {
		tell = func(string) {}
	}
	r := &Report{Runs: o.Runs, Readers: o.Readers, Rate: o.Rate, Seconds: o.Duration.Seconds(), Log: "file",
		Offered: float64(o.Runs*o.Readers) * o.Rate}
	if o.Memory {
		r.Log = "memory"
	}
	for turn := range o.Turns {
		for _, side := range sides {
			tell(fmt.Sprintf("turn %d of %d: %s", turn+1, o.Turns, side))
			f, err := measure(ctx, exe, args, side, o)
			if err != nil {
				return nil, fmt.Errorf("measure %s: %w", side, err)
			}
			r.Turns = append(r.Turns, f)
		}
	}
	r.CPURatio = r.median(func(bare, _, sluice Figures) float64 { return sluice.CPU / bare.CPU })
	r.FedRatio = r.median(func(_, fed, sluice Figures) float64 { return sluice.CPU / fed.CPU })
	r.IdleExtra = r.median(func(bare, _, sluice Figures) float64 { return sluice.Idle - bare.Idle })
	r.P99 = r.median(func(_, _, sluice Figures) float64 { return sluice.P99 })
	return r, nil
}

func (r *Report) median(of func(bare, fed, sluice Figures) float64) float64 {
	var v []float64
	for turn := range slices.Chunk(r.Turns, len(sides)) {
		v = append(v, of(turn[0], turn[1], turn[2]))
	}
	return median(v)
}

func median(v []float64) float64 {
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// WriteTable writes the report for a person.
func (r *Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%d runs of %g events/s, %d readers each, %g s a turn, log in %s; %g events/s are due\n\n",
		r.Runs, r.Rate, r.Readers, r.Seconds, r.Log, r.Offered)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "side\tevents/s\tp50 ms\tp99 ms\tp99.9 ms\tCPU µs/event\tKiB/idle reader\t")
	for _, f := range r.Turns {
		fmt.Fprintf(t, "%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t\n", f.Side, f.EventsPerSecond, f.P50, f.P99, f.P999, f.CPU, f.Idle)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nmedians: CPU per event %.2f times that of a bare handler with a timer, %.2f times that of one fed by a channel; %+.1f KiB an idle reader; p99 %.2f ms\n",
		r.CPURatio, r.FedRatio, r.IdleExtra, r.P99)
	return err
}

// percentile gives the value below which the share q of the sorted samples lies, in milliseconds.
func percentile(sorted []int64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := min(int(q*float64(len(sorted))), len(sorted)-1)
	return float64(sorted[i]) / 1e6
}

func sorted(samples [][]int64) []int64 {
	all := slices.Concat(samples...)
	slices.SortFunc(all, cmp.Compare)
	return all
}
