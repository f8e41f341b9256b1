//go:build linux

package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
	"github.com/sluice-rag/sluice/sqldb"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// TestSharedCache lets servers share the log, the records and the index. Their questions can join, an answer of one is in the cache of all, and a
// change of a document or a deletion of a run on one removes it for all. One server does not use the cache, but removes answers from it.
func TestSharedCache(t *testing.T) {
	t.Parallel()
	s, log, records := weaviatetest.New(t, "lantern"), natstest.New(t), postgrestest.URL(t)
	nc, err := nats.Connect(log.URL())
	require.NoError(t, err)
	defer nc.Close()
	reserved, err := nc.SubscribeSync("sluice.index.default.ask.*")
	require.NoError(t, err)
	use := func(c *config.Config) {
		c.Index.URL, c.Keys.Index, c.Store.RunLog, c.Store.Records = s.URL(), config.Secret(s.Key), log.URL(), config.Secret(records)
	}
	one, _ := open(t, use)
	two, _ := open(t, use)
	without, _ := open(t, func(c *config.Config) { use(c); c.Cache.CacheBytes = 0 })
	const keeper = "Who is the keeper of the Farland lighthouse?"
	cached := func(a *app.App) (hit bool, id event.RunID) {
		t.Helper()
		_, state := ask(t, a, keeper)
		return state.Cached(), state.Run
	}
	kept := func() int64 {
		t.Helper()
		db := postgrestest.Open(t, records)
		read, _, err := db.Part(t.Context(), "sluicecache_default", "nothing", nil)
		var n int64
		if err == nil {
			n, err = sqldb.One(t.Context(), read, sqldb.Integer, "SELECT count(*) FROM entries")
		}
		require.NoError(t, err)
		return n
	}
	for i, change := range []*app.App{one, two, without} {
		for name, do := range map[string]func(made event.RunID) error{
			"a changed document": func(event.RunID) error {
				text := fmt.Sprintf("%s\n\nIt was painted %d times.", lighthouse, i+1)
				_, err := change.Ingester.IngestDocuments(t.Context(), "default", []ingest.Source{{URI: "lighthouse.md", Data: []byte(text)}}, nil)
				return err
			},
			"a deleted run": func(made event.RunID) error { return change.Engine.Delete(t.Context(), made) },
		} {
			hit, made := cached(one)
			if hit {
				t.Errorf("server %d, %s: there is an answer of before", i, name)
			}
			for server, a := range []*app.App{one, two, without} {
				if hit, _ := cached(a); hit != (a != without) {
					t.Errorf("server %d, %s: on server %d, the answer is cached: %v", i, name, server, hit)
				}
			}
			if n := kept(); n != 1 {
				t.Errorf("server %d, %s: %d answers are kept", i, name, n)
			}
			require.NoError(t, do(made))
			if n := kept(); n != 0 {
				t.Errorf("server %d, %s: %d answers remain", i, name, n)
			}
		}
	}
	if _, err := reserved.NextMsg(20 * time.Second); err != nil {
		t.Error("questions are not reserved for all servers")
	}
}
