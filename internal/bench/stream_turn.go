package bench

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// args returns the arguments of a server's process.
func (o *streamCmd) args(server string, rate float64) []string {
	args := []string{"stream-server", "--server", server, "--rate", strconv.FormatFloat(rate, 'g', -1, 64)}
	if o.Memory {
		args = append(args, "--memory")
	}
	if o.Profile != "" {
		args = append(args, "--profile", o.Profile+strings.NewReplacer("/", "-", " ", "", "(", "", ")", "").Replace(server)+".pprof")
	}
	return args
}

// measureStream measures one server for one turn.
func measureStream(ctx context.Context, exe, server string, l load, o *streamCmd) (streamResult, error) {
	f := streamResult{Server: server, Load: l}
	s, err := start(ctx, exe, o.args(server, l.Rate))
	if err != nil {
		return f, err
	}
	err = s.streams(ctx, &f, o)
	return f, errors.Join(err, s.stop())
}

// endlessQuery starts a run that has no end. Each request starts a run of its own.
const endlessQuery = `{"query":"go","mode":"direct","no_cache":true}`

// openStreams opens the streams of a load.
func (s *child) openStreams(ctx context.Context, set *readerSet, server string, l load) error {
	ask := request{addr: s.addr, method: "POST", path: "/api/query/stream", body: endlessQuery}
	return openAll(l.Runs, func(int) error {
		run, _, err := set.open(ctx, ask)
		if err != nil {
			return err
		}
		read := ask // the bare handlers have no runs: each reader has its own stream
		if isSluice(server) {
			read = request{addr: s.addr, method: "GET", path: "/runs/" + run + "/stream"}
		}
		return openAll(l.Readers-1, func(int) error {
			_, _, err := set.open(ctx, read)
			return err
		})
	})
}

// usageAt is what the server and this process have used at one time.
type usageAt struct {
	at     time.Time
	server processUsage
	reader time.Duration
}

func (s *child) usageNow(ctx context.Context) (u usageAt, err error) {
	u.server, err = s.usage(ctx, "")
	u.at, u.reader = time.Now(), cpuTime()
	return u, err
}

// streams measures the streams of a load.
func (s *child) streams(ctx context.Context, f *streamResult, o *streamCmd) error {
	var set readerSet
	defer set.close()
	if err := s.openStreams(ctx, &set, f.Server, f.Load); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := wait(ctx, o.Warmup); err != nil {
		return err
	}
	before, err := s.usageNow(ctx)
	if err != nil {
		return err
	}
	set.count(true)
	if err := wait(ctx, o.Duration); err != nil {
		return err
	}
	set.count(false)
	after, err := s.usageNow(ctx)
	if err != nil {
		return err
	}
	set.close()
	f.fill(before, after, &set)
	return nil
}

// fill computes the result of a turn.
func (f *streamResult) fill(before, after usageAt, set *readerSet) {
	h := &set.latency
	took := after.at.Sub(before.at)
	f.Events, f.Lost = h.n, set.lost
	f.EventsPerSecond = float64(h.n) / took.Seconds()
	f.P50, f.P99, f.P999, f.Late = h.ms(0.5), h.ms(0.99), h.ms(0.999), 100*h.share(lateAfter.Nanoseconds())
	reader := after.reader - before.reader
	f.ReaderBusy = 100 * float64(reader) / float64(took)
	if h.n == 0 {
		return
	}
	f.CPU = float64((after.server.CPU - before.server.CPU).Nanoseconds()) / 1e3 / float64(h.n)
	f.ReaderCPU = float64(reader.Nanoseconds()) / 1e3 / float64(h.n)
	f.Joined = 1
	if writes := after.server.Frames - before.server.Frames; writes > 0 {
		f.Joined = float64(h.n) / float64(writes)
	}
}
