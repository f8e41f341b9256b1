package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/sluice-rag/sluice/auth"
	keydb "github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/engine/natspeers"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/model/vectorcache"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/server/access"
)

// Shared is what the tenants of a process share: settings, models, parser processes, run slots and the disk reserve. It holds no data
// of a tenant, except for cached token vectors, which each tenant looks up under its own name. Close it after the apps.
type Shared struct {
	Config config.Config
	Models *Models

	// Access authenticates requests; nil before [Shared.OpenAccess].
	Access *access.Access

	keys      *keydb.Store
	records   *Records
	logger    *slog.Logger
	parsers   *Parsers
	limiter   *engine.Limiter
	ingesting *semaphore.Weighted // held during the ingestions of files that were not uploaded, of all tenants
	reserve   *reserve.File
	logConn   *natsconn.Conn      // nil: the run log is in the data folder
	blobs     blobs.Tenants       // nil: uploaded files are in the data folder
	servers   *natspeers.Servers  // nil: this server shares no work with others
	tokens    *vectorcache.Tokens // nil: the local model embeds

	named  context.Context // see [Shared.Named]
	unname context.CancelCauseFunc

	background sync.WaitGroup // asks for the names of models
	cancel     context.CancelFunc
}

// reserveFile is the name of the disk reserve in the data folder.
const reserveFile = "reserve"

// OpenShared opens the models of the settings and creates the data folder.
func OpenShared(ctx context.Context, cfg config.Config, logger *slog.Logger) (*Shared, error) {
	if cfg.Store.Collection == files.Collection {
		return nil, fmt.Errorf("open: the collection %q is that of uploaded files; name another", files.Collection)
	}
	m, err := OpenModels(ctx, cfg, logger)
	if err != nil {
		return nil, err
	}
	parsers, err := OpenParsers(cfg.Parsing, cfg.Ingest.Workers, logger)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Store.Data, 0o700); err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	if err := noMigration(cfg.Store.Data); err != nil {
		return nil, err
	}
	records, err := OpenRecords(ctx, cfg.Store)
	if err != nil {
		return nil, err
	}
	if err := records.mark(); err != nil {
		records.Close()
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	conn, err := connectLog(cfg.Store, logger)
	if err != nil {
		records.Close()
		return nil, err
	}
	stores, err := connectBlobs(ctx, cfg.Store, logger)
	if err == nil && stores != nil {
		err = markBlobs(cfg.Store.Data)
	}
	if err != nil {
		records.Close()
		return nil, errors.Join(err, closeBlobs(stores), closeLog(conn))
	}
	s := &Shared{Config: cfg, logConn: conn, blobs: stores, Models: m, records: records, logger: logger, ingesting: semaphore.NewWeighted(int64(cfg.Ingest.MaxIngestions)), limiter: engine.NewLimiter(cfg.Runs.MaxRuns, admission(cfg.Runs)),
		reserve: reserve.New(filepath.Join(cfg.Store.Data, reserveFile), reserve.DefaultSize),
		parsers: parsers}
	if m.Embedder != nil {
		s.tokens = vectorcache.NewTokens(m.Embedder, nil, maxTokenVectors)
	}
	if err := s.joinServers(); err != nil {
		records.Close()
		return nil, errors.Join(err, closeBlobs(stores), closeLog(conn))
	}
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.background.Go(func() { m.resolve(ctx) })
	return s, nil
}

// Close stops the parser processes and closes the key database.
func (s *Shared) Close() error {
	s.cancel()
	s.background.Wait()
	err := errors.Join(s.parsers.Close(), s.closeKeys())
	if s.servers != nil {
		err = errors.Join(err, s.servers.Close())
	}
	err = errors.Join(err, closeLog(s.logConn), closeBlobs(s.blobs))
	s.records.Close()
	return err
}

// Open opens the data folder of the default tenant, with models of its own: see [OpenTenant].
func Open(ctx context.Context, cfg config.Config, logger *slog.Logger) (*App, error) {
	return OpenTenant(ctx, cfg, auth.DefaultTenant, logger)
}

// OpenTenant opens the data folder of one tenant for a program that needs no other. [App.Close] also closes the models.
func OpenTenant(ctx context.Context, cfg config.Config, tenant string, logger *slog.Logger) (*App, error) {
	s, err := OpenShared(ctx, cfg, logger)
	if err != nil {
		return nil, err
	}
	a, err := s.Open(ctx, tenant)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	a.closeShared = s.Close
	return a, nil
}

// admission returns how run slots are shared between clients. One processor is reserved for streams and the log while runs compute.
func admission(c config.Runs) engine.Admission {
	return engine.Admission{PerClient: cmp.Or(c.PerClient, max(c.MaxRuns/4, 1)), Queue: c.MaxQueued, Wait: c.QueueWait, Workers: max(runtime.NumCPU()-1, 1)}
}
