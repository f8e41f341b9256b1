// Package parsetest generates documents that exhaust a parser: small or large files that take memory or time out of
// proportion, at least one for each mechanism that is known in each format.
package parsetest

import (
	"iter"
	"slices"
	"strings"
)

// MaxBytes is the size that no generated file exceeds: the default limit of a document.
const MaxBytes = 64 << 20

// bomb is one hostile file. Its name is unique and its extension is that of its format.
type bomb struct {
	name string
	make func() []byte
}

func all() []bomb {
	return slices.Concat(pdfFiles(), pdfFonts(), pdfPages(), htmlFiles(), markdownFiles(), textFiles())
}

// Bomb generates the hostile file of a name; nil if there is none.
func Bomb(name string) []byte {
	for _, b := range all() {
		if b.name == name {
			return b.make()
		}
	}
	return nil
}

// Bombs generates each hostile file with its name, one at a time: together they have some 4 GB. The bytes are the same in each
// call. Parse them only where memory and time are limited.
func Bombs() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, b := range all() {
			if !yield(b.name, b.make()) {
				return
			}
		}
	}
}

// Ordinary is a document that every parser reads, by its name: what must still be ingested after the bombs.
func Ordinary() (name string, data []byte) {
	return "ordinary.md", []byte("# Lighthouse\n\nFarland Light is a lighthouse. It was built in 1871 and is 40 metres high.\n")
}

// repeat repeats a text until it has about n bytes, and never more.
func repeat(s string, n int) string { return strings.Repeat(s, n/len(s)) }

// filled is a bomb of one text that is repeated to n bytes between a head and a tail.
func filled(name, head, body string, n int, tail string) bomb {
	return bomb{name, func() []byte { return []byte(head + repeat(body, n-len(head)-len(tail)) + tail) }}
}
