package ingest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
)

// memory is a small index in memory.
type memory struct {
	mu      sync.Mutex
	docs    map[string]map[corpus.DocumentID]corpus.Document
	entries map[corpus.DocumentID][]index.Entry
	puts    []int // documents of each Put
	broken  error
	refuses string // the space whose vectors are rejected
}

func newMemory() *memory {
	return &memory{docs: map[string]map[corpus.DocumentID]corpus.Document{}, entries: map[corpus.DocumentID][]index.Entry{}}
}

func (m *memory) Put(_ context.Context, docs []corpus.Document, entries [][]index.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	for _, e := range slices.Concat(entries...) {
		if m.refuses != "" && e.Space == m.refuses {
			return fault.Invalid("vector", "has other components")
		}
	}
	for i, d := range docs {
		if m.docs[d.Collection] == nil {
			m.docs[d.Collection] = map[corpus.DocumentID]corpus.Document{}
		}
		m.docs[d.Collection][d.ID] = d
		m.entries[d.ID] = entries[i]
	}
	m.puts = append(m.puts, len(docs))
	return nil
}

func (m *memory) Delete(_ context.Context, collection string, ids []corpus.DocumentID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		delete(m.docs[collection], id)
		delete(m.entries, id)
	}
	return nil
}

func (m *memory) Documents(_ context.Context, collection string, after corpus.DocumentID, limit int) ([]corpus.Document, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []corpus.Document
	for id, d := range m.docs[collection] {
		if id > after {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b corpus.Document) int { return cmp.Compare(a.ID, b.ID) })
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, nil
}

func (m *memory) Search(_ context.Context, q index.Query) ([]index.Hit, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []index.Hit
	for id := range m.docs[q.Collection] {
		for _, e := range m.entries[id] {
			if e.Level == corpus.Passage && strings.Contains(e.Text, q.Text) {
				out = append(out, index.Hit{Chunk: e.Chunk, Score: 1})
			}
		}
	}
	return out, nil
}

func (m *memory) Chunks(context.Context, string, []corpus.ChunkID) ([]corpus.Chunk, error) {
	return nil, nil
}

func (m *memory) Terms(context.Context, string, []string) (index.TermStats, error) {
	return index.TermStats{}, nil
}

// lengths is an embedder that embeds a text as its length.
type lengths struct {
	name   string
	broken error
	refuse string // calls with a text that contains it fail as too long
	calls  *atomic.Int32
}

func (l lengths) Space() string { return l.name }

func (l lengths) Embed(_ context.Context, texts []string, p model.Purpose) ([][]float32, error) {
	if l.calls != nil {
		l.calls.Add(1)
	}
	if p != model.ForPassage {
		return nil, errors.New("chunks are passages")
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		if l.refuse != "" && strings.Contains(t, l.refuse) {
			return nil, &model.Error{Model: "lengths", Failure: model.TooLong, Status: 400}
		}
		out[i] = []float32{float32(len(t))}
	}
	return out, l.broken
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(data), 0o644))
	}
}

func same(t *testing.T, what string, got, want ingest.Report) {
	t.Helper()
	opts := []gocmp.Option{cmpopts.IgnoreFields(ingest.Report{}, "Duration", "Chunks"), cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b ingest.Failure) bool { return a.Path < b.Path })}
	if d := gocmp.Diff(want, got, opts...); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func run(t *testing.T, g *ingest.Ingester, paths ...string) ingest.Report {
	t.Helper()
	r, err := g.Ingest(t.Context(), ingest.Request{Paths: paths}, nil)
	require.NoError(t, err)
	return r
}

