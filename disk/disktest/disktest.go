// Package disktest makes small disks for tests, and fills them.
package disktest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Small mounts a file system of a size, such as 24m, until the test ends, and returns its folder. Without the right to do so, it skips the test. A file on
// it that is still open at the end fails the test.
func Small(t *testing.T, size string) string {
	t.Helper()
	dir := mount(t, size)
	t.Cleanup(func() {
		if err := unmount(dir); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return dir
}

func mount(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system needs root on Linux: %v: %s", err, out)
	}
	return dir
}

// unmount unmounts the file system of a folder. The error names its files that this process or another has open. They keep their file system until
// they are closed.
func unmount(dir string) error {
	out, err := exec.Command("umount", dir).CombinedOutput()
	if err == nil {
		return nil
	}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	maps, _ := filepath.Glob("/proc/[0-9]*/map_files/*")
	var files []string
	for _, link := range append(open, maps...) {
		if file, err := os.Readlink(link); err == nil && strings.HasPrefix(file, dir+"/") {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return errors.Join(fmt.Errorf("unmount %s: %w: %s; open files: %q", dir, err, out, slices.Compact(files)), exec.Command("umount", "-l", dir).Run())
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
