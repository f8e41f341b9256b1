package ingest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestDataFolder checks that no file in the data folder of a server is indexed, however it is named.
func TestDataFolder(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	for _, name := range []string{"a.md", "runs/b.md", "sub/sessions.exists/c.md"} {
		f.put(name, "A document.")
	}
	secret := func() { // without the reserve, as on a full disk
		for _, name := range []string{"sub/data/server.json", "sub/data/runs/1.txt", "sub/data/tenants/acme/runs/1.txt", "sub/data/tenants/acme/notes.txt"} {
			f.put(name, "A secret token.")
		}
	}
	f.put("sub/data/docs/d.md", "A document of the user.")
	documents := []string{"a.md", "runs/b.md", "sub/data/docs/d.md", "sub/sessions.exists/c.md"}
	secret()
	f.changed("/sub/data")
	f.changed("/sub/data/server.json")
	f.put("sub/data/sessions.exists", "")
	f.changed("/sub/data/server.json")
	f.changed("/sub/data/runs")
	f.changed()
	f.want("what was indexed before is removed", documents...)

	data := filepath.Join(f.dir, "sub", "data")
	for _, only := range []string{"/sub/data", "/sub/data/server.json", "/sub/data/runs", "/sub/data/runs/1.txt", "/sub/data/tenants/acme", "/sub/data/tenants/acme/notes.txt", "/sub/data/docs", "/sub/data/docs/d.md", "/sub"} {
		f.changed(only)
		f.want("only "+only, documents...)
	}
	link, linked := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "runs")
	for to, at := range map[string]string{data: link, filepath.Join(data, "runs"): linked} {
		require.NoError(t, os.Symlink(to, at))
	}
	for _, path := range []string{data, data + "/runs", data + "/server.json", data + "/tenants/acme", data + "/tenants/acme/runs/1.txt", link, link + "/runs", link + "/server.json", linked, linked + "/1.txt"} {
		for _, only := range [][]string{nil, {path}} {
			r, err := f.ingester.Ingest(t.Context(), ingest.Request{Paths: []string{path}, Only: only}, nil)
			if err != nil || len(r.Failed) != 1 || r.Failed[0].Reason != "belongs to the data folder of a server" {
				t.Errorf("%s, only %v: %+v, %v", path, only, r, err)
			}
		}
		f.want(path, documents...)
	}
	if r, err := f.ingester.Ingest(t.Context(), ingest.Request{Paths: []string{data + "/docs"}}, nil); err != nil || len(r.Failed) != 0 {
		t.Errorf("a folder of the user in the data folder: %+v, %v", r, err)
	}
	if err := os.Mkdir(filepath.Join(f.dir, "sessions.exists"), 0o700); err != nil { // a server uses the folder of the documents itself
		t.Fatal(err)
	}
	r, err := f.ingester.Ingest(t.Context(), ingest.Request{Paths: []string{f.dir}, Only: []string{f.dir + "/a.md"}}, nil)
	if err != nil || len(r.Failed) != 1 || r.Failed[0].Reason != "belongs to the data folder of a server" {
		t.Errorf("the data folder itself: %+v, %v", r, err)
	}
	if _, err := f.ingester.Ingest(t.Context(), ingest.Request{Paths: []string{f.dir}}, nil); err != nil {
		t.Error(err)
	}
	f.want("what is the server's and was indexed before is removed", "sub/data/docs/d.md", "sub/sessions.exists/c.md")
}
