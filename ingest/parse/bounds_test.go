package parse_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
	"github.com/sluice-rag/sluice/internal/tools/race"
)

// TestSizeOfAllocations parses small files that would expand to gigabytes, and measures the allocations. The limits inside the
// parsers must stop them, because a program that uses the library alone has no other limits.
func TestSizeOfAllocations(t *testing.T) {
	race.Measure(t)
	limits := map[string]uint64{ // MiB allocated in total, including collected garbage
		"glyph-text.pdf": 900, "glyph-range.pdf": 100, "map-ranges.pdf": 400, "map-ranges-apart.pdf": 500, "fonts-many.pdf": 1500, "font-widths.pdf": 300,
		"xref-index-repeated.pdf": 50, "xref-stream-prev-self.pdf": 300, "xref-table-prev-self.pdf": 50, "object-stream-count.pdf": 50,
		"form-self.pdf": 300, "forms-exponential.pdf": 300, "sequences-nested.md": 50,
		"formatting-rebuilt.html": 50, "formatting-rebuilt-by-cells.html": 50, "html-formatting.md": 100,
		"table-wide.md": 50, "table-wide-quoted.md": 100, "table-wide-listed.md": 100, "tables-many.md": 200,
	}
	for name, limit := range limits {
		data := parsetest.Bomb(name)
		if data == nil {
			t.Errorf("%s is not generated any more", name)
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parse.Parse(t.Context(), name, data, parse.Limits{Text: 32 << 20, Blocks: 200_000, Time: time.Minute})
		runtime.ReadMemStats(&after)
		got := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d MiB, %v", name, got, err)
		if got > limit {
			t.Errorf("%s: parsing %d bytes allocated %d MiB, want at limits %d", name, len(data), got, limit)
		}
	}
}
