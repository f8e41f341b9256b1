package ingest

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

// TestDataFolderUnclear checks which errors leave open whether a folder is the data folder of a server.
func TestDataFolderUnclear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		runs, mark error
		want       string
		unclear    error
	}{
		{"both exist", nil, nil, "a", nil},
		{"none exists", fs.ErrNotExist, fs.ErrNotExist, "", nil},
		{"no runs", fs.ErrNotExist, nil, "", nil},
		{"runs of something else", nil, fs.ErrNotExist, "", nil},
		{"a file", syscall.ENOTDIR, syscall.ENOTDIR, "", nil},
		{"no permission", fs.ErrPermission, fs.ErrPermission, "a", fs.ErrPermission},
		{"a failing disk", nil, syscall.EIO, "a", syscall.EIO},
	} {
		lstat := func(name string) (fs.FileInfo, error) {
			switch name {
			case filepath.Join("a", "runs"):
				return nil, c.runs
			case filepath.Join("a", "records.elsewhere"):
				return nil, c.mark
			}
			return nil, fs.ErrNotExist
		}
		if got, err := dataFolder(lstat, filepath.Join("a", "b", "c")); got != c.want || !errors.Is(err, c.unclear) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}
