// Package cli implements the commands of the program.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/sluice-rag/sluice/internal/config"
)

// Streams are the standard streams of the program.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

type program struct {
	config.File
	config.Log
	HelpAll     helpAllFlag      `name:"help-all" help:"Show the help with all settings."`
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`

	Serve     serveCmd     `cmd:"" help:"Index documents and answer questions over HTTP."`
	Ask       askCmd       `cmd:"" help:"Ask a question and show the steps, the answer and its sources."`
	Chat      chatCmd      `cmd:"" help:"Chat about the documents in the terminal."`
	MCP       mcpCmd       `cmd:"" name:"mcp" help:"Serve the documents to an assistant or IDE by the Model Context Protocol, over standard input and output."`
	Ingest    ingestCmd    `cmd:"" help:"Add files and folders to a collection."`
	Parse     parseCmd     `cmd:"" help:"Print the text that is extracted from a document."`
	Sources   sourcesCmd   `cmd:"" help:"Add, list, sync and remove sources, such as folders and websites, whose documents stay indexed."`
	Reconcile reconcileCmd `cmd:"" help:"Repair differences between the file database, the uploaded bytes and the index."`
	Migrate   migrateCmd   `cmd:"" help:"Copy a data folder and its engines to another data folder and its engines, and compare both."`
	Doctor    doctorCmd    `cmd:"" help:"Check the data folder and every engine of the settings, and say what is wrong."`
	Keys      keysCmd      `cmd:"" help:"Manage the API keys of a server."`
	Runs      runsCmd      `cmd:"" help:"List runs, the newest first."`
	Replay    replayCmd    `cmd:"" help:"Print the stream of a run."`
	Sessions  sessionsCmd  `cmd:"" help:"List, print and delete sessions, which are stored conversations."`
	Eval      evalCmd      `cmd:"" help:"Measure search, answers, citations and the cache on evaluation sets."`
	Calibrate calibrateCmd `cmd:"" help:"Fit the grades of passages to relevance judgements, or the confidence in answers to expected ones."`
	Tenants   tenantsCmd   `cmd:"" help:"List and delete tenants."`
	Models    modelsCmd    `cmd:"" help:"Check the configured models."`
	Prompts   promptsCmd   `cmd:"" help:"Write the built-in prompts to a folder."`
	Schema    schemaCmd    `cmd:"" help:"Print the JSON Schema of the frames of a protocol, or the AsyncAPI document of all protocols."`
	Conform   conformCmd   `cmd:"" help:"Check whether a server speaks a protocol."`
	Ledger    ledgerCmd    `cmd:"" help:"Show and move the credits of accounts."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// env is the environment of a command.
type env struct {
	ctx    context.Context
	cfg    config.Config
	logger *slog.Logger
	given  func(setting string) bool // reports whether the flag of a setting was given
	Streams
}

// exit is an error that sets the exit status and prints no message.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is an error of the command line that the parser does not find. The exit status is 2.
type usageError struct{ error }

// Unwrap returns the error without the status.
func (u usageError) Unwrap() error { return u.error }

// usagef returns a [usageError].
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Main runs the command line and returns the exit status: 0 for success, 1 for a failure, 2 for an invalid command line or
// invalid settings.
func Main(ctx context.Context, args []string, s Streams) (status int) {
	var p program
	var loader config.Loader
	done := false
	options := append(loader.Options(), kong.Name("sluice"), kong.Vars{"version": "sluice " + version()}, kong.Writers(s.Out, s.Err), kong.UsageOnError(),
		kong.Description("Answers questions about documents and streams every step."),
		kong.ConfigureHelp(helpOptions), kong.Help(shortHelp), kong.Exit(func(code int) { done, status = true, code }))
	parser, err := kong.New(&p, options...)
	if err != nil {
		fmt.Fprintln(s.Err, "sluice:", err)
		return 2
	}
	if len(args) == 0 {
		args = []string{"--help"}
	} else if args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	command, err := parser.Parse(args)
	if done {
		return status
	}
	if err != nil {
		fmt.Fprintln(s.Err, "sluice:", err, usageHint(err))
		return 2
	}
	cfg, err := loader.Load(&p, command.Selected().Target.Addr().Interface())
	if err != nil {
		fmt.Fprintln(s.Err, "sluice:", err)
		return 2
	}
	e := &env{ctx: ctx, cfg: cfg, logger: newLogger(cfg.Log, s.Err), given: loader.HasFlag, Streams: s}
	for _, problem := range loader.Unknown() {
		e.logger.Warn("unknown variable", "problem", problem)
	}
	noteOtherServer(e, command.Selected())
	err = inUseBy(e, command.Run(e))
	var quiet exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &quiet):
		return int(quiet)
	case ctx.Err() != nil && errors.Is(err, context.Canceled): // a signal
		err = errors.New("stopped")
	}
	fmt.Fprintln(s.Err, "sluice:", unreachable(err))
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}

// usageHint says what to do about an error of the command line.
func usageHint(err error) string {
	command := "sluice"
	if p, ok := errors.AsType[*kong.ParseError](err); ok && p.Context.Selected() != nil {
		command = p.Context.Selected().FullPath()
		argument, isArgument := strings.CutPrefix(err.Error(), "unexpected argument ")
		if isArgument && p.Context.Selected().Name == "serve" {
			return fmt.Sprintf("(to index a folder or file, use --docs %s)", argument)
		}
	}
	return fmt.Sprintf("(see %s --help)", command)
}

func newLogger(c config.Log, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.Level()}
	if c.LogFormat == "json" || c.LogFormat == "auto" && !isTerminal(w) {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// printLines prints values as JSON, one per line.
func printLines[T any](e *env, values ...T) error {
	enc := json.NewEncoder(e.Out)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// coloured reports whether w is a terminal that supports colours and NO_COLOR is not set (https://no-color.org).
func coloured(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// paint returns a function that colours text if w supports colours.
func paint(w io.Writer) func(code, text string) string {
	if !coloured(w) {
		return func(_, text string) string { return text }
	}
	return func(code, text string) string { return "\x1b[" + code + "m" + text + "\x1b[0m" }
}

// The SGR codes of the colours.
const (
	bold  = "1"
	green = "32"
	amber = "33"
	red   = "31"
)

// releaseVersion is set by the linker in release builds: see scripts/dist.sh.
var releaseVersion string

// version returns the version of the release, or that of the module, which go install and go build record.
func version() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case releaseVersion != "":
		return releaseVersion
	case !ok || info.Main.Version == "" || info.Main.Version == "(devel)":
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
