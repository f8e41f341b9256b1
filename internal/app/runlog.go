package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/natsconn"
)

// RunLog is the log of the runs of one tenant.
type RunLog interface {
	eventlog.Store
	eventlog.Archive
	eventlog.Deleter
	io.Closer
	Err() error                   // why it cannot be written; nil: it can
	Retain(context.Context) error // deletes what is older than the settings permit
}

// runsFolder is the folder in a data folder that holds the log of the runs. If that is in NATS, the folder holds the lock of the data folder only.
const runsFolder = "runs"

// serverFile is the file in the data folder that holds the name by which a server recognizes its own runs in NATS.
const serverFile = "server.id"

// connectLog connects to the servers of the run log, if it is in NATS.
func connectLog(cfg config.Store, logger *slog.Logger) (*natsconn.Conn, error) {
	if cfg.RunLog == "" {
		return nil, nil //nolint:nilnil // the log is in the data folder
	}
	return natsconn.Connect(cfg.RunLog, natsconn.Options{Credentials: cfg.LogCredentials, Log: logger})
}

// closeLog closes a connection that may be nil.
func closeLog(conn *natsconn.Conn) error {
	if conn == nil {
		return nil
	}
	return conn.Close()
}

// openLog opens the run log of a tenant, whose data folder is that of cfg. The size of its ended runs in memory is cached; 0: the default.
func (s *Shared) openLog(ctx context.Context, tenant string, cfg config.Config, cached int64, logger *slog.Logger) (RunLog, error) {
	dir := filepath.Join(cfg.Store.Data, runsFolder)
	if s.logConn == nil {
		return openLog(dir, cfg, cached, s.reserve, logger)
	}
	lock, err := lockRuns(dir)
	if err != nil {
		return nil, err
	}
	server, err := serverID(s.Config.Store.Data)
	var log *natslog.Log
	if err == nil {
		log, err = natslog.Open(ctx, s.logConn, natslog.Options{Tenant: tenant, Server: server, Replicas: cfg.Store.LogReplicas,
			MaxAge: cfg.Keep.KeepRunsAge, MaxBytes: int64(cfg.Keep.KeepRunsBytes), Log: logger})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open runs: %w", err), lock.Unlock())
	}
	return lockedLog{log, lock}, nil
}

// lockedLog is a log in NATS with the lock of the data folder.
type lockedLog struct {
	*natslog.Log
	lock *flock.Flock
}

// Close closes the log and unlocks the data folder.
func (l lockedLog) Close() error { return errors.Join(l.Log.Close(), l.lock.Unlock()) }

// lockRuns takes the lock that a log in the folder would take.
func lockRuns(dir string) (*flock.Flock, error) {
	lock, err := filelog.Lock(dir)
	if err != nil {
		return nil, fmt.Errorf("open runs: %w", err)
	}
	return lock, nil
}

// CheckFree returns [ErrInUse] if another process has a data folder open, so that a server can say so before anything else.
func CheckFree(data string) error {
	dir := filepath.Join(data, runsFolder)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := lockRuns(dir)
	if err != nil {
		return inUse(data, err)
	}
	return lock.Unlock()
}

// serverID returns the name of the server with the data folder, which it creates if need be.
func serverID(data string) (string, error) {
	path := filepath.Join(data, serverFile)
	text, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	id := rand.Text()
	return id, atomicfile.WriteSync(path, []byte(id+"\n"), 0o600)
}

// OpenLog opens the log of runs in a folder. The disk reserve may be nil.
func OpenLog(dir string, cfg config.Config, space *reserve.File, logger *slog.Logger) (*filelog.Log, error) {
	return openLog(dir, cfg, 0, space, logger)
}

func openLog(dir string, cfg config.Config, cached int64, space *reserve.File, logger *slog.Logger) (*filelog.Log, error) {
	log, err := filelog.Open(dir, filelog.Options{MaxAge: cfg.Keep.KeepRunsAge, MaxBytes: int64(cfg.Keep.KeepRunsBytes), CacheBytes: cached, Reserve: space, Log: logger})
	if err != nil {
		return nil, fmt.Errorf("open runs: %w", err)
	}
	return log, nil
}
