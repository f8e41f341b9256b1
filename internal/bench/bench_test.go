package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestPercentile(t *testing.T) {
	ms := func(v ...int64) []int64 {
		for i := range v {
			v[i] *= 1e6
		}
		return v
	}
	hundred := make([]int64, 100)
	for i := range hundred {
		hundred[i] = int64(i+1) * 1e6
	}
	for _, c := range []struct {
		of   []int64
		q    float64
		want float64
	}{
		{nil, 0.5, 0}, {ms(7), 0, 7}, {ms(7), 1, 7}, {ms(1, 2, 3), 0.5, 2}, {ms(1, 2), 1, 2},
		{hundred, 0.5, 51}, {hundred, 0.99, 100}, {hundred, 0.98, 99},
	} {
		if got := percentile(c.of, c.q); got != c.want {
			t.Errorf("percentile %g of %v: %g, want %g", c.q, c.of, got, c.want)
		}
	}
	for _, c := range []struct {
		of   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 9, 2}, 3}} {
		if got := median(c.of); got != c.want {
			t.Errorf("median of %v: %g, want %g", c.of, got, c.want)
		}
	}
}

func TestOverhead(t *testing.T) {
	turn := func(direct, relay, sluice relayResult) []relayResult {
		direct.Relay, relay.Relay, sluice.Relay = relayNone, relayProxy, serverSluice
		return []relayResult{direct, relay, sluice}
	}
	var all []relayResult
	all = append(all, turn(relayResult{P50: 1, P99: 2, P999: 3}, relayResult{P50: 1.5, CPU: 20}, relayResult{P50: 2, P99: 4, P999: 6, CPU: 10})...)
	all = append(all, turn(relayResult{P50: 5, P99: 9, P999: 9}, relayResult{P50: 5.5, CPU: 22}, relayResult{P50: 6, P99: 8, P999: 10, CPU: 30})...) // a noisy turn
	all = append(all, turn(relayResult{P50: 1, P99: 2, P999: 3}, relayResult{P50: 1.5, CPU: 24}, relayResult{P50: 3, P99: 3, P999: 5, CPU: 12})...)
	if diff := cmp.Diff(overhead{P50: 1, P99: 1, P999: 2, CPU: 12}, overheadOf(all, serverSluice)); diff != "" {
		t.Error(diff)
	}
	if got := cpuRatio(all, serverSluice, relayProxy); got != 0.5 {
		t.Errorf("%g times the reverse proxy's CPU", got)
	}
	if got := overheadOf(all, relayProxy); got.P50 != 0.5 || got.CPU != 22 {
		t.Errorf("the reverse proxy adds %+v", got)
	}
}

func TestFill(t *testing.T) {
	now := time.Now()
	before := snapshot{at: now, tokens: 500, relay: time.Second, provider: 3 * time.Second, reader: time.Second}
	after := snapshot{at: now.Add(2 * time.Second), tokens: 10500, relay: 1300 * time.Millisecond, provider: 3100 * time.Millisecond, reader: 1050 * time.Millisecond}
	var f relayResult
	var latency histogram
	for _, ns := range []int64{1e6, 2e6, 3e6} {
		latency.add(ns)
	}
	f.fill(before, after, 0.05, &latency)
	want := relayResult{Tokens: 10000, TokensPerSecond: 5000, P50: latency.ms(0.5), P99: latency.ms(1), P999: latency.ms(1), CPU: 20, Idle: 5, ReaderCPU: 5, ProviderCPU: 10}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
	f = relayResult{}
	f.fill(before, snapshot{at: after.at, tokens: before.tokens}, 0, new(histogram))
	if diff := cmp.Diff(relayResult{}, f); diff != "" {
		t.Errorf("without a token: %s", diff)
	}
}

func TestCPUOf(t *testing.T) {
	got, err := cpuOf([]byte("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 12.25\nprocess_open_fds 9\n"))
	if err != nil || got != 12250*time.Millisecond {
		t.Errorf("%v, %v", got, err)
	}
	for _, metrics := range []string{"", "process_cpu_seconds_total much\n", "other 1\n"} {
		if got, err := cpuOf([]byte(metrics)); err == nil {
			t.Errorf("%q: %v", metrics, got)
		}
	}
}

