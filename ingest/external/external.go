// Package external reads documents with other programs: scanned pages and pictures with tesseract, and files of further types with commands
// that the operator names. It wraps a parser, which it asks first.
//
// A program runs in a process group of its own with an empty environment except for PATH, and is killed when it exceeds its time or output.
// On Linux, its address space, processor time and files are limited, and it ends with this process.
package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// Parser parses a document as [parse.Parse] does.
type Parser func(ctx context.Context, name string, data []byte, limits parse.Limits) (parse.Parsed, error)

// Options configure a [Reader]. The zero value reads scanned pages with all languages that are installed.
type Options struct {
	NoOCR     bool
	Languages string        // of tesseract, such as "eng+deu"; default: all that are installed
	Time      time.Duration // limit of a document; default 10 minutes
	Memory    int64         // limit of the address space of a program in bytes; default 1 GiB
	Pages     int           // most pages of a scanned document; default 500
	// Commands are the programs of further file types, by the extension with its dot. A word {} is replaced by the path of the file. The
	// program prints the text, as Markdown or plain text in UTF-8.
	Commands map[string][]string
}

// Reader reads documents with other programs. Its methods may be called concurrently.
type Reader struct {
	opts  Options
	slots chan struct{} // of the programs that read pages
}

// New returns a reader.
func New(o Options) *Reader {
	if o.Time <= 0 {
		o.Time = 10 * time.Minute
	}
	if o.Memory <= 0 {
		o.Memory = 1 << 30
	}
	if o.Pages <= 0 {
		o.Pages = 500
	}
	return &Reader{opts: o, slots: make(chan struct{}, workers)}
}

// ParseCommands parses settings of the form ".djvu=djvutxt {}". A word is what spaces separate; there are no quotes.
func ParseCommands(settings []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, s := range settings {
		extension, command, _ := strings.Cut(s, "=")
		words := strings.Fields(command)
		if extension = strings.ToLower(extension); !strings.HasPrefix(extension, ".") || len(words) == 0 {
			return nil, fmt.Errorf("%q is not of the form .EXTENSION=PROGRAM {}", s)
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, fmt.Errorf("the program of %s: %w", extension, err)
		}
		out[extension] = words
	}
	return out, nil
}

// Wrap returns a parser that reads the files of the commands with them, asks next for all others, and reads those with tesseract of which
// next says that they are pictures or scanned pages: see [parse.ErrPictures].
func (r *Reader) Wrap(next Parser) Parser {
	return func(ctx context.Context, name string, data []byte, limits parse.Limits) (parse.Parsed, error) {
		limits = limits.WithDefaults()
		read := r.recognise
		if command := r.opts.Commands[strings.ToLower(filepath.Ext(name))]; command != nil {
			if len(data) > limits.Bytes {
				return parse.Parsed{}, fault.New(fault.TooLarge, "%s: larger than the limit of %d bytes", parse.PrintableName(name), limits.Bytes)
			}
			read = func(ctx context.Context, path, name string, data []byte, limits parse.Limits) (parse.Parsed, error) {
				return r.command(ctx, command, path, name, limits, next)
			}
		} else if p, err := next(ctx, name, data, limits); r.opts.NoOCR || !errors.Is(err, parse.ErrPictures) {
			return p, err
		}
		dir, err := os.MkdirTemp("", "sluice-read-")
		if err != nil {
			return parse.Parsed{}, fault.Wrap(fault.Internal, err, "%s: cannot be read", parse.PrintableName(name))
		}
		defer func() { _ = os.RemoveAll(dir) }()
		path := filepath.Join(dir, "document"+strings.ToLower(filepath.Ext(filepath.Base(name))))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return parse.Parsed{}, fault.Wrap(fault.Internal, err, "%s: cannot be read", parse.PrintableName(name))
		}
		within, cancel := context.WithTimeout(ctx, r.opts.Time)
		defer cancel()
		p, err := read(within, path, name, data, limits)
		return p, r.explain(ctx, within, name, err)
	}
}

// explain returns the error for the caller. A document that took too long would again.
func (r *Reader) explain(outer, within context.Context, name string, err error) error {
	_, explained := errors.AsType[*fault.Error](err)
	switch {
	case err == nil || outer.Err() != nil:
		return errors.Join(outer.Err())
	case within.Err() != nil:
		return fault.Wrap(fault.TooLarge, parse.ErrExhausted, "%s: reading it took longer than %s", parse.PrintableName(name), r.opts.Time)
	case explained:
		return err
	}
	return fault.New(fault.InvalidRequest, "%s: %s", parse.PrintableName(name), err)
}

// command reads a file with the program of its type.
func (r *Reader) command(ctx context.Context, words []string, path, name string, limits parse.Limits, next Parser) (parse.Parsed, error) {
	args := make([]string, len(words)-1)
	for i, w := range words[1:] {
		args[i] = strings.ReplaceAll(w, "{}", path)
	}
	out, err := r.run(ctx, limits.Text, words[0], args...)
	if err != nil {
		return parse.Parsed{}, err
	}
	return next(ctx, name+".md", out, limits)
}

// run runs a program and returns what it prints, of which it prints at most a number of bytes.
func (r *Reader) run(ctx context.Context, most int, program string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, program, args...) //nolint:gosec // the operator chose the program
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "OMP_THREAD_LIMIT=1", "LC_ALL=C.UTF-8"}
	c.SysProcAttr = attributes()
	c.Cancel = func() error { return killGroup(c.Process) }
	c.WaitDelay = time.Second
	var problem tail
	c.Stderr = &problem
	pipe, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("%s could not be started: %w", filepath.Base(program), errors.Unwrap(err))
	}
	limitProcess(c.Process.Pid, r.opts.Memory, r.opts.Time)
	out, err := io.ReadAll(io.LimitReader(pipe, int64(most)+1))
	if len(out) > most {
		_ = killGroup(c.Process)
		_ = c.Wait()
		return nil, fault.New(fault.TooLarge, "%s printed more than %d bytes", filepath.Base(program), most)
	}
	if e := c.Wait(); e != nil {
		return nil, fmt.Errorf("%s failed: %w%s", filepath.Base(program), e, problem.line())
	}
	return out, err
}

// tail keeps the beginning of what a program prints to its standard error.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.Buffer.Write(p[:min(len(p), max(0, 4096-t.Len()))])
	return len(p), nil
}

// line returns the first line, without the path of the file.
func (t *tail) line() string {
	line, _, _ := strings.Cut(strings.TrimSpace(t.String()), "\n")
	if line == "" || strings.Contains(line, os.TempDir()) {
		return ""
	}
	return ": " + parse.PrintableName(line)
}
