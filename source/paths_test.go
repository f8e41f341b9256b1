package source_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/store"
)

// gated is an ingester that lets no ingestion of paths through until its gate is closed.
type gated struct {
	*ingest.Ingester
	begun chan struct{}
	gate  chan struct{}
}

func (g gated) Ingest(ctx context.Context, req ingest.Request, progress func(ingest.Progress)) (ingest.Report, error) {
	g.begun <- struct{}{}
	select {
	case <-g.gate:
		return g.Ingester.Ingest(ctx, req, progress)
	case <-ctx.Done():
		return ingest.Report{}, ctx.Err()
	}
}

// paths is a service whose ingestions of paths wait at a gate.
type paths struct {
	*bench
	gated
	open func()
}

func newPaths(t *testing.T) *paths {
	p := &paths{bench: newBench(t)}
	p.start()
	return p
}

// start starts the service anew, as another process would.
func (p *paths) start() {
	p.Helper()
	p.service.Close()
	p.gated = gated{ingest.New(p.index, words, ingest.Options{}), make(chan struct{}, 1000), make(chan struct{})}
	p.open = sync.OnceFunc(func() { close(p.gate) })
	p.service = source.New(source.Options{Store: p.store, Ingestions: p.store, Ingester: p.gated, Collection: "default", MaxQueuedPaths: 3})
	require.NoError(p, p.service.Resume(p.Context()))
}

func (p *paths) ingest(names ...string) (*source.Ingestion, error) {
	for i := range names {
		names[i] = filepath.Join(p.dir, names[i])
	}
	return p.service.IngestPaths(p.Context(), source.PathsRequest{Paths: names})
}

// result waits for the end of an ingestion.
func (p *paths) result(id string) source.Result {
	p.Helper()
	i, err := p.service.Ingestion(p.Context(), id)
	require.NoError(p, err)
	st, changed := i.After(0)
	for ; st.Result == nil; st, changed = i.After(0) {
		select {
		case <-changed:
		case <-p.Context().Done():
			p.Fatal("the ingestion does not end")
		}
	}
	return *st.Result
}

// TestPathsAfterRestart stops the service during ingestions of paths. They continue with the same ids, also if what they read is gone, and their results are known after another restart.
func TestPathsAfterRestart(t *testing.T) {
	t.Parallel()
	p := newPaths(t)
	p.put("a.md", "The lighthouse was built in 1900.")
	p.put("sub/b.md", "Bread needs flour.")
	first, err := p.ingest("a.md")
	require.NoError(t, err)
	second, err := p.ingest("sub")
	require.NoError(t, err)
	<-p.begun
	require.NoError(t, os.RemoveAll(filepath.Join(p.dir, "sub")))
	p.start()
	p.open()
	check := func(step string) {
		t.Helper()
		if r := p.result(first.ID); r.Added != 1 || r.Error != "" || r.Attempt != 2 || r.Ingestion != first.ID {
			t.Errorf("%s: %+v", step, r)
		}
		if r := p.result(second.ID); r.Failed != 1 || !strings.Contains(r.Error, "sub: does not exist") {
			t.Errorf("%s: one whose folder is gone: %+v", step, r)
		}
	}
	check("continued")
	p.start()
	check("after another restart")
	if got := p.indexed(); got != "a.md" {
		t.Errorf("indexed %q", got)
	}
	if len(p.begun) != 0 {
		t.Error("an ingestion that has ended was started again")
	}
}

// TestPathsLimit refuses an ingestion while others wait, and keeps the results of the newest ones.
func TestPathsLimit(t *testing.T) {
	t.Parallel()
	p := newPaths(t)
	p.put("a.md", "The lighthouse was built in 1900.")
	var last *source.Ingestion
	for range 3 {
		_, err := p.ingest("a.md")
		require.NoError(t, err)
	}
	if _, err := p.ingest("a.md"); fault.Public(err).Code != fault.Overloaded {
		t.Fatalf("one too many: %v", err)
	}
	p.start()
	if _, err := p.ingest("a.md"); fault.Public(err).Code != fault.Overloaded {
		t.Fatalf("one too many after a restart: %v", err)
	}
	p.open()
	all, err := p.store.Ingestions(t.Context())
	require.NoError(t, err)
	for _, rec := range all {
		p.result(rec.ID)
	}
	for range 110 {
		var err error
		last, err = p.ingest("a.md")
		require.NoError(t, err)
		p.result(last.ID)
	}
	all, err = p.store.Ingestions(t.Context())
	require.NoError(t, err)
	if len(all) > 101 || all[len(all)-1].ID != last.ID {
		t.Errorf("%d ingestions are stored", len(all))
	}
}

