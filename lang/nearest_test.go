package lang_test

import (
	"testing"

	"github.com/sluice-rag/sluice/lang"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"top_k", "query", "collection", "session_id"}
	for _, c := range []struct {
		word  string
		edits int
		want  string
	}{
		{"topk", 0, "top_k"}, {"Top-K", 0, "top_k"}, {"qeury", 1, "query"}, {"qeury", 0, ""}, {"colection", 1, "collection"}, {"coll", 1, "collection"},
		{"sessionid", 0, "session_id"}, {"sesion", 2, ""}, {"", 5, ""}, {"limit", 2, ""},
	} {
		if got := lang.Nearest(c.word, names, c.edits); got != c.want {
			t.Errorf("Nearest(%q, %d) = %q, want %q", c.word, c.edits, got, c.want)
		}
	}
}
