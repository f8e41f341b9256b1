// Package app builds the running program from its settings. It is the only package that imports every back end.
//
// [OpenShared] opens what all tenants of a process share (shared.go): models (models.go), parsers, run slots. [Shared.Open] opens one
// tenant: vectors and reranking (vectors.go), the answer cache (cache.go), the run log, the index, ingestion and the engine (app.go).
// [App.OpenFiles] adds uploaded files (files.go), [App.Server] the HTTP server.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/auth"
	keydb "github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/engine/natspeers"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/scope"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/config"
	ledgerdb "github.com/sluice-rag/sluice/ledger/sqlstore"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/a2a"
	"github.com/sluice-rag/sluice/server/access"
	"github.com/sluice-rag/sluice/server/accounts"
	messages "github.com/sluice-rag/sluice/server/anthropic"
	"github.com/sluice-rag/sluice/server/delivery"
	"github.com/sluice-rag/sluice/server/ingestions"
	"github.com/sluice-rag/sluice/server/mcp"
	clients "github.com/sluice-rag/sluice/server/openai"
	"github.com/sluice-rag/sluice/server/rpc"
	"github.com/sluice-rag/sluice/server/sessions"
	"github.com/sluice-rag/sluice/session"
	sessiondb "github.com/sluice-rag/sluice/session/sqlstore"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/wire"
	wirea2a "github.com/sluice-rag/sluice/wire/a2a"
	"github.com/sluice-rag/sluice/wire/agui"
	"github.com/sluice-rag/sluice/wire/anthropic"
	"github.com/sluice-rag/sluice/wire/events"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/forrst"
	"github.com/sluice-rag/sluice/wire/knowledge"
	"github.com/sluice-rag/sluice/wire/openai"
	"github.com/sluice-rag/sluice/wire/ragevents"
	"github.com/sluice-rag/sluice/wire/turns"
	"github.com/sluice-rag/sluice/wire/uistream"
)

// Protocols returns the endpoint of each protocol, the default one first.
func Protocols() []server.Endpoint {
	return []server.Endpoint{
		{API: forge.API(), StreamPath: "/api/query/stream", ReplyPath: "/api/query"},
		{API: knowledge.API(), StreamPath: "/v1/responses", AlwaysOK: true, Misdirected: clients.Misdirected},
		{API: ragevents.API(), StreamPath: "/functions/v1/rag", OwnKeys: true},
		{API: turns.API(), StreamPath: "/v1/rag/sessions/{id}/messages/stream", ReplyPath: "/v1/rag/sessions/{id}/messages", Session: true, FailureStatus: http.StatusInternalServerError},
		{API: openai.ChatAPI(), StreamPath: "/openai/v1/chat/completions", TaskModel: wire.ModelTask, RateHeaders: clients.RateHeaders},
		{API: openai.ResponsesAPI(), StreamPath: "/openai/v1/responses", AlwaysOK: true, RateHeaders: clients.RateHeaders},
		{API: uistream.API(), StreamPath: "/api/ai/chat", ResumePath: "/api/ai/chat/{id}/stream", StopPath: "/api/ai/chat/{id}/stop"},
		{API: anthropic.API(), StreamPath: messages.Prefix + "/messages", TaskModel: wire.ModelTask, RunHeader: messages.RequestID, RateHeaders: messages.RateHeaders},
		{API: agui.API(), StreamPath: "/agui", ResumePath: "/agui/{id}/stream", StopPath: "/agui/{id}/stop"},
		{API: wirea2a.API(), Path: a2a.Path},
		{API: forrst.API(), Path: rpc.Path},
		{API: events.API()},
	}
}

// Described returns the descriptions of the streams that are those of no endpoint.
func Described() []server.Description {
	return []server.Description{mcp.Description(), ingestions.Description()}
}

// Descriptions returns the descriptions of the streams of all protocols.
func Descriptions() (all []server.Description) {
	for _, e := range Protocols() {
		all = append(all, e.Description())
	}
	return append(all, Described()...)
}

// App is the open data folder of one tenant with the program over it. Close it when done.
type App struct {
	Tenant   string
	Config   config.Config // Store.Data is the folder of the tenant
	Models   *Models
	Engine   *engine.Engine
	Index    Index
	Log      RunLog
	Ingester *ingest.Ingester
	Registry *prometheus.Registry
	Failures *ingest.FailureStore // documents that are not parsed again
	Instance string               // of the server, in its health check; empty: random
	Live     func() int           // live runs in the health check; nil: those of Engine
	Now      func() time.Time     // of the health checks
	servers  *natspeers.Servers   // nil: it shares no work with others
	logger   *slog.Logger
	metrics  prometheus.Registerer // Registry; its series get the label tenant
	vectors  *vectors
	scopes   *scope.Reader // reads the index by the scopes of questions
	reranker rerank.Reranker
	files    uploads
	sources  *source.Service // nil before OpenFiles
	reserve  *reserve.File
	health   health
	cache    *cache.Cache // nil: answers are not cached
	ledger   *ledgerdb.Store

	limiter      *engine.Limiter
	calls        *rpc.Server // nil: no server was made
	callStore    *callStore
	Sessions     *session.Service
	sessionStore *sessiondb.Store

	indexing     atomic.Pointer[ingest.Progress] // nil: no indexing is in progress
	allIngesting *semaphore.Weighted             // [Shared.ingesting]
	ingesting    *semaphore.Weighted             // held during an ingestion of files that were not uploaded
	Docs         DocsIndexing                    // of all documents of the settings
	DocsChanges  DocsIndexing                    // of changes of them, with --watch

	access      *access.Access // nil: no logins
	keys        *keydb.Store   // nil: no keys
	records     *Records
	blobs       blobs.Tenants // nil: uploaded files are in the data folder
	tenants     *Tenants      // of the process; nil: this is not the default tenant of a server
	closeShared func() error  // nil: the caller closes it
}

