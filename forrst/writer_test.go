package forrst_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

// transport is a [forrst.Writer] that records what it gets, and fails if it gets anything after an error.
type transport struct {
	t      *testing.T
	header http.Header
	events []string
	status int // of a document
	failed bool
	// event is called for each event before it is recorded.
	event func(event string) error
}

func (w *transport) Header() http.Header { return w.header }

func (w *transport) Reply(status int, _ []byte) error {
	w.status = status
	return nil
}

func (w *transport) Begin() error { return nil }

func (w *transport) Event(event []byte, last bool) error {
	if w.failed || last != strings.HasPrefix(string(event), "event: complete\n") {
		w.t.Errorf("after a failure %t, last %t: %s", w.failed, last, event)
	}
	if w.event != nil {
		if err := w.event(string(event)); err != nil {
			w.failed = true
			return err
		}
	}
	w.events = append(w.events, string(event))
	return nil
}

// TestNoEventAfterTheEnd ends the context of a call while an event is written: nothing follows, and the function learns it from
// the next yield.
func TestNoEventAfterTheEnd(t *testing.T) {
	t.Parallel()
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		yields := 0
		s := server(t, forrst.Options{}, producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
			for range 10 {
				yields++
				if !yield(forrst.Data(1), nil) {
					return
				}
			}
		}))
		w := &transport{t: t, header: http.Header{}, event: func(event string) error {
			if strings.Contains(event, "data: 1") {
				cancel()
			}
			return nil
		}}
		s.Serve(ctx, forrst.Incoming{Body: []byte(call("f", "{}", streamExt))}, w)
		if err := s.Wait(t.Context()); err != nil || len(w.events) != 2 || yields != 2 {
			t.Fatalf("%d yields, %q", yields, w.events)
		}
	}
}

// TestFailedWrites checks that a stream ends with its first failed write, and that the function is told.
func TestFailedWrites(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"connected", "data: 1", "keep-alive", "event: done", "event: complete", "never"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{})
				f := producer("f", func(ctx context.Context, yield func(forrst.Chunk, error) bool) {
					defer close(ended)
					if !yield(forrst.Data(1), nil) {
						if at != "data: 1" {
							t.Error("yield returns false without a reason")
						}
						return
					}
					select {
					case <-ctx.Done():
						if at != "keep-alive" {
							t.Error("the context ends without a reason")
						}
						return
					case <-time.After(40 * time.Second):
					}
					yield(forrst.Done(2), nil)
				})
				w := &transport{t: t, header: http.Header{}, event: func(event string) error {
					if strings.Contains(event, at) {
						return errors.New("gone")
					}
					return nil
				}}
				s := server(t, forrst.Options{}, f)
				began := time.Now()
				s.Serve(t.Context(), forrst.Incoming{Body: []byte(call("f", "{}", streamExt))}, w)
				if w.failed != (at != "never") || w.status != 0 {
					t.Errorf("failed %t, document with status %d", w.failed, w.status)
				}
				if took := time.Since(began); at == "keep-alive" && took != 15*time.Second {
					t.Errorf("the stream took %v", took)
				}
				if at != "connected" {
					<-ended
				}
				if err := s.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// sleepy is a value that takes a minute to encode.
type sleepy struct{}

func (sleepy) MarshalJSON() ([]byte, error) {
	time.Sleep(time.Minute)
	return []byte("3"), nil
}

// TestSlowEncoding checks that heartbeats are sent and the deadline ends the stream while a chunk is encoded.
func TestSlowEncoding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := server(t, forrst.Options{}, producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
			yield(forrst.Data(sleepy{}), nil)
		}))
		began := time.Now()
		got, comments := events(t, post(s, call("f", "{}", streamExt, deadline("20", "second"))).Body)
		if took := time.Since(began); took != 20*time.Second || comments != 1 || len(got) != 3 || got[1].name != "error" {
			t.Errorf("%v, %d comments, %v", took, comments, got)
		}
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestSlowWrite checks that no heartbeat waits for an event that is being written, and that none follows it too early.
func TestSlowWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := server(t, forrst.Options{}, producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
			yield(forrst.Data(1), nil)
			time.Sleep(8 * time.Second) // the second heartbeat is due 30 s after the greeting
			yield(forrst.Data(2), nil)
		}))
		w := &transport{t: t, header: http.Header{}, event: func(event string) error {
			if strings.Contains(event, "data: 1") {
				time.Sleep(20 * time.Second)
			}
			return nil
		}}
		s.Serve(t.Context(), forrst.Incoming{Body: []byte(call("f", "{}", streamExt))}, w)
		if got := fmt.Sprintf("%.11q", w.events); strings.Contains(got, "keep-alive") || len(w.events) != 4 {
			t.Errorf("%q", w.events)
		}
	})
}
