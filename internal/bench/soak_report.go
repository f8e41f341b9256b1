package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/sluice-rag/sluice/internal/plot"
)

type soakCmd struct {
	Duration time.Duration `default:"10m" help:"How long readers come and leave (duration)."`
	Readers  int           `default:"10000" help:"Number of readers."`
	Runs     int           `default:"100" help:"Number of runs at a time."`
	Rate     float64       `default:"2" help:"Events per second of each run."`
	Tokens   int64         `default:"120" help:"Average number of events of a run. The numbers differ, so that runs do not end together."`
	Profile  string        `placeholder:"FILE" help:"Write the CPU profile of the server to this file."`
	Plot     string        `type:"path" placeholder:"FILE" help:"Draw the result to this SVG file."`
	JSON     bool          `name:"json" help:"Print JSON."`
}

// Run measures a server and prints the result. It fails if an event was lost, or if the server has not released what the readers used.
func (c *soakCmd) Run(e *env) error {
	if c.Duration < time.Second || c.Readers < 1 || c.Runs < 1 || c.Runs > c.Readers || c.Tokens < 2 || c.Tokens > 1<<20 || !(c.Rate > 0 && c.Rate <= 1000) {
		return errors.New("want a --duration of at least 1s, at least 1 of --runs, at least as many --readers as --runs, 2 to 1048576 --tokens, and a --rate above 0 and of at most 1000")
	}
	r, err := measureSoak(e.ctx, e.exe, c, e.progress)
	if err == nil && c.Plot != "" {
		err = writePlot(c.Plot, r.writePlot)
	}
	if err == nil {
		err = printResult(e, c.JSON, r)
	}
	if err != nil {
		return err
	}
	return errors.Join(r.faults()...)
}

// soakReport is the result of the command soak.
type soakReport struct {
	Readers   int            `json:"readers"`
	Runs      int            `json:"runs_at_a_time"`
	Rate      float64        `json:"events_per_second_of_a_run"`
	Seconds   float64        `json:"seconds"`
	Intervals []soakInterval `json:"intervals"`
	Before    processUsage   `json:"before"` // before the first reader has come
	After     processUsage   `json:"after"`  // after the last one has left
	soakCounts
}

// soakInterval is a part of a soak.
type soakInterval struct {
	Seconds         float64 `json:"until_seconds"`
	EventsPerSecond float64 `json:"events_per_second"`
	P50             float64 `json:"p50_ms"`
	P99             float64 `json:"p99_ms"`
	CPU             float64 `json:"cpu_us_per_event"`
	processUsage            // at its end
}

// intervals is the number of parts of a soak.
const intervals = 10

// measureSoak starts exe as the server of a soak.
func measureSoak(ctx context.Context, exe string, o *soakCmd, progress func(string)) (*soakReport, error) {
	args := (&streamCmd{}).args(serverLoop, o.Rate)
	args = append(args, "--send-buffer", fmt.Sprint(soakSend))
	if o.Profile != "" {
		args = append(args, "--profile", o.Profile)
	}
	p, err := start(ctx, exe, args)
	if err != nil {
		return nil, err
	}
	r := &soakReport{Readers: o.Readers, Runs: o.Runs, Rate: o.Rate, Seconds: o.Duration.Seconds()}
	return r, errors.Join(r.measure(ctx, p, o, progress), p.stop())
}

func (r *soakReport) measure(ctx context.Context, p *child, o *soakCmd, progress func(string)) (err error) {
	s := &soak{options: o, addr: p.addr, dials: make(chan struct{}, soakDials), ctx: ctx}
	for range o.Runs {
		s.slots = append(s.slots, &slot{})
	}
	if s.loop, err = newLoop(); err != nil {
		return err
	}
	defer s.loop.close()
	if err := p.begin(ctx); err != nil {
		return err
	}
	if r.Before, err = p.usage(ctx, "?memory"); err != nil {
		return err
	}
	began, last, events, cpu := time.Now(), time.Now(), int64(0), r.Before.CPU
	err = s.live(o.Duration/intervals, func() error {
		u, err := p.usage(ctx, "?memory")
		if err != nil {
			return err
		}
		i := soakInterval{Seconds: time.Since(began).Seconds(), processUsage: u}
		s.loop.do(func() {
			i.P50, i.P99, i.EventsPerSecond = s.latency.ms(0.5), s.latency.ms(0.99), float64(s.Events-events)/time.Since(last).Seconds()
			i.CPU = float64((u.CPU - cpu).Nanoseconds()) / 1e3 / float64(max(s.Events-events, 1))
			events, last, cpu, s.latency = s.Events, time.Now(), u.CPU, histogram{}
		})
		r.Intervals = append(r.Intervals, i)
		progress(fmt.Sprintf("after %.0f s: %.0f events/s, p99 %.1f ms, %d MiB, %d goroutines", i.Seconds, i.EventsPerSecond, i.P99, u.Memory>>20, u.Goroutines))
		return nil
	})
	s.loop.do(func() { r.soakCounts = s.soakCounts })
	if err != nil {
		return err
	}
	return r.rest(ctx, p)
}

