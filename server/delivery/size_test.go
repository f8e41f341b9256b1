package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
	"github.com/sluice-rag/sluice/wire/sse"
)

var sizePlot = flag.String("sizes", "", "file that the plot of the sizes of streams is written to")

// measured lists the measured variants. perSecond is the number of snapshots per second at the rate of the answer; 0: one snapshot
// for each event.
var measured = []struct {
	name      string
	protocol  knowledge.Protocol
	perSecond int
}{
	{"a snapshot each token", knowledge.Protocol{PerSecond: 100}, 0}, {"20 snapshots a second", knowledge.Protocol{PerSecond: 20}, 20},
	{"10 snapshots a second", knowledge.Protocol{}, 10}, {"2 snapshots a second", knowledge.Protocol{PerSecond: 2}, 2},
	{"deltas", knowledge.Protocol{Delta: true}, 0},
}

// measuredCompressions lists the compressions in which each variant is measured.
var measuredCompressions = []string{"", "gzip", "zstd"}

// memorySource is a source with a log in memory.
type memorySource struct{ *eventlog.Memory }

func (s memorySource) Follow(event.RunID) (eventlog.Store, context.Context) {
	return s.Memory, context.Background()
}

// TestSizes streams an answer of 1,000 tokens at its rate in all variants at once.
func TestSizes(t *testing.T) {
	race.Measure(t)
	t.Parallel()
	sizes := map[string]map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		source := memorySource{eventlog.NewMemory()}
		hub := testHub(t, source)
		bodies := append([]event.Body{event.RunStarted{Run: "run_0123456789", Protocol: knowledge.Name, Question: event.Question{
			Query: "what may I do with it?", Mode: event.Direct, Collection: "default", TopK: 5, Request: json.RawMessage(`{}`)}}}, answerRun(t)...)
		var wg sync.WaitGroup
		var mu sync.Mutex
		next := event.Seq(1)
		add := func() {
			if _, token := bodies[next-1].(event.Token); token {
				time.Sleep(time.Second / answerRate)
			}
			if err := source.Append(t.Context(), "run_0123456789", event.Event{Seq: next, At: time.Now(), Body: bodies[next-1]}); err != nil {
				t.Error(err)
			}
			next++
		}
		add()
		for _, m := range measured {
			sizes[m.name] = map[string]int{}
			for _, compression := range measuredCompressions {
				wg.Go(func() {
					r := httptest.NewRequest("GET", "/", nil)
					r.Header.Set("Accept-Encoding", compression)
					w := httptest.NewRecorder()
					hub.Serve(w, r, "run_0123456789", m.protocol, wire.Cursor{})
					body := bytes.Clone(w.Body.Bytes())
					text := body
					if compression != "" {
						var err error
						if text, err = decoders(t, compression)["go"](body); err != nil {
							t.Errorf("%s in %q: %v", m.name, compression, err)
						}
					}
					if !wholeAnswer(string(text), bodies) {
						t.Errorf("%s in %q: %d bytes", m.name, compression, len(text))
					}
					mu.Lock()
					defer mu.Unlock()
					sizes[m.name][compression] = len(body)
				})
			}
		}
		for int(next) <= len(bodies) {
			add()
		}
		wg.Wait()
	})
	for _, m := range measured {
		t.Logf("| %s | %d | %d | %d |", m.name, sizes[m.name][""], sizes[m.name]["gzip"], sizes[m.name]["zstd"])
		for compression, most := range sizeLimits[m.name] {
			if got := sizes[m.name][compression]; got > most {
				t.Errorf("%s in %s: %d bytes, want at most %d", m.name, compression, got, most)
			}
		}
	}
	if *sizePlot != "" {
		if err := os.WriteFile(*sizePlot, plotted(sizes), 0o644); err != nil { //nolint:gosec // a picture without secrets
			t.Error(err)
		}
	}
}

func testHub(tb testing.TB, source Source) *Hub {
	tb.Helper()
	hub, err := New(source, Options{Heartbeat: 15 * time.Second, WriteTimeout: 30 * time.Second, Logger: slog.New(slog.DiscardHandler),
		Registry: prometheus.NewRegistry()})
	require.NoError(tb, err)
	return hub
}

// wholeAnswer reports whether the last snapshot of a stream holds the whole text.
func wholeAnswer(stream string, bodies []event.Body) bool {
	var evs []sse.Event
	for ev, err := range sse.NewReader(strings.NewReader(stream), 0).All() {
		if err != nil {
			return false
		}
		evs = append(evs, ev)
	}
	want := ""
	for _, b := range bodies {
		if token, ok := b.(event.Token); ok {
			want += token.Text
		}
	}
	for i := len(evs) - 1; i >= 0; i-- {
		var r knowledge.Response
		if json.Unmarshal([]byte(evs[i].Data), &r) != nil || evs[i].Name != knowledge.EventCompleted {
			continue
		}
		return strings.HasSuffix(evs[i].Data, "}") && strings.Contains(evs[i].Data, jsonText(want[len(want)-100:]))
	}
	return false
}

func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b[1 : len(b)-1])
}