// TestScanner splits a stream into pieces of several sizes.
func TestScanner(t *testing.T) {
	var stream []byte
	var want []mark
	for i := range int64(300) {
		m := mark{at: 1_700_000_000_000_000_000 - i*int64(time.Hour), n: i * 7}
		text := fmt.Sprintf(" @%d:%d", m.at, m.n)
		if i%3 == 0 {
			m.n = 0
			text = fmt.Sprintf(" @%d", m.at) + []string{"", " a@b @17"}[i%2]
		}
		stream = fmt.Appendf(stream, "id: %d\nevent: token\ndata: {\"type\":\"token\",\"content\":\"%s\"}\n\n", i, text)
		want = append(want, m)
	}
	for _, size := range []int{1, 2, 3, 7, 19, 20, 21, 4000, 4096, len(stream)} {
		var s scanner
		var got []mark
		for part := stream; len(part) > 0; part = part[min(size, len(part)):] {
			s.scan(part[:min(size, len(part))], func(m mark) { got = append(got, m) })
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(mark{})); diff != "" {
			t.Errorf("in pieces of %d bytes: %s", size, diff)
		}
	}
}

// FuzzScanner finds the same marks in a text at once and in two pieces.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(" @1700000000000000000:12\" @17 @@1700000000000000000."), 9)
	f.Add([]byte("@1700000000000000000:9999999999999999999999"), 30)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		if at < 0 || at > len(text) {
			return
		}
		var all, parts []mark
		var one, two scanner
		one.scan(text, func(m mark) { all = append(all, m) })
		two.scan(text[:at], func(m mark) { parts = append(parts, m) })
		two.scan(text[at:], func(m mark) { parts = append(parts, m) })
		if diff := cmp.Diff(all, parts, cmp.AllowUnexported(mark{})); diff != "" {
			t.Error(diff)
		}
	})
}

// TestHistogram compares quantiles with those of the sorted list.
func TestHistogram(t *testing.T) {
	var h histogram
	var list []int64
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		v := random.Int64N(1 << random.IntN(40))
		list = append(list, v)
		h.add(v)
	}
	slices.Sort(list)
	for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
		if got, want := h.ms(q), percentile(list, q); got < want || got > want*(1+1.0/buckets) {
			t.Errorf("quantile %g: %g ms, want %g", q, got, want)
		}
	}
	h.add(1<<62 + 1)
	if got := h.ms(1); got < 1e-6*(1<<62) || got > 1e-6*(1<<62)*(1+1.0/buckets) {
		t.Errorf("the longest: %g", got)
	}
	if got := new(histogram).ms(0.5); got != 0 {
		t.Errorf("of nothing: %g", got)
	}
	var s histogram
	for _, ms := range []int64{1, 100, 300, 5000} {
		s.add(ms * 1e6)
	}
	if got := s.share(lateAfter.Nanoseconds()); got != 0.5 {
		t.Errorf("%g of the durations are longer", got)
	}
}

func TestLoad(t *testing.T) {
	var l load
	if err := l.UnmarshalText([]byte("20x10x2.5")); err != nil || l != (load{20, 10, 2.5}) || l.String() != "20x10x2.5" {
		t.Errorf("%v, %v", l, err)
	}
	for _, text := range []string{"", "1", "1x2", "1x2x", "0x1x1", "1x0x1", "1x1x0", "1x1x-1", "1x1xNaN", "1x1xInf", "1x1x1x1", "99999999999x1x1", "-1x1x1"} {
		if err := new(load).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

func TestMedians(t *testing.T) {
	o := &streamCmd{Server: []string{serverTimer, serverLoop, serverRaw}, Turns: 3}
	r := &streamReport{}
	for i := range 3 {
		f := float64(i + 1)
		r.Turns = append(r.Turns, streamResult{Server: serverTimer, CPU: 10 * f}, streamResult{Server: serverLoop, CPU: 30, P99: f, Lost: 1, Events: 5}, streamResult{Server: serverRaw, CPU: 5 * f})
	}
	r.compare(o)
	want := []streamResult{{Server: serverTimer, CPU: 20, RawRatio: 2, TimerRatio: 1}, {Server: serverLoop, CPU: 30, P99: 2, Lost: 3, Events: 15, RawRatio: 3, TimerRatio: 1.5},
		{Server: serverRaw, CPU: 10, RawRatio: 1, TimerRatio: 0.5}}
	if diff := cmp.Diff(want, r.Medians); diff != "" {
		t.Error(diff)
	}
}

func TestDeadModel(t *testing.T) {
	for _, closed := range []bool{false, true} {
		c, err := newDeadModel(t.Context(), closed)
		require.NoError(t, err)
		conn, err := net.Dial("tcp", c.addr)
		switch {
		case closed && !errors.Is(err, syscall.ECONNREFUSED):
			t.Errorf("a closed port: %v", err)
		case !closed && err != nil: // the reset can be there before the dial is over
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Error(err)
			}
		case !closed:
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("a connection that is reset: %v", err)
			}
			_ = conn.Close()
		}
		c.close()
		if n := c.attempts.Load(); !closed && n != 1 {
			t.Errorf("%d attempts", n)
		}
	}
}

