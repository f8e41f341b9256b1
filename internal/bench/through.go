package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// idleFor is how long a process is watched to tell what it uses idle.
const idleFor = time.Second

// target is a place to read streams from.
type target struct {
	name, addr, path string
	body             func(question string) string
	cpu              func(context.Context) (time.Duration, error) // of the process; nil: there is none between
}

// streams measures all that a provider of endless answers is needed for.
func (m *modelBench) streams(ctx context.Context, r *ModelReport) (err error) {
	p, err := m.startProvider(ctx, m.o.Rate, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	relay, err := start(ctx, m.exe, append(slices.Clip(m.provider), "--relay", "http://"+p.addr))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, relay.stop()) }()
	s, err := m.startSluice(ctx, p.addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	targets := []target{completions(Direct, p.addr), completions(Relayed, relay.addr), answers(s)}
	targets[1].cpu = func(ctx context.Context) (time.Duration, error) {
		u, err := relay.usage(ctx, "")
		return u.CPU, err
	}
	for turn := range m.o.Turns {
		for _, t := range targets {
			m.o.Progress(fmt.Sprintf("turn %d of %d: %s", turn+1, m.o.Turns, t.name))
			f, err := m.turn(ctx, p, t)
			if err != nil {
				return fmt.Errorf("measure %s: %w", t.name, err)
			}
			r.Turns = append(r.Turns, f)
		}
	}
	if m.o.Turns > 0 {
		sluice, proxy := adds(r.Turns, Sluice), adds(r.Turns, Relayed)
		r.Added, r.ProxyAdded, r.CPURatio = &sluice, &proxy, cpuRatio(r.Turns)
	}
	if m.o.Cancels > 0 {
		m.o.Progress(fmt.Sprintf("%d answers that are broken off", m.o.Cancels))
		if r.Cancel, err = m.cancel(ctx, p, s); err != nil {
			return fmt.Errorf("measure cancelling: %w", err)
		}
	}
	return nil
}

// completions is what speaks the provider's protocol.
func completions(name, addr string) target {
	return target{name: name, addr: addr, path: "/v1/chat/completions", body: func(question string) string {
		return fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":%q}]}`, providerModel, question)
	}}
}

// answers is this program's server.
func answers(p *program) target {
	return target{name: Sluice, addr: p.addr(), path: "/api/query/stream", cpu: p.cpu, body: func(question string) string {
		return fmt.Sprintf(`{"query":%q,"mode":"direct","no_cache":true}`, question)
	}}
}

// moment is one of a turn, with what was used and sent until then.
type moment struct {
	at                            time.Time
	tokens                        int64
	between, providers, ourselves time.Duration
}

func (t target) moment(ctx context.Context, p *side) (m moment, err error) {
	if t.cpu != nil {
		if m.between, err = t.cpu(ctx); err != nil {
			return m, err
		}
	}
	u, err := p.usage(ctx, "")
	if err != nil {
		return m, err
	}
	seen, err := p.seen(ctx)
	m.at, m.tokens, m.providers, m.ourselves = time.Now(), seen.Tokens, u.CPU, cpuTime()
	return m, err
}

// idle gives what the process uses idle, as a share of one processor.
func (t target) idle(ctx context.Context) (float64, error) {
	if t.cpu == nil {
		return 0, nil
	}
	before, err := t.cpu(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := wait(ctx, idleFor); err != nil {
		return 0, err
	}
	after, err := t.cpu(ctx)
	return float64(after-before) / float64(time.Since(began)), err
}

// turn reads streams from a target for a while. Starting and ending them is not counted.
func (m *modelBench) turn(ctx context.Context, p *side, t target) (f Through, err error) {
	f.Side = t.name
	idle, err := t.idle(ctx)
	if err != nil {
		return f, err
	}
	var l load
	defer l.close()
	for range m.o.Streams {
		question, _ := m.question()
		if _, err := l.open(ctx, t.addr, "POST", t.path, t.body(question)); err != nil {
			return f, err
		}
	}
	if _, err := p.until(ctx, "the answers to begin", func(s Provided) bool { return s.Open == int64(m.o.Streams) }); err != nil {
		return f, err
	}
	if err := wait(ctx, m.o.Warmup); err != nil {
		return f, err
	}
	before, err := t.moment(ctx, p)
	if err != nil {
		return f, err
	}
	l.counting.Store(true)
	if err := wait(ctx, m.o.Duration); err != nil {
		return f, err
	}
	l.counting.Store(false)
	after, err := t.moment(ctx, p)
	if err != nil {
		return f, err
	}
	l.close()
	f.fill(before, after, idle, sorted(l.samples()))
	_, err = p.until(ctx, "the answers to end", func(s Provided) bool { return s.Open == 0 })
	return f, err
}

// fill works out the figures. The delays are sorted.
func (f *Through) fill(before, after moment, idle float64, delays []int64) {
	took := after.at.Sub(before.at)
	f.Tokens = after.tokens - before.tokens
	f.TokensPerSecond = float64(f.Tokens) / took.Seconds()
	f.P50, f.P99, f.P999 = percentile(delays, 0.5), percentile(delays, 0.99), percentile(delays, 0.999)
	f.Idle = 100 * idle
	if f.Tokens == 0 {
		return
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(f.Tokens) }
	f.CPU = each(after.between - before.between - time.Duration(idle*float64(took)))
	f.ReaderCPU = each(after.ourselves - before.ourselves)
	f.ProviderCPU = each(after.providers - before.providers)
}

// adds gives what a side adds to the provider alone: the medians, over the turns, of the differences within a turn.
func adds(all []Through, name string) Added {
	var p50, p99, p999, cpu []float64
	for turn := range slices.Chunk(all, len(between)) {
		alone, side := turn[slices.Index(between, Direct)], turn[slices.Index(between, name)]
		p50 = append(p50, side.P50-alone.P50)
		p99 = append(p99, side.P99-alone.P99)
		p999 = append(p999, side.P999-alone.P999)
		cpu = append(cpu, side.CPU)
	}
	return Added{P50: median(p50), P99: median(p99), P999: median(p999), CPU: median(cpu)}
}

// cpuRatio gives how many times the reverse proxy's processor time Sluice takes: the median of the turns.
func cpuRatio(all []Through) float64 {
	var v []float64
	for turn := range slices.Chunk(all, len(between)) {
		proxy := turn[slices.Index(between, Relayed)].CPU
		if proxy <= 0 { // not known on this system
			return 0
		}
		v = append(v, turn[slices.Index(between, Sluice)].CPU/proxy)
	}
	return median(v)
}
