package wire_test

import (
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// TestLinkOf: a source has its own URL if a browser can open it, and otherwise the page of the server that shows its passage.
func TestLinkOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		origin, want string
		source       event.Source
	}{
		{"https://sluice.example", "https://lands.example/a?b=1#c", event.Source{URI: "https://lands.example/a?b=1#c", Document: "d_1", Chunk: "c_1"}},
		{"https://sluice.example", "https://sluice.example/documents/d_1?chunk=c_1", event.Source{URI: "lands.md", Document: "d_1", Chunk: "c_1"}},
		{"https://sluice.example", "https://sluice.example/documents/a%2F..%3F?chunk=%26x%23", event.Source{URI: "javascript://lands.example/%0aalert()", Document: "a/..?", Chunk: "&x#"}},
		{"https://sluice.example", "https://sluice.example/documents/d_1", event.Source{URI: `https://lands.example/"><b>`, Document: "d_1"}},
		{"https://sluice.example", "", event.Source{URI: "lands.md"}},
		{"", "", event.Source{URI: "https:///lands.md", Document: "d_1", Chunk: "c_1"}},
	} {
		if got := wire.LinkOf(c.origin, &c.source); got != c.want {
			t.Errorf("the link of %+v at %q is %q, want %q", c.source, c.origin, got, c.want)
		}
	}
}
