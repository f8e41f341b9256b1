package a2a

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// answerOf returns what supports the answer of a run.
func answerOf(s *event.State, origin string) Answer {
	a := Answer{Sources: []Source{}, Citations: citationsOf(s), Confidence: wire.Round(s.Confidence), ClaimSupport: wire.Round(s.ClaimSupport()), Abstained: s.Abstained(),
		Flagged: s.Check != nil && s.Check.Flagged, Cached: s.Cached()}
	for i := range s.Sources {
		src := &s.Sources[i]
		quote := ""
		if src.Cited {
			quote = wire.Clip(cmp.Or(src.CitedText(), src.Text), maxQuote)
		}
		a.Sources = append(a.Sources, Source{N: src.N, ChunkID: string(src.Chunk), DocumentID: string(src.Document), URL: wire.LinkOf(origin, src),
			Title: wire.Clip(cmp.Or(src.Title, src.Name, string(src.Document)), maxTitle), Filename: wire.Clip(src.Name, maxTitle), Heading: wire.Clip(src.Heading, maxTitle),
			Pages: src.Pages[:min(len(src.Pages), maxPages)], Score: wire.Round(src.Score), Quote: quote})
	}
	return a
}

// citationsOf returns the citations. A citation refers to the text since the one before it, without the white space and the end of the sentence before it; citations without text
// between them refer to the same text.
func citationsOf(s *event.State) []Citation {
	out := []Citation{}
	start, end, at := 0, 0, 0 // characters, characters, bytes
	for _, c := range s.Citations {
		if c.At > at {
			piece, from := string(s.Text[at:c.At]), at
			at, end = c.At, end+utf8.RuneCountInString(piece)
			if from > 0 {
				piece = wire.TrimSentenceEnd(piece)
			}
			if strings.TrimSpace(piece) != "" {
				start = end - utf8.RuneCountInString(strings.TrimLeft(piece, " \t\n"))
			}
		}
		out = append(out, Citation{c.N, start, end})
	}
	return out
}
