package app

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/rpc"
)

// openCalls creates the functions that are served over Forrst, and adds their route to the options of the server.
func (a *App) openCalls(o *server.Options) (err error) {
	a.calls, err = rpc.New(rpc.Options{Version: o.Version, Heartbeat: o.Heartbeat, WriteTimeout: o.WriteTimeout, Logger: a.logger})
	if err != nil {
		return fmt.Errorf("open functions: %w", err)
	}
	o.Routes = append(o.Routes, a.calls.Routes()...)
	return nil
}

// maxStop is how long functions may take to stop.
const maxStop = 10 * time.Second

// closeCalls ends the functions that are still running.
func (a *App) closeCalls() error {
	if a.calls == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxStop)
	defer cancel()
	if err := a.calls.Close(ctx); err != nil {
		return fmt.Errorf("close functions: %w", err)
	}
	return nil
}
