//go:build linux

package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
)

const whoKeepsFarland = `{"query":"Who is the keeper of the Farland lighthouse?"}`

// TestIndexInWeaviate lets two servers share an index: one finds what the other indexes. While Weaviate is away, questions fail with UNAVAILABLE and
// /readyz names the index; afterwards both work again.
func TestIndexInWeaviate(t *testing.T) {
	t.Parallel()
	s := weaviatetest.New(t, "lantern")
	var now time.Time
	use := func(c *config.Config) { c.Index.URL, c.Keys.Index = s.URL(), config.Secret(s.Key) }
	one, logs := open(t, use)
	two, _ := open(t, use)
	two.Now = func() time.Time { return now }
	h := handler(t, two)
	_, err := one.Ingester.IngestDocuments(t.Context(), "default", []ingest.Source{{URI: "castle.md", Data: []byte("# Castle\n\nThe castle of Zembla has 77 towers and was built by Queen Ottoline.")}}, nil)
	require.NoError(t, err)
	answered := func(what string) {
		t.Helper()
		for question, want := range map[string]string{"Who built the castle of Zembla?": "Ottoline", "How many towers does the castle of Zembla have?": "77"} {
			if status, reply := request(t, h, "POST", "/api/query", `{"query":"`+question+`"}`); status != http.StatusOK || !strings.Contains(reply, want) {
				t.Errorf("%s: %s: status %d: %s", what, question, status, reply)
			}
		}
	}
	ready := func() (int, server.Health) {
		now = now.Add(time.Minute)
		status, reply := request(t, h, "GET", "/readyz", "")
		var health server.Health
		require.NoError(t, json.Unmarshal([]byte(reply), &health))
		return status, health
	}
	answered("at first")
	if status, health := ready(); status != http.StatusOK {
		t.Errorf("readiness: status %d, %+v", status, health)
	}
	s.Stop()
	if status, reply := request(t, h, "POST", "/api/query", whoKeepsFarland); status != http.StatusServiceUnavailable || !strings.Contains(reply, string(fault.Unavailable)) {
		t.Errorf("without Weaviate: status %d: %s", status, reply)
	}
	if status, health := ready(); status != http.StatusServiceUnavailable || health.Parts["index"].Status != server.PartFailed || health.Parts["log"].Status != server.PartOK {
		t.Errorf("readiness without Weaviate: status %d, %+v", status, health)
	}
	require.NoError(t, s.Run())
	answered("after Weaviate came back")
	if status, health := ready(); status != http.StatusOK {
		t.Errorf("readiness after Weaviate came back: status %d, %+v", status, health)
	}
	if strings.Contains(logs.String(), s.Key) {
		t.Error("the log shows the API key")
	}
}

// TestMigrateToWeaviate moves a data folder to another one with its index in Weaviate, and back. The servers give the same replies on each, without
// indexing anything again. A migration that is cut can be repeated.
func TestMigrateToWeaviate(t *testing.T) {
	t.Parallel()
	source, paths := migrationSource(t)
	want := replies(t, source, paths)
	there, back := folderConfig(t), folderConfig(t)
	there.Index.URL = weaviatetest.New(t, "").URL()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := app.Migrate(ctx, source, there, app.MigrateOptions{Progress: func(part string, _ int) {
		if strings.Contains(part, "index") {
			cancel()
		}
	}})
	if cancel(); !errors.Is(err, context.Canceled) {
		t.Fatalf("a migration that is cut: %v", err)
	}
	counts := map[string]int{}
	for _, p := range migrate(t, source, there) {
		counts[p.Tenant+"/"+p.Part] = p.Count
	}
	if counts["acme/index"] < 3 || counts["acme/index"] != counts["default/index"] { // two documents, and a set
		t.Errorf("counts %v", counts)
	}
	if _, err := os.Stat(filepath.Join(there.Store.Data, "index")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an index in the folder of the target: %v", err)
	}
	if diff := cmp.Diff(want, replies(t, there, paths)); diff != "" {
		t.Errorf("replies with Weaviate: %s", diff)
	}
	useServer(t, there)
	want = replies(t, there, paths[:len(paths)-1])
	migrate(t, there, back)
	if diff := cmp.Diff(want, replies(t, back, paths[:len(paths)-1])); diff != "" {
		t.Errorf("replies from the folder: %s", diff)
	}
	useServer2(t, back)
}

// BenchmarkIndexes measures a question and its answer without a model, with the index in the data folder and in Weaviate.
func BenchmarkIndexes(b *testing.B) {
	docs := make([]ingest.Source, 0, 400)
	for i := range cap(docs) {
		text := strings.Builder{}
		for k := range 20 {
			text.WriteString("The harbour " + harbour(i) + " has " + harbour(7*i+k) + " boats of the kind " + harbour(i*k) + ", and its keeper is " + harbour(3*i+k) + " of Farland.\n\n")
		}
		docs = append(docs, ingest.Source{URI: harbour(i) + ".md", Data: []byte("# Harbour " + harbour(i) + "\n\n" + text.String())})
	}
	for _, where := range []string{"embedded", "weaviate"} {
		b.Run(where, func(b *testing.B) {
			cfg := config.Default()
			cfg.Store.Data = b.TempDir()
			if where == "weaviate" {
				cfg.Index.URL = weaviatetest.URL(b)
			}
			a, err := app.Open(b.Context(), cfg, slog.New(slog.DiscardHandler))
			require.NoError(b, err)
			defer a.Close()
			if _, err := a.Ingester.IngestDocuments(b.Context(), "default", docs, nil); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				n++
				run, err := a.Engine.Ask(b.Context(), event.Question{Query: "Who is the keeper of the harbour " + harbour(n%len(docs)) + " with boats of the kind " + harbour(n) + "?", Mode: event.Direct, NoCache: true}, engine.Caller{})
				require.NoError(b, err)
				for _, err := range a.Engine.Events(b.Context(), run, 0) {
					require.NoError(b, err)
				}
			}
		})
	}
}

// harbour returns a word for a number.
func harbour(n int) string {
	const letters = "bdfgklmnprstv"
	out := []byte{}
	for range 4 {
		out = append(out, letters[n%len(letters)], "aeiou"[n%5])
		n = n/3 + 7
	}
	return string(out)
}
