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
	Serve  benchServeCmd  `cmd:"" hidden:""`
}

type benchAskCmd struct {
	Questions int      `default:"200" help:"Questions asked, one after another."`
	Question  string   `default:"What happens to a slow reader?" help:"What is asked."`
	JSON      bool     `name:"json" help:"Print JSON."`
	Path      []string `arg:"" help:"Documents to ask about."`
}

// Run measures and prints.
func (c *benchAskCmd) Run(e *env) error {
	if c.Questions < 1 {
		return errors.New("bench: questions must be positive")
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	d, err := bench.Ask(e.ctx, exe, c.Path, c.Question, c.Questions)
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
		log, err := app.OpenLog(dir, e.cfg, e.logger)
		if err != nil {
			return err
		}
		defer log.Close()
		store = log
	}
	return bench.Serve(e.ctx, c.Side, c.Rate, store, c.Profile, e.In, e.Out)
}
