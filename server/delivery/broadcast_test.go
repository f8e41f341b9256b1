package delivery

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// panickingSource is a source whose log panics.
type panickingSource struct{ *eventlog.Memory }

func (s panickingSource) Follow(event.RunID) (eventlog.Store, context.Context) {
	return s, context.Background()
}

func (panickingSource) Wait(context.Context, event.RunID, event.Seq) error { panic("wait") }

// TestPanicOfTheLog checks that a panic of the log can be recovered: it reaches the caller of Serve, and no mutex stays locked.
func TestPanicOfTheLog(t *testing.T) {
	hub := testHub(t, panickingSource{eventlog.NewMemory()})
	for range 2 {
		func() {
			defer func() {
				if p := recover(); p != "wait" {
					t.Errorf("panic: %v", p)
				}
			}()
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Accept-Encoding", "zstd")
			hub.Serve(httptest.NewRecorder(), r, "run_0123456789", knowledge.Protocol{}, wire.Cursor{})
		}()
	}
	if n := len(hub.broadcasts); n != 0 {
		t.Errorf("%d broadcasts left", n)
	}
}

// held is a client that reads nothing after its first bytes.
type held struct {
	*httptest.ResponseRecorder
	begun chan struct{}
	gate  chan struct{}
}

func (h *held) Write(b []byte) (int, error) {
	select {
	case h.begun <- struct{}{}:
	default:
	}
	<-h.gate
	return h.ResponseRecorder.Write(b)
}

// TestAheadOfOthers resumes a stream after, or within, an event that the other stream of the run, with which it could share frames, has not reached yet.
func TestAheadOfOthers(t *testing.T) {
	for name, at := range map[string]wire.Cursor{"after an event": {Seq: 300}, "within an event": {Seq: 399, Frame: 1}} {
		t.Run(name, func(t *testing.T) {
			source := memorySource{eventlog.NewMemory()}
			const run = "run_0123456789"
			var last event.Seq
			add := func(b event.Body) {
				last++
				require.NoError(t, source.Append(t.Context(), run, event.Event{Seq: last, At: time.Now(), Body: b}))
			}
			add(event.RunStarted{Run: run, Protocol: forge.Name, Question: event.Question{Query: "why?", Mode: event.Direct, Collection: "default", TopK: 5}})
			for range 399 {
				add(event.Token{Text: strings.Repeat("x", 60)})
			}
			hub := testHub(t, source)
			slow := &held{httptest.NewRecorder(), make(chan struct{}, 1), make(chan struct{})}
			var streams sync.WaitGroup
			streams.Go(func() { hub.Serve(slow, httptest.NewRequest("GET", "/", nil), run, forge.Protocol{}, wire.Cursor{}) })
			<-slow.begun
			add(event.RunFinished{})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			w := httptest.NewRecorder()
			hub.Serve(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil), run, forge.Protocol{}, at)
			if ctx.Err() != nil || !strings.Contains(w.Body.String(), "id: 401") {
				t.Errorf("%v: %d bytes: %.300s", ctx.Err(), w.Body.Len(), w.Body)
			}
			close(slow.gate)
			streams.Wait()
			if !strings.Contains(slow.Body.String(), "id: 401") {
				t.Error("the other stream is not whole")
			}
		})
	}
}

// TestWakeAtPending asks when to send events that another stream has loaded and not encoded yet. In a protocol that is not throttled, that is now.
func TestWakeAtPending(t *testing.T) {
	b := testHub(t, memorySource{eventlog.NewMemory()}).newBroadcast(variant{run: "run_0123456789", protocol: forge.Protocol{}}, wire.Cursor{}, 0)
	b.load([]event.Event{{Seq: 1, Body: event.Token{Text: "x"}}})
	if at := b.wakeAt(); at.IsZero() || at.After(time.Now()) {
		t.Error(at)
	}
}
