package disktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestUnmount: a file that is still open is an error with its name, and the disk is unmounted in any case.
func TestUnmount(t *testing.T) {
	for _, open := range []bool{false, true} {
		dir := mount(t, "1m")
		path := filepath.Join(dir, "left.db")
		f, err := os.Create(path)
		require.NoError(t, err)
		if !open {
			_ = f.Close()
		}
		if err := unmount(dir); (err != nil) != open || open && !strings.Contains(err.Error(), path) {
			t.Errorf("open %v: %v", open, err)
		}
		_ = f.Close()
		if _, err := os.Stat(path); err == nil {
			t.Errorf("open %v: the disk is still mounted", open)
		}
	}
}
