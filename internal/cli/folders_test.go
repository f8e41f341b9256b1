package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestFoldersThatAreNoSources lists folders and files that were ingested, and removes their documents after the folder has vanished, in the data folder and through the server that uses it.
func TestFoldersThatAreNoSources(t *testing.T) {
	data, parent := t.TempDir(), docs(t)
	slash := filepath.ToSlash(parent)
	file := filepath.Join(parent, "handbook.md")
	ingest := func(args ...string) {
		t.Helper()
		if status, _, errs := run(t, append([]string{"ingest", "--data", data}, args...)...); status != 0 {
			t.Fatalf("%v: %s", args, errs)
		}
	}
	sources := func(status int, want string, args ...string) (out string) {
		t.Helper()
		got, out, errs := run(t, append([]string{"sources"}, append(args, "--data", data)...)...)
		if got != status || !strings.Contains(strings.Join(strings.Fields(out+errs), " "), want) {
			t.Errorf("%v: status %d, want %d and %q: %s%s", args, got, status, want, out, errs)
		}
		return out
	}
	both := func(collection ...string) string {
		t.Helper()
		folder := filepath.Join(parent, "tugs")
		write(t, filepath.Join(folder, "hedda.md"), "The tug Hedda is painted red.")
		write(t, filepath.Join(folder, "deep", "olga.md"), "The tug Olga is painted blue.")
		ingest(append([]string{folder, file}, collection...)...)
		require.NoError(t, os.RemoveAll(folder))
		return folder
	}
	check := func() {
		t.Helper()
		gone := both()
		sources(0, "OTHER FILES AND FOLDERS DOCUMENTS COLLECTION "+slash+"/handbook.md 1 default "+slash+"/tugs 2 default", "list")
		if status, _, errs := run(t, "ingest", "--data", data, gone); status != 1 || !strings.Contains(errs, `"sluice sources remove `+gone+`" removes its documents`) {
			t.Errorf("status %d: %s", status, errs)
		}
		sources(0, "removed 2 documents of "+slash+"/tugs", "remove", gone)
		sources(1, "no document of this path is indexed", "remove", gone)
		if out := sources(0, slash+"/handbook.md 1 default", "list"); strings.Contains(out, "/tugs") {
			t.Errorf("still listed: %s", out)
		}
		both("--collection", "notes")
		sources(0, slash+"/tugs 2 notes", "list")
		sources(0, "removed 2 documents", "remove", gone)
		sources(0, "removed 2 documents of "+slash, "remove", parent) // the file, in both collections
		if out := sources(0, "SOURCE", "list"); strings.Contains(out, "OTHER") {
			t.Errorf("still listed: %s", out)
		}
	}
	check()
	_, stop := serve(t, "--data", data)
	check()
	sources(0, "added 1 ", "add", parent)
	if out := sources(0, slash, "list"); strings.Contains(out, "OTHER") {
		t.Errorf("the folder of a source is listed twice: %s", out)
	}
	sources(1, "overlaps with the source", "remove", file)
	sources(1, "overlaps with the source", "remove", filepath.Dir(parent))
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}
