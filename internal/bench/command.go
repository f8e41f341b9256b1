package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/config"
)

// sluiceCommand is the first argument with which the program starts itself as the command sluice.
const sluiceCommand = "sluice"

type program struct {
	Stream streamCmd `cmd:"" help:"Measure delivery: synthetic runs through the real server, compared with a bare handler."`
	Soak   soakCmd   `cmd:"" help:"Stream for a long time to readers that stall, leave and return, and check that no event is lost and that the server releases everything."`
	Ask    askCmd    `cmd:"" help:"Measure latency: from a question to its first event, first token and last event."`
	Model  modelCmd  `cmd:"" help:"Measure what Sluice adds to the latency of a model's tokens, and how soon a model learns that a run was cancelled."`
	Scale  scaleCmd  `cmd:"" help:"Measure how many readers three servers serve compared with one, each with a fixed share of a processor. Needs Linux, root, NATS and PostgreSQL."`

	Collection collectionCmd `cmd:"" help:"Measure a collection of a given size: ingestion, memory, start, retrieval beside SQLite's FTS5, and answers."`

	StreamServer  streamServerCmd  `cmd:"" hidden:"" help:"Serve synthetic runs. Started by stream."`
	ModelProvider modelProviderCmd `cmd:"" hidden:"" help:"Serve a synthetic model, or a proxy in front of one. Started by model."`
}

// env is passed to each command.
type env struct {
	ctx context.Context
	exe string // this program
	cli.Streams
}

func (e *env) progress(text string) { fmt.Fprintln(e.Err, text) }

// Main runs the command line and returns the exit status: 0 for success, 1 for a failure, 2 for an invalid command line.
func Main(ctx context.Context, args []string, s cli.Streams) (status int) {
	if len(args) > 0 && args[0] == sluiceCommand {
		stop, err := startProfile(os.Getenv(profileEnv))
		if err != nil {
			fmt.Fprintln(s.Err, "sluice-bench:", err)
			return 1
		}
		defer stop()
		return cli.Main(ctx, args[1:], s)
	}
	fail := func(status int, err error) int {
		fmt.Fprintln(s.Err, "sluice-bench:", err)
		return status
	}
	exited := false
	parser, err := kong.New(&program{}, kong.Name("sluice-bench"), kong.Writers(s.Out, s.Err), kong.UsageOnError(),
		kong.Description("Measures the server on this machine."), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Exit(func(code int) { exited, status = true, code }))
	if err != nil {
		return fail(2, err)
	}
	command, err := parser.Parse(args)
	if exited {
		return status
	}
	if err != nil {
		return fail(2, err)
	}
	exe, err := os.Executable()
	if err == nil {
		err = command.Run(&env{ctx: ctx, exe: exe, Streams: s})
	}
	if err != nil {
		return fail(1, err)
	}
	return 0
}

type askCmd struct {
	Questions int      `default:"200" help:"Number of questions in each mode, asked one after another."`
	Question  string   `default:"What happens to a slow reader?" help:"Text of the question."`
	Mode      []string `default:"direct" enum:"direct,agentic" help:"Mode of the answers: direct, agentic or both."`
	Set       string   `type:"existingdir" placeholder:"DIR" help:"Folder of evaluation sets whose documents and questions are used instead."`
	Passages  int      `default:"0" help:"With --set: minimum number of passages. Missing passages are composed of sentences of the sets."`
	Data      string   `type:"path" placeholder:"DIR" help:"Folder that keeps the index. If it has files, nothing is indexed: name it with the same documents only."`
	Profile   string   `placeholder:"FILE" help:"With --data: write the CPU profile of the server, from its start, to this file."`
	JSON      bool     `name:"json" help:"Print JSON."`
	Path      []string `arg:"" optional:"" help:"Documents to ask about."`
}

// Run measures the latency of answers and prints it.
func (c *askCmd) Run(e *env) (err error) {
	switch {
	case c.Questions < 1:
		return errors.New("questions must be positive")
	case (c.Set == "") == (len(c.Path) == 0):
		return errors.New("name either documents or a folder of sets with --set")
	case c.Profile != "" && c.Data == "":
		return errors.New("profile needs a folder that keeps the index, with --data")
	}
	o := askOptions{paths: c.Path, questions: []string{c.Question}, times: c.Questions, modes: c.Mode, data: c.Data, profile: c.Profile}
	if c.Set != "" {
		g, err := grow(e.ctx, c.Set, c.Passages)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(g.dir)) }()
		o.paths, o.questions = []string{g.dir}, g.questions
	}
	d, err := measureAsk(e.ctx, e.exe, o)
	if err != nil {
		return err
	}
	return printResult(e, c.JSON, d)
}

