// Package cli is the command line: one file for each command, and what they share.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/sluice-rag/sluice/internal/config"
)

// Streams are the program's own.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

type program struct {
	config.File
	config.Log
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`

	Serve     serveCmd     `cmd:"" help:"Index documents and answer questions over HTTP."`
	Ask       askCmd       `cmd:"" help:"Ask a question: the steps as they happen, then the answer with its sources."`
	Chat      chatCmd      `cmd:"" help:"Talk with the documents in the terminal: questions that follow each other, uploads, collections."`
	Ingest    ingestCmd    `cmd:"" help:"Add files and folders to a collection."`
	Reconcile reconcileCmd `cmd:"" help:"Repair differences between the file database, the uploaded bytes and the index."`
	Runs      runsCmd      `cmd:"" help:"List runs, the newest first."`
	Replay    replayCmd    `cmd:"" help:"Print a run's stream again."`
	Eval      evalCmd      `cmd:"" help:"Measure search, answers and citations on sets of questions, by words, vectors and both, or by mode."`
	Calibrate calibrateCmd `cmd:"" help:"Fit the grading of passages to questions whose passages were judged."`
	Models    modelsCmd    `cmd:"" help:"What models can do."`
	Prompts   promptsCmd   `cmd:"" help:"Write the prompts that models are asked with to a folder, to be read and replaced."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// env is what a command runs in.
type env struct {
	ctx    context.Context
	cfg    config.Config
	logger *slog.Logger
	Streams
}

// exit is an error that says all it has to say by its status.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Main runs the command line and gives the exit status: 0, 1 for a failure, 2 for a command line or settings that are
// wrong.
func Main(ctx context.Context, args []string, s Streams) (status int) {
	var p program
	var loader config.Loader
	done := false
	options := append(loader.Options(), kong.Name("sluice"), kong.Vars{"version": "sluice " + version()}, kong.Writers(s.Out, s.Err), kong.UsageOnError(),
		kong.Description("Answers questions over documents and streams everything it does while it does it."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Exit(func(code int) { done, status = true, code }))
	parser, err := kong.New(&p, options...)
	if err != nil {
		fmt.Fprintln(s.Err, "sluice:", err)
		return 2
	}
	command, err := parser.Parse(args)
	if done {
		return status
	}
	if err != nil {
		fmt.Fprintln(s.Err, "sluice:", err)
		return 2
	}
	cfg, err := loader.Load(&p, command.Selected().Target.Addr().Interface())
	if err != nil {
		fmt.Fprintln(s.Err, "sluice:", err)
		return 2
	}
	e := &env{ctx: ctx, cfg: cfg, logger: newLogger(cfg.Log, s.Err), Streams: s}
	for _, problem := range loader.Misspelled() {
		e.logger.Warn("unknown variable", "problem", problem)
	}
	err = command.Run(e)
	var quiet exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &quiet):
		return int(quiet)
	}
	fmt.Fprintln(s.Err, "sluice:", err)
	return 1
}

func newLogger(c config.Log, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.Level()}
	if c.LogFormat == "json" || c.LogFormat == "auto" && !isTerminal(w) {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// isTerminal tells whether a person is at the other end.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// coloured tells whether w is a terminal that shows colours and nobody has asked for none (https://no-color.org).
func coloured(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// paint gives what wraps text in a colour where w shows any.
func paint(w io.Writer) func(code, text string) string {
	if !coloured(w) {
		return func(_, text string) string { return text }
	}
	return func(code, text string) string { return "\x1b[" + code + "m" + text + "\x1b[0m" }
}

// The colours used.
const (
	bold  = "1"
	green = "32"
	amber = "33"
	red   = "31"
)

// version is the module's, or that of the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(e *env) error {
	_, err := fmt.Fprintln(e.Out, "sluice", version())
	return err
}
