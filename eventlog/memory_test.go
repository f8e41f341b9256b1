package eventlog_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func open(*testing.T) eventlog.Store { return eventlog.NewMemory() }

func TestMemory(t *testing.T)     { eventlogtest.TestStore(t, open) }
func TestMemoryWait(t *testing.T) { eventlogtest.TestWait(t, open) }

func BenchmarkMemory(b *testing.B) {
	eventlogtest.BenchmarkStore(b, func(*testing.B) eventlog.Store { return eventlog.NewMemory() })
}

func TestRemoveWakesReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		start := event.Event{Seq: 1, Body: event.RunStarted{Run: "a"}}
		require.NoError(t, m.Append(t.Context(), "a", start))
		done := make(chan error, 1)
		go func() { done <- m.Wait(t.Context(), "a", 1) }()
		synctest.Wait()
		m.Remove("a")
		m.Remove("a")
		if err := <-done; !errors.Is(err, eventlog.ErrNotFound) {
			t.Errorf("wait: %v", err)
		}
		if err := m.Append(t.Context(), "a", start); err != nil {
			t.Errorf("append anew: %v", err)
		}
	})
}
