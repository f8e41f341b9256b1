package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// args are those of a side's process.
func (o Options) args(name string) []string {
	args := []string{"--side", name, "--rate", strconv.FormatFloat(o.Rate, 'g', -1, 64)}
	if o.Memory {
		args = append(args, "--memory")
	}
	if o.Profile != "" {
		args = append(args, "--profile", o.Profile+strings.NewReplacer("/", "-", " ", "").Replace(name)+".pprof")
	}
	return args
}

// measure runs one side for a turn.
func measure(ctx context.Context, exe string, args []string, name string, o Options) (Figures, error) {
	f := Figures{Side: name}
	s, err := start(ctx, exe, append(slices.Clip(args), o.args(name)...))
	if err != nil {
		return f, err
	}
	f, err = s.load(ctx, f, o)
	if err == nil && o.Idle > 0 {
		f.Idle, err = s.idle(ctx, o)
	}
	return f, errors.Join(err, s.stop())
}

// going is a question whose answer has no end. Each asking wants a run of its own.
const going = `{"query":"go","mode":"direct","no_cache":true}`

func (s *side) load(ctx context.Context, f Figures, o Options) (Figures, error) {
	var l load
	defer l.close()
	for range o.Runs {
		run, err := l.open(ctx, s.addr, "POST", "/api/query/stream", going)
		if err != nil {
			return f, err
		}
		for range o.Readers - 1 {
			if f.Side != Sluice { // which knows no runs: another reader costs it another stream
				_, err = l.open(ctx, s.addr, "POST", "/api/query/stream", going)
			} else {
				_, err = l.open(ctx, s.addr, "GET", "/runs/"+run+"/stream", "")
			}
			if err != nil {
				return f, err
			}
		}
	}
	if err := wait(ctx, o.Warmup); err != nil {
		return f, err
	}
	before, err := s.usage(ctx, "")
	if err != nil {
		return f, err
	}
	began := time.Now()
	l.counting.Store(true)
	if err := wait(ctx, o.Duration); err != nil {
		return f, err
	}
	l.counting.Store(false)
	took := time.Since(began)
	after, err := s.usage(ctx, "")
	if err != nil {
		return f, err
	}
	l.close()
	all := sorted(l.samples())
	f.Events = int64(len(all))
	f.EventsPerSecond = float64(f.Events) / took.Seconds()
	f.P50, f.P99, f.P999 = percentile(all, 0.5), percentile(all, 0.99), percentile(all, 0.999)
	if f.Events > 0 {
		f.CPU = float64((after.CPU - before.CPU).Nanoseconds()) / 1e3 / float64(f.Events)
	}
	return f, nil
}

// idle gives the resident memory of a reader that waits for the next event of a run that all of them read, in KiB. Some
// come first, so that what the first ones cost once is not counted.
func (s *side) idle(ctx context.Context, o Options) (float64, error) {
	var l load
	defer l.close()
	const question = `{"query":"` + idleQuery + `","mode":"direct","no_cache":true}`
	run, err := l.open(ctx, s.addr, "POST", "/api/query/stream", question)
	if err != nil {
		return 0, err
	}
	method, path, body := "GET", "/runs/"+run+"/stream", ""
	if run == "" { // the bare handler knows no runs
		method, path, body = "POST", "/", question
	}
	memory := func(n int) (int64, error) {
		for range n {
			if _, err := l.open(ctx, s.addr, method, path, body); err != nil {
				return 0, err
			}
		}
		if err := wait(ctx, time.Second); err != nil {
			return 0, err
		}
		u, err := s.usage(ctx, "?memory")
		return u.Memory, err
	}
	before, err := memory(o.Idle / 4)
	if err != nil {
		return 0, err
	}
	after, err := memory(o.Idle)
	return float64(after-before) / 1024 / float64(o.Idle), err
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// load is a set of streams being read, by as little code as can be: the machine's cores are shared with the server.
type load struct {
	counting atomic.Bool
	conns    []net.Conn
	readers  []*reader
	wg       sync.WaitGroup
}

type reader struct {
	load    *load
	conn    net.Conn
	samples []int64 // nanoseconds from append to receipt
}

// open begins a stream and gives its run's id.
func (l *load) open(ctx context.Context, addr, method, path, body string) (run string, err error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	l.conns = append(l.conns, c)
	_, err = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, addr, len(body), body)
	if err != nil {
		return "", err
	}
	br := bufio.NewReaderSize(c, 1024)
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("open stream: %w", err)
		}
		if strings.HasPrefix(line, "HTTP/1.1 ") && !strings.HasPrefix(line, "HTTP/1.1 200") {
			return "", fmt.Errorf("open stream: %s", strings.TrimSpace(line))
		}
		if k, v, _ := strings.Cut(line, ":"); strings.EqualFold(k, "Sluice-Run-Id") {
			run = strings.TrimSpace(v)
		}
		if line == "\r\n" {
			break
		}
	}
	r := &reader{load: l, conn: c}
	l.readers = append(l.readers, r)
	l.wg.Go(r.read)
	return run, nil
}

// read finds the marks in the bytes as they come; what is buffered in front of them is not looked at, being head.
func (r *reader) read() {
	buf := make([]byte, 4096)
	kept := 0
	for {
		n, err := r.conn.Read(buf[kept:])
		if err != nil {
			return
		}
		now := time.Now().UnixNano()
		data := buf[:kept+n]
		for {
			i := bytes.IndexByte(data, mark)
			if i < 0 {
				kept = 0
				break
			}
			if len(data)-i < 20 { // a time has 19 digits
				kept = copy(buf, data[i:])
				break
			}
			if at, err := strconv.ParseInt(string(data[i+1:i+20]), 10, 64); err == nil && r.load.counting.Load() {
				r.samples = append(r.samples, now-at)
			}
			data = data[i+20:]
		}
	}
}

func (l *load) close() {
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.wg.Wait()
}

func (l *load) samples() [][]int64 {
	var out [][]int64
	for _, r := range l.readers {
		out = append(out, r.samples)
	}
	return out
}
