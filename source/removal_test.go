package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
)

// TestVanishedPlace empties a folder, as the end of a mount does: its documents are kept until a removal is allowed, and when the folder is back.
func TestVanishedPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const n = 30
	for i := range n {
		b.put(fmt.Sprintf("%02d.md", i), fmt.Sprintf("Text number %d.", i))
	}
	id := b.add(source.Settings{Every: time.Hour})
	b.sync(id, false)
	all := b.indexed()
	away := b.dir + " away"
	require.NoError(t, os.Rename(b.dir, away))
	require.NoError(t, os.Mkdir(b.dir, 0o700))
	sync := func(step string, allow bool, removed, kept int) source.Source {
		t.Helper()
		_, err := b.service.Sync(t.Context(), id, source.SyncOptions{AllowRemoval: allow})
		require.NoError(t, err)
		src, err := b.service.Wait(t.Context(), id)
		require.NoError(t, err)
		r := src.Last
		if r.Removed != removed || r.NotRemoved != kept || (r.Error != "") != (kept > 0) {
			t.Errorf("%s: %+v", step, r)
		}
		if kept > 0 && (!strings.Contains(r.Error, fmt.Sprintf("%d documents have vanished", kept)) || !strings.Contains(r.Error, "sluice sources sync "+id+" --allow-removal")) {
			t.Errorf("%s: error %q", step, r.Error)
		}
		return src
	}
	if src := sync("empty", false, 0, n); src.Failing != 1 || b.indexed() != all {
		t.Errorf("empty: %d failed, indexed %q", src.Failing, b.indexed())
	}
	b.put("new.md", "A new text.")
	sync("one is new", false, 0, n)
	if got := b.indexed(); got != all+" new.md" {
		t.Errorf("one is new: indexed %q", got)
	}
	require.NoError(t, os.RemoveAll(b.dir))
	require.NoError(t, os.Rename(away, b.dir))
	b.want("back", b.sync(id, false), [7]int{0, 0, 0, n, 1, 0, 0}, all)

	for i := range n - 1 {
		require.NoError(t, os.Rename(filepath.Join(b.dir, fmt.Sprintf("%02d.md", i)), filepath.Join(b.dir, fmt.Sprintf("m%02d.md", i))))
	}
	if got := b.sync(id, false); got[1] != n-1 || got[4] != n-1 {
		t.Errorf("renamed: added, moved, updated, unchanged, removed, failed, read: %v", got)
	}
	require.NoError(t, os.RemoveAll(b.dir))
	require.NoError(t, os.Mkdir(b.dir, 0o700))
	sync("removed", false, 0, n)
	sync("allowed", true, n, 0)
	if got := b.indexed(); got != "" {
		t.Errorf("allowed: indexed %q", got)
	}
}

// TestDeletedDocuments deletes all documents of folders that were not unmounted: they are removed without a confirmation.
func TestDeletedDocuments(t *testing.T) {
	t.Parallel()
	for name, others := range map[string][]string{"the last two": {"a.md", "b.md"}, "beside a picture": {"a.md", "b.md", "sub/c.md", "d.md"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for _, name := range others {
				b.put(name, "The text of "+name+".")
			}
			if len(others) > 2 {
				b.put("picture.png", "A picture.")
			}
			id := b.add(source.Settings{})
			b.sync(id, false)
			for _, name := range others {
				require.NoError(t, os.Remove(filepath.Join(b.dir, name)))
			}
			b.want("deleted", b.sync(id, false), [7]int{0, 0, 0, 0, len(others), 0, 0}, "")
		})
	}
}

// TestAllowRemovalMeanwhile checks that a removal that is allowed during a sync is refused, since the sync in progress does not know it.
func TestAllowRemovalMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.md", "The lighthouse was built in 1900.")
	id := b.add(source.Settings{})
	var refused error
	b.opened.after, b.opened.stop = 0, func() {
		_, refused = b.service.Sync(t.Context(), id, source.SyncOptions{AllowRemoval: true})
		b.opened.stop = nil
	}
	_, err := b.service.Sync(t.Context(), id, source.SyncOptions{})
	require.NoError(t, err)
	_, err = b.service.Wait(t.Context(), id)
	require.NoError(t, err)
	if fault.Public(refused).Code != fault.Conflict {
		t.Error(refused)
	}
}

// TestVanishedWhileWatched empties a watched folder file by file. The documents are kept also when another file changes afterwards.
func TestVanishedWhileWatched(t *testing.T) {
	t.Parallel()
	b := newScheduled(t)
	const n = 25
	for i := range n {
		b.put(fmt.Sprintf("%02d.md", i), fmt.Sprintf("Text number %d.", i))
	}
	id := b.add(source.Settings{Watch: true})
	b.ended()
	all := b.indexed()
	for i := range n {
		require.NoError(t, os.Remove(filepath.Join(b.dir, fmt.Sprintf("%02d.md", i))))
	}
	last := func() source.Result {
		t.Helper()
		b.ended()
		src, err := b.service.Wait(t.Context(), id)
		require.NoError(t, err)
		return *src.Last
	}
	r := last()
	for r.NotRemoved < n && r.Removed == 0 { // some were removed during the sync
		r = last()
	}
	if r.NotRemoved != n || b.indexed() != all {
		t.Fatalf("%+v, indexed %q", r, b.indexed())
	}
	b.put("new.md", "A new text.")
	for b.indexed() != all+" new.md" {
		r = last()
	}
	if r.NotRemoved != n || r.Error == "" {
		t.Errorf("after another change: %+v", r)
	}
}
