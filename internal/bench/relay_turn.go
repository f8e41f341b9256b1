package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// idleTime is how long the idle processor time of a process is measured.
const idleTime = time.Second

// target is a server from which streams are read.
type target struct {
	name, path string
	addr       string // of the server that gets the questions
	body       func(question string) string
	cpu        func(context.Context) (time.Duration, error) // of the relay; nil for the provider alone
}

// streams runs the measurements that need a provider of endless answers: relays and cancellation.
func (m *modelBench) streams(ctx context.Context, r *modelReport) (err error) {
	p, err := m.startProvider(ctx, m.options.Rate, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	proxy, err := start(ctx, m.exe, []string{"model-provider", "--proxy", "http://" + p.addr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proxy.stop()) }()
	s, err := m.startServer(ctx, nil, p.addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	targets := []target{completions(relayNone, p.addr), completions(relayProxy, proxy.addr), answers(serverSluice, s)}
	if m.options.Log != "" {
		var several []*sluiceServer
		for range severalServers {
			s, err := m.startServer(ctx, []string{"--log", m.options.Log, "--log-replicas", "1"}, p.addr)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.stop()) }()
			several = append(several, s)
		}
		targets = append(targets, answers(relaySeveral, several...))
	}
	targets[1].cpu = func(ctx context.Context) (time.Duration, error) {
		u, err := proxy.usage(ctx, "")
		return u.CPU, err
	}
	for turn := range m.options.Turns {
		for _, t := range targets {
			m.progress(fmt.Sprintf("turn %d of %d: %s", turn+1, m.options.Turns, t.name))
			f, err := m.turn(ctx, p, t)
			if err != nil {
				return fmt.Errorf("measure %s: %w", t.name, err)
			}
			r.Turns = append(r.Turns, f)
		}
	}
	if m.options.Turns > 0 {
		sluice, proxy := overheadOf(r.Turns, serverSluice), overheadOf(r.Turns, relayProxy)
		r.Added, r.ProxyAdded, r.CPURatio = &sluice, &proxy, cpuRatio(r.Turns, serverSluice, relayProxy)
	}
	if m.options.Cancels > 0 {
		m.progress(fmt.Sprintf("%d answers that are cancelled", m.options.Cancels))
		if r.Cancel, err = m.cancel(ctx, p, s); err != nil {
			return fmt.Errorf("measure cancellation: %w", err)
		}
	}
	return nil
}

// ask returns the request of a question.
func (t target) ask(question string) request {
	return request{addr: t.addr, method: "POST", path: t.path, body: t.body(question)}
}

// completions returns a target that speaks the provider's protocol.
func completions(name, addr string) target {
	return target{name: name, addr: addr, path: "/v1/chat/completions", body: func(question string) string {
		return fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":%q}]}`, providerModel, question)
	}}
}

// answers returns Sluice servers as a target. The first one gets all questions, and the processor time is that of all.
func answers(name string, servers ...*sluiceServer) target {
	t := target{name: name, addr: servers[0].addr(), path: "/api/query/stream", body: func(question string) string {
		return fmt.Sprintf(`{"query":%q,"mode":"direct","no_cache":true}`, question)
	}}
	t.cpu = func(ctx context.Context) (sum time.Duration, err error) {
		for _, s := range servers {
			d, err := s.cpu(ctx)
			if err != nil {
				return 0, err
			}
			sum += d
		}
		return sum, nil
	}
	return t
}

// snapshot holds the processor times and the number of tokens at one time.
type snapshot struct {
	at                      time.Time
	tokens                  int64
	relay, provider, reader time.Duration // processor time of each process
}

func (t target) snapshot(ctx context.Context, p *child) (m snapshot, err error) {
	if t.cpu != nil {
		if m.relay, err = t.cpu(ctx); err != nil {
			return m, err
		}
	}
	u, err := p.usage(ctx, "")
	if err != nil {
		return m, err
	}
	seen, err := p.stats(ctx)
	m.at, m.tokens, m.provider, m.reader = time.Now(), seen.Tokens, u.CPU, cpuTime()
	return m, err
}

