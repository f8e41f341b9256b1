package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// args returns the arguments of a server's process.
func (o *streamCmd) args(server string) []string {
	args := []string{"stream-server", "--server", server, "--rate", strconv.FormatFloat(o.Rate, 'g', -1, 64)}
	if o.Memory {
		args = append(args, "--memory")
	}
	if o.Profile != "" {
		args = append(args, "--profile", o.Profile+strings.NewReplacer("/", "-", " ", "", "(", "", ")", "").Replace(server)+".pprof")
	}
	return args
}

// measureStream measures one server for one turn.
func measureStream(ctx context.Context, exe, server string, o *streamCmd) (streamResult, error) {
	f := streamResult{Server: server}
	s, err := start(ctx, exe, o.args(server))
	if err != nil {
		return f, err
	}
	f, err = s.subscriberSet(ctx, f, o)
	if err == nil && o.Idle > 0 {
		f.Idle, err = s.idle(ctx, o)
	}
	return f, errors.Join(err, s.stop())
}

// endlessQuery starts a run that has no end. Each request starts a run of its own.
const endlessQuery = `{"query":"go","mode":"direct","no_cache":true}`

func (s *child) subscriberSet(ctx context.Context, f streamResult, o *streamCmd) (streamResult, error) {
	var l subscriberSet
	defer l.close()
	for range o.Runs {
		run, err := l.open(ctx, s.addr, "POST", "/api/query/stream", endlessQuery)
		if err != nil {
			return f, err
		}
		for range o.Readers - 1 {
			if !isSluice(f.Server) { // the bare handlers have no runs: each reader has its own stream
				_, err = l.open(ctx, s.addr, "POST", "/api/query/stream", endlessQuery)
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

// idle returns the resident memory in KiB of one reader that waits for the next event. All readers read the same run. A
// quarter of them is started before the measurement, so that one-time costs are not counted.
func (s *child) idle(ctx context.Context, o *streamCmd) (float64, error) {
	var l subscriberSet
	defer l.close()
	const question = `{"query":"` + idleQuery + `","mode":"direct","no_cache":true}`
	run, err := l.open(ctx, s.addr, "POST", "/api/query/stream", question)
	if err != nil {
		return 0, err
	}
	method, path, body := "GET", "/runs/"+run+"/stream", ""
	if run == "" { // the bare handlers have no runs
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

// subscriberSet reads streams with as little code as possible, because it shares the processors with the server.
type subscriberSet struct {
	counting atomic.Bool
	conns    []net.Conn
	readers  []*reader
	wg       sync.WaitGroup
}

type reader struct {
	subscriberSet *subscriberSet
	conn          net.Conn
	samples       []int64 // nanoseconds from append to receipt
}

// open starts reading a stream and returns the id of its run.
func (l *subscriberSet) open(ctx context.Context, addr, method, path, body string) (run string, err error) {
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
	r := &reader{subscriberSet: l, conn: c}
	l.readers = append(l.readers, r)
	l.wg.Go(r.read)
	return run, nil
}

// read records the latency of each event. It finds the times by their mark. Bytes that were buffered with the HTTP header are
// not searched: they hold no tokens.
func (r *reader) read() {
	buf := make([]byte, 4096)
	rest := 0 // bytes of an incomplete time
	for {
		n, err := r.conn.Read(buf[rest:])
		if err != nil {
			return
		}
		now := time.Now().UnixNano()
		data := buf[:rest+n]
		for {
			i := bytes.IndexByte(data, timeMark)
			if i < 0 {
				rest = 0
				break
			}
			if len(data)-i < 20 { // a time has 19 digits
				rest = copy(buf, data[i:])
				break
			}
			if at, err := strconv.ParseInt(string(data[i+1:i+20]), 10, 64); err == nil && r.subscriberSet.counting.Load() {
				r.samples = append(r.samples, now-at)
			}
			data = data[i+20:]
		}
	}
}

func (l *subscriberSet) close() {
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.wg.Wait()
}

func (l *subscriberSet) samples() [][]int64 {
	var out [][]int64
	for _, r := range l.readers {
		out = append(out, r.samples)
	}
	return out
}
