package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// TestListOfRunsHasNoEphemeralRuns reads the list with every page size.
func TestListOfRunsHasNoEphemeralRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		ids := func() event.RunID { n++; return event.RunID(fmt.Sprintf("run-%02d", n)) }
		s := inMemory(t, saying(everything(5, 1)...), engine.Options{NewID: ids}, server.Options{})
		defer s.close()
		var want []event.RunID
		for i := range 12 {
			id, err := s.engine.Ask(t.Context(), event.Question{Query: "secret?", Ephemeral: i%3 != 0}, engine.Caller{})
			require.NoError(t, err)
			if i%3 == 0 {
				want = slices.Insert(want, 0, id)
			}
		}
		synctest.Wait()
		for limit := 1; limit < 6; limit++ {
			var got []event.RunID
			for before := event.RunID(""); ; {
				var page server.RunList
				body := slurp(t, s.do("GET", fmt.Sprintf("/api/runs?limit=%d&before=%s", limit, before), "").Body)
				require.NoError(t, json.Unmarshal([]byte(body), &page))
				for _, r := range page.Runs {
					got = append(got, r.RunID)
				}
				if before = page.Next; before == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("pages of %d list %v, want %v", limit, got, want)
			}
		}
	})
}

// TestEveryCursorOfACutRunLeadsToItsEnd: events that readers had received were lost in a power failure, so the log has a
// gap before its last event.
func TestEveryCursorOfACutRunLeadsToItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := eventlog.NewMemory()
		const kept, seen = 9, 14
		bodies := everything(10, 1)
		es := []event.Event{{Seq: 1, At: time.Now().UTC(), Body: event.RunStarted{Run: "cut", Question: event.Question{Query: "why?", Mode: event.Agentic}}}}
		for i, b := range bodies[:kept-1] {
			es = append(es, event.Event{Seq: event.Seq(i + 2), At: es[0].At, Body: b})
		}
		end := event.Event{Seq: kept + event.Gap + 1, At: es[0].At, Body: event.RunFailed{Code: fault.Internal, Message: "the machine stopped"}}
		require.NoError(t, store.Append(t.Context(), "cut", append(es, end)...))
		s := inMemory(t, saying(bodies...), engine.Options{Store: store}, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint}})
		defer s.close()
		for protocol, name := range map[string]string{"forge": "error", "knowledge": "response.failed"} {
			for after := range seen + 1 {
				res := s.do("GET", "/runs/cut/stream?protocol="+protocol, "", "Last-Event-ID", strconv.Itoa(after))
				if res.StatusCode != http.StatusOK {
					t.Fatalf("%s after %d: %s", protocol, after, res.Status)
				}
				found := false
				for ev, err := range sse.NewReader(res.Body, 0).All() {
					require.NoError(t, err)
					id, err := wire.ParseCursor(ev.ID)
					if ev.Name == name && err == nil && id.Seq > seen {
						found = true
					}
				}
				if !found {
					t.Errorf("%s after %d: no %s", protocol, after, name)
				}
			}
		}
		if res := s.do("GET", "/runs/cut/stream", "", "Last-Event-ID", strconv.Itoa(kept+event.Gap+1)); res.StatusCode != http.StatusNoContent {
			t.Errorf("after the end: %s", res.Status)
		}
	})
}
