package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
)

var (
	errMemory  = errors.New("the child exceeded its memory limit")
	errTime    = errors.New("the child exceeded its time limit")
	errCrashed = errors.New("the child ended")

	errReplaced   = errors.New("the child has another version")
	errOverloaded = errors.New("the child got too little processor time")
)

const (
	// grace is how long after the document's time limit a child is killed. Mostly it stops by itself before.
	grace      = time.Second
	watchEvery = 4 * time.Millisecond
)

// worker is a child process. Only one goroutine may use it at a time.
type worker struct {
	memory int64
	cmd    *exec.Cmd
	group  *cgroup  // nil if it has none
	in     *os.File // to the child
	out    *os.File // from the child
	stderr prefix   // the beginning of its standard error
	exited chan struct{}
	oom    bool // the kernel ended it because its group reached its limit; set before exited is closed
	files  int
	used   time.Duration // processor time up to its last reply
	timer  *time.Timer   // stops it while it is idle
	cause  atomic.Pointer[error]
}

// prefix is a writer that keeps the first 4 KiB.
type prefix struct {
	mu sync.Mutex
	b  []byte
}

func (h *prefix) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b = append(h.b, b[:min(len(b), 4096-len(h.b))]...)
	return len(b), nil
}

func (h *prefix) has(words ...string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(h.b, []byte(w)) })
}

// start starts a child without the parent's environment, which may contain API keys.
// It gets a group of its own in groups, if groups is not nil.
func start(memory int64, groups *cgroup) (*worker, error) {
	path, err := executable()
	if err != nil {
		return nil, fmt.Errorf("start parser: %w", err)
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start parser: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start parser: %w", err), childIn.Close(), in.Close())
	}
	w := &worker{memory: memory, in: in, out: out, exited: make(chan struct{})}
	w.cmd = &exec.Cmd{Path: path, Args: []string{os.Args[0], childArgument}, Stdin: childIn, Stdout: childOut, Stderr: &w.stderr, SysProcAttr: attributes(),
		Env: append([]string{"GOTRACEBACK=none", "GOMAXPROCS=2"}, systemEnv()...)}
	err = w.cmd.Start()
	_, _ = childIn.Close(), childOut.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start parser: %w", err), in.Close(), out.Close())
	}
	if groups != nil {
		w.group = groups.place(w.cmd.Process.Pid, memory)
	}
	go func() {
		_ = w.cmd.Wait() // exitError reports how it ended
		if w.group != nil {
			w.oom = w.group.exceeded()
			_ = w.group.remove() // else the next start does
		}
		close(w.exited)
	}()
	return w, nil
}

// sinceReply returns the processor time that an ended child used after its last reply.
func (w *worker) sinceReply() time.Duration {
	return w.cmd.ProcessState.UserTime() + w.cmd.ProcessState.SystemTime() - w.used
}

// timeFailure returns the error of a document that reached its time limit. If it used little processor time, the machine is the cause.
func timeFailure(used, limit time.Duration) error {
	if used < limit/4*3 {
		return errOverloaded
	}
	return errTime
}

// ended reports whether the child has ended.
func (w *worker) ended() bool {
	select {
	case <-w.exited:
		return true
	default:
		return false
	}
}

// stop ends the child and does not wait for it.
func (w *worker) stop() {
	_ = w.in.Close()
	_ = w.cmd.Process.Kill() // it may have ended already
	_ = w.out.Close()
}

// kill kills the child and records the cause, unless one is recorded already.
func (w *worker) kill(cause error) {
	w.cause.CompareAndSwap(nil, &cause)
	_ = w.cmd.Process.Kill()
}

// parse parses a document in the child. The error is a [*fault.Error] of the document, or the reason why the child ended.
func (w *worker) parse(ctx context.Context, name string, data []byte, limits parse.Limits) (parse.Parsed, error) {
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.watch(ctx, limits.Time+grace, done)
	}()
	kind, used, body, err := w.roundTrip(name, data, limits)
	close(done)
	<-watched
	if err != nil {
		return parse.Parsed{}, w.exitError(ctx, err)
	}
	if kind == replyTimeout {
		return parse.Parsed{}, errTime
	}
	w.used = used
	if kind == replyParsed {
		p, err := decode(body, limits)
		if err != nil {
			return p, fmt.Errorf("%w: %w", errCrashed, err)
		}
		return p, nil
	}
	return parse.Parsed{}, readFailure(body)
}

