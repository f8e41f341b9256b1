package sluice_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

const keeper = "Who keeps the lighthouse?"

func open(t *testing.T, o sluice.Options) *sluice.Library {
	t.Helper()
	lib, err := sluice.Open(t.Context(), t.TempDir(), o)
	require.NoError(t, err)
	require.CloseAfter(t, lib)
	return lib
}

func TestAddFolder(t *testing.T) {
	t.Parallel()
	lib, folder := open(t, sluice.Options{Collection: "coast"}), t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "coast.md"), []byte(text), 0o600))
	}
	write("The lighthouse is kept by Ada.")
	if r, err := lib.AddFolder(t.Context(), folder); err != nil || r.Added != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	a, err := lib.Answer(t.Context(), keeper)
	if err != nil || a.Text != "The lighthouse is kept by Ada." || len(a.Sources) != 1 || a.Confidence <= 0.3 || a.Confidence >= 1 {
		t.Errorf("%+v, %v", a, err)
	}
	write("The lighthouse is kept by Grace.")
	if r, err := lib.AddFile(t.Context(), filepath.Join(folder, "coast.md")); err != nil || r.Updated != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	pdf := &sluice.Filter{Type: "eq", Key: "type", Value: "pdf"}
	if _, err := lib.AnswerQuestion(t.Context(), sluice.Question{Query: keeper, Filter: pdf}); err == nil || !strings.Contains(err.Error(), "matches the filter") {
		t.Errorf("a filter that no document matches: %v", err)
	}
	if a, err := lib.AnswerQuestion(t.Context(), sluice.Question{Query: keeper, Mode: event.Direct}); err != nil || a.Text != "The lighthouse is kept by Grace." {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestAddText(t *testing.T) {
	t.Parallel()
	lib := open(t, sluice.Options{})
	for _, text := range []string{"The lighthouse is kept by Ada.", "The lighthouse is kept by Grace."} {
		if _, err := lib.AddText(t.Context(), "coast", text); err != nil {
			t.Fatal(err)
		}
		if a, err := lib.Answer(t.Context(), keeper); err != nil || a.Text != text {
			t.Errorf("%+v, %v", a, err)
		}
	}
}

func TestLeavingAskCancelsTheRun(t *testing.T) {
	t.Parallel()
	requested := make(chan struct{}, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only after it has read the body
		if r.Method == http.MethodPost {
			requested <- struct{}{}
			<-r.Context().Done() // the request is cancelled with the run
		}
	}))
	defer s.Close()
	lib := open(t, sluice.Options{ModelURL: s.URL, ModelName: "m"})
	if _, err := lib.AddText(t.Context(), "coast", "The lighthouse is kept by Ada."); err != nil {
		t.Fatal(err)
	}
	var id event.RunID
	for e, err := range lib.Ask(t.Context(), keeper) {
		require.NoError(t, err)
		if start, ok := e.(sluice.RunStarted); ok {
			id = start.Run
			<-requested
			break
		}
	}
	var last event.Body
	for batch, err := range lib.Engine().Events(t.Context(), id, 0) {
		require.NoError(t, err)
		last = batch[len(batch)-1].Body
	}
	if failed, ok := last.(sluice.RunFailed); !ok || failed.Code != fault.Cancelled {
		t.Errorf("the run ended with %+v", last)
	}
}

func TestFailedRun(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	lib := open(t, sluice.Options{ModelURL: s.URL, ModelName: "m"})
	if _, err := lib.AddText(t.Context(), "coast", "The lighthouse is kept by Ada."); err != nil {
		t.Fatal(err)
	}
	_, err := lib.Answer(t.Context(), keeper)
	if fault.CodeOf(err) != fault.Model {
		t.Errorf("Answer: %v", err)
	}
	var last sluice.Event
	for last, err = range lib.Ask(t.Context(), keeper) {
	}
	f, ok := errors.AsType[*fault.Error](err)
	if _, failed := last.(sluice.RunFailed); !ok || f.Code != fault.Model || !failed {
		t.Errorf("Ask: %+v, %v", last, err)
	}
	if _, err := lib.Answer(t.Context(), " "); fault.Public(err).Code != fault.InvalidRequest {
		t.Errorf("an empty question: %v", err)
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	if _, err := sluice.Open(t.Context(), t.TempDir(), sluice.Options{ModelURL: "nonsense"}); err == nil {
		t.Error("a URL that is none: no error")
	}
	dir := t.TempDir()
	lib, err := sluice.Open(t.Context(), dir, sluice.Options{})
	require.NoError(t, err)
	defer lib.Close()
	if _, err := sluice.Open(t.Context(), dir, sluice.Options{}); !errors.Is(err, sluice.ErrInUse) {
		t.Errorf("a folder that is in use: %v", err)
	}
}
