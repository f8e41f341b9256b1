package delivery

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/wire"
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