func TestIngestFollowsFolder(t *testing.T) {
	dir, ix := t.TempDir(), newMemory()
	g := ingest.New(ix, lengths{name: "a"}, ingest.Options{Workers: 3})
	write(t, dir, map[string]string{
		"a.md": "# A\n\nAlpha.", "sub/b.txt": "Beta.", "sub/copy.txt": "Beta.", ".hidden/c.md": "no", ".d.md": "no",
		"node_modules/e.md": "no", "~$a.docx": "\x05Ada", "sub/~$b.md": "no", "vendor/f.md": "no", "pic.png": "\x89PNG",
		"data/sessions.exists": "", "data/runs/lock": "", "data/server.json": `{"token": "no"}`,
	})
	data := filepath.Join(dir, "data")
	if r := run(t, g, data); r.Added != 0 || len(r.Failed) != 1 || r.Failed[0].Reason != "belongs to the data folder of a server" {
		t.Errorf("a data folder: %+v", r)
	}
	var told []ingest.Progress
	r, err := g.Ingest(t.Context(), ingest.Request{Paths: []string{dir, filepath.Join(dir, "a.md")}}, func(p ingest.Progress) { told = append(told, p) })
	require.NoError(t, err)
	same(t, "first", r, ingest.Report{Added: 3, Ignored: 1})
	if last := told[len(told)-1]; len(told) != 3 || last.Done != 3 || last.Total != 3 || last.Bytes != 21 || last.Current == "" {
		t.Errorf("progress %+v", told)
	}
	same(t, "again", run(t, g, dir), ingest.Report{Unchanged: 3, Ignored: 1})

	write(t, dir, map[string]string{"a.md": "# A\n\nOmega.", "new.txt": "Gamma."})
	require.NoError(t, os.Remove(filepath.Join(dir, "sub/copy.txt")))
	same(t, "changed", run(t, g, dir), ingest.Report{Added: 1, Updated: 1, Unchanged: 1, Deleted: 1, Ignored: 1})
	other := t.TempDir()
	write(t, other, map[string]string{"o.md": "Zeta."})
	same(t, "another folder", run(t, g, other), ingest.Report{Added: 1, Other: 3})
	for word, want := range map[string]int{"Alpha": 0, "Omega": 1, "Beta": 1, "Gamma": 1} {
		if hits, _ := ix.Search(t.Context(), index.Query{Collection: corpus.DefaultCollection, Text: word}); len(hits) != want {
			t.Errorf("%s: %d hits, want %d", word, len(hits), want)
		}
	}
	for _, es := range ix.entries {
		for _, e := range es {
			if e.Space != "a" || len(e.Vector) != 1 || e.Vector[0] != float32(len(e.Text)) {
				t.Errorf("vector %v for %q", e.Vector, e.Text)
			}
		}
	}
	// Documents are not ingested again for another embedder.
	same(t, "other embedder", run(t, ingest.New(ix, lengths{name: "b"}, ingest.Options{}), dir), ingest.Report{Unchanged: 3, Ignored: 1, Other: 1})
	// Ingesting a single file does not affect other files. The file may be hidden.
	same(t, "named", run(t, ingest.New(ix, lengths{name: "b"}, ingest.Options{}), filepath.Join(dir, ".d.md")), ingest.Report{Added: 1, Other: 4})
}

func TestIngestReportsFailures(t *testing.T) {
	dir, ix := t.TempDir(), newMemory()
	g := ingest.New(ix, nil, ingest.Options{MaxFileBytes: 100})
	write(t, dir, map[string]string{
		"empty.txt": "", "blank.md": "\n\n", "bin.txt": "a\x00b", "big.txt": strings.Repeat("a", 101), "ok.txt": "fine", "bad.pdf": "no",
		"odd\xff\n.txt": "", "out/x.txt": "outside",
	})
	if err := makePipe(filepath.Join(dir, "pipe")); err != nil {
		t.Skip(err)
	}
	root := filepath.Join(dir, "root")
	require.NoError(t, os.Mkdir(root, 0o755))
	for _, e := range []string{"empty.txt", "blank.md", "bin.txt", "big.txt", "ok.txt", "bad.pdf", "odd\xff\n.txt", "pipe"} {
		require.NoError(t, os.Rename(filepath.Join(dir, e), filepath.Join(root, e)))
	}
	for name, to := range map[string]string{"loop": ".", "away": "../out", "file.txt": "../out/x.txt", "self": "self"} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, name)))
	}
	at := func(name string) string { return filepath.ToSlash(root) + "/" + name }
	same(t, "folder", run(t, g, root, filepath.Join(root, "gone.txt"), filepath.Join(root, "self")), ingest.Report{Added: 1, Failed: []ingest.Failure{
		{at("empty.txt"), "the file is empty"},
		{at("blank.md"), "holds no text"},
		{at("bin.txt"), "a binary file cannot be read"},
		{at("big.txt"), "larger than the limit of 100 bytes (--max-file-bytes)"},
		{at("bad.pdf"), "not valid PDF"},
		{at(`odd\xff\x0a.txt`), "the file is empty"},
		{at("pipe"), "not a regular file"},
		{at("gone.txt"), "does not exist"},
		{at("self"), "a symbolic link that leads back to itself"},
	}})
	same(t, "pipe", run(t, g, filepath.Join(root, "pipe")), ingest.Report{Other: 1, Failed: []ingest.Failure{{at("pipe"), "not a regular file"}}})
	if os.Getuid() != 0 {
		require.NoError(t, os.Chmod(filepath.Join(root, "ok.txt"), 0))
		same(t, "permission", run(t, g, filepath.Join(root, "ok.txt")), ingest.Report{Failed: []ingest.Failure{{at("ok.txt"), "no permission to read it"}}})
	}
}