// rest waits until the server has released what belonged to the readers, or for controlTimeout.
func (r *soakReport) rest(ctx context.Context, p *child) (err error) {
	for deadline := time.Now().Add(controlTimeout); ; {
		if r.After, err = p.usage(ctx, "?memory"); err != nil {
			return err
		}
		if len(r.faults()) == 0 || time.Now().After(deadline) {
			return nil
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// How much more than before the readers a server may use after they have left.
const (
	moreGoroutines = 20
	moreHeap       = 160 << 20 // the log keeps ended runs of 64 MiB, encoded, in memory
)

// faults returns an error for each event that was lost or doubled, each stream that was cut, and each resource that was not released.
func (r *soakReport) faults() (errs []error) {
	if r.Lost > 0 || r.Doubled > 0 || r.Cut > 0 {
		errs = append(errs, fmt.Errorf("%d events lost, %d doubled, %d streams cut", r.Lost, r.Doubled, r.Cut))
	}
	if n := r.After.Goroutines - r.Before.Goroutines; n > moreGoroutines {
		errs = append(errs, fmt.Errorf("%d goroutines are left", n))
	}
	if n := r.After.Descriptors - r.Before.Descriptors; n > moreGoroutines {
		errs = append(errs, fmt.Errorf("%d files and sockets are left", n))
	}
	if n := r.After.Heap - r.Before.Heap; n > moreHeap {
		errs = append(errs, fmt.Errorf("%d MiB of heap are left", n>>20))
	}
	return errs
}

// writeTable writes the report as text.
func (r *soakReport) writeTable(w io.Writer) error {
	fmt.Fprintf(w, "%d readers of %d runs at a time, %g events/s each, for %g s: %d events, %d runs read to the end, %d stalls, %d returns\n%d lost, %d doubled, %d streams cut\n\n", r.Readers,
		r.Runs, r.Rate, r.Seconds, r.Events, r.Completed, r.Stalls, r.Returns, r.Lost, r.Doubled, r.Cut)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "until s\tevents/s\tp50 ms\tp99 ms\tCPU µs/event\tresident MiB\theap MiB\tgoroutines\tfiles\t")
	row := func(at, figures string, u processUsage) {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t\n", at, figures, u.Memory>>20, u.Heap>>20, u.Goroutines, u.Descriptors)
	}
	row("before", "\t\t\t", r.Before)
	for _, i := range r.Intervals {
		row(fmt.Sprintf("%.0f", i.Seconds), fmt.Sprintf("%.0f\t%.2f\t%.2f\t%.2f", i.EventsPerSecond, i.P50, i.P99, i.CPU), i.processUsage)
	}
	row("after", "\t\t\t", r.After)
	return t.Flush()
}

// writePlot draws the intervals as SVG.
func (r *soakReport) writePlot(w io.Writer) error {
	c := plot.Chart{Title: fmt.Sprintf("%d readers that stall, leave and return", r.Readers), Series: []string{"intervals, by their end in seconds"}}
	for _, p := range []struct {
		name string
		of   func(soakInterval) float64
	}{
		{"median latency, ms", func(i soakInterval) float64 { return i.P50 }},
		{"99th percentile of the latency, ms", func(i soakInterval) float64 { return i.P99 }},
		{"resident memory, MiB", func(i soakInterval) float64 { return float64(i.Memory) / (1 << 20) }},
		{"goroutines", func(i soakInterval) float64 { return float64(i.Goroutines) }},
	} {
		panel := plot.Panel{Name: p.name}
		for _, i := range r.Intervals {
			panel.Add(fmt.Sprintf("%.0f", i.Seconds), 1, 0, p.of(i))
		}
		c.Panels = append(c.Panels, panel)
	}
	return c.Write(w)
}
