package cli_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// expectOfSources returns a function that runs a command of "sluice sources" on a data folder. The command must succeed and print the text.
func expectOfSources(t *testing.T, data string) func(want string, args ...string) string {
	return func(want string, args ...string) string {
		t.Helper()
		status, out, errs := run(t, append([]string{"sources"}, append(args, "--data", data)...)...)
		if status != 0 || !strings.Contains(out, want) {
			t.Fatalf("%v: status %d, want %q in %s\n%s", args, status, want, out, errs)
		}
		return out
	}
}

// TestSources adds, syncs, lists and removes a source, in the data folder and through the server that uses it.
func TestSources(t *testing.T) {
	folder, data := docs(t), t.TempDir()
	expect := expectOfSources(t, data)
	out := expect("added 1 ", "add", folder)
	id, _, _ := strings.Cut(out, " ")
	expect(folder, "list")
	expect(`{"sources":[{"id":"`+id+`"`, "list", "--json")
	expect("unchanged 1,", "sync", folder)

	url, stop := serve(t, "--data", data)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "second.md"), []byte("The second quay is for ferries."), 0o600))
	expect("added 1 (moved 0), updated 0, unchanged 1,", "sync", "--full", id)
	expect("idle", "list")
	if status, _, errs := run(t, "sources", "add", "--data", data, folder); status != 1 || !strings.Contains(errs, "is that of the source "+id+" already") {
		t.Errorf("added twice: status %d, %s", status, errs)
	}
	other := docs(t)
	res, err := http.Post(url+"/api/sources", "application/json", strings.NewReader(`{"kind":"folder","location":"`+filepath.ToSlash(other)+`"}`))
	require.NoError(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a folder was added without a key of the server: status %d", res.StatusCode)
	}
	expect("added 1 ", "add", other)
	expect("removed "+id, "remove", folder)
	if out := expect(other, "list"); strings.Contains(out, id) {
		t.Errorf("listed after it was removed:\n%s", out)
	}
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
	if status, _, errs := run(t, "sources", "remove", "--data", data, "none"); status != 1 || !strings.Contains(errs, "no source") {
		t.Errorf("removed an unknown one: status %d, %s", status, errs)
	}
}

// TestAddWatchedThroughServer checks that the command reports its own sync, and not that of the watch, which begins at once.
func TestAddWatchedThroughServer(t *testing.T) {
	data := t.TempDir()
	_, stop := serve(t, "--data", data)
	for i := range 8 {
		status, out, errs := run(t, "sources", "add", docs(t), "--watch", "--data", data)
		if status != 0 || !strings.Contains(out, "added 1 ") {
			t.Errorf("%d: status %d: %s\n%s", i, status, out, errs)
		}
	}
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}

// TestSharedFolders adds folders over HTTP to a server without keys: only those below a folder that its owner has named, and without telling which others exist.
func TestSharedFolders(t *testing.T) {
	shared, private, data := docs(t), docs(t), t.TempDir()
	write(t, filepath.Join(shared, "team", "a.md"), "The tugs are red.")
	require.NoError(t, os.Symlink(private, filepath.Join(shared, "out")))
	url, stop := serve(t, "--data", data, "--source-folder", shared)
	if body := get(t, url+"/api/sources"); !strings.Contains(body, `"folders":["`) {
		t.Errorf("the shared folder is not listed: %s", body)
	}
	for _, c := range []struct {
		location string
		status   int
	}{
		{private, 403},
		{private + "/none", 403},
		{filepath.Dir(shared), 403},
		{shared + "/../" + filepath.Base(shared) + "2", 403},
		{shared + "/out", 403},
		{shared + "/none", 400},
		{shared + "/team/../team", 201},
	} {
		res, err := http.Post(url+"/api/sources", "application/json", strings.NewReader(`{"kind":"folder","location":"`+filepath.ToSlash(c.location)+`"}`))
		require.NoError(t, err)
		_ = res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", c.location, res.StatusCode, c.status)
		}
	}
	if status, out, errs := run(t, "sources", "sync", "--data", data); status != 0 || !strings.Contains(out, "added 1 ") && !strings.Contains(out, "unchanged 1,") {
		t.Errorf("status %d: %s\n%s", status, out, errs)
	}
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
	for _, dir := range []string{filepath.Dir(data), data, filepath.Join(data, "runs")} {
		if status, _, errs := run(t, "serve", "--addr", "127.0.0.1:0", "--data", data, "--source-folder", dir); status == 0 || !strings.Contains(errs, "has secrets") {
			t.Errorf("%s: status %d: %s", dir, status, errs)
		}
	}
}

