package app

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/session"
)

// The health checks need no key, so their cost must not grow with the number of requests.
const (
	healthAge     = time.Second      // how long a result is used
	healthTimeout = 10 * time.Second // of one check of all parts
)

// health is the last result of the health checks.
type health struct {
	mu     sync.Mutex // held during a check, so that one runs at a time
	at     time.Time
	parts  map[string]server.Part
	failed map[string]bool // parts whose failure is logged
}

// parts returns the state of each part of the program. Only a write shows that a part cannot be written. It checks at most once per
// second, also for callers that leave before the end.
func (a *App) parts(ctx context.Context) map[string]server.Part {
	a.health.mu.Lock()
	defer a.health.mu.Unlock()
	if a.health.parts == nil || a.Now().Sub(a.health.at) >= healthAge {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTimeout)
		defer cancel()
		a.health.parts = a.checkParts(ctx)
		a.health.at = a.Now()
	}
	return maps.Clone(a.health.parts)
}

// partNames returns the names of the parts, without a check.
func (a *App) partNames() []string {
	names := []string{"log", "index", "disk", "sessions"}
	if a.keys != nil {
		names = append(names, "keys")
	}
	if a.files.service != nil {
		names = append(names, "store")
	}
	if len(a.Config.Ingest.Docs) > 0 {
		names = append(names, "docs")
	}
	if a.records.External() {
		names = append(names, "database")
	}
	if a.files.blobs != nil {
		names = append(names, "files")
	}
	return names
}

func (a *App) checkParts(ctx context.Context) map[string]server.Part {
	out := map[string]server.Part{
		"log":      a.part("log", "the run log cannot be written", a.Log.Err()),
		"index":    a.part("index", "the index cannot be read", errors.Join(a.Index.Health(), second(a.Index.Documents(ctx, a.Config.Store.Collection, "", 1)))),
		"disk":     a.part("disk", "the data folder cannot be written", errors.Join(a.reserve.Check(), writable(a.Config.Store.Data))),
		"sessions": a.part("sessions", "the session database cannot be read; see the log", second(a.sessionStore.List(ctx, session.Filter{}, session.Cursor{}, 1))),
	}
	if len(a.Config.Ingest.Docs) > 0 {
		docs := server.Part{Status: server.PartOK}
		if reason := a.docsFailing(); reason != "" {
			docs = server.Part{Status: server.PartDegraded, Detail: "documents of --docs may be missing or not up to date: " + reason}
		}
		out["docs"] = docs
	}
	if a.records.External() {
		out["database"] = a.part("database", "PostgreSQL cannot be reached; see the log", a.records.Check(ctx))
	}
	if a.files.blobs != nil {
		out["files"] = a.part("files", "the store of uploaded files cannot be reached; see the log", a.files.blobs.Check(ctx))
	}
	if a.keys != nil {
		detail := "the key database cannot be read; see the log"
		err := a.keys.Check(ctx)
		if errors.Is(err, auth.ErrLost) {
			detail = "the keys were lost: restore keys.db from a backup and restart the server, or add new keys"
		}
		out["keys"] = a.part("keys", detail, err)
	}
	if a.files.service != nil {
		store := a.part("store", "the file database cannot be read", second(a.files.service.Files(ctx, "", 1)))
		if issues := a.files.service.Issues(); len(issues) > 0 && store.Status == server.PartOK {
			store = server.Part{Status: server.PartDegraded, Detail: strings.Join(issues, ", ") + ": stop the server and run sluice reconcile"}
		}
		out["store"] = store
	}
	return out
}

func second[T any](_ T, err error) error { return err }

// part returns the state of a part after a check with the result err. It logs when the part fails and when it works again.
func (a *App) part(name, detail string, err error) server.Part {
	before := a.health.failed[name]
	a.health.failed[name] = err != nil
	if err == nil {
		if before {
			a.logger.Info("health check passes again", "part", name)
		}
		return server.Part{Status: server.PartOK}
	}
	if !before {
		a.logger.Error("health check failed", "part", name, "error", err)
	}
	if fault.DiskFull(err) {
		detail = "the disk is full"
	}
	return server.Part{Status: server.PartFailed, Detail: detail}
}

// diskMetrics registers how much space the data folder has left.
func (a *App) diskMetrics() {
	a.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_disk_free_bytes", Help: "Free space of the data folder's file system."},
		func() float64 {
			free, err := reserve.Free(a.Config.Store.Data)
			if err != nil {
				return math.NaN()
			}
			return float64(free)
		}))
}

// writable creates a file in a folder and removes it.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, "health-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
