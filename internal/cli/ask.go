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

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
)

type askCmd struct {
	Server string `placeholder:"URL" help:"Server to ask. The default is the server that uses the data folder, or no server."`
	keyFlag
	Mode     string   `default:"agentic" enum:"direct,agentic" help:"Mode of the answer: direct (one search) or agentic (tools are chosen until the evidence suffices)."`
	TopK     int      `name:"top-k" default:"0" help:"Number of passages for the generator, 1 to 50; 0 is the default."`
	Method   string   `default:"hybrid" enum:"similarity,self_query,hybrid" help:"What is searched: similarity (vectors alone), self_query (words and vectors, among the documents that meet the conditions of the question, such as a date or an author) or hybrid (words and vectors)."`
	Filter   []string `sep:"none" placeholder:"CONDITION" help:"Only read documents whose metadata matches, such as creator~=Brook, date>=2024, type=pdf, language=en or path^=docs/reports/. A path begins with the name of the indexed folder. Operators: = != > >= < <=, ~= (contains the words) and ^= (starts with). Or a filter in JSON. All conditions must match if the flag is repeated."`
	NoCache  bool     `name:"no-cache" help:"Do not read or write the cache."`
	Use      []string `sep:"none" placeholder:"NAME" help:"Collection, vector store or file:ID to search, instead of the documents of --collection and all uploaded files. Can be repeated."`
	Session  string   `placeholder:"ID" help:"Session that the question continues. It is created if it does not exist."`
	JSON     bool     `name:"json" help:"Print the events of the forge protocol, one per line."`
	Display  string   `default:"auto" enum:"auto,rich,plain,json" help:"Output format: rich (a live panel), plain (lines), json (one object at the end) or auto (rich on a terminal, otherwise plain)."`
	Stream   bool     `help:"With --display json: print the state after each change, one object per line."`
	Question []string `arg:"" help:"The question."`
	tenantFlag

	answerSettings
}

// answerSettings are the settings of commands that answer questions in this process.
type answerSettings struct {
	indexSettings
	config.Runs
	config.Cache
}

