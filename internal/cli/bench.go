package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/bench"
)

type benchCmd struct {
	Stream benchStreamCmd `cmd:"" help:"Delivery: synthetic runs through the real server, beside a bare handler."`
	Ask    benchAskCmd    `cmd:"" help:"Delay: from a question to its first event, first token and end."`
	Model  benchModelCmd  `cmd:"" help:"Models: what is added to the way of a model's tokens, and how soon it learns that nobody reads them."`
	Serve  benchServeCmd  `cmd:"" hidden:""`

	Provider benchProviderCmd `cmd:"" hidden:""`
}

type benchAskCmd struct {
	Questions int      `default:"200" help:"Questions asked in each mode, one after another."`
	Question  string   `default:"What happens to a slow reader?" help:"What is asked."`
	Mode      []string `default:"direct" enum:"direct,agentic" help:"How the questions are answered: direct, agentic or both."`
	Set       string   `type:"existingdir" placeholder:"DIR" help:"Folder of evaluation sets, whose documents and questions are used instead."`
	Passages  int      `default:"0" help:"With --set: how many passages there are to be; those that lack are put together from sentences of the sets."`
	JSON      bool     `name:"json" help:"Print JSON."`
	Path      []string `arg:"" optional:"" help:"Documents to ask about."`
}

// Run measures and prints.
func (c *benchAskCmd) Run(e *env) (err error) {
	switch {
	case c.Questions < 1:
		return errors.New("bench: questions must be positive")
	case (c.Set == "") == (len(c.Path) == 0):
		return errors.New("bench: name documents, or a folder of sets with --set, and not both")
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	o := bench.AskOptions{Paths: c.Path, Questions: []string{c.Question}, Times: c.Questions, Modes: c.Mode}
	if c.Set != "" {
		g, err := bench.Grow(e.ctx, c.Set, c.Passages)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(g.Dir)) }()
		o.Paths, o.Questions = []string{g.Dir}, g.Questions
	}
	d, err := bench.Ask(e.ctx, exe, o)
	if err != nil {
		return err
	}
	return printResult(e, c.JSON, d)
}

// printResult writes a result as JSON or as a table.
func printResult(e *env, asJSON bool, v interface{ WriteTable(io.Writer) error }) error {
	if !asJSON {
		return v.WriteTable(e.Out)
	}
	enc := json.NewEncoder(e.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

type benchStreamCmd struct {
	Runs     int           `default:"1000" help:"Runs at once."`
	Readers  int           `default:"1" help:"Readers of each run."`
	Rate     float64       `default:"50" help:"Events of each run (per second)."`
	Duration time.Duration `default:"10s" help:"Time that is counted, each turn (duration)."`
	Warmup   time.Duration `default:"3s" help:"Time before it (duration)."`
	Turns    int           `default:"3" help:"Turns of each side."`
	Idle     int           `default:"1000" help:"Waiting readers, for the memory of one; 0 leaves that out."`
	Memory   bool          `help:"Keep the log in memory and not in a folder."`
	Profile  string        `placeholder:"PREFIX" help:"Write each side's CPU profile to a file whose name begins so."`
	JSON     bool          `name:"json" help:"Print JSON."`
}

// Run measures and prints.
func (c *benchStreamCmd) Run(e *env) error {
	if c.Runs < 1 || c.Readers < 1 || c.Rate <= 0 || c.Turns < 1 || c.Idle < 0 || c.Duration <= 0 || c.Warmup < 0 {
		return errors.New("bench: runs, readers, rate, duration and turns must be positive, idle and warmup not negative")
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	r, err := bench.Stream(e.ctx, exe, []string{"bench", "serve"}, bench.Options{Runs: c.Runs, Readers: c.Readers, Rate: c.Rate,
		Warmup: c.Warmup, Duration: c.Duration, Turns: c.Turns, Idle: c.Idle, Memory: c.Memory, Profile: c.Profile,
		Progress: func(s string) { fmt.Fprintln(e.Err, s) }})
	if err != nil {
		return err
	}
	return printResult(e, c.JSON, r)
}

type benchModelCmd struct {
	Streams   int           `default:"100" help:"Answers at once."`
	Rate      float64       `default:"80" help:"Tokens of each answer (per second)."`
	Duration  time.Duration `default:"10s" help:"Time that is counted, each turn (duration)."`
	Warmup    time.Duration `default:"2s" help:"Time before it (duration)."`
	Turns     int           `default:"3" help:"Turns of each side; 0 leaves the streams out."`
	Cancels   int           `default:"100" help:"Answers that are broken off; 0 leaves that out."`
	Questions int           `default:"50" help:"Questions asked while the first model is dead, one after another and then at once; 0 leaves that out."`
	JSON      bool          `name:"json" help:"Print JSON."`
}

// Run measures and prints.
func (c *benchModelCmd) Run(e *env) error {
	if c.Streams < 1 || c.Rate <= 0 || c.Duration <= 0 || c.Warmup < 0 || c.Turns < 0 || c.Cancels < 0 || c.Questions < 0 {
		return errors.New("bench: streams, rate and duration must be positive, the others not negative")
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	r, err := bench.Model(e.ctx, exe, []string{"bench", "provider"}, bench.ModelOptions{Streams: c.Streams, Rate: c.Rate,
		Warmup: c.Warmup, Duration: c.Duration, Turns: c.Turns, Cancels: c.Cancels, Questions: c.Questions,
		Progress: func(s string) { fmt.Fprintln(e.Err, s) }})
	if err != nil {
		return err
	}
	return printResult(e, c.JSON, r)
}

// benchProviderCmd is the process of a model's provider, or of a proxy before one.
type benchProviderCmd struct {
	Rate   float64
	Tokens int
	Relay  string
}

// Run serves until the standard input ends.
func (c *benchProviderCmd) Run(e *env) error {
	tuneRuntime()
	if c.Relay != "" {
		return bench.Relay(e.ctx, c.Relay, e.In, e.Out)
	}
	return bench.Provide(e.ctx, c.Rate, c.Tokens, e.In, e.Out)
}

// benchServeCmd is the server's process of a measurement.
type benchServeCmd struct {
	Side    string
	Rate    float64
	Memory  bool
	Profile string
}

// Run serves until the standard input ends.
func (c *benchServeCmd) Run(e *env) (err error) {
	tuneRuntime()
	var store eventlog.Store
	if c.Side == bench.Sluice && !c.Memory {
		dir, err := os.MkdirTemp("", "sluice-bench-")
		if err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		defer os.RemoveAll(dir)
		log, err := app.OpenLog(dir, e.cfg, nil, e.logger)
		if err != nil {
			return err
		}
		defer log.Close()
		store = log
	}
	return bench.Serve(e.ctx, c.Side, c.Rate, store, c.Profile, e.In, e.Out)
}
