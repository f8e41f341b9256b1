package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

type scaleCmd struct {
	Share    float64       `default:"0.1" help:"Share of one processor that each server may use."`
	Rate     float64       `default:"20" help:"Tokens per second of each answer."`
	Late     time.Duration `default:"200ms" help:"Readers count as served if 99 of 100 of their tokens arrive within this time after the model has sent them (duration)."`
	Duration time.Duration `default:"5s" help:"Measured time of each number of readers (duration)."`
	Warmup   time.Duration `default:"3s" help:"Time before the measurement begins (duration)."`
	From     int           `default:"10" help:"Number of readers of each server at first."`
	Step     float64       `default:"1.1" help:"Factor between two numbers of readers."`
	Turns    int           `default:"3" help:"Number of turns of each group."`
	Servers  int           `default:"3" help:"Number of servers of the last group."`
	Readers  int           `default:"1" help:"Readers of each answer. The second and later ones follow the run through the load balancer, which chooses the next server for each."`
	Log      string        `required:"" placeholder:"URL" help:"Address of NATS."`
	Store    string        `required:"" placeholder:"URL" help:"Address of a database of PostgreSQL, in which tables are created."`
	JSON     bool          `name:"json" help:"Print JSON."`
}

// Run measures how many readers one server and several servers serve, and prints the result.
func (c *scaleCmd) Run(e *env) error {
	if c.Share <= 0 || c.Rate <= 0 || c.Late <= 0 || c.Duration <= 0 || c.Warmup < 0 || c.From < 1 || c.Step <= 1 || c.Turns < 1 || c.Servers < 2 || c.Readers < 1 {
		return errors.New("the values must be positive, --step above 1 and --servers above 1; --warmup may be 0")
	}
	r, err := measureScale(e.ctx, e.exe, c, e.progress)
	if err != nil {
		return err
	}
	return printResult(e, c.JSON, r)
}

// scaleReport is the result of the command scale.
type scaleReport struct {
	Share  float64       `json:"processors_of_each_server"`
	Rate   float64       `json:"tokens_per_second_of_a_reader"`
	Late   float64       `json:"late_ms"`
	Shared int           `json:"readers_of_each_answer"`
	Groups []groupResult `json:"groups"`
}

// groupResult is the largest number of readers that a group served in a turn. The other values are those of this number.
type groupResult struct {
	Name    string  `json:"group"`
	Servers int     `json:"servers"`
	Readers int     `json:"readers"`
	P50     float64 `json:"p50_ms"` // from the model to the reader
	P99     float64 `json:"p99_ms"`
	CPU     float64 `json:"cpu_us_per_token"`     // of all servers
	Used    float64 `json:"used_percent"`         // of the processor time that the servers may use
	Idle    float64 `json:"machine_idle_percent"` // of all processors
}

// The groups of servers.
const (
	groupAlone  = "one server, data folder"
	groupShared = "one server, NATS and PostgreSQL"
)