// watch kills the child when it exceeds a limit.
func (w *worker) watch(ctx context.Context, limit time.Duration, done <-chan struct{}) {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			w.kill(ctx.Err())
			return
		case <-timeout.C:
			w.kill(errTime)
			return
		case <-tick.C:
			if resident(w.cmd.Process.Pid) > w.memory {
				w.kill(errMemory)
				return
			}
		}
	}
}

// exitError returns the reason why the child ended while it parsed a document.
func (w *worker) exitError(ctx context.Context, err error) error {
	_ = w.cmd.Process.Kill() // it may have closed its output and still run
	<-w.exited
	if cause := w.cause.Load(); cause != nil {
		return *cause
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errReplaced):
		return err
	case w.oom, w.cmd.ProcessState.ExitCode() == exitMemory, w.stderr.has("out of memory", "cannot allocate memory", "stack exceeds"):
		return errMemory
	case exceededCPU(w.cmd.ProcessState), w.stderr.has("SIGXCPU"):
		return errTime
	}
	return fmt.Errorf("%w: %s: %w", errCrashed, w.cmd.ProcessState, err)
}

// request is the header before a document's bytes.
type request struct {
	Name    string
	Limits  parse.Limits
	Memory  int64
	Bytes   int
	Version uint64
}

// The kinds of a reply.
const (
	replyParsed  = 'p'
	replyFailed  = 'f'
	replyTimeout = 't' // the document's time limit was reached
)

// replyHeader is the size of the header of a reply: the child's version, the kind of the reply, the size of the body, and the processor time
// that the child has used.
const replyHeader = 8 + 1 + 8 + 8

// roundTrip sends a document and reads the reply, up to the largest size for these limits.
func (w *worker) roundTrip(name string, data []byte, limits parse.Limits) (kind byte, used time.Duration, body []byte, err error) {
	header, err := json.Marshal(request{name, limits, w.memory, len(data), version})
	if err != nil {
		return 0, 0, nil, err
	}
	if err := writeAll(w.in, binary.BigEndian.AppendUint32(nil, uint32(len(header))), header, data); err != nil {
		return 0, 0, nil, fmt.Errorf("send document: %w", err)
	}
	var start [replyHeader]byte
	if _, err := io.ReadFull(w.out, start[:]); err != nil {
		return 0, 0, nil, fmt.Errorf("read reply: %w", err)
	}
	if binary.BigEndian.Uint64(start[:]) != version {
		return 0, 0, nil, errReplaced
	}
	n := binary.BigEndian.Uint64(start[9:])
	if n > uint64(maxReply(limits)) {
		return 0, 0, nil, fmt.Errorf("read reply: it has %d bytes", n)
	}
	body = make([]byte, n)
	if _, err := io.ReadFull(w.out, body); err != nil {
		return 0, 0, nil, fmt.Errorf("read reply: %w", err)
	}
	return start[8], time.Duration(binary.BigEndian.Uint64(start[17:])), body, nil
}

// joinedBytes is the maximum size of parts that are joined into one write, because each write wakes the reader.
const joinedBytes = 64 << 10

func writeAll(w io.Writer, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size <= joinedBytes {
		parts = [][]byte{slices.Concat(parts...)}
	}
	for _, p := range parts {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// failure is a document's error in a reply.
type failure struct {
	Code     fault.Code
	Message  string
	Pictures bool // it wraps parse.ErrPictures
}

// readFailure decodes the error of a document. An invalid reply means that the child failed.
func readFailure(body []byte) error {
	var f failure
	if json.Unmarshal(body, &f) != nil || len(f.Message) > 4096 || !slices.Contains(fault.Codes(), f.Code) {
		return fmt.Errorf("%w: its reply is not valid", errCrashed)
	}
	if f.Pictures {
		return fault.Wrap(f.Code, parse.ErrPictures, "%s", f.Message)
	}
	return fault.New(f.Code, "%s", f.Message)
}
