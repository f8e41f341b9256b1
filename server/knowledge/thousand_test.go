package knowledge_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// quick answers immediately with so many tokens.
type quick int

func (n quick) Answer(ctx context.Context, r *answer.Recorder) error {
	source := event.Source{N: 1, Chunk: "c", Document: "d", Title: "Gold", Name: "gold.md", Text: strings.Repeat("Gold settles. ", 20), Cited: true, Weight: 1}
	bodies := []event.Body{event.QueryAnalyzed{Mode: event.Direct}, event.CacheChecked{}, event.GenerationStarted{}}
	for range n {
		bodies = append(bodies, event.Token{Text: "word "})
	}
	bodies = append(bodies, event.Cited{N: 1, Chunk: "c", Source: &source}, event.GenerationFinished{Reason: "stop"}, event.Verified{},
		event.Attributed{Sources: []event.Source{source}})
	for _, b := range bodies {
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// stored asks n questions and returns the ids of the responses, newest first.
func (s *site) stored(n int) []string {
	s.t.Helper()
	ids := make([]string, n)
	for i := range n {
		id, err := s.engine.Ask(s.t.Context(), event.Question{Query: fmt.Sprintf("What is said of %d?", i)}, engine.Caller{})
		require.NoError(s.t, err)
		for _, err := range s.engine.Events(s.t.Context(), id, 0) {
			require.NoError(s.t, err)
		}
		ids[n-1-i] = string(id)
	}
	return ids
}

// TestThousandResponses lists the responses by page and deletes them one by one.
func TestThousandResponses(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(p *parts) { p.answerer = quick(10) })
	want := s.stored(1000)
	var seen []string
	after := ""
	for more := true; more; {
		list := s.get("/v1/responses?limit=100&after=" + after)
		for _, r := range list["data"].([]any) {
			seen = append(seen, r.(map[string]any)["id"].(string))
		}
		after, more = list["last_id"].(string), list["has_more"].(bool)
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Fatal(diff)
	}
	for _, id := range want {
		if status, b := s.do("DELETE", "/v1/responses/"+id, "", nil); status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", id, status, b)
		}
	}
	if list := s.get("/v1/responses?limit=100"); len(list["data"].([]any)) != 0 || list["has_more"] != false {
		t.Errorf("%v", list)
	}
}