func TestQuestionsHaveUniqueNumbers(t *testing.T) {
	m := new(modelBench)
	for i := range 3 {
		text, tag := m.question()
		found := lampNumber.FindStringSubmatch(text)
		if found == nil || found[1] != tag || tag != strconv.Itoa(i+1) {
			t.Errorf("%q is identified by %q", text, tag)
		}
	}
	for name, text := range documents {
		if lampNumber.MatchString(text) || strings.ContainsRune(text, timeMark) {
			t.Errorf("%s contains a time mark or a lamp number", name)
		}
	}
}

func TestListening(t *testing.T) {
	if url, err := listening(strings.NewReader("indexed 3 documents\nlistening on http://127.0.0.1:4711\n")); err != nil || url != "http://127.0.0.1:4711" {
		t.Errorf("%q, %v", url, err)
	}
	if _, err := listening(strings.NewReader("sluice: no such folder\n")); err == nil || !strings.Contains(err.Error(), "no such folder") {
		t.Errorf("a server that does not start: %v", err)
	}
}

func TestModelTable(t *testing.T) {
	r := &modelReport{
		Streams: 100, Rate: 80, Seconds: 10,
		Turns: []relayResult{
			{Relay: relayNone, TokensPerSecond: 8000, P50: 0.1, P99: 1, P999: 2, ReaderCPU: 5, ProviderCPU: 9},
			{Relay: relayProxy, TokensPerSecond: 8000, P50: 0.2, P99: 2, P999: 3, CPU: 30, Idle: 0.1, ReaderCPU: 5, ProviderCPU: 9},
			{Relay: serverSluice, TokensPerSecond: 7999, P50: 0.3, P99: 1.5, P999: 4, CPU: 20, Idle: 1, ReaderCPU: 5, ProviderCPU: 9},
		},
		Added: &overhead{0.2, 0.5, 2, 20}, ProxyAdded: &overhead{0.1, 1, 1, 30}, CPURatio: 0.67,
		Cancel: &cancelResult{Streams: 4, Connections: 1, Cancelled: latencyRangeOf([]int64{2e6, 1e6}), Disconnected: latencyRangeOf([]int64{3e6, 5e6})},
		Dead: []failoverResult{
			{First: firstAlive, FirstAnswer: 9, P50: 3, P99: 4},
			{First: firstResets, Attempts: 1, FirstAnswer: 10, P50: 3.5, P99: 5, FirstAnswerAdded: 1, P50Added: 0.5},
			{First: firstRefuses, Concurrent: true, Attempts: -1, P50: 30, P99: 40, P50Added: -2},
		},
	}
	const want = `100 streams of 80 tokens/s, 10 s per turn; 8000 tokens/s offered; CPU in µs per token

           relay  tokens/s  p50 ms  p99 ms  p99.9 ms  relay CPU  idle CPU %  provider CPU  reader CPU
  provider alone      8000    0.10    1.00      2.00       0.00         0.0          9.00        5.00
   reverse proxy      8000    0.20    2.00      3.00      30.00         0.1          9.00        5.00
          sluice      7999    0.30    1.50      4.00      20.00         1.0          9.00        5.00

medians: Sluice adds +0.20 ms at p50, +0.50 at p99, +2.00 at p99.9 and 20.00 µs of CPU per token; the reverse proxy +0.10, +1.00, +1.00 and 30.00; CPU 0.67 times the proxy's

4 answers cancelled, 1 connections to the provider left open

     provider notices  answers  p50 ms  max ms
        run cancelled        2    2.00    2.00
  reader disconnected        2    5.00    5.00

latency of the first token

         failed model   questions  connections to it  first answer ms  others p50 ms  p99 ms  first answer adds ms  others add ms
                 none  sequential                  -             9.00           3.00    4.00                     -              -
   resets connections  sequential                  1            10.00           3.50    5.00                 +1.00          +0.50
  refuses connections  concurrent                  -                -          30.00   40.00                     -          -2.00
`
	var out bytes.Buffer
	require.NoError(t, r.writeTable(&out))
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if err := (&modelReport{}).writeTable(io.Discard); err != nil {
		t.Error(err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := wait(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