// TestErrorsOfSources checks what the command says when a server refuses: what the user wanted, and not the route.
func TestErrorsOfSources(t *testing.T) {
	data := t.TempDir()
	url, stop := serve(t, "--data", data)
	defer stop()
	for want, args := range map[string][]string{
		"add source: every: want a duration":                         {"sources", "add", docs(t), "--every", "5s", "--data", data},
		"add source: location: no kind of source has such locations": {"sources", "add", "gopher://example.com/", "--data", data},
		"list sources: no such page":                                 {"sources", "list", "--server", url + "/nothing"},
		"list runs: no such page":                                    {"runs", "--server", url + "/nothing"},
	} {
		if status, out, errs := run(t, args...); status != 1 || !strings.Contains(errs, "sluice: "+want) || strings.Contains(errs, "/api/") {
			t.Errorf("%v: status %d, want %q: %s%s", args, status, want, out, errs)
		}
	}
	res, err := http.Post(url+"/api/sources", "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "location: is required") {
		t.Errorf("a source without fields: status %d, %s, %v", res.StatusCode, text, err)
	}
}

// TestAddWhoseSyncFails adds a website that cannot be reached, in the data folder and through the server that uses it. The command says that the source is kept.
func TestAddWhoseSyncFails(t *testing.T) {
	data := t.TempDir()
	add := func(location string) {
		t.Helper()
		status, out, errs := run(t, "sources", "add", location, "--data", data)
		id, _, _ := strings.Cut(out, " ")
		if status != 1 || !strings.HasSuffix(errs, "to this command if no server runs\nThe source is kept. \"sluice sources sync "+id+"\" tries again, and \"sluice sources remove "+id+"\" removes it\n") {
			t.Errorf("status %d: %s%s", status, out, errs)
		}
		if _, out, _ := run(t, "sources", "list", "--data", data); !strings.Contains(out, id) {
			t.Errorf("not kept: %s", out)
		}
	}
	add("http://127.0.0.1:1/a/")
	_, stop := serve(t, "--data", data)
	defer stop()
	add("http://127.0.0.1:1/b/")
}

// TestAddInterrupted stops the command during the first sync: it says that the source is kept, and the list does not show a sync in progress.
func TestAddInterrupted(t *testing.T) {
	folder, data := t.TempDir(), t.TempDir()
	for i := range 200 {
		write(t, filepath.Join(folder, fmt.Sprint(i%20), fmt.Sprint(i, ".md")), fmt.Sprintf("# Pump %d\n\nThe pump %d is in the cellar.\n", i, i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var errs strings.Builder
	out := writer(func(p []byte) (int, error) { // the line with the id
		cancel()
		return len(p), nil
	})
	status := cli.Main(ctx, []string{"sources", "add", folder, "--data", data}, cli.Streams{In: strings.NewReader(""), Out: out, Err: &errs})
	if status != 1 || !strings.Contains(errs.String(), "The source is kept. \"sluice sources sync src-") || !strings.HasSuffix(errs.String(), "sluice: stopped\n") {
		t.Errorf("status %d: %s", status, &errs)
	}
	if _, list, errs := run(t, "sources", "list", "--data", data); strings.Contains(list, "syncing") || !strings.Contains(list, "interrupted") && !strings.Contains(list, "never") { // never: the sync had not begun
		t.Errorf("%s%s", list, errs)
	}
	if status, out, errs := run(t, "sources", "sync", "--data", data); status != 0 {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	if _, list, errs := run(t, "sources", "list", "--data", data); !strings.Contains(list, "idle") {
		t.Errorf("%s%s", list, errs)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestDocumentsOfSourceInList empties a folder with a source: the list shows that its documents are still searchable, since an empty place may not be mounted.
func TestDocumentsOfSourceInList(t *testing.T) {
	folder, data := t.TempDir(), t.TempDir()
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("# Pumps\n\nThe pump of "+name+" is in the cellar.\n"), 0o600))
	}
	list := func(want string) {
		t.Helper()
		status, out, errs := run(t, "sources", "list", "--data", data)
		if fields := strings.Fields(strings.SplitN(out+"\n\n", "\n", 3)[1]); status != 0 || len(fields) < 4 || fields[3] != want {
			t.Errorf("status %d, want %s documents: %s%s", status, want, out, errs)
		}
	}
	if status, _, errs := run(t, "sources", "add", folder, "--data", data); status != 0 {
		t.Fatal(errs)
	}
	list("3")
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		require.NoError(t, os.Remove(filepath.Join(folder, name)))
	}
	if status, _, _ := run(t, "sources", "sync", folder, "--data", data); status != 1 {
		t.Errorf("sync of an empty folder: status %d", status)
	}
	list("3")
}
