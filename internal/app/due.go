package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/disk/atomicfile"
)

// dueFile is the file in the folder of a tenant that says when the next sync of its sources is due, so that the tenant is opened then. It is missing if none is.
const dueFile = "sources.due"

// noteDue notes when the next sync of the tenant is due.
func (a *App) noteDue(at time.Time) {
	path := filepath.Join(a.Config.Store.Data, dueFile)
	noted, known := readDue(path)
	var err error
	switch {
	case at.IsZero() && known:
		err = atomicfile.Remove(path)
	case !at.IsZero() && !noted.Equal(at):
		err = a.reserve.Use(func() error { return atomicfile.Write(path, []byte(at.Format(time.RFC3339Nano)), 0o600) })
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.logger.Error("the time of the next sync could not be stored", "error", err)
	}
}

func readDue(path string) (at time.Time, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return at, false
	}
	at, err = time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text)))
	return at, err == nil
}

// visitDue opens tenants whose sources are due for a sync, which their services start, until ctx ends.
func (t *Tenants) visitDue(ctx context.Context) {
	every := time.NewTicker(time.Minute)
	defer every.Stop()
	for {
		t.visit(ctx, func(name string) bool {
			at, ok := readDue(filepath.Join(Folder(t.shared.Config.Store.Data, name), dueFile))
			return ok && !at.After(time.Now())
		}, func(*App) error { return nil })
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}
