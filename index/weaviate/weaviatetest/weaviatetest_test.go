//go:build linux

package weaviatetest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStartFails checks that a server whose binary cannot be run is reported as an error and leaves no folder.
func TestStartFails(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	if _, err := start(filepath.Join(temp, "missing"), ""); err == nil {
		t.Error("a missing binary was started")
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