// measureScale measures groups of servers behind a load balancer. Each question has one or more readers of its answer, which has no end. The processor time of each server
// is limited, and that of the model, the load balancer, the readers and the engines is not.
func measureScale(ctx context.Context, exe string, o *scaleCmd, progress func(string)) (r *scaleReport, err error) {
	m, remove, err := newModelBench(exe, &modelCmd{}, progress)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	p, err := m.startProvider(ctx, o.Rate, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	engines := []string{"--log", o.Log, "--log-replicas", "1", "--keep-runs-bytes", "1GiB", "--store", o.Store}
	r = &scaleReport{Share: o.Share, Rate: o.Rate, Late: float64(o.Late) / 1e6, Shared: o.Readers}
	for turn := range o.Turns {
		for _, g := range []struct {
			name    string
			servers int
			args    []string
		}{{groupAlone, 1, nil}, {groupShared, 1, engines}, {fmt.Sprintf("%d servers, NATS and PostgreSQL", o.Servers), o.Servers, engines}} {
			f := groupResult{Name: g.name, Servers: g.servers}
			progress(fmt.Sprintf("turn %d of %d: %s", turn+1, o.Turns, g.name))
			if err := m.group(ctx, p, o, g.args, &f); err != nil {
				return nil, fmt.Errorf("measure %s: %w", g.name, err)
			}
			r.Groups = append(r.Groups, f)
		}
	}
	return r, nil
}

// group starts a group of servers and adds readers until they are not served any more.
func (m *modelBench) group(ctx context.Context, p *child, o *scaleCmd, args []string, f *groupResult) (err error) {
	var servers []*sluiceServer
	var addrs []string
	for range f.Servers {
		s, err := m.startServer(ctx, append(args, "--drain-timeout", "1s"), p.addr)
		if err != nil {
			return err
		}
		unlimit, lerr := limitCPU(s.cmd.Process.Pid, o.Share)
		if lerr != nil {
			return errors.Join(fmt.Errorf("limit the processor time of a server: %w", lerr), s.stop())
		}
		defer func() { err = errors.Join(err, s.stop(), unlimit()) }()
		servers, addrs = append(servers, s), append(addrs, "http://"+s.addr())
	}
	balancer, err := start(ctx, m.exe, []string{"model-provider", "--proxy", strings.Join(addrs, ",")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, balancer.stop()) }()
	t := answers(f.Name, servers...)
	t.addr = balancer.addr
	var l readerSet
	defer l.close()
	for readers, failed := o.From*f.Servers, 0; ; {
		if err := openAll((readers-l.opened+o.Readers-1)/o.Readers, func(int) error {
			question, _ := m.question()
			run, _, err := l.open(ctx, t.ask(question))
			for i := 1; i < o.Readers && err == nil; i++ {
				_, _, err = l.open(ctx, request{addr: t.addr, method: "GET", path: "/runs/" + run + "/stream"})
			}
			return err
		}); err != nil {
			return err
		}
		served, err := m.served(ctx, t, &l, o, l.opened, f)
		switch {
		case err != nil:
			return err
		case served:
			failed = 0
			readers = max(int(math.Round(float64(readers)*o.Step)), readers+1)
		default: // it may be a pause of the machine, or the end of the questions
			if failed++; failed == attempts {
				return nil
			}
		}
	}
}

// attempts is how often a number of readers is measured until it counts as too high.
const attempts = 3

// mostTokens is the share of the tokens that must arrive in time.
const mostTokens = 0.95

// markedTokens returns the share of the provider's tokens that have the time of sending.
func markedTokens() float64 {
	marked := 0
	for _, token := range sentenceTokens {
		if strings.HasSuffix(token, string(timeMark)) {
			marked++
		}
	}
	return float64(marked) / float64(len(sentenceTokens))
}

// served measures the readers of a target, and notes the result if they are served.
func (m *modelBench) served(ctx context.Context, t target, l *readerSet, o *scaleCmd, readers int, f *groupResult) (bool, error) {
	if err := wait(ctx, o.Warmup); err != nil {
		return false, err
	}
	cpu, err := t.cpu(ctx)
	if err != nil {
		return false, err
	}
	idle, err := idleTimeOfMachine()
	if err != nil {
		return false, err
	}
	began := time.Now()
	l.loop.do(func() { l.latency, l.counting = histogram{}, true })
	if err := wait(ctx, o.Duration); err != nil {
		return false, err
	}
	l.count(false)
	elapsed := time.Since(began)
	idleAfter, err := idleTimeOfMachine()
	if err != nil {
		return false, err
	}
	cpuAfter, err := t.cpu(ctx)
	if err != nil {
		return false, err
	}
	tokens := float64(l.latency.n) / markedTokens()
	now := groupResult{Name: f.Name, Servers: f.Servers, Readers: readers, P50: l.latency.ms(0.5), P99: l.latency.ms(0.99),
		CPU:  float64((cpuAfter - cpu).Microseconds()) / max(tokens, 1),
		Used: 100 * float64(cpuAfter-cpu) / float64(elapsed) / (o.Share * float64(f.Servers)), Idle: 100 * float64(idleAfter-idle) / float64(elapsed)}
	m.progress(fmt.Sprintf("%d readers: %.0f tokens, p50 %.1f ms, p99 %.1f ms, %.0f µs/token, %.0f%% of the limit, machine %.0f%% idle", readers, tokens, now.P50, now.P99, now.CPU, now.Used, now.Idle))
	if now.P99 > float64(o.Late)/1e6 || tokens < mostTokens*o.Rate*float64(readers)*elapsed.Seconds() {
		return false, nil
	}
	*f = now
	return true, nil
}

// ratio returns how many times as many readers the last group served as a group: the median of the turns.
func (r *scaleReport) ratio(name string) float64 {
	last := r.Groups[len(r.Groups)-1].Name
	var served, all []float64
	for _, g := range r.Groups {
		switch g.Name {
		case name:
			served = append(served, float64(g.Readers))
		case last:
			if one := served[len(served)-1]; one > 0 {
				all = append(all, float64(g.Readers)/one)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	return median(all)
}

// writeTable writes the report as text.
func (r *scaleReport) writeTable(w io.Writer) error {
	fmt.Fprintf(w, "each server has %g of a processor; readers of %g tokens/s, %d of each answer, are served if 99 of 100 tokens arrive within %g ms\n\n", r.Share, r.Rate, r.Shared, r.Late)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "group\treaders\tp50 ms\tp99 ms\tCPU µs/token\tlimit used %\tmachine idle %\t")
	for _, g := range r.Groups {
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\t\n", g.Name, g.Readers, g.P50, g.P99, g.CPU, g.Used, g.Idle)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	last := r.Groups[len(r.Groups)-1].Name
	_, err := fmt.Fprintf(w, "\n%s serve %.2f times as many readers as %s, and %.2f times as many as %s (medians of the turns)\n", last, r.ratio(groupShared), groupShared, r.ratio(groupAlone), groupAlone)
	return err
}
