package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
)

type askCmd struct {
	config.Store
	config.Runs
	config.Models
	config.Cache
	Server   string   `placeholder:"URL" help:"Server to ask; without it, the one that has the data folder open, or none."`
	Mode     string   `default:"agentic" enum:"direct,agentic" help:"How the question is answered: direct, with one search, or agentic, with tools chosen until the evidence suffices."`
	TopK     int      `name:"top-k" default:"0" help:"Passages given to the generator, 1 to 50; 0 is the default."`
	NoCache  bool     `name:"no-cache" help:"Answer anew: take nothing from the cache and keep nothing in it."`
	JSON     bool     `name:"json" help:"Print one event a line, as it goes over the wire."`
	Display  string   `default:"auto" enum:"auto,rich,plain,json" help:"How it is shown: rich, a live panel on a terminal; plain, lines; json, one object at the end. auto is rich on a terminal and plain elsewhere."`
	Stream   bool     `help:"With --display json: print the state as an object a line each time that it changes."`
	Question []string `arg:"" help:"The question."`
}

// Run asks and prints. The status is 1 when the run failed.
func (c *askCmd) Run(e *env) (err error) {
	q := forge.Request{Query: strings.Join(c.Question, " "), Mode: event.Mode(c.Mode), TopK: c.TopK, Collection: e.cfg.Store.Collection,
		NoCache: c.NoCache}
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if _, err := forge.DecodeRequest(body, int(e.cfg.Runs.MaxQuery)); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	switch {
	case c.Stream && c.Display != displayJSON:
		return errors.New("ask: --stream: goes with --display json alone")
	case c.JSON && c.Display != "auto":
		return errors.New("ask: --json: goes without --display")
	}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	s, done, err := c.source(ctx, e, q)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if c.JSON {
		return printEvents(e, s)
	}
	last, err := display.Run(s, newDisplay(e, c.Display, c.Stream, cancel))
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("stopped")
	case err != nil:
		return err
	}
	if last.Failure != nil {
		return exit(1)
	}
	return nil
}

// printEvents prints what the stream tells, an event a line.
func printEvents(e *env, s *client.Stream) error {
	for ev, err := range s.Events() {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(e.Out, "%s\n", ev.Data); err != nil {
			return err
		}
	}
	if s.Snapshot().Failure != nil {
		return exit(1)
	}
	return nil
}

// source gives the answer's stream: of a server, or of an engine in this process.
func (c *askCmd) source(ctx context.Context, e *env, q forge.Request) (*client.Stream, func() error, error) {
	url := c.Server
	if url == "" {
		url, _ = running(ctx, e.cfg.Store.Data)
	}
	if url != "" {
		return askServer(ctx, e, url, q)
	}
	logger := e.logger
	if e.cfg.Log.Level() == slog.LevelInfo {
		// What a run survives is shown as it happens; a log would say it again, in the middle of the answer.
		logger = newLogger(config.Log{LogLevel: "error", LogFormat: e.cfg.Log.LogFormat}, e.Err)
	}
	a, err := app.Open(ctx, e.cfg, logger)
	if errors.Is(err, app.ErrInUse) { // by a server that has not noted its address yet, as it seems
		if url, ok := awaitRunning(ctx, e.cfg.Store.Data); ok {
			return askServer(ctx, e, url, q)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	run, err := a.Engine.Ask(ctx, event.Question{Query: q.Query, Mode: q.Mode, Collection: q.Collection,
		TopK: q.TopK, NoCache: q.NoCache}, engine.Caller{Protocol: forge.Name})
	if err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	return client.NewStream(q.Query, local(ctx, a, run)), a.Close, nil
}

// askServer asks a server, once it can answer.
func askServer(ctx context.Context, e *env, url string, q forge.Request) (*client.Stream, func() error, error) {
	cl, err := client.New(url, client.Options{})
	if err != nil {
		return nil, nil, err
	}
	if err := awaitAnswers(ctx, e, url); err != nil {
		return nil, nil, err
	}
	s := cl.Ask(ctx, q)
	return s, func() error { stop(ctx, s); return nil }, nil
}

// stop tells the server that nobody wants the answer any more, where somebody has stopped the command. If that does not arrive, the run ends with the
// server's grace period.
func stop(ctx context.Context, s *client.Stream) {
	if ctx.Err() == nil || s.Run() == "" || s.Snapshot().Status.Final() {
		return
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = s.Cancel(within)
}

// local gives a run's events as a client of a server would get them.
func local(ctx context.Context, a *app.App, run event.RunID) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		var frames []wire.Frame
		p := forge.Protocol{}.New()
		for batch, err := range a.Engine.Events(ctx, run, 0) {
			if err != nil {
				yield(client.Event{}, err)
				return
			}
			frames = p.Project(frames[:0], batch)
			for _, f := range frames {
				ev := client.Event{Run: string(run), Protocol: forge.Name, ID: f.ID.String(), Name: f.Event, Data: append(json.RawMessage(nil), f.Data...)}
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}
