// Package parsetest generates hostile documents, like decompression bombs: files whose parsing takes far more memory or time than their size
// suggests. There is at least one for each known mechanism of each format.
package parsetest

import (
	"iter"
	"slices"
	"strings"
)

// MaxBytes is the largest size of a generated file: the default limit of a document.
const MaxBytes = 64 << 20

// bomb is one hostile file. Its name is unique and its extension is that of its format.
type bomb struct {
	name string
	make func() []byte
}

func all() []bomb {
	return slices.Concat(pdfFiles(), pdfFonts(), pdfPages(), htmlFiles(), markdownFiles(), textFiles(), structureFiles(), markupFiles(), archiveFiles())
}

// Bomb generates the hostile file with a name, or returns nil if there is none.
func Bomb(name string) []byte {
	for _, b := range all() {
		if b.name == name {
			return b.make()
		}
	}
	return nil
}

// Bombs generates each hostile file with its name, one at a time, since together they have some 4 GB. Each call generates the same bytes.
// Only parse them where memory and time are limited.
func Bombs() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, b := range all() {
			if !yield(b.name, b.make()) {
				return
			}
		}
	}
}

// Ordinary returns a document that must still be ingested after the bombs.
func Ordinary() (name string, data []byte) {
	return "ordinary.md", []byte("# Lighthouse\n\nFarland Light is a lighthouse. It was built in 1871 and is 40 metres high.\n")
}

// repeat repeats a text to at most n bytes.
func repeat(s string, n int) string { return strings.Repeat(s, n/len(s)) }

// filled returns a bomb of at most n bytes: a text that is repeated between a head and a tail.
func filled(name, head, body string, n int, tail string) bomb {
	return bomb{name, func() []byte { return fill(head, body, n, tail) }}
}

func fill(head, body string, n int, tail string) []byte {
	data := append(make([]byte, 0, n), head...)
	for range (n - len(head) - len(tail)) / len(body) {
		data = append(data, body...)
	}
	return append(data, tail...)
}
