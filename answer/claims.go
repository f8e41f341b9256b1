package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// saying is the text of an answer with the positions of its citations.
type saying struct {
	text  strings.Builder
	cites []cite
}

// cite is a citation at a byte offset of the text, after the text that it supports.
type cite struct {
	at    int
	chunk corpus.Chunk
}

func (s *saying) cite(c corpus.Chunk) { s.cites = append(s.cites, cite{s.text.Len(), c}) }

// since returns the text that the last citation supports: that since the previous citation, adjacent citations aside.
func (s *saying) since() string {
	at, from := s.cites[len(s.cites)-1].at, 0
	for i := len(s.cites) - 1; i >= 0 && from == 0; i-- {
		if s.cites[i].at < at {
			from = s.cites[i].at
		}
	}
	return s.text.String()[from:at]
}

// claims returns the statements of the answer. The citations within a statement and directly after it support it. If it has none, the
// next ones of its paragraph do.
func (s *saying) claims() []verify.Claim {
	all := s.text.String()
	var out []verify.Claim
	next := 0 // of the cites
	for _, part := range s.parts(all) {
		spans := lang.Sentences(all[part.Start:part.End])
		first := len(out)
		for i, span := range spans {
			until := part.End
			if i+1 < len(spans) {
				until = part.Start + spans[i+1].Start
			}
			var cited []corpus.Chunk
			for ; next < len(s.cites) && s.cites[next].at <= until; next++ {
				cited = append(cited, s.cites[next].chunk)
			}
			for k := len(out) - 1; k >= first && cited != nil && out[k].Cited == nil; k-- {
				out[k].Cited = cited
			}
			if sentence := all[part.Start+span.Start : part.Start+span.End]; verify.IsClaim(sentence) {
				out = append(out, verify.Claim{Text: sentence, Cited: cited})
			}
			if strings.Contains(all[part.Start+span.End:until], "\n\n") {
				first = len(out)
			}
		}
	}
	return out
}

// parts splits the answer after citations that end a statement. A citation in the middle of a sentence does not end one, and a full
// stop after a citation belongs to the text before it.
func (s *saying) parts(all string) []lang.Span {
	var out []lang.Span
	start := 0
	for i, c := range s.cites {
		if i+1 < len(s.cites) && s.cites[i+1].at == c.at {
			continue // the last of several in a row
		}
		end := c.at
		for end < len(all) && strings.ContainsRune(".!?;:,)]\"'”’»…。！？", firstRune(all[end:])) {
			_, n := utf8.DecodeRuneInString(all[end:])
			end += n
		}
		if end > start && closes(all[start:end], all[end:]) {
			out = append(out, lang.Span{Start: start, End: end})
			start = end
		}
	}
	if start < len(all) {
		out = append(out, lang.Span{Start: start, End: len(all)})
	}
	return out
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// closes reports whether a statement ends between two texts: by a mark that ends sentences, or because a line or a sentence begins.
func closes(before, after string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(before, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(")]\"'”’»", r)
	}))
	if strings.ContainsRune(".!?:…。！？", r) {
		return true
	}
	rest := strings.TrimLeft(after, " \t")
	first := firstRune(rest)
	return rest == "" || first == '\n' || r != ',' && r != ';' && unicode.IsUpper(first)
}
