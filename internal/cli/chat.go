package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/chat"
	"github.com/sluice-rag/sluice/internal/config"
)

type chatCmd struct {
	serverOrOwn
	Use  []string `placeholder:"NAME" help:"Collection to ask. Can be repeated. Default: --collection, or without it all documents of the server."`
	Mode string   `default:"medium" enum:"low,medium,high,dev" help:"Effort of an answer: low (one search), medium (up to two iterations of the agent), high (tools are chosen until the evidence suffices) or dev (low, with a trace)."`
	Chat string   `name:"chat-model" placeholder:"NAME" help:"Model of the server that writes the answers."`

	Session   string `placeholder:"ID" xor:"session" help:"Session to continue. It is created if it does not exist. The default is a new one."`
	NoSession bool   `name:"no-session" xor:"session" help:"Do not store the conversation."`
}

// historyFile is the name of the input history in the data folder.
const historyFile = "chat_history"

// Run starts the chat.
func (c *chatCmd) Run(e *env) (err error) {
	o := chat.Options{Collections: c.Use, Effort: c.Mode, Model: c.Chat, Session: c.Session, NoSession: c.NoSession, In: e.In, Out: e.Out, Err: e.Err,
		ColourOut: coloured(e.Out), ColourSteps: coloured(e.Err)}
	if len(o.Collections) == 0 && e.cfg.Store.Collection != corpus.DefaultCollection { // otherwise the default of the server
		o.Collections = []string{e.cfg.Store.Collection}
	}
	if err := os.MkdirAll(e.cfg.Store.Data, 0o700); err == nil {
		o.History = filepath.Join(e.cfg.Store.Data, historyFile)
	}
	if c.Server != "" {
		if u, err := url.Parse(c.Server); err == nil && u.User == nil { // a password is not shown
			o.Flags = []string{"--server", c.Server}
		}
	} else if e.cfg.Store.Data != config.Default().Store.Data {
		o.Flags = []string{"--data", e.cfg.Store.Data}
	}
	own, at, err := c.open(e)
	if err != nil {
		return err
	}
	if own != nil {
		defer func() { err = errors.Join(err, own.stop()) }()
	}
	if err := ingestWith(e.ctx, e, own, at); err != nil {
		return err
	}
	o.Server, o.Key = at.url, at.key.Reveal()
	if err = chat.Run(e.ctx, o); errors.Is(err, chat.ErrFailed) {
		return exit(1)
	}
	return err
}

// ownServer is a server in this process.
type ownServer struct {
	remote
	app  *app.App
	stop func() error
}

// ingestDocs indexes the documents of the settings, and tells which ones could not be read.
func ingestDocs(ctx context.Context, e *env, a *app.App) error {
	if len(e.cfg.Ingest.Docs) == 0 {
		return nil
	}
	show, done := newProgress(e, "indexing")
	_, report, err := ingestPaths(ctx, a, e.cfg.Ingest.Docs, false, show)
	done()
	e.printFailures(report.Failed, len(report.Failed))
	return err
}

// ingestWith indexes the documents of the settings in the server of this process, or those of the flag --docs through one that runs already, if own is nil.
func ingestWith(ctx context.Context, e *env, own *ownServer, at remote) error {
	switch {
	case own != nil:
		return ingestDocs(ctx, e, own.app)
	case e.given("docs"):
		until := *e
		until.ctx = ctx
		return until.ingestThrough(at)
	}
	return nil
}

// serverOrOwn selects the server of a command that starts one if there is none.
type serverOrOwn struct {
	serverSettings
	Server string `placeholder:"URL" help:"Server to use. The default is the server that uses the data folder, or one that runs until the command ends."`
	keyFlag
}

// open returns the server. If it runs in this process, that is own, which the caller stops; otherwise own is nil.
func (c *serverOrOwn) open(e *env) (own *ownServer, at remote, err error) {
	if c.Server != "" && e.given("docs") {
		return nil, at, errDocsAndServer
	}
	at, ok := remote{url: c.Server}, c.Server != ""
	if !ok {
		at, ok = running(e.ctx, e.cfg.Store.Data)
	}
	if !ok {
		if own, at, err = openOrRunning(e.ctx, e, func() (*ownServer, error) { return startServer(e) }); err != nil {
			return nil, at, err
		}
	}
	if own != nil {
		return own, own.remote, nil
	}
	at = c.over(at)
	_, err = at.client()
	return nil, at, err
}

// startServer starts a server in this process and announces it in the data folder. On a terminal its log is discarded, because it
// would overwrite the conversation.
func startServer(e *env) (*ownServer, error) {
	quiet := *e
	quiet.logger = slog.New(slog.DiscardHandler)
	if !chat.Terminal(e.In, e.Out, os.Environ()) {
		quiet.logger = newLogger(config.Log{LogLevel: "error", LogFormat: e.cfg.Log.LogFormat}, e.Err)
	}
	shared, err := app.OpenShared(e.ctx, e.cfg, quiet.logger)
	if err != nil {
		return nil, err
	}
	token, instance := newToken(), rand.Text()
	keys, err := app.HasKeys(e.ctx, e.cfg.Store)
	if err == nil {
		err = shared.OpenAccess(e.ctx, token, keys)
	}
	if err != nil {
		return nil, errors.Join(err, shared.Close())
	}
	tenants, err := app.OpenTenants(e.ctx, shared, version(), instance)
	if err != nil {
		return nil, errors.Join(err, shared.Close())
	}
	closeAll := func() error { return errors.Join(tenants.Close(), shared.Close()) }
	fail := func(err error) (*ownServer, error) { return nil, errors.Join(err, closeAll()) }
	a := tenants.Default
	l, err := new(net.ListenConfig).Listen(e.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fail(fmt.Errorf("listen: %w", err))
	}
	if err := a.Recover(e.ctx, engine.Recovery{Fail: e.cfg.Start.Recover == "fail"}); err != nil {
		return fail(err)
	}
	at := remote{"http://" + l.Addr().String(), config.Secret(token)}
	withdraw := announce(&quiet, serverInfo{at.url, instance, token})
	// The server continues after an interrupt until the chat has ended, so that the chat reads the end of the last answer.
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	served := make(chan error, 1)
	go func() { served <- tenants.Front(shared.Access.Handler).Serve(ctx, l) }()
	return &ownServer{at, a, func() error {
		withdraw()
		cancel()
		return errors.Join(<-served, closeAll())
	}}, nil
}
