// Command sluice answers questions about documents and streams every step.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluice-rag/sluice/ingest/sandbox"
	"github.com/sluice-rag/sluice/internal/cli"
)

func main() {
	sandbox.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Main(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
