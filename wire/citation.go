package wire

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
)

// CitedPart is a part of an answer that cites a source. Start and End are its positions in the text, in UTF-16 code units: the indexes of a string of
// JavaScript.
type CitedPart struct {
	Source     *event.Source
	Start, End int
}

// CitedParts returns a part for each citation of the text whose source is known. A citation refers to the text since the one before it, without the white
// space around it; citations without text between them refer to the same text.
func CitedParts(s *event.State) (parts []CitedPart) {
	units, at := 0, 0 // UTF-16 code units before the byte at
	start, stop, begun := 0, 0, false
	for _, c := range s.Citations {
		if c.At > at {
			begun = false
		}
		for at < c.At && at < len(s.Text) {
			r, n := utf8.DecodeRune(s.Text[at:])
			if !unicode.IsSpace(r) && !begun {
				begun, start = true, units
			}
			units += utf16.RuneLen(r)
			if at += n; !unicode.IsSpace(r) {
				stop = units
			}
		}
		if src := SourceOf(s, c.N); src != nil {
			parts = append(parts, CitedPart{src, start, stop})
		}
	}
	return parts
}
