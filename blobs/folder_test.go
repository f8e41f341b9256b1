package blobs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/blobs/blobstest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// folders are stores in folders of the data folders of tenants, as without a shared folder.
type folders struct{ dir string }

func (f folders) Open(_ context.Context, tenant string) (blobs.Store, error) {
	return blobs.NewFolder(filepath.Join(f.dir, tenant)), nil
}
func (f folders) Delete(_ context.Context, tenant string) error {
	return os.RemoveAll(filepath.Join(f.dir, tenant))
}
func (f folders) Close() error { return nil }

// damageIn changes a byte of a file DIR/TENANT/ab/ab12….
func damageIn(dir string) func(t *testing.T, tenant, sum string) {
	return func(t *testing.T, tenant, sum string) {
		path := filepath.Join(dir, tenant, sum[:2], sum)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		data[len(data)/2] ^= 1
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	blobstest.Exercise(t, folders{dir}, 32<<10, damageIn(dir))
}

func openShared(t *testing.T, dir string, used bool) *blobs.Shared {
	t.Helper()
	s, err := blobs.OpenShared(dir, used)
	require.NoError(t, err)
	return s
}

func TestShared(t *testing.T) {
	dir := t.TempDir()
	blobstest.Exercise(t, openShared(t, dir, false), 32<<10, damageIn(dir))
}

// TestSharedAway moves the folder away and leaves an empty one, as when its file system is not mounted.
func TestSharedAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "share")
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	must(os.Mkdir(dir, 0o700))
	blobstest.Away(t, openShared(t, dir, false), func() {
		must(errors.Join(os.Rename(dir, dir+".away"), os.Mkdir(dir, 0o700)))
		if _, err := blobs.OpenShared(dir, true); err == nil {
			t.Error("an empty folder that was used before is opened")
		}
	}, func() {
		must(errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)))
		openShared(t, dir, true)
	})
	if _, err := blobs.OpenShared(filepath.Dir(dir), false); err == nil {
		t.Error("a folder with other files is opened")
	}
	if _, err := blobs.OpenShared(dir+".missing", false); err == nil {
		t.Error("a folder that does not exist is opened")
	}
}
