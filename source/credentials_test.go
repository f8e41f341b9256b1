package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/folder"
)

// TestCredentials checks that a connector gets the credentials that a source names, and that only certain ones can be named, by those who may read the disk.
func TestCredentials(t *testing.T) {
	b := newBench(t)
	b.service.Close()
	secrets := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "wiki"), []byte("from a file\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "large"), []byte(strings.Repeat("x", 1<<15)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "secret"), []byte("outside"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(b.dir, "secret"), filepath.Join(secrets, "link")))
	t.Setenv("SLUICE_SOURCE_WIKI", " from a variable ")
	t.Setenv("SLUICE_OTHER", "hunter2")
	var got string
	plain := folder.Kind(nil, nil)
	kind := source.Kind{Locate: plain.Locate, Open: plain.Open, OpenWith: func(location, credentials string) (source.Connector, error) {
		got = credentials
		return plain.Open(location)
	}}
	secured := kind
	secured.Open = func(string) (source.Connector, error) { return nil, fault.Invalid("credentials", "required") }
	s := source.New(source.Options{Store: b.store, Ingestions: b.store, Ingester: ingest.New(b.index, words, ingest.Options{}), Collection: "default", CredentialsFolder: secrets,
		Kinds: map[string]source.Kind{"place": kind, "folder": plain, "secured": secured}})
	t.Cleanup(s.Close)
	for ref, want := range map[string]string{"env:SLUICE_SOURCE_WIKI": "from a variable", "file:wiki": "from a file", "": "",
		"file:none": "cannot be read", "file:large": "cannot be read", "file:link": "cannot be read", "env:SLUICE_SOURCE_NONE": "not set"} {
		got = ""
		src, err := s.Add(t.Context(), source.Settings{Kind: "place", Location: b.dir, Credentials: ref}, true)
		require.NoError(t, err)
		_, err = s.Sync(t.Context(), src.ID, source.SyncOptions{})
		require.NoError(t, err)
		src, err = s.Wait(t.Context(), src.ID)
		require.NoError(t, err)
		failed := got == "" && want != "" && strings.Contains(src.Last.Error, want)
		if got != want && !failed {
			t.Errorf("%s: got %q with the error %q, want %q", ref, got, src.Last.Error, want)
		}
		_, err = s.Remove(t.Context(), src.ID)
		require.NoError(t, err)
		_, _ = s.Wait(t.Context(), src.ID) // not found
	}
	for _, c := range []struct {
		kind, ref string
		local     bool
		code      fault.Code
	}{
		{"place", "env:SLUICE_SOURCE_WIKI", false, fault.Forbidden},
		{"place", "env:SLUICE_OTHER", true, fault.InvalidRequest},
		{"place", "env:SLUICE_SOURCE_", true, fault.InvalidRequest},
		{"place", "file:../wiki", true, fault.InvalidRequest},
		{"place", "file:/etc/passwd", true, fault.InvalidRequest},
		{"place", "file:.hidden", true, fault.InvalidRequest},
		{"place", "hunter2", true, fault.InvalidRequest},
		{"folder", "file:wiki", true, fault.InvalidRequest},
		{"secured", "", true, fault.InvalidRequest},
	} {
		_, err := s.Add(t.Context(), source.Settings{Kind: c.kind, Location: b.dir, Credentials: c.ref}, c.local)
		if fault.CodeOf(err) != c.code || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", c.ref, err, c.code)
		}
	}
}
