package markup_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/ingest/parse/markup"
)

// BenchmarkLooks measures how long it takes to find out that a text is no markup.
func BenchmarkLooks(b *testing.B) {
	data, err := os.ReadFile("../testdata/notes.txt")
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(strings.Repeat(string(data), 32<<10/len(data)+1)[:32<<10])
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if rst, asciiDoc := markup.Looks(text); rst || asciiDoc {
			b.Fatal("recognised")
		}
	}
}
