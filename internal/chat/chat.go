// Package chat is the program of `sluice chat`: questions that follow each other, asked of a server and answered in a terminal, or in lines that a
// pipe can carry. Finished turns go into the terminal's scrollback; the answer that is being written is a live panel over the prompt.
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

// Options say what is talked to, and where.
type Options struct {
	Server      string   // its address
	Collections []string // names or ids of the vector stores that are asked at first; none: the server's default
	Effort      string   // low, medium, high or dev; empty: medium
	Model       string   // empty: the server's first
	History     string   // the file that keeps what was typed; empty: it is not kept

	In       io.Reader
	Out, Err io.Writer
	Env      []string // in the form of [os.Environ]; nil: the process's own
	// ColourOut and ColourSteps say of lines whether they may have colours: the answers on Out, and everything else on Err.
	ColourOut, ColourSteps bool
	Now                    func() time.Time // default: [time.Now]
}

// ErrFailed says that a question or a command in lines that nobody watches has failed, and was said to.
var ErrFailed = errors.New("chat: something failed")

// Terminal tells whether a terminal's program is shown, and not lines: both ends are a terminal that can move its cursor.
func Terminal(in io.Reader, out io.Writer, env []string) bool {
	f, ok := in.(*os.File)
	return ok && display.Capable(f, env) && display.Capable(out, env)
}

// Run talks until it is told to leave, the input ends, or the context does.
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

// face is what a person sees and answers by. Its methods may be called at once, and what they are given may hold anything: they clean it.
type face interface {
	// print leaves a text behind, above everything that changes.
	print(text string)
	// progress shows what is going on in place of what was before, and how much of it is done, 0..1; negative: nobody knows.
	progress(text string, share float64)
	// ask asks a question that is answered by yes or no; no where nobody is there to answer, or the context ends.
	ask(ctx context.Context, question string) bool
}

// patience is how many times in a row a connection is tried while somebody watches, who can stop it: with the client's growing waits, for some
// ten minutes.
const patience = 60

// link is what is known of the connection to the server.
type link struct {
	mu    sync.Mutex
	fault string    // why it is tried again, or was given up; empty: it is well
	next  time.Time // when it is tried again; zero: it is not
}

func (l *link) set(fault string, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault, l.next = fault, next
}

func (l *link) get() (fault string, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault, l.next
}
