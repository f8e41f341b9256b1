package inverted

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

func openTest(t *testing.T, dir string) *Index {
	t.Helper()
	x, err := Open(dir, Options{Fields: []Detail{Positions}})
	require.NoError(t, err)
	t.Cleanup(x.Close)
	return x
}

func oneWord(row uint64, word string) Document {
	return Document{Row: row, Fields: [][]Token{{{Term: word}}}}
}

// segmentsOf returns the files of the segments in a folder.
func segmentsOf(t *testing.T, dir string) (out []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		if filepath.Ext(f.Name()) == segmentSuffix {
			out = append(out, filepath.Join(dir, f.Name()))
		}
	}
	return out
}

// TestFault cuts off a mapped file. Changes and merges must return an error, and the process must not end.
func TestFault(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut off on Windows")
	}
	dir := t.TempDir()
	x := openTest(t, dir)
	require.NoError(t, x.Change([]Document{oneWord(1, "a"), oneWord(2, "b"), oneWord(3, "c")}, [][2]uint64{{7, 8}}, nil))
	require.NoError(t, errors.Join(x.Change(nil, [][2]uint64{{1, 2}}, nil), os.Truncate(segmentsOf(t, dir)[0], 0)))
	if err := x.Change(nil, [][2]uint64{{2, 3}}, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("a change: %v", err)
	}
	if err := x.Merge(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("a merge: %v", err)
	}
	if n := len(segmentsOf(t, dir)); n != 1 {
		t.Errorf("%d files", n)
	}
}

// TestErasedWithoutRemoval makes the removal of an obsolete file fail. The index must not claim that deleted text is erased, and must try again.
func TestErasedWithoutRemoval(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir)
	require.NoError(t, x.Change([]Document{oneWord(1, "a"), oneWord(2, "b")}, nil, nil))
	s := x.Snapshot()
	require.NoError(t, errors.Join(x.Change(nil, [][2]uint64{{2, 3}}, nil), x.Merge(t.Context())))
	path := s.segments[0].path
	inside := filepath.Join(path, "inside") // a folder with something in it cannot be removed
	require.NoError(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o700), os.WriteFile(inside, nil, permFile)))
	s.Close()
	if x.Erased() {
		t.Error("erased, but the removal failed")
	}
	require.NoError(t, os.Remove(inside))
	if !x.Erased() {
		t.Error("the removal was not tried again")
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// TestFolderNames opens folders whose names would be patterns, with a file that a crash left.
func TestFolderNames(t *testing.T) {
	for _, name := range []string{"a[b", "a[b]", "a*"} {
		dir := filepath.Join(t.TempDir(), name)
		openTest(t, dir).Close()
		leftover := filepath.Join(dir, "0000000000ff"+segmentSuffix)
		require.NoError(t, os.WriteFile(leftover, []byte("text"), permFile))
		openTest(t, dir)
		if _, err := os.Stat(leftover); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the leftover is there: %v", name, err)
		}
	}
}

// TestMergeWaits ends the context of a merge that waits for another one.
func TestMergeWaits(t *testing.T) {
	x := openTest(t, t.TempDir())
	x.mu.Lock()
	x.merging, x.stop = true, func() {}
	x.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Merge(ctx) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.merging = false
}

// TestManifestNumbers opens an index whose manifest would give the number of a segment in use to the next one.
func TestManifestNumbers(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir)
	require.NoError(t, x.Change([]Document{oneWord(1, "a")}, nil, nil))
	x.mu.Lock()
	x.next = 0
	err := x.writeManifest(x.segments, nil, false)
	x.mu.Unlock()
	require.NoError(t, err)
	x.Close()
	if _, err := Open(dir, x.opts); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v", err)
	}
}

// TestLateRelease closes a snapshot after its index was closed and built again in the same folder. The file of the new index with the same name must stay.
func TestLateRelease(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir)
	require.NoError(t, x.Change([]Document{oneWord(1, "a"), oneWord(2, "b")}, nil, nil))
	s := x.Snapshot()
	require.NoError(t, errors.Join(x.Change(nil, [][2]uint64{{2, 3}}, nil), x.Merge(t.Context())))
	x.Close()
	require.NoError(t, os.RemoveAll(dir))
	again := openTest(t, dir)
	require.NoError(t, again.Change([]Document{oneWord(1, "a")}, nil, nil))
	if name := segmentsOf(t, dir)[0]; name != s.segments[0].path {
		t.Fatalf("%s has another name than %s", name, s.segments[0].path)
	}
	s.Close()
	if n := len(segmentsOf(t, dir)); n != 1 {
		t.Errorf("%d files", n)
	}
}