// ErrInUse means that another process has the data folder open.
var ErrInUse = errors.New("the data folder is in use by another process")

// inUse returns [ErrInUse] if an error is that the log in a data folder is locked, and other errors as they are.
func inUse(data string, err error) error {
	if errors.Is(err, filelog.ErrLocked) {
		return fmt.Errorf("open %s: %w", data, ErrInUse)
	}
	return err
}

// Open opens the folder of a tenant and creates it if it does not exist. Runs that an earlier process did not end are left to
// [App.Recover].
func (s *Shared) Open(ctx context.Context, tenant string) (*App, error) {
	if err := auth.ValidateTenant(tenant); err != nil {
		return nil, err
	}
	m, cfg, logger, space := s.Models, s.Config, s.logger, s.reserve
	cached := int64(0) // the default of the log
	if tenant != auth.DefaultTenant {
		cached = tenantLogCache
		cfg.Store.Data = Folder(cfg.Store.Data, tenant)
		logger = logger.With("tenant", tenant)
	}
	if err := os.MkdirAll(cfg.Store.Data, 0o700); err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	log, err := s.openLog(ctx, tenant, cfg, cached, logger)
	if err != nil {
		return nil, inUse(cfg.Store.Data, err)
	}
	if err := space.Refill(); err != nil {
		logger.Warn("no disk space for the reserve file: questions and uploads are refused until there is", "error", err)
	}
	var ix Index
	err = space.Use(func() (err error) {
		ix, err = s.openIndex(ctx, tenant, cfg, space, logger)
		return err
	})
	if err != nil {
		err = fmt.Errorf("open index: %w", err)
		if fault.CodeOf(err) == fault.Conflict {
			err = fmt.Errorf("open %s: %w", cfg.Store.Data, ErrInUse)
		}
		return nil, errors.Join(err, log.Close())
	}
	v, err := openVectors(ctx, m, ix, cfg, logger)
	if err != nil {
		return nil, errors.Join(err, ix.Close(), log.Close())
	}
	a := &App{Tenant: tenant, access: s.Access, keys: s.keys, records: s.records, blobs: s.blobs, servers: s.servers, Config: cfg, Models: m, Index: ix, Log: log, Registry: prometheus.NewRegistry(), logger: logger, vectors: v, reserve: space, limiter: s.limiter,
		Now: time.Now, health: health{failed: map[string]bool{}}, ingesting: semaphore.NewWeighted(1), allIngesting: s.ingesting,
		scopes: scope.New(ix, files.Collection, scope.Options{Vectors: v.reembed, Collection: cfg.Store.Collection})}
	a.metrics = prometheus.WrapRegistererWith(prometheus.Labels{"tenant": tenant}, a.Registry)
	a.Failures, err = ingest.OpenFailureStore(filepath.Join(cfg.Store.Data, "failures.json"), int64(cfg.Parsing.ParseMemory), cfg.Parsing.ParseTime)
	if err != nil {
		return nil, errors.Join(err, v.close(), ix.Close(), log.Close())
	}
	a.Ingester = ingest.New(invalidatingIndex{ix, a}, v.embedder, ingest.Options{Workers: cfg.Ingest.Workers, MaxFileBytes: int64(cfg.Parsing.MaxFileBytes), Parse: s.parsers.Parse, Extensions: s.parsers.Extensions, Failures: a.Failures,
		Propositions: m.proposer(cfg.Ingest.Propose, logger), Entities: m.extractor(cfg.Ingest.Entities, logger), Logger: logger})
	a.reranker = s.reranker(tenant, v.embedder.Space)
	pipeline := &answer.Pipeline{MinConfidence: cfg.Runs.MinConfidence, HistoryTokens: cfg.Runs.HistoryTokens, Index: a.scopes, Vectors: a.scopes, Attributes: a.attributes, SourceAttributes: a.sourceAttributes, Collections: a.visibleCollections, Reranker: a.reranker,
		Budget: agent.Budget{Iterations: cfg.Runs.AgentIterations, Tokens: cfg.Runs.AgentTokens}}
	m.judge(cfg.Models, logger, pipeline)
	o := engine.Options{Store: log, Limiter: s.limiter, Deadline: cfg.Runs.Deadline,
		Grace: grace(cfg.Runs.Grace), Logger: logger, Ended: server.RunMetrics(a.metrics), Writer: m.describe, Scope: a.defaultScope, Permit: permit}
	if s.servers != nil {
		o.Peers = s.servers.Tenant(tenant)
	}
	if err := errors.Join(a.openCache(ctx, pipeline, &o), a.openLedger(ctx, &o), a.openSessions(ctx, &o), a.openCallStore(ctx, &o)); err != nil {
		return nil, errors.Join(err, a.closeCallStore(), a.closeSessions(), a.closeLedger(), a.closeCache(), v.close(), ix.Close(), log.Close())
	}
	a.Engine = engine.New(expiringAnswerer{ownKeyAnswerer{pipeline, m, cfg.Models, logger}, a}, o)
	a.Sessions.Bind(a.Engine)
	a.diskMetrics()
	return a, nil
}

