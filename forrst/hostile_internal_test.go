package forrst

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestCanonicalDepth checks that the canonical form of nested values needs memory for its size, and not for its size at each level.
func TestCanonicalDepth(t *testing.T) { // alone, because it measures
	const levels, size = 1000, 100_000
	in := strings.Repeat(`{"b":1,"a":`, levels) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat("}", levels)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := canonicalJSON([]byte(in))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err != nil || len(got) != len(in) || used > 50*size {
		t.Errorf("%d bytes, %v, of %d; it used %d bytes", len(got), err, len(in), used)
	}
}

// TestLargeRequestIDs checks that the memory stores count the ids of requests, which clients choose.
func TestLargeRequestIDs(t *testing.T) {
	t.Parallel()
	const n = 10
	id := strings.Repeat("x", maxKeyBytes/(n/2))
	keys, operations := NewMemoryIdempotency().(*memoryKeys), NewMemoryOperations().(*memoryOperations)
	for i := range n {
		key := IdempotencyKey{Key: fmt.Sprint(i)}
		if _, err := keys.Lock(t.Context(), key, IdempotencyRecord{RequestID: id}, time.Minute); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, keys.Store(t.Context(), key, "", []byte("1"), time.Now(), time.Now().Add(time.Hour)))
		op := Operation{ID: fmt.Sprint(i), RequestID: id, Status: OperationProcessing}
		require.NoError(t, operations.Create(t.Context(), op, n, time.Minute, time.Hour))
		require.NoError(t, operations.Finish(t.Context(), "", op.ID, OperationCompleted, []byte("1"), time.Now(), time.Hour))
	}
	if a, b := len(keys.rows.rows), len(operations.rows.rows); a >= n/2 || b >= n/2 {
		t.Errorf("%d keys and %d operations are kept", a, b)
	}
}