// idle returns the idle processor time of the relay, as a share of one processor.
func (t target) idle(ctx context.Context) (float64, error) {
	if t.cpu == nil {
		return 0, nil
	}
	before, err := t.cpu(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := wait(ctx, idleTime); err != nil {
		return 0, err
	}
	after, err := t.cpu(ctx)
	return float64(after-before) / float64(time.Since(began)), err
}

// turn measures the streams of a target. Their start and end are not counted.
func (m *modelBench) turn(ctx context.Context, p *child, t target) (f relayResult, err error) {
	f.Relay = t.name
	idle, err := t.idle(ctx)
	if err != nil {
		return f, err
	}
	var l readerSet
	defer l.close()
	for range m.options.Streams {
		question, _ := m.question()
		if _, _, err := l.open(ctx, t.ask(question)); err != nil {
			return f, err
		}
	}
	if _, err := p.until(ctx, "the answers to start", func(s providerStats) bool { return s.Open == int64(m.options.Streams) }); err != nil {
		return f, err
	}
	if err := wait(ctx, m.options.Warmup); err != nil {
		return f, err
	}
	before, err := t.snapshot(ctx, p)
	if err != nil {
		return f, err
	}
	l.count(true)
	if err := wait(ctx, m.options.Duration); err != nil {
		return f, err
	}
	l.count(false)
	after, err := t.snapshot(ctx, p)
	if err != nil {
		return f, err
	}
	l.close()
	f.fill(before, after, idle, &l.latency)
	_, err = p.until(ctx, "the answers to end", func(s providerStats) bool { return s.Open == 0 })
	return f, err
}

// fill computes the result.
func (f *relayResult) fill(before, after snapshot, idle float64, latency *histogram) {
	elapsed := after.at.Sub(before.at)
	f.Tokens = after.tokens - before.tokens
	f.TokensPerSecond = float64(f.Tokens) / elapsed.Seconds()
	f.P50, f.P99, f.P999 = latency.ms(0.5), latency.ms(0.99), latency.ms(0.999)
	f.Idle = 100 * idle
	if f.Tokens == 0 {
		return
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(f.Tokens) }
	f.CPU = each(after.relay - before.relay - time.Duration(idle*float64(elapsed)))
	f.ReaderCPU = each(after.reader - before.reader)
	f.ProviderCPU = each(after.provider - before.provider)
}

// overheadOf returns the overhead of a relay: medians, over the turns, of the differences to the provider alone.
func overheadOf(all []relayResult, name string) overhead {
	var p50, p99, p999, cpu []float64
	alone := resultsOf(all, relayNone)
	for i, relay := range resultsOf(all, name) {
		p50 = append(p50, relay.P50-alone[i].P50)
		p99 = append(p99, relay.P99-alone[i].P99)
		p999 = append(p999, relay.P999-alone[i].P999)
		cpu = append(cpu, relay.CPU)
	}
	return overhead{P50: median(p50), P99: median(p99), P999: median(p999), CPU: median(cpu)}
}

// cpuRatio returns the processor time of a relay relative to that of another one: the median of the turns. It is 0 if either is unknown.
func cpuRatio(all []relayResult, name, other string) float64 {
	var v []float64
	others := resultsOf(all, other)
	for i, relay := range resultsOf(all, name) {
		if i >= len(others) || others[i].CPU <= 0 { // unknown on this system
			return 0
		}
		v = append(v, relay.CPU/others[i].CPU)
	}
	return median(v)
}

// resultsOf returns the results of a relay in the order of the turns.
func resultsOf(all []relayResult, name string) (out []relayResult) {
	for _, r := range all {
		if r.Relay == name {
			out = append(out, r)
		}
	}
	return out
}
