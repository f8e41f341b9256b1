package transporttest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/sluice-rag/sluice/forrst"
)

// StreamExtension asks for a stream, in a document of [Request].
const StreamExtension = `{"urn":"urn:forrst:ext:stream","options":{"accept":true}}`

// Request returns a request document with the id r1. The extensions are JSON with commas between them.
func Request(function, extensions string) string {
	return `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"r1","call":{"function":"` + function + `"},"extensions":[` + extensions + `]}`
}

// Waiting returns a server with the function wait, whose stream has one data event, and with other functions. The function reports that it
// has sent the event, waits for the end of its context, and reports that too.
func Waiting(t testing.TB, o forrst.Options, others ...forrst.Function) (s *forrst.Server, started, ended chan struct{}) {
	t.Helper()
	started, ended = make(chan none, 10), make(chan none, 10)
	o.Logger = slog.New(slog.DiscardHandler)
	wait := producer("wait", func(ctx context.Context, yield func(forrst.Chunk, error) bool) {
		yield(forrst.Data(1), nil)
		started <- none{}
		<-ctx.Done()
		ended <- none{}
	})
	s, err := forrst.New(append(others, wait), o)
	if err != nil {
		t.Fatal(err)
	}
	return s, started, ended
}

// Background runs a server until the end of the test, or until stop is called, which waits for its end.
func Background(t testing.TB, serve func(ctx context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan none)
	go func() {
		defer close(done)
		if err := serve(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}
