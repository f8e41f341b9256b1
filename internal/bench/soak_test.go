package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// serve runs a measured Sluice server in this process until the test ends.
func serve(t *testing.T, name string, rate float64) *child {
	t.Helper()
	log, err := app.OpenLog(t.TempDir(), config.Default(), nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	in, stop := io.Pipe()
	out, addresses := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- serveStreams(ctx, serverOptions{name: name, rate: rate, store: log, sendBuffer: soakSend}, in, addresses)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = stop.Close()
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	var p child
	if _, err := fmt.Fscan(out, &p.addr, &p.control); err != nil {
		t.Fatal(err)
	}
	return &p
}

// TestSoak lets some hundred readers stall, leave and return for some seconds, with both writers.
func TestSoak(t *testing.T) {
	for _, name := range []string{serverLoop, serverHandler} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, name, 20)
			o := &soakCmd{Duration: 3 * time.Second, Readers: 200, Runs: 10, Rate: 20, Tokens: 30}
			r := &soakReport{}
			require.NoError(t, r.measure(t.Context(), p, o, func(string) {}))
			for _, err := range r.faults() {
				t.Error(err)
			}
			if r.Completed < 200 || r.Stalls == 0 || r.Returns == 0 || r.Events < 200*15 || len(r.Intervals) < 2 {
				t.Errorf("%+v", r.soakCounts)
			}
			var out strings.Builder
			if err := r.writeTable(&out); err != nil || !strings.Contains(out.String(), "0 lost, 0 doubled, 0 streams cut") {
				t.Errorf("%s, %v", &out, err)
			}
		})
	}
}

// TestSoakFaults reads streams that lack events, repeat them and end early.
func TestSoakFaults(t *testing.T) {
	s := &soak{stopping: true, options: &soakCmd{}}
	read := func(last, tokens int64, err error, numbers ...int64) soakCounts {
		s.soakCounts = soakCounts{}
		s.left.Add(1)
		r := &soakReader{soak: s, last: last, tokens: tokens}
		for _, n := range numbers {
			r.receive(appendMark(nil, n), time.Now().UnixNano())
			r.receive([]byte("\"\n"), time.Now().UnixNano())
		}
		r.end(err)
		return s.soakCounts
	}
	for _, c := range []struct {
		name string
		got  soakCounts
		want soakCounts
	}{
		{"whole", read(0, 3, nil, 1, 2, 3), soakCounts{Events: 3, Completed: 1}},
		{"resumed", read(2, 4, nil, 3, 4), soakCounts{Events: 2, Completed: 1}},
		{"gap", read(0, 4, nil, 1, 4), soakCounts{Events: 2, Completed: 1, Lost: 2}},
		{"repeated", read(2, 3, nil, 2, 3), soakCounts{Events: 2, Completed: 1, Doubled: 1}},
		{"short", read(0, 3, nil, 1), soakCounts{Events: 1, Completed: 1, Lost: 2, Cut: 1}},
		{"reset", read(0, 1, io.ErrUnexpectedEOF, 1), soakCounts{Events: 1, Completed: 1, Cut: 1}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
		}
	}
	grown := soakReport{After: processUsage{Goroutines: moreGoroutines + 1, Descriptors: moreGoroutines + 1, Heap: moreHeap + 1}, soakCounts: soakCounts{Lost: 1}}
	if n := len(grown.faults()); n != 4 {
		t.Errorf("%d faults", n)
	}
}

// TestStreams measures a load and idle readers of a server, and checks that both have plausible figures and a plot.
func TestStreams(t *testing.T) {
	p := serve(t, serverLoop, 50)
	f := streamResult{Server: serverLoop, Load: load{Runs: 4, Readers: 3, Rate: 50}}
	o := &streamCmd{Duration: 500 * time.Millisecond, Warmup: 100 * time.Millisecond, Turns: 1, Server: []string{serverLoop}}
	require.NoError(t, p.streams(t.Context(), &f, o))
	if f.Events < 100 || f.Events > 600 || f.Lost != 0 || f.P50 <= 0 || f.P99 < f.P50 || f.CPU <= 0 || f.Joined < 0.5 {
		t.Errorf("%+v", f)
	}
	idle, err := p.idle(t.Context(), serverLoop, []int{100, 200})
	if err != nil || len(idle) != 2 || idle[1].Readers != 200 {
		t.Fatalf("%+v, %v", idle, err)
	}
	r := &streamReport{Turns: []streamResult{f}, Idle: idle}
	r.compare(o)
	var table, drawn strings.Builder
	if err := r.writeTable(&table); err != nil || !strings.Contains(table.String(), "4x3x50") {
		t.Errorf("%s, %v", &table, err)
	}
	if err := r.writePlot(&drawn); err != nil || !strings.Contains(drawn.String(), "200 readers") {
		t.Errorf("%s, %v", &drawn, err)
	}
}
