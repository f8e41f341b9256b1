package files_test

import (
	"fmt"
	"testing"

	"github.com/sluice-rag/sluice/files"
)

// BenchmarkUpload uploads tiny files into a vector store and waits until all are indexed; the time of one should stay the same however
// many there are (-benchtime 1000x, 10000x).
func BenchmarkUpload(b *testing.B) {
	p := newPlace(b, nil)
	p.newStore("vs")
	b.ResetTimer()
	for i := range b.N {
		p.send(files.Upload{ID: fmt.Sprint("f", i), Stores: []string{"vs"}}, fmt.Sprintf("Note %d says that fern number %d is green.", i, i))
	}
	for i := range b.N {
		if _, err := p.WaitTask(b.Context(), fmt.Sprint("upload-f", i)); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	p.counts("vs", 0, b.N, 0)
}

// BenchmarkStore reads a vector store, with its counts and its first files, among as many files as it has.
func BenchmarkStore(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newPlace(b, func(_ *place, o *options) { o.MaxListed = 100 })
			p.newStore("vs")
			for i := range n {
				p.send(files.Upload{ID: fmt.Sprint("f", i), Stores: []string{"vs"}}, fmt.Sprint("Note ", i))
			}
			for b.Loop() {
				if _, err := p.Store(b.Context(), "vs"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
