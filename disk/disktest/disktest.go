// Package disktest makes small disks for tests, and fills them.
package disktest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Small mounts a file system of a size, such as 24m, until the test ends, and returns its folder. Without the right to do so, it skips the test.
func Small(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system needs root on Linux: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

// Fill fills the disk of a folder except for left bytes, and returns a function that frees the space.
func Fill(t *testing.T, dir string, left int64) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	written := int64(0)
	for block := make([]byte, 1<<20); len(block) > 0; {
		n, err := f.Write(block)
		if written += int64(n); err != nil {
			block = block[:len(block)/2]
		}
	}
	if left > 0 {
		err = f.Truncate(max(0, written-left))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}
