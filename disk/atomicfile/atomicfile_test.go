package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(string, []byte, os.FileMode) error{"Write": atomicfile.Write, "WriteSync": atomicfile.WriteSync} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			for _, text := range []string{"old and long", "new"} {
				require.NoError(t, write(path, []byte(text), 0o600))
				if got, err := os.ReadFile(path); err != nil || string(got) != text {
					t.Errorf("content %q, %v; want %q", got, err, text)
				}
			}
			blocked := filepath.Join(dir, "folder")
			require.NoError(t, os.MkdirAll(filepath.Join(blocked, "full"), 0o700))
			if err := write(blocked, nil, 0o600); err == nil {
				t.Error("a directory was replaced")
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
				t.Errorf("%v are left, %v; want the file and the directory", entries, err)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	for range 2 {
		if err := atomicfile.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is still there")
	}
}
