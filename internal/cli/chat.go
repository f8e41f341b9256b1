package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/chat"
	"github.com/sluice-rag/sluice/internal/config"
)

type chatCmd struct {
	config.Store
	config.Ingest
	config.Runs
	config.Models
	config.Cache
	config.Files
	config.Keep
	Server string   `placeholder:"URL" help:"Server to talk to; without it, the one that has the data folder open, or one that is started for as long as you talk."`
	Use    []string `placeholder:"NAME" help:"Collection to ask at first, in place of --collection; give it once for each."`
	Mode   string   `default:"medium" enum:"low,medium,high,dev" help:"How much is done to find an answer: low, one search; medium and high, tools are chosen, for two rounds or until enough is found; dev, as low with the trace."`
	Chat   string   `name:"chat-model" placeholder:"NAME" help:"Model that answers, of those that the server has."`
}

// historyFile keeps what was typed, in the data folder.
const historyFile = "chat_history"

// Run talks.
func (c *chatCmd) Run(e *env) (err error) {
	o := chat.Options{Server: c.Server, Collections: c.Use, Effort: c.Mode, Model: c.Chat, In: e.In, Out: e.Out, Err: e.Err,
		ColourOut: coloured(e.Out), ColourSteps: coloured(e.Err)}
	if len(o.Collections) == 0 {
		o.Collections = []string{e.cfg.Store.Collection}
	}
	if err := os.MkdirAll(e.cfg.Store.Data, 0o700); err == nil {
		o.History = filepath.Join(e.cfg.Store.Data, historyFile)
	}
	if o.Server == "" {
		o.Server, _ = running(e.ctx, e.cfg.Store.Data)
	}
	if o.Server == "" {
		url, stop, err := within(e)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		o.Server = url
	} else if len(e.cfg.Ingest.Docs) > 0 {
		fmt.Fprintln(e.Err, "the documents of --docs are not read: there is a server already, which reads its own")
	}
	if err = chat.Run(e.ctx, o); errors.Is(err, chat.ErrFailed) {
		return exit(1)
	}
	return err
}

// within starts a server inside the process, on an address that other programs of this machine find in the data folder. Its log would be
// written over the conversation.
func within(e *env) (url string, stop func() error, err error) {
	quiet := *e
	quiet.logger = slog.New(slog.DiscardHandler)
	if !chat.Terminal(e.In, e.Out, os.Environ()) {
		quiet.logger = newLogger(config.Log{LogLevel: "error", LogFormat: e.cfg.Log.LogFormat}, e.Err)
	}
	a, err := app.Open(e.ctx, e.cfg, quiet.logger)
	if err != nil {
		return "", nil, err
	}
	fail := func(err error) (string, func() error, error) { return "", nil, errors.Join(err, a.Close()) }
	a.KeepVectors()
	if len(e.cfg.Ingest.Docs) > 0 {
		report, err := ingestPaths(quiet.ctx, &quiet, a, e.cfg.Ingest.Docs)
		if err != nil {
			return fail(err)
		}
		for _, f := range report.Failed {
			fmt.Fprintf(e.Err, "not indexed: %s: %s\n", shorten(f.Path, 200), shorten(f.Reason, 200))
		}
	}
	if err := a.OpenFiles(e.ctx); err != nil {
		return fail(err)
	}
	s, err := a.Server(version())
	if err != nil {
		return fail(err)
	}
	l, err := new(net.ListenConfig).Listen(e.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fail(fmt.Errorf("listen: %w", err))
	}
	if err := a.Recover(e.ctx, engine.Recovery{Fail: e.cfg.Start.Recover == "fail"}); err != nil {
		return fail(err)
	}
	url = "http://" + l.Addr().String()
	forget := announce(&quiet, url, s.Instance())
	// It stops when the conversation is over and not before, so that the last answer's end is heard.
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	return url, func() error {
		forget()
		cancel()
		return errors.Join(<-served, a.Close())
	}, nil
}
