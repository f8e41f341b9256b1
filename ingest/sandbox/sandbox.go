// Package sandbox parses documents in child processes with hard limits on memory and time. A child that exceeds a limit is killed, and its
// document fails with the reason. The program and other documents are not affected.
//
// A child runs the same executable. So a program must call [Main] first in its main function, and a test binary in TestMain. Otherwise
// documents are parsed in the process itself, and only the limits of package parse apply.
package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// Options configure a [Pool]. The zero value works.
type Options struct {
	Memory  int64         // limit of a child in bytes; default 512 MiB
	Time    time.Duration // limit of a document, of both elapsed and processor time; default 30 s
	Workers int           // most concurrent children; default: the number of processors, at most MaxWorkers
	Logger  *slog.Logger
}

// MaxWorkers limits the default number of children of a pool.
const MaxWorkers = 4

const (
	maxFiles = 2000             // after which a child is replaced; a start takes as long as fifty documents
	maxIdle  = 30 * time.Second // after which an idle child is stopped
)

// Pool parses documents in reusable child processes. Its methods may be called concurrently. Call Close after use.
type Pool struct {
	opts   Options
	slots  chan struct{}
	groups *cgroup       // in which each child gets a control group; nil if there is none
	slow   time.Duration // a child that parsed for longer is replaced, because it may keep much memory

	mu     sync.Mutex
	idle   []*worker
	closed bool

	children sync.WaitGroup // running
}

// New returns a pool, which starts children on demand.
func New(o Options) *Pool {
	if o.Memory <= 0 {
		o.Memory = 512 << 20
	}
	if o.Time <= 0 {
		o.Time = 30 * time.Second
	}
	o.Workers = cmp.Or(max(o.Workers, 0), min(runtime.GOMAXPROCS(0), MaxWorkers))
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Pool{opts: o, slots: make(chan struct{}, o.Workers), slow: time.Second}
	if enabled {
		var err error
		if p.groups, err = findCgroup(); err != nil {
			o.Logger.Debug("memory of parsing processes is watched; control groups are not available", "reason", err)
		} else {
			o.Logger.Debug("memory of parsing processes is limited by control groups", "parent", p.groups.dir)
		}
	}
	return p
}

// Parse is like [parse.Parse], and runs in a child. If a document exceeds the limits of memory or time, the error is a [*fault.Error] that
// wraps [parse.ErrExhausted]. It does not wrap it if the child got too little processor time or ended for an unknown reason.
func (p *Pool) Parse(ctx context.Context, name string, data []byte, limits parse.Limits) (parse.Parsed, error) {
	if limits.Time <= 0 || limits.Time > p.opts.Time {
		limits.Time = p.opts.Time
	}
	limits = limits.WithDefaults()
	if len(data) > limits.Bytes || !enabled {
		return parse.Parse(ctx, name, data, limits)
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return parse.Parsed{}, ctx.Err()
	}
	parsed, err := p.attempt(ctx, name, data, limits, false)
	if errors.Is(err, errCrashed) && ctx.Err() == nil { // the document may not be the cause
		parsed, err = p.attempt(ctx, name, data, limits, true)
	}
	if err == nil || ctx.Err() != nil {
		return parsed, cmp.Or(ctx.Err(), err)
	}
	return parsed, p.explain(name, err, limits.Time)
}

// overloadedHint ends the message of a time failure that is not the document's.
const overloadedHint = " because the machine is overloaded; try again later"

// explain returns the error for the caller. Only failures that the same document causes again wrap [parse.ErrExhausted].
func (p *Pool) explain(name string, err error, limit time.Duration) error {
	shown := parse.PrintableName(name)
	switch {
	case errors.Is(err, errMemory):
		return fault.Wrap(fault.TooLarge, parse.ErrExhausted, "%s: needs more than %d MiB of memory to read", shown, p.opts.Memory>>20)
	case errors.Is(err, errTime):
		return fault.Wrap(fault.TooLarge, parse.ErrExhausted, "%s: reading it took longer than %s", shown, limit)
	case errors.Is(err, errOverloaded):
		return fault.Wrap(fault.Overloaded, err, "%s: reading it took longer than %s%s", shown, limit, overloadedHint)
	case errors.Is(err, errReplaced):
		return fault.Wrap(fault.Unavailable, err, "%s: the program was replaced: restart the server", shown)
	case errors.Is(err, errCrashed):
		return fault.Wrap(fault.InvalidRequest, err, "%s: the parser crashed or was killed both times that it read the file, which may be damaged or need too much memory: save the file again, or in another format", shown)
	}
	return err
}

// attempt parses a document in one child, which is a new one if fresh is set.
func (p *Pool) attempt(ctx context.Context, name string, data []byte, limits parse.Limits, fresh bool) (parse.Parsed, error) {
	w, err := p.take(fresh)
	if err != nil {
		return parse.Parsed{}, fault.Wrap(fault.Internal, err, "%s: no process to read it could be started", parse.PrintableName(name))
	}
	started := time.Now()
	parsed, err := w.parse(ctx, name, data, limits)
	_, replied := errors.AsType[*fault.Error](err)
	w.files++
	if err != nil && !replied || w.files >= maxFiles || time.Since(started) > p.slow {
		w.stop()
	} else {
		p.put(w)
	}
	if errors.Is(err, errTime) {
		<-w.exited
		err = timeFailure(w.sinceReply(), limits.Time)
	}
	return parsed, err
}

// take returns an idle child that still runs, or starts one. With fresh, it stops the idle children and starts one.
func (p *Pool) take(fresh bool) (*worker, error) {
	p.mu.Lock()
	for n := len(p.idle); n > 0; n = len(p.idle) {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		w.timer.Stop()
		if !fresh && !w.ended() {
			p.mu.Unlock()
			return w, nil
		}
		w.stop()
	}
	if p.closed {
		p.mu.Unlock()
		return nil, errors.New("the pool is closed")
	}
	p.children.Add(1)
	p.mu.Unlock()
	w, err := start(p.opts.Memory, p.groups)
	if err != nil {
		p.children.Done()
		return nil, err
	}
	go func() {
		defer p.children.Done()
		<-w.exited
	}()
	return w, nil
}

// put keeps a child for the next document.
func (p *Pool) put(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		w.stop()
		return
	}
	p.idle = append(p.idle, w)
	w.timer = time.AfterFunc(maxIdle, func() { p.expire(w) })
}

// expire stops a child if it is still idle.
func (p *Pool) expire(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.idle {
		if other == w {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			w.stop()
			return
		}
	}
}

// Close stops the children that are idle, and the others once they have parsed their document, and waits for all of them.
func (p *Pool) Close() error {
	defer p.children.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.idle {
		w.timer.Stop()
		w.stop()
	}
	p.idle = nil
	return nil
}

// enabled reports whether the program called Main.
var enabled bool

// protocol is the version of the protocol between parent and child.
const protocol = 1

// version identifies the protocol and the build. They differ if the executable was replaced while the parent runs.
var version = buildVersion()

func buildVersion() uint64 {
	info, _ := debug.ReadBuildInfo()
	sum := sha256.Sum256(fmt.Append(nil, protocol, info))
	return binary.BigEndian.Uint64(sum[:])
}

// childArgument is the only argument of a child.
const childArgument = "sluice-parse-child"

// Main enables the pools of a program. In a child process, it parses documents and does not return. Call it first in main or TestMain, on
// the main goroutine.
func Main() {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		// A terminal and systemd send these signals to all processes of the server, which still parses documents while it stops.
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		if err := serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	enabled = true
}