// Recover resumes the runs that an earlier process did not end, or ends them: see [engine.Engine.Recover].
func (a *App) Recover(ctx context.Context, how engine.Recovery) error {
	n, err := a.Engine.Recover(ctx, how)
	if n.Resumed > 0 {
		a.logger.Info("interrupted runs are resumed", "runs", n.Resumed)
	}
	if n.Failed > 0 {
		a.logger.Warn("interrupted runs were ended", "runs", n.Failed)
	}
	if err != nil {
		return err
	}
	return a.Sessions.Recover(ctx, a.gone(a.server()))
}

// tenantLogCache is the approximate size of the ended runs in memory of each open tenant but the default one.
const tenantLogCache = 4 << 20

// grace returns the engine's option for the setting. Zero means at once in the setting, and the default in the option.
func grace(d time.Duration) time.Duration {
	if d == 0 {
		return time.Nanosecond
	}
	return d
}

// Warm loads the collection, so that the first question does not wait for that.
func (a *App) Warm(ctx context.Context, collection string) error {
	if _, err := a.Search(ctx, index.Query{Collection: collection, Text: "the first question", Limit: 1}); err != nil {
		return fmt.Errorf("warm collection: %w", err)
	}
	return nil
}

// Search is a hybrid search: it adds the vector of its text to the query. If the embedder fails, the search is lexical.
func (a *App) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	if p, err := a.vectors.reembed.SearchVector(ctx, q.Collection, q.Text, model.ForQuery); err == nil {
		q.Space, q.Vector, q.Weights = p.Space, p.Vector, p.Weights
	}
	return a.Index.Search(ctx, q)
}

// Server returns the HTTP server.
func (a *App) Server(version string) (*server.Server, error) {
	o := server.Options{Protocols: Protocols(), Forms: Forms(), Described: Described(), MaxBody: int64(a.Config.HTTP.MaxBody),
		MaxQuery: int(a.Config.Runs.MaxQuery), Heartbeat: a.Config.HTTP.Heartbeat, WriteTimeout: a.Config.HTTP.WriteTimeout,
		StreamWriter: delivery.WriterMode(a.Config.HTTP.StreamWriter), Drain: a.Config.HTTP.DrainTimeout, Logger: a.logger, Registry: a.Registry, Tenant: a.Tenant, AllowHosts: a.Config.HTTP.AllowHost, Version: version, Instance: a.Instance,
		Routes: slices.Concat(a.loginRoutes(), a.fileRoutes(version), a.openAIRoutes(), a.anthropicRoutes(), accounts.Routes(a.ledger), a.adminRoutes(), sessions.Routes(a.Sessions)), Parts: a.parts, Progress: a.progress, Live: a.Live, Accept: a.accept, Sessions: a.Sessions,
		Keys: a.callStore.Idempotency(),
		Page: func(r *http.Request) string { return cmp.Or(a.Config.HTTP.PublicURL, server.LocalOrigin(r)) },
		OwnModel: func(ctx context.Context, provider, key, name string) (context.Context, error) {
			return a.Models.ownModel(ctx, a.Config.Models, provider, key, name)
		}}
	asker := server.NewAsker(a.Engine, o)
	o.Task = a.task(asker)
	o.Routes = append(o.Routes, a2a.Routes(a.agent(asker, o))...)
	if err := a.openCalls(&o); err != nil {
		return nil, err
	}
	return server.New(a.Engine, o)
}

// Close cancels the live runs and closes everything.
func (a *App) Close() error {
	_ = a.Engine.Close(stopped()) // the error is that of the context
	err := errors.Join(a.closeCalls(), a.closeCallStore(), a.closeFiles(), a.closeSessions(), a.closeLedger(), a.closeCache(), a.vectors.close(), a.Index.Close(), a.Log.Close())
	if a.closeShared != nil {
		err = errors.Join(err, a.closeShared())
	}
	if err != nil {
		return fmt.Errorf("close data folder: %w", err)
	}
	return nil
}
