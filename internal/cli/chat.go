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
	Server string   `placeholder:"URL" help:"Server to use. The default is the server that uses the data folder, or one that runs until the chat ends."`
	Use    []string `placeholder:"NAME" help:"Collection to ask, instead of --collection. Can be repeated."`
	Mode   string   `default:"medium" enum:"low,medium,high,dev" help:"Effort of an answer: low (one search), medium (up to two iterations of the agent), high (tools are chosen until the evidence suffices) or dev (low, with a trace)."`
	Chat   string   `name:"chat-model" placeholder:"NAME" help:"Model of the server that writes the answers."`
}

// historyFile is the name of the input history in the data folder.
const historyFile = "chat_history"

// Run starts the chat.
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
		url, stop, err := startServer(e)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		o.Server = url
	} else if len(e.cfg.Ingest.Docs) > 0 {
		fmt.Fprintln(e.Err, "--docs is ignored: a running server is used, which has its own documents")
	}
	if err = chat.Run(e.ctx, o); errors.Is(err, chat.ErrFailed) {
		return exit(1)
	}
	return err
}

// startServer starts a server in this process and announces it in the data folder. On a terminal its log is discarded, because it
// would overwrite the conversation.
func startServer(e *env) (url string, stop func() error, err error) {
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
	a.StartReembedding()
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
	withdraw := announce(&quiet, url, s.Instance())
	// The server continues after an interrupt until the chat has ended, so that the chat reads the end of the last answer.
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	return url, func() error {
		withdraw()
		cancel()
		return errors.Join(<-served, a.Close())
	}, nil
}
