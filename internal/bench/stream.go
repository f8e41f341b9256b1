// Package bench implements the command sluice-bench, which measures the server on this machine.
//
// The command stream compares the delivery of synthetic runs with bare net/http handlers, the command ask measures the latency
// of answers, and the command model measures the relay of a model's tokens. Each measured server is a process of its own, and
// the servers take turns, so that a busy machine affects them alike.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// streamResult is the result of one server in one turn.
type streamResult struct {
	Server          string  `json:"side"`
	Events          int64   `json:"events"`
	EventsPerSecond float64 `json:"events_per_second"`
	P50             float64 `json:"p50_ms"` // from append to receipt
	P99             float64 `json:"p99_ms"`
	P999            float64 `json:"p99_9_ms"`
	CPU             float64 `json:"cpu_us_per_event"`    // user and system time of the server's process
	Idle            float64 `json:"idle_kib_per_reader"` // resident memory
}

// comparison compares Sluice with the bare handlers, by medians of the turns.
type comparison struct {
	TimerRatio   float64 `json:"cpu_ratio"`      // processor time, relative to serverTimer
	ChannelRatio float64 `json:"cpu_ratio_fed"`  // processor time, relative to serverChannel
	RawRatio     float64 `json:"cpu_ratio_raw"`  // processor time, relative to serverRaw
	IdleExtra    float64 `json:"idle_extra_kib"` // memory of an idle reader, minus that of serverTimer
	P99          float64 `json:"p99_ms"`
}

// streamReport is the result of the command stream.
type streamReport struct {
	Runs     int            `json:"runs"`
	Readers  int            `json:"readers_per_run"`
	Rate     float64        `json:"events_per_second_of_a_run"`
	Seconds  float64        `json:"seconds_a_turn"`
	Turns    []streamResult `json:"turns"`
	Handlers comparison     `json:"handlers"`              // Sluice whose handlers write the streams
	Loops    comparison     `json:"loops"`                 // Sluice whose writer loops write them
	Log      string         `json:"log"`                   // file or memory
	Offered  float64        `json:"events_per_second_due"` // events of all runs at the configured rate
}

// The servers that are compared.
const (
	serverSluice  = "sluice"             // in the other commands
	serverHandler = "sluice + handlers"  // the handlers write the streams
	serverLoop    = "sluice + loops"     // writer loops write the streams
	serverTimer   = "net/http"           // the handler writes an event when its timer fires
	serverChannel = "net/http + channel" // the handler writes the events that another goroutine sends
	serverRaw     = "write(2)"           // each event is one write, without net/http
)

// servers lists the servers of a turn in order.
var servers = []string{serverTimer, serverChannel, serverHandler, serverLoop, serverRaw}

// isSluice reports whether a server of a turn is Sluice.
func isSluice(server string) bool { return server == serverHandler || server == serverLoop }

// measureStreams measures the servers in turns. It starts exe as the process of each server.
func measureStreams(ctx context.Context, exe string, o *streamCmd, progress func(string)) (*streamReport, error) {
	r := &streamReport{Runs: o.Runs, Readers: o.Readers, Rate: o.Rate, Seconds: o.Duration.Seconds(), Log: "file",
		Offered: float64(o.Runs*o.Readers) * o.Rate}
	if o.Memory {
		r.Log = "memory"
	}
	for turn := range o.Turns {
		for _, server := range servers {
			progress(fmt.Sprintf("turn %d of %d: %s", turn+1, o.Turns, server))
			f, err := measureStream(ctx, exe, server, o)
			if err != nil {
				return nil, fmt.Errorf("measure %s: %w", server, err)
			}
			r.Turns = append(r.Turns, f)
		}
	}
	r.Handlers, r.Loops = r.compare(serverHandler), r.compare(serverLoop)
	return r, nil
}

// compare compares a server with the bare handlers.
func (r *streamReport) compare(server string) comparison {
	middle := func(of func(timer, channel, sluice streamResult) float64) float64 {
		var v []float64
		for turn := range slices.Chunk(r.Turns, len(servers)) {
			v = append(v, of(turn[0], turn[1], turn[slices.Index(servers, server)]))
		}
		return median(v)
	}
	var raw []float64
	for turn := range slices.Chunk(r.Turns, len(servers)) {
		raw = append(raw, turn[slices.Index(servers, server)].CPU/turn[slices.Index(servers, serverRaw)].CPU)
	}
	return comparison{
		RawRatio:     median(raw),
		TimerRatio:   middle(func(timer, _, sluice streamResult) float64 { return sluice.CPU / timer.CPU }),
		ChannelRatio: middle(func(_, channel, sluice streamResult) float64 { return sluice.CPU / channel.CPU }),
		IdleExtra:    middle(func(timer, _, sluice streamResult) float64 { return sluice.Idle - timer.Idle }),
		P99:          middle(func(_, _, sluice streamResult) float64 { return sluice.P99 }),
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// writeTable writes the report as text.
func (r *streamReport) writeTable(w io.Writer) error {
	fmt.Fprintf(w, "%d runs of %g events/s, %d readers each, %g s per turn, log in %s; %g events/s offered\n\n",
		r.Runs, r.Rate, r.Readers, r.Seconds, r.Log, r.Offered)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "server\tevents/s\tp50 ms\tp99 ms\tp99.9 ms\tCPU µs/event\tKiB/idle reader\t")
	for _, f := range r.Turns {
		fmt.Fprintf(t, "%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t\n", f.Server, f.EventsPerSecond, f.P50, f.P99, f.P999, f.CPU, f.Idle)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, c := range []struct {
		server string
		comparison
	}{{serverHandler, r.Handlers}, {serverLoop, r.Loops}} {
		if _, err := fmt.Fprintf(w, "%s, medians: CPU per event %.2f times that of the handler with a timer, %.2f times that of the handler with a channel, %.2f times that of write(2); %+.1f KiB per idle reader; p99 %.2f ms\n",
			c.server, c.TimerRatio, c.ChannelRatio, c.RawRatio, c.IdleExtra, c.P99); err != nil {
			return err
		}
	}
	return nil
}

// percentile returns the quantile q of sorted samples in nanoseconds, as milliseconds.
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