// Run asks the question and prints the answer. The exit status is 1 if the run failed.
func (c *askCmd) Run(e *env) (err error) {
	q := forge.Request{Query: strings.Join(c.Question, " "), Mode: event.Mode(c.Mode), TopK: c.TopK, Collection: scopeOf(c.Use, e.cfg.Store.Collection),
		Method: event.Method(c.Method), NoCache: c.NoCache, SessionID: c.Session}
	if err := c.check(e, &q); err != nil {
		return usagef("ask: %w", err)
	}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	s, done, err := c.stream(ctx, e, q)
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

// check completes the question and checks it as a server does, before anything is opened. Its errors name the flags.
func (c *askCmd) check(e *env, q *forge.Request) (err error) {
	switch {
	case strings.TrimSpace(q.Query) == "":
		return errors.New("the question is empty")
	case c.Stream && c.Display != displayJSON:
		return errors.New("--stream requires --display json")
	case c.JSON && c.Display != "auto":
		return errors.New("--json cannot be combined with --display")
	case c.Server != "" && e.given("docs"):
		return errDocsAndServer
	}
	if q.Filter, err = filterOf(c.Filter); err != nil {
		return err
	}
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	_, err = forge.DecodeRequest(body, int(e.cfg.Runs.MaxQuery))
	if f, ok := errors.AsType[*fault.Error](err); ok && flagOf[f.Field] != "" {
		return fmt.Errorf("%s: %s", flagOf[f.Field], strings.TrimPrefix(f.Message, f.Field+": "))
	}
	return err
}

// flagOf returns how users give a field of a question.
var flagOf = map[string]string{"query": "question", "top_k": "--top-k", "session_id": "--session", "collection": "--use", "filter": "--filter"}

// filterOf returns the filter of conditions that all must match; nil for none.
func filterOf(conditions []string) (*filter.Filter, error) {
	var all []filter.Filter
	for _, c := range conditions {
		f, err := filter.ParseText("filter", c)
		if err != nil {
			return nil, err
		}
		if f != nil {
			all = append(all, *f)
		}
	}
	f := filter.Join(all...)
	return f, f.ValidateDocuments("filter")
}

// printEvents prints the events of a stream, one per line.
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

// stream asks a server, or an engine in this process. The caller calls done when it has read the stream.
func (c *askCmd) stream(ctx context.Context, e *env, q forge.Request) (s *client.Stream, done func() error, err error) {
	at, err := c.server(e, c.Server)
	if err != nil {
		return nil, nil, err
	}
	if at.url != "" {
		return c.askServer(ctx, e, at, q)
	}
	logger := e.logger
	if e.cfg.Log.Level() == slog.LevelInfo {
		// The display shows the warnings of the run. Log lines would repeat them in the middle of the answer.
		logger = newLogger(config.Log{LogLevel: "error", LogFormat: e.cfg.Log.LogFormat}, e.Err)
	}
	a, at, err := c.openOrRunning(ctx, e, func() (*app.App, error) { return c.openFolder(ctx, e, logger) })
	if err != nil {
		return nil, nil, err
	}
	if at.url != "" {
		return c.askServer(ctx, e, at, q)
	}
	release := limitServerMemory()
	err = ingestDocs(ctx, e, a)
	release()
	if err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	run, err := askLocal(ctx, a, event.Question{Query: q.Query, Mode: q.Mode, Collection: q.Collection,
		TopK: q.TopK, Method: q.Method, Filter: q.Filter, NoCache: q.NoCache, Session: q.SessionID})
	if err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	return client.NewStream(q.Query, localEvents(ctx, a, run)), a.Close, nil
}

// openFolder opens the data folder. It is only created if documents are indexed in it, or if they are elsewhere: a mistyped folder is an error.
func (c *askCmd) openFolder(ctx context.Context, e *env, logger *slog.Logger) (*app.App, error) {
	if len(e.cfg.Ingest.Docs) == 0 && e.cfg.Index.URL == "" {
		if err := exists(app.Folder(e.cfg.Store.Data, c.Tenant)); err != nil {
			return nil, err
		}
	}
	return c.open(ctx, e, logger)
}

// scopeOf returns the scope of a question. Without names it is the default of the server, unless another collection is configured.
func scopeOf(use []string, collection string) string {
	switch {
	case len(use) > 0:
		return strings.Join(use, ",")
	case collection == corpus.DefaultCollection:
		return ""
	}
	return collection + "," + files.Collection
}

// askLocal asks a question without a server. A session belongs to the account of requests without a key.
func askLocal(ctx context.Context, a *app.App, q event.Question) (event.RunID, error) {
	if q.Collection != "" {
		if err := a.CheckScope(ctx, q.Collection); err != nil {
			return "", fmt.Errorf("ask: %w", err)
		}
	}
	caller := engine.Caller{Protocol: forge.Name}
	if q.Session == "" {
		return a.Engine.Ask(ctx, q, caller)
	}
	caller.Account = auth.Owner
	run, _, err := a.Sessions.Ask(ctx, q, session.Turn{}, caller) // read to its end
	if fault.CodeOf(err) != fault.Conflict {
		return run, err
	}
	// No other process has the data folder open, so the turn in progress is one that an earlier process did not end.
	if err := a.Recover(ctx, engine.Recovery{Fail: true}); err != nil {
		return "", err
	}
	run, _, err = a.Sessions.Ask(ctx, q, session.Turn{}, caller)
	return run, err
}

// askServer asks a server when it is ready. The server that uses the data folder first indexes the documents of the flag --docs.
func (c *askCmd) askServer(ctx context.Context, e *env, at remote, q forge.Request) (*client.Stream, func() error, error) {
	if c.Server == "" && e.given("docs") {
		if err := e.ingestThrough(at); err != nil {
			return nil, nil, err
		}
	}
	at = c.over(at)
	cl, err := at.client()
	if err != nil {
		return nil, nil, err
	}
	if err := awaitReady(ctx, e, at.url); err != nil {
		return nil, nil, err
	}
	s := cl.Ask(ctx, q)
	return s, func() error { cancelRun(ctx, s); return nil }, nil
}

var errDocsAndServer = errors.New("--docs and --server exclude each other: the server has its own documents; \"sluice serve --docs\", or \"sluice ingest\" on its machine, adds some")

// ingestThrough has the server that uses the data folder index the documents of the flag --docs, and prints which ones could not be read.
func (e *env) ingestThrough(at remote) error {
	r, _, err := (&ingestCmd{Path: e.cfg.Ingest.Docs}).through(e, at)
	if err != nil {
		return err
	}
	e.printFailures(r.Failures, r.Failed)
	return failureOf(r)
}

// cancelRun cancels the run on the server if the command was interrupted. If the request fails, the run ends after the grace
// period of the server.
func cancelRun(ctx context.Context, s *client.Stream) {
	if ctx.Err() == nil || s.Run() == "" || s.Snapshot().Status.Final() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = s.Cancel(ctx)
}

// localEvents returns the events of a run as a client of a server receives them.
func localEvents(ctx context.Context, a *app.App, run event.RunID) iter.Seq2[client.Event, error] {
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
