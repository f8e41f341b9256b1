package wire

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
)

// CitedPart is a part of an answer that cites a source. Start and End are its positions in the text, in UTF-16 code units: the indexes of a string of
// JavaScript. The quote of the source is that of the citation.
type CitedPart struct {
	Source     *event.Source
	Start, End int
}

// SentenceEnds are the characters that end a sentence, a clause or a quotation. Models write a citation before or after them, so those that directly
// follow a citation belong to the text before it.
const SentenceEnds = ".,;:!?…)]*\"'”’»«。，、；：！？）」』।؟،؛"

// TrimSentenceEnd returns the text after a citation without the end of the sentence before and the white space after it. It is empty if there is nothing else.
func TrimSentenceEnd(text string) string {
	return strings.TrimLeftFunc(strings.TrimLeft(text, SentenceEnds), unicode.IsSpace)
}

// CitedParts returns a part for each citation of the text whose source is known. A citation refers to the text since the one before it, without the white
// space around it and the end of the sentence before; citations without text between them refer to the same text.
func CitedParts(s *event.State) (parts []CitedPart) {
	units, at := 0, 0                              // UTF-16 code units before the byte at
	start, stop, begun, ends := 0, 0, false, false // ends: only [SentenceEnds] since the last citation
	for _, c := range s.Citations {
		if c.At > at {
			begun, ends = false, at > 0
		}
		for at < c.At && at < len(s.Text) {
			r, n := utf8.DecodeRune(s.Text[at:])
			ends = ends && strings.ContainsRune(SentenceEnds, r)
			if !begun && !ends && !unicode.IsSpace(r) {
				begun, start = true, units
			}
			units += utf16.RuneLen(r)
			if at += n; !unicode.IsSpace(r) {
				stop = units
			}
		}
		src := c.Source
		if src == nil { // in an answer of the cache
			src = SourceOf(s, c.N)
		}
		if src != nil {
			parts = append(parts, CitedPart{src, start, stop})
		}
	}
	return parts
}
