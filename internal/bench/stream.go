// Package bench implements the command sluice-bench, which measures the server on this machine.
//
// The command stream compares the delivery of synthetic runs with bare net/http handlers and single writes, the command soak delivers to many readers that leave and
// return for a long time, the command ask measures the latency of answers, and the command model measures the relay of a model's tokens. Each measured server is a
// process of its own, and the servers take turns, so that a busy machine affects them alike.
package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// load is what a server delivers in a turn. As text it is RUNSxREADERSxRATE.
type load struct {
	Runs    int     `json:"runs"`
	Readers int     `json:"readers_per_run"`
	Rate    float64 `json:"events_per_second_of_a_run"`
}

// String returns the text of a load.
func (l load) String() string {
	return fmt.Sprintf("%dx%dx%s", l.Runs, l.Readers, strconv.FormatFloat(l.Rate, 'g', -1, 64))
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *load) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), "x")
	if len(parts) != 3 {
		return errors.New("a load is RUNSxREADERSxRATE, such as 1000x1x50")
	}
	var errs [3]error
	l.Runs, errs[0] = strconv.Atoi(parts[0])
	l.Readers, errs[1] = strconv.Atoi(parts[1])
	l.Rate, errs[2] = strconv.ParseFloat(parts[2], 64)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if l.Runs < 1 || l.Readers < 1 || l.Runs > 1<<20 || l.Readers > 1<<20 || !(l.Rate > 0 && l.Rate <= 1e6) {
		return errors.New("runs, readers and the rate of a load must be positive and at most a million")
	}
	return nil
}

// streamResult is the result of one server in one turn.
type streamResult struct {
	Server          string  `json:"side"`
	Load            load    `json:"load"`
	Events          int64   `json:"events"`
	EventsPerSecond float64 `json:"events_per_second"`
	P50             float64 `json:"p50_ms"` // from append to receipt
	P99             float64 `json:"p99_ms"`
	P999            float64 `json:"p99_9_ms"`
	Late            float64 `json:"late_percent"`             // events that were received more than lateAfter after their append
	Joined          float64 `json:"events_per_write"`         // to the network
	CPU             float64 `json:"cpu_us_per_event"`         // user and system time of the server's process
	ReaderCPU       float64 `json:"reader_cpu_us_per_event"`  // of the process that reads all streams
	ReaderBusy      float64 `json:"reader_cpu_percent"`       // of the same, relative to one processor
	Lost            int64   `json:"lost"`                     // gaps and repetitions
	RawRatio        float64 `json:"cpu_ratio_raw,omitempty"`  // processor time, relative to serverRaw in the same turn
	TimerRatio      float64 `json:"cpu_ratio_http,omitempty"` // relative to serverTimer
}

// lateAfter is the latency above which an event is late.
const lateAfter = 200 * time.Millisecond

// streamReport is the result of the command stream.
type streamReport struct {
	Seconds float64        `json:"seconds_a_turn"`
	Log     string         `json:"log"` // file or memory
	Turns   []streamResult `json:"turns"`
	Medians []streamResult `json:"medians"` // of the turns, by load and server
	Idle    []idleResult   `json:"idle,omitempty"`
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
	r := &streamReport{Seconds: o.Duration.Seconds(), Log: "file"}
	if o.Memory {
		r.Log = "memory"
	}
	for _, l := range o.Load {
		for turn := range o.Turns {
			for _, server := range o.Server {
				progress(fmt.Sprintf("%s, turn %d of %d: %s", l, turn+1, o.Turns, server))
				f, err := measureStream(ctx, exe, server, l, o)
				if err != nil {
					return nil, fmt.Errorf("measure %s: %w", server, err)
				}
				r.Turns = append(r.Turns, f)
			}
		}
	}
	for _, server := range o.Server {
		if len(o.Idle) == 0 {
			break
		}
		progress(fmt.Sprintf("idle readers: %s", server))
		f, err := measureIdle(ctx, exe, server, o)
		if err != nil {
			return nil, fmt.Errorf("measure idle readers of %s: %w", server, err)
		}
		r.Idle = append(r.Idle, f...)
	}
	r.compare(o)
	return r, nil
}

// compare sets the ratios of all turns, and the medians.
func (r *streamReport) compare(o *streamCmd) {
	n := len(o.Server)
	for turn := range slices.Chunk(r.Turns, n) {
		for _, base := range turn {
			for i := range turn {
				switch {
				case base.CPU == 0:
				case base.Server == serverRaw:
					turn[i].RawRatio = turn[i].CPU / base.CPU
				case base.Server == serverTimer:
					turn[i].TimerRatio = turn[i].CPU / base.CPU
				}
			}
		}
	}
	for all := range slices.Chunk(r.Turns, n*o.Turns) {
		for i := range n {
			var same []streamResult
			for j := i; j < len(all); j += n {
				same = append(same, all[j])
			}
			r.Medians = append(r.Medians, medians(same))
		}
	}
}

// medians returns the median of each figure, and the sum of the losses.
func medians(all []streamResult) streamResult {
	m := streamResult{Server: all[0].Server, Load: all[0].Load}
	figures := func(f *streamResult) []*float64 {
		return []*float64{&f.EventsPerSecond, &f.P50, &f.P99, &f.P999, &f.Late, &f.Joined, &f.CPU, &f.ReaderCPU, &f.ReaderBusy, &f.RawRatio, &f.TimerRatio}
	}
	for i, to := range figures(&m) {
		v := make([]float64, len(all))
		for j := range all {
			v[j] = *figures(&all[j])[i]
		}
		*to = median(v)
	}
	for _, f := range all {
		m.Events += f.Events
		m.Lost += f.Lost
	}
	return m
}

func median(v []float64) float64 {
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// percentile returns the quantile q of sorted samples in nanoseconds, as milliseconds.
func percentile(sorted []int64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := min(int(q*float64(len(sorted))), len(sorted)-1)
	return float64(sorted[i]) / 1e6
}