// TestPathsTries ends an ingestion that stops the server each time. Stops in order do not count.
func TestPathsTries(t *testing.T) {
	t.Parallel()
	p := newPaths(t)
	p.put("a.md", "The lighthouse was built in 1900.")
	i, err := p.ingest("a.md")
	require.NoError(t, err)
	for range 5 {
		<-p.begun
		p.start()
	}
	<-p.begun
	p.service.Close()
	all, err := p.store.Ingestions(t.Context())
	require.NoError(t, err)
	if len(all) != 1 || all[0].Attempt != 6 || all[0].Tries != 0 {
		t.Fatalf("%+v", all)
	}
	all[0].Tries = 3 // as after crashes
	require.NoError(t, p.store.PutIngestion(t.Context(), all[0]))
	p.start()
	if r := p.result(i.ID); !strings.Contains(r.Error, "crashed or was killed each of the 3 times") || !strings.Contains(r.Error, "ingest parts of the paths") || r.Attempt != 7 {
		t.Errorf("%+v", r)
	}
}

// TestPathsAfterCrash starts ingestions anew as after crashes. Those that waited do not count as tried, and an allowed removal is not repeated.
func TestPathsAfterCrash(t *testing.T) {
	t.Parallel()
	p := newPaths(t)
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		p.put("docs/"+name, "The lighthouse "+name+" was built in 1900.")
	}
	p.open()
	first, err := p.ingest("docs")
	require.NoError(t, err)
	p.result(first.ID)
	p.start()
	allowed, err := p.service.IngestPaths(t.Context(), source.PathsRequest{Paths: []string{filepath.Join(p.dir, "docs")}, AllowRemoval: true})
	require.NoError(t, err)
	<-p.begun
	waiting, err := p.ingest("docs")
	require.NoError(t, err)
	rec, err := p.store.Ingestion(t.Context(), waiting.ID)
	require.NoError(t, err)
	if rec.Tries != 0 {
		t.Errorf("one that waits was tried %d times", rec.Tries)
	}
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		require.NoError(t, os.Remove(filepath.Join(p.dir, "docs", name)))
	}
	p.start()
	p.open()
	if r := p.result(allowed.ID); r.Removed != 0 || r.NotRemoved != 3 {
		t.Errorf("%+v", r)
	}
	if r := p.result(waiting.ID); r.NotRemoved != 3 {
		t.Errorf("%+v", r)
	}
}

// TestPathsOfOtherServers leaves the ingestions of other servers alone, whose disks this server cannot read.
func TestPathsOfOtherServers(t *testing.T) {
	t.Parallel()
	b := newScheduled(t)
	b.put("a.md", "The lighthouse was built in 1900.")
	ended, err := json.Marshal(source.Result{Added: 7, Ingestion: "ing-ended"})
	require.NoError(t, err)
	for id, result := range map[string]json.RawMessage{"ing-other": nil, "ing-ended": ended} {
		require.NoError(t, b.store.PutIngestion(t.Context(), store.Ingestion{ID: id, Paths: []string{b.dir}, Collection: "default", Server: "other", Attempt: 1, CreatedAt: time.Now(), Result: result}))
	}
	b.serve("one", func(string) bool { return true })
	if _, err := b.service.Ingestion(t.Context(), "ing-other"); fault.Public(err).Code != fault.Unavailable {
		t.Error(err)
	}
	for id, created := range map[string]time.Time{"ing-old": time.Now().Add(-25 * time.Hour), "ing-new": time.Now()} {
		require.NoError(t, b.store.PutIngestion(t.Context(), store.Ingestion{ID: id, Paths: []string{b.dir}, Collection: "default", Server: "gone", CreatedAt: created}))
	}
	b.serve("one", func(string) bool { return true })
	if i, err := b.service.Ingestion(t.Context(), "ing-old"); err != nil {
		t.Error(err)
	} else if st, _ := i.After(0); st.Result == nil || !strings.Contains(st.Result.Error, "is gone") {
		t.Errorf("of a server that is gone for long: %+v", st.Result)
	}
	if _, err := b.service.Ingestion(t.Context(), "ing-new"); fault.Public(err).Code != fault.Unavailable {
		t.Error(err)
	}
	i, err := b.service.Ingestion(t.Context(), "ing-ended")
	require.NoError(t, err)
	if st, _ := i.After(0); st.Result == nil || st.Result.Added != 7 {
		t.Errorf("%+v", st)
	}
	if got := b.indexed(); got != "" {
		t.Errorf("indexed %q", got)
	}
}
