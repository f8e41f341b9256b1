package ingestions_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/ingestions"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/store/sqlstore"
	"github.com/sluice-rag/sluice/wire/sse"
)

// gated is a place with three documents. The second one cannot be read, and the third one only when the gate is open.
type gated struct{ gate chan struct{} }

func (gated) List(context.Context) (source.Listing, error) {
	var l source.Listing
	for i := range 3 {
		name := fmt.Sprintf("%d.md", i)
		l.Documents = append(l.Documents, source.Document{URI: "/place/" + name, Path: name, Name: name})
	}
	return l, nil
}

func (g gated) Read(ctx context.Context, d source.Document, _ int64) ([]byte, error) {
	switch d.Path {
	case "1.md":
		return nil, fault.New(fault.InvalidRequest, "it is empty")
	case "2.md":
		select {
		case <-g.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return []byte("The lighthouse of " + d.Path + " was built in 1900."), nil
}

func (gated) Close() error { return nil }

// TestStreamOnOtherServer reads the stream of a sync on a server that does not run it, and resumes there what was read on the server that does.
func TestStreamOnOtherServer(t *testing.T) {
	t.Parallel()
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	defer func() { _ = ix.Close() }()
	records, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "files.db"))
	require.NoError(t, err)
	defer func() { _ = records.Close() }()
	place := gated{make(chan struct{})}
	open := sync.OnceFunc(func() { close(place.gate) })
	defer open()
	var services []*source.Service
	var urls []string
	for _, name := range []string{"one", "two"} {
		s := source.New(source.Options{Store: records, Ingestions: records, Ingester: ingest.New(ix, local.New(local.Options{}), ingest.Options{Workers: 1, BatchDocs: 1}), Collection: "default", Server: name, Gone: func(string) bool { return false },
			Kinds: map[string]source.Kind{"gated": {Suits: func(string) bool { return true }, Locate: func(l string) (string, error) { return l, nil }, Open: func(string) (source.Connector, error) { return place, nil }}}})
		defer s.Close()
		services = append(services, s)
		var follow server.Route
		for _, r := range ingestions.Routes(ingestions.Options{Sources: s, Heartbeat: time.Minute}) {
			if r.Path == ingestions.Path {
				follow = r
			}
		}
		mux := http.NewServeMux()
		mux.HandleFunc("GET "+ingestions.Path, func(w http.ResponseWriter, r *http.Request) {
			if err := follow.Serve(w, r); err != nil {
				http.Error(w, fault.Public(err).Message, http.StatusTeapot)
			}
		})
		h := httptest.NewServer(mux)
		defer h.Close()
		urls = append(urls, h.URL)
	}
	src, err := services[0].Add(t.Context(), source.Settings{Kind: "gated", Location: "/place"}, true)
	require.NoError(t, err)
	if src, err = services[0].Sync(t.Context(), src.ID, source.SyncOptions{}); err != nil {
		t.Fatal(err)
	}
	path := strings.Replace(ingestions.Path, "{id}", src.Ingestion, 1)
	// read reads the stream on a server, after an event, until one of these names; empty: to its end.
	read := func(server int, after, until string) (out []sse.Event) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, urls[server]+path, nil)
		require.NoError(t, err)
		req.Header.Set("Last-Event-ID", after)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("server %d: %s", server, res.Status)
		}
		for e, err := range sse.NewReader(res.Body, 0).All() {
			require.NoError(t, err)
			if e.Name == "ingestion_progress" && len(out) > 0 && out[len(out)-1].Name == e.Name {
				out = out[:len(out)-1]
			}
			if out = append(out, e); e.Name == until {
				break
			}
		}
		return out
	}
	names := func(events []sse.Event) (out string) {
		for _, e := range events {
			out += e.Name + " " + e.ID + "; "
		}
		return out
	}
	const failed = `{"type":"file_failed","path":"/place/1.md","reason":"it is empty"}`
	first := read(0, "", "file_failed")
	resumed := make(chan []sse.Event, 1)
	go func() { resumed <- read(1, first[len(first)-1].ID, "") }()
	other := read(1, "", "file_failed")
	if last := other[len(other)-1]; other[0].Data != first[0].Data || last.Data != failed || last.ID != "1.1" {
		t.Errorf("on the other server: %+v, want the first event %+v", other, first[0])
	}
	list, err := services[1].Get(t.Context(), src.ID)
	if err != nil || list.Progress == nil || list.Progress.Done != 2 || list.Progress.Total != 3 || list.Ingestion != src.Ingestion {
		t.Errorf("the source on the other server: %+v, %v", list.Progress, err)
	}
	open()
	for server := range urls {
		if got := names(read(server, "1.1", "")); got != "ingestion_finished 1.2; " && !strings.HasPrefix(got, "ingestion_progress 1.1; ") {
			t.Errorf("the end on server %d: %s", server, got)
		}
		whole := read(server, "", "")
		if got := names(whole); got != "ingestion_started 1; file_failed 1.1; ingestion_finished 1.2; " || whole[1].Data != failed {
			t.Errorf("afterwards on server %d: %s", server, got)
		}
	}
	rest := <-resumed
	if got := rest[len(rest)-1]; got.Name != "ingestion_finished" || got.ID != "1.2" || !strings.Contains(names(rest), "ingestion_progress 1.1") || strings.Contains(names(rest), "file_failed") {
		t.Errorf("resumed on the other server: %s", names(rest))
	}
	for _, after := range []string{"1.3", "2", "2.1", "99"} {
		for server := range urls {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, urls[server]+path, nil)
			require.NoError(t, err)
			req.Header.Set("Last-Event-ID", after)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusTeapot || !strings.Contains(string(body), "Last-Event-ID") {
				t.Errorf("server %d, after event %s: %s: %s, %v", server, after, res.Status, body, err)
			}
			res.Body.Close()
		}
	}
	i, err := services[0].IngestPaths(t.Context(), source.PathsRequest{Paths: []string{t.TempDir()}})
	require.NoError(t, err)
	for state, changed := i.After(0); state.Result == nil; state, changed = i.After(0) {
		<-changed
	}
	if elsewhere, err := services[1].Ingestion(t.Context(), i.ID); err != nil {
		t.Errorf("an ingestion of paths that has ended, on another server: %v", err)
	} else if state, _ := elsewhere.After(0); state.Result == nil {
		t.Error("it has no result there")
	}
}
