package embedded_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/disk/disktest"
	"github.com/sluice-rag/sluice/disk/reserve"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestDiskFull writes to an index until its disk is full, with some space left at first, so that the disk is full at different points
// of a write. The error must report that, acknowledged data must stay, deletes must work, and writes must work again without a restart
// when space is free.
func TestDiskFull(t *testing.T) {
	disktest.Small(t, "1m") // else all is skipped
	behind := 0
	defer func() {
		if behind == 0 && !t.Failed() {
			t.Error("the disk was never full between the two writes of a document: the test shows less than it says")
		}
	}()
	for left := 0; left <= 640; left += 32 {
		t.Run(fmt.Sprintf("%dKiB", left), func(t *testing.T) {
			disk := disktest.Small(t, "24m")
			dir := filepath.Join(disk, "index")
			space := reserve.New(filepath.Join(disk, "reserve"), 4<<20)
			require.NoError(t, space.Refill())
			synctest.Test(t, func(t *testing.T) {
				x, err := embedded.Open(t.Context(), dir, embedded.Options{Reserve: space})
				require.NoError(t, err)
				defer func() { _ = x.Close() }() // after a failure, so that synctest shows it
				putRange(t, x, "kept", 0, 10, "words that stay", 2)
				free := disktest.Fill(t, disk, int64(left)<<10)
				text := strings.Builder{}
				text.WriteString("apple")
				for i := range 3000 { // different words, which make the lexical index large
					fmt.Fprintf(&text, " filler%d", i*i)
				}
				stored := 0
				for err = error(nil); err == nil && stored < 100; {
					if err = put(t.Context(), x, fmt.Sprintf("more%d", stored), text.String(), 2); err == nil {
						stored++
					}
				}
				if fault.Public(err).Code != fault.NoSpace {
					t.Fatalf("after %d documents: %v", stored, err)
				}
				check := func(when string, kept, apple int, more bool) {
					t.Helper()
					if n := count(t, x, "stay", corpus.Passage); n != kept {
						t.Errorf("%s: %d of %d passages", when, n, kept)
					}
					// What failed may be there or not.
					if n := count(t, x, "apple", corpus.Passage); n != apple && !(more && n == apple+2) {
						t.Errorf("%s: %d of %d passages that were acknowledged", when, n, apple)
					}
				}
				if x.Health() != nil {
					behind++
				}
				check("full", 20, 2*stored, true)
				if err := x.Delete(t.Context(), "c", []corpus.DocumentID{"kept0"}); err != nil {
					t.Errorf("delete on a full disk: %v", err)
				}
				check("deleted", 18, 2*stored, true)
				_ = x.Compact(t.Context()) // may fail
				check("compacted", 18, 2*stored, true)
				free()
				time.Sleep(20 * time.Second) // the index repairs itself
				synctest.Wait()
				if err := x.Health(); err != nil {
					t.Errorf("with room: %v", err)
				}
				if err := put(t.Context(), x, fmt.Sprintf("more%d", stored), text.String(), 2); err != nil {
					t.Fatalf("put with room: %v", err)
				}
				stored++
				check("with room", 18, 2*stored, false)
				if err := errors.Join(x.Compact(t.Context()), x.Verify(t.Context()), x.Close()); err != nil {
					t.Error(err)
				}
				if x, err = embedded.Open(t.Context(), dir, embedded.Options{}); err != nil {
					t.Fatal(err)
				}
				check("reopened", 18, 2*stored, false)
				if err := x.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
