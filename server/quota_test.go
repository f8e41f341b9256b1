package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/forge"
)

// broke is a billing whose accounts have no credits.
type broke struct{ engine.Billing }

func (broke) Authorize(context.Context, event.RunStarted) error {
	return fault.New(fault.Payment, "the balance is too low")
}

func (broke) Void(context.Context, event.RunID) error { return nil }

// TestRefusedQuestionUsesNoQuota checks that a question that cannot begin does not count against the quota of its key.
func TestRefusedQuestionUsesNoQuota(t *testing.T) {
	t.Parallel()
	srv, err := server.New(engine.New(nil, engine.Options{Billing: broke{}}), server.Options{Protocols: []server.Endpoint{{API: forge.API(), StreamPath: "/api/query/stream"}}})
	require.NoError(t, err)
	used, calls := 0, 0
	ctx := auth.WithQuota(t.Context(), func(_ context.Context, n int) error { used += n; calls++; return nil })
	r := httptest.NewRequestWithContext(auth.With(ctx, auth.Local()), http.MethodPost, "/api/query/stream", strings.NewReader(`{"query":"why?"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	srv.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusPaymentRequired || used != 0 || calls != 2 {
		t.Errorf("status %d, %d questions used, %d calls: %s", w.Code, used, calls, w.Body)
	}
}
