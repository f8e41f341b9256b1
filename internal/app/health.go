package app

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/reserve"
	"github.com/sluice-rag/sluice/server"
)

// parts gives the state of each part of the program. What cannot be written is only seen by writing.
func (a *App) parts(ctx context.Context) map[string]server.Part {
	out := map[string]server.Part{
		"log":   a.part("log", "the run log does not take events", a.Log.Err()),
		"index": a.part("index", "the index cannot be read", errors.Join(a.Index.Health(), second(a.Index.Documents(ctx, a.Config.Store.Collection, "", 1)))),
		"disk":  a.part("disk", "the data folder cannot be written", errors.Join(a.reserve.Refill(), a.reserve.Check(), writable(a.Config.Store.Data))),
	}
	if a.files.service != nil {
		store := a.part("store", "the database of files cannot be read", second(a.files.service.Files(ctx, "", 1)))
		if issues := a.files.service.Issues(); len(issues) > 0 && store.Status == server.PartOK {
			store = server.Part{Status: server.PartDegraded, Detail: strings.Join(issues, ", ") + ": stop the server and run sluice reconcile"}
		}
		out["store"] = store
	}
	return out
}

func second[T any](_ T, err error) error { return err }

func (a *App) part(name, detail string, err error) server.Part {
	if err == nil {
		return server.Part{Status: server.PartOK}
	}
	a.logger.Error("health check failed", "part", name, "error", err)
	if fault.DiskFull(err) {
		detail = "the disk is full"
	}
	return server.Part{Status: server.PartFailed, Detail: detail}
}

// diskMetrics registers how much space the data folder has left.
func (a *App) diskMetrics() {
	a.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_disk_free_bytes", Help: "Free space of the data folder's file system."},
		func() float64 {
			free, err := reserve.Free(a.Config.Store.Data)
			if err != nil {
				return math.NaN()
			}
			return float64(free)
		}))
}

// writable writes a page into a folder and takes it away again.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, "health-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
