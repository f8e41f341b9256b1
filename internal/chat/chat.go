// Package chat implements the command sluice chat: a conversation with a server, on a terminal or as lines in a pipe. On a terminal,
// finished turns go to the scrollback, and the current answer is a live panel above the prompt.
package chat

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/client/display"
)

// Options are the options of [Run].
type Options struct {
	Server      string   // address of the server
	Key         string   // for the server; empty: none
	Collections []string // names or ids of vector stores; empty is the default of the server
	Effort      string   // low, medium, high or dev; empty is medium
	Model       string   // empty is the first model of the server
	Session     string   // id of the session to continue; it is created if it does not exist. Empty: a new one
	NoSession   bool     // the conversation is not stored
	History     string   // file of the input history; empty keeps none
	Flags       []string // flags of the command that continues the session, besides --session; it is shown at the end

	In       io.Reader
	Out, Err io.Writer
	Env      []string // as [os.Environ]; nil is the environment of the process
	// ColourOut and ColourSteps enable colours of lines on Out and Err.
	ColourOut, ColourSteps bool
	Now                    func() time.Time // default: [time.Now]
}

// ErrFailed reports that a question or command failed in a pipe. The error itself was printed.
var ErrFailed = errors.New("chat: a question or command failed")

// Terminal reports whether in and out are a terminal with cursor control, on which Run shows its full interface.
func Terminal(in io.Reader, out io.Writer, env []string) bool {
	f, ok := in.(*os.File)
	return ok && display.Capable(f, env) && display.Capable(out, env)
}

// Run runs the chat until the user leaves, the input ends, or ctx is cancelled.
func Run(ctx context.Context, o Options) error {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if Terminal(o.In, o.Out, o.Env) {
		return runTerminal(ctx, o)
	}
	return runLines(ctx, o)
}

// ui shows text to the user and asks questions. Its methods are safe for concurrent use and remove control sequences from their
// arguments.
type ui interface {
	// print writes text permanently, above the live panel.
	print(text string)
	// progress shows the current task, and the completed share from 0 to 1. A negative share is unknown.
	progress(text string, share float64)
	// ask asks a yes-or-no question. The answer is no if nobody can answer, or if the context ends.
	ask(ctx context.Context, question string) bool
}

// interactiveRetries is the number of reconnection attempts while a user watches, who can stop them. With the backoff of the client
// they take some ten minutes.
const interactiveRetries = 60

// connState holds the state of the connection to the server.
type connState struct {
	mu    sync.Mutex
	fault string    // why the connection failed; empty if it works
	next  time.Time // time of the next attempt; zero if there is none
}

func (l *connState) set(fault string, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault, l.next = fault, next
}

func (l *connState) get() (fault string, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault, l.next
}
