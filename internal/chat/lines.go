package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
)

// maxLine is the maximum length of an input line in bytes.
const maxLine = 1 << 20

// lineUI prints lines.
type lineUI struct {
	out     io.Writer
	in      *bufio.Scanner
	watched bool // the input is a terminal
	err     error
}

func (f *lineUI) print(text string) {
	if f.err == nil {
		_, f.err = fmt.Fprintln(f.out, display.Clean(text))
	}
}

// progress implements ui. It prints nothing, to avoid a line for each update.
func (f *lineUI) progress(string, float64) {}

// ask reads the answer from the next line if the input is a terminal. In a script the next line is not an answer.
func (f *lineUI) ask(_ context.Context, question string) bool {
	if !f.watched {
		return false
	}
	f.print(question + " [y/N]")
	return f.in.Scan() && strings.EqualFold(strings.TrimSpace(f.in.Text()), "y")
}

// runLines reads questions and commands from lines. It finishes each before it reads the next one.
func runLines(ctx context.Context, o Options) error {
	in := bufio.NewScanner(o.In)
	in.Buffer(nil, maxLine)
	keyboard, ok := o.In.(*os.File)
	f := &lineUI{out: o.Out, in: in, watched: ok && term.IsTerminal(int(keyboard.Fd()))}
	s, err := newConversation(o, f, 0)
	if err != nil {
		return err
	}
	if o.Session != "" {
		if err := s.resume(ctx, o.Session, false); err != nil {
			return fmt.Errorf("chat: continue session: %w", err)
		}
	}
	defer func() { fmt.Fprint(o.Err, s.farewell()) }()
	h, err := openHistory(o.History)
	if err != nil || !f.watched {
		h = &history{}
	}
	failed := false
	for ctx.Err() == nil {
		if f.watched {
			fmt.Fprint(o.Err, "› ")
		}
		if !in.Scan() {
			break
		}
		line := strings.TrimSpace(display.Clean(in.Text()))
		if line == "" {
			continue
		}
		_ = h.add(line) // the chat works without a history
		err := s.line(ctx, o, line)
		if errors.Is(err, errLeave) {
			break
		}
		if err != nil {
			failed = true
			text := reason(err)
			if _, unanswered := errors.AsType[*url.Error](err); unanswered {
				text = hostOf(o.Server) + ": " + text
			}
			fmt.Fprintln(o.Err, "! "+text)
		}
		if f.err != nil {
			return fmt.Errorf("chat: %w", f.err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("chat: read lines: %w", err)
	}
	if failed && !f.watched {
		return ErrFailed
	}
	return nil
}

// line runs a question or a command.
func (s *conversation) line(ctx context.Context, o Options, line string) error {
	if isCommand(line) {
		c, args, err := find(line)
		if err != nil {
			return err
		}
		return c.run(ctx, s, args)
	}
	answer, err := s.respond(ctx, line, func(stream *client.Stream) (client.Snapshot, error) {
		return display.Run(stream, display.NewPlain(o.Out, o.Err, display.PlainOptions{ColourOut: o.ColourOut, ColourSteps: o.ColourSteps}))
	})
	if err == nil && answer.Failure != nil {
		return errors.New("the answer is incomplete")
	}
	return err
}