// TestIngestOnce: a folder and files that are named twice, also through symbolic links, are one document each.
func TestIngestOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"real/a.txt": "one", "real/sub/b.txt": "two"})
	for link, to := range map[string]string{"link": "real", "part": "real/sub", "file.txt": "real/a.txt"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	same(t, "links", run(t, ingest.New(newMemory(), nil, ingest.Options{}), at("link"), at("real"), at("part"), at("file.txt"), at("real")), ingest.Report{Added: 2})
}

func TestIngestStopsOnBrokenParts(t *testing.T) {
	dir, ix := t.TempDir(), newMemory()
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("%02d.txt", i)] = fmt.Sprintf("Text %d.", i)
	}
	write(t, dir, files)
	boom := errors.New("boom")
	ix.broken = boom
	if _, err := ingest.New(ix, nil, ingest.Options{BatchDocs: 2}).Ingest(t.Context(), ingest.Request{Paths: []string{dir}}, nil); !errors.Is(err, boom) {
		t.Errorf("index: %v", err)
	}
	ix.broken = nil
	// Documents that were indexed before a cancellation stay, and the next ingestion skips them.
	g := ingest.New(ix, nil, ingest.Options{BatchDocs: 3, Workers: 2})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := g.Ingest(ctx, ingest.Request{Paths: []string{dir}}, func(p ingest.Progress) {
		if p.Done == 7 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || r.Added != 6 {
		t.Errorf("cancel: %+v, %v", r, err)
	}
	same(t, "after", run(t, g, dir), ingest.Report{Added: 14, Unchanged: 6})
	if slices.Max(ix.puts) > 3 {
		t.Errorf("batches %v", ix.puts)
	}
}

// TestIngestWithoutEmbedder checks that documents are indexed without vectors if the embedder fails.
func TestIngestWithoutEmbedder(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"poison.txt": "Poison."}
	for i := range 20 {
		files[fmt.Sprintf("%02d.txt", i)] = fmt.Sprintf("Text %d.", i)
	}
	write(t, dir, files)
	down := &model.Error{Model: "m", Failure: model.Unreachable, Cause: errors.New("dial secret")}
	for _, c := range []struct {
		name    string
		e       lengths
		without int    // chunks without a vector
		calls   int32  // at most
		says    string // EmbedFailure of the report
	}{
		{"down", lengths{broken: down}, 63, 1, "m could not be reached"},
		{"any error", lengths{broken: errors.New("boom")}, 63, 1, "the embedder failed"},
		{"text", lengths{refuse: "Poison"}, 3, 21, "lengths rejected the request as too long (HTTP status 400)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := newMemory()
			c.e.name, c.e.calls = "s", new(atomic.Int32)
			r := run(t, ingest.New(ix, c.e, ingest.Options{BatchDocs: 4, EmbedBatch: 1, Workers: 1}), dir)
			same(t, "report", r, ingest.Report{Added: 21, Unembedded: c.without, EmbedFailure: c.says})
			if n := c.e.calls.Load(); n > c.calls {
				t.Errorf("%d calls, want %d", n, c.calls)
			}
			bare := 0
			for _, es := range ix.entries {
				for _, e := range es {
					if (e.Space == "") != (e.Vector == nil) {
						t.Errorf("space %q and vector %v", e.Space, e.Vector)
					}
					if e.Vector == nil {
						bare++
					}
				}
			}
			if bare != c.without {
				t.Errorf("%d chunks without a vector, want %d", bare, c.without)
			}
			same(t, "again", run(t, ingest.New(ix, c.e, ingest.Options{}), dir), ingest.Report{Unchanged: 21})
		})
	}
	ix := newMemory()
	ix.refuses = "s"
	r := run(t, ingest.New(ix, lengths{name: "s"}, ingest.Options{BatchDocs: 4}), dir)
	same(t, "refused", r, ingest.Report{Added: 21, Unembedded: 63, EmbedFailure: "vector: has other components"})
	ctx, cancel := context.WithCancel(t.Context())
	g := ingest.New(newMemory(), stopping{cancel}, ingest.Options{})
	if _, err := g.Ingest(ctx, ingest.Request{Paths: []string{dir}}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while embedding: %v", err)
	}
}