// printResult writes a result as JSON or as a table.
func printResult(e *env, asJSON bool, v interface{ writeTable(io.Writer) error }) error {
	if !asJSON {
		return v.writeTable(e.Out)
	}
	enc := json.NewEncoder(e.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

type streamCmd struct {
	Load     []load        `sep:"," default:"1000x1x50" placeholder:"RUNSxREADERSxRATE" help:"Concurrent runs, readers of each run, and events per second of each run. Can be several loads, separated by commas. An empty value measures only idle readers."`
	Server   []string      `sep:"," enum:"net/http,net/http + channel,sluice + handlers,sluice + loops,write(2)" default:"net/http,net/http + channel,sluice + handlers,sluice + loops,write(2)" help:"Servers to compare."`
	Duration time.Duration `default:"10s" help:"Measured time of each turn (duration)."`
	Warmup   time.Duration `default:"3s" help:"Time before the measurement begins (duration)."`
	Turns    int           `default:"3" help:"Number of turns of each server."`
	Idle     []int         `sep:"," placeholder:"N" help:"Numbers of idle readers whose memory is measured, separated by commas."`
	Memory   bool          `help:"Keep the log in memory instead of in a folder."`
	Profile  string        `placeholder:"PREFIX" help:"Write the CPU profile of each server to a file whose name begins with PREFIX."`
	Plot     string        `type:"path" placeholder:"FILE" help:"Draw the result to this SVG file."`
	JSON     bool          `name:"json" help:"Print JSON."`
}

// Run measures delivery and prints the result.
func (c *streamCmd) Run(e *env) error {
	if c.Turns < 1 || c.Duration <= 0 || c.Warmup < 0 || slices.ContainsFunc(c.Idle, func(n int) bool { return n < 1 }) {
		return errors.New("--duration, --turns and --idle must be positive; --warmup must not be negative")
	}
	r, err := measureStreams(e.ctx, e.exe, c, e.progress)
	if err == nil && c.Plot != "" {
		err = writePlot(c.Plot, r.writePlot)
	}
	if err != nil {
		return err
	}
	return printResult(e, c.JSON, r)
}

// writePlot writes a plot to a file.
func writePlot(file string, write func(io.Writer) error) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

type modelCmd struct {
	Streams   int           `default:"100" help:"Number of concurrent answers."`
	Rate      float64       `default:"80" help:"Tokens per second of each answer."`
	Duration  time.Duration `default:"10s" help:"Measured time of each turn (duration)."`
	Warmup    time.Duration `default:"2s" help:"Time before the measurement begins (duration)."`
	Turns     int           `default:"3" help:"Number of turns of each server; 0 skips the streams."`
	Cancels   int           `default:"100" help:"Number of answers that are cancelled; 0 skips this measurement."`
	Questions int           `default:"50" help:"Number of questions asked while the first model is down, one after another and then concurrently; 0 skips this measurement."`
	Log       string        `placeholder:"URL" help:"Address of NATS: measure three servers, too, that share the run log there."`
	Profile   string        `placeholder:"FILE" help:"Write the CPU profile of the Sluice server that relays the streams to this file."`
	JSON      bool          `name:"json" help:"Print JSON."`
}

// Run measures the relay of a model's tokens and prints the result.
func (c *modelCmd) Run(e *env) error {
	if c.Streams < 1 || c.Rate <= 0 || c.Duration <= 0 || c.Warmup < 0 || c.Turns < 0 || c.Cancels < 0 || c.Questions < 0 {
		return errors.New("streams, rate and duration must be positive; the other values must not be negative")
	}
	r, err := measureModel(e.ctx, e.exe, c, e.progress)
	if err != nil {
		return err
	}
	return printResult(e, c.JSON, r)
}

// modelProviderCmd runs the process of a synthetic provider, or of a proxy in front of one.
type modelProviderCmd struct {
	Rate   float64
	Tokens int
	Proxy  []string // the proxy distributes requests among these
}

// Run serves until standard input ends.
func (c *modelProviderCmd) Run(e *env) error {
	cli.TuneRuntime()
	if len(c.Proxy) > 0 {
		return serveProxy(e.ctx, c.Proxy, e.In, e.Out)
	}
	return serveProvider(e.ctx, c.Rate, c.Tokens, e.In, e.Out)
}

// streamServerCmd runs the process of one measured server.
type streamServerCmd struct {
	Server     string
	Rate       float64
	Memory     bool
	Profile    string
	SendBuffer int
}

// Run serves until standard input ends.
func (c *streamServerCmd) Run(e *env) (err error) {
	cli.TuneRuntime()
	o := serverOptions{name: c.Server, rate: c.Rate, profile: c.Profile, sendBuffer: c.SendBuffer}
	if isSluice(c.Server) && !c.Memory {
		dir, err := os.MkdirTemp("", "sluice-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		log, err := app.OpenLog(dir, config.Default(), nil, slog.New(slog.NewTextHandler(e.Err, nil)))
		if err != nil {
			return err
		}
		defer log.Close()
		o.store = log
	}
	return serveStreams(e.ctx, o, e.In, e.Out)
}