// stopping is an embedder that cancels the context of its caller.
type stopping struct{ cancel func() }

func (stopping) Space() string { return "s" }

func (s stopping) Embed(context.Context, []string, model.Purpose) ([][]float32, error) {
	s.cancel()
	return nil, errors.New("interrupted")
}

func TestIngestDocuments(t *testing.T) {
	ix := newMemory()
	now := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	g := ingest.New(ix, lengths{}, ingest.Options{Now: func() time.Time { return now }})
	sources := []ingest.Source{
		{URI: "upload:1", Name: "a.md", Title: "Given", Data: []byte("# Own\n\nText.")},
		{URI: "https://example.org/p.html?x=1", Data: []byte("<title>Page</title><p>Words.")},
		{URI: "upload:1", Data: []byte("twice")},
		{Data: []byte("nameless")},
		{Name: "empty.txt"},
	}
	r, err := g.IngestDocuments(t.Context(), "c", sources, nil)
	require.NoError(t, err)
	same(t, "first", r, ingest.Report{Added: 2, Failed: []ingest.Failure{
		{"document 4", "uri: is empty"}, {"empty.txt", "the file is empty"}, {"upload:1", "uri: is given twice"}}})
	docs, _ := ix.Documents(t.Context(), "c", "", 0)
	want := []corpus.Document{
		{ID: ingest.DocumentID("c", "upload:1"), Collection: "c", Title: "Given", URI: "upload:1", MediaType: "text/markdown", Bytes: 12, IndexedAt: now},
		{ID: ingest.DocumentID("c", "https://example.org/p.html?x=1"), Collection: "c", Title: "Page", URI: "https://example.org/p.html?x=1", MediaType: "text/html", Bytes: 28, IndexedAt: now},
	}
	slices.SortFunc(want, func(a, b corpus.Document) int { return cmp.Compare(a.ID, b.ID) })
	if d := gocmp.Diff(want, docs, cmpopts.IgnoreFields(corpus.Document{}, "Hash")); d != "" {
		t.Error(d)
	}
	r, err = g.IngestDocuments(t.Context(), "c", sources[:1], nil)
	require.NoError(t, err)
	same(t, "again", r, ingest.Report{Unchanged: 1})
	if n, err := g.Delete(t.Context(), "c", []string{"upload:1", "upload:1", "none"}); n != 1 || err != nil {
		t.Errorf("delete: %d, %v", n, err)
	}
}

// replaced is an embedder whose model is replaced during the second call.
type replaced struct {
	lengths
	space *atomic.Int32
}

func (r replaced) Space() string { return fmt.Sprint("s", r.space.Load() > 1) }

func (r replaced) Embed(ctx context.Context, texts []string, p model.Purpose) ([][]float32, error) {
	r.space.Add(1)
	return r.lengths.Embed(ctx, texts, p)
}

// TestModelReplacedWhileEmbedding checks that vectors of unknown origin are not stored: they are made in the background later.
func TestModelReplacedWhileEmbedding(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.txt": "One text.", "b.txt": "Another text."})
	ix := newMemory()
	r := run(t, ingest.New(ix, replaced{lengths{name: "s", calls: new(atomic.Int32)}, new(atomic.Int32)}, ingest.Options{EmbedBatch: 1, Workers: 1}), dir)
	if r.Added != 2 || r.Unembedded != 6 {
		t.Errorf("report %+v", r)
	}
	for _, es := range ix.entries {
		for _, e := range es {
			if e.Vector != nil {
				t.Errorf("a vector of the space %s is stored", e.Space)
			}
		}
	}
}
