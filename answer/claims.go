package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// answerText is the text of an answer with the positions of its citations.
type answerText struct {
	text  strings.Builder
	marks []citeMark
}

// citeMark is a citation at a byte offset of the text, after the text that it supports.
type citeMark struct {
	at    int
	chunk corpus.Chunk
}

func (s *answerText) cite(c corpus.Chunk) { s.marks = append(s.marks, citeMark{s.text.Len(), c}) }

// supported returns the text that the last citation supports: the text since the previous citation that is not adjacent.
func (s *answerText) supported() string {
	at, from := s.marks[len(s.marks)-1].at, 0
	for i := len(s.marks) - 1; i >= 0 && from == 0; i-- {
		if s.marks[i].at < at {
			from = s.marks[i].at
		}
	}
	return s.text.String()[from:at]
}

// claims returns the statements of the answer. The citations within a statement and directly after it support it. If it has none, the
// next ones of its paragraph do.
func (s *answerText) claims() []verify.Claim {
	all := s.text.String()
	var out []verify.Claim
	next := 0 // index in marks
	for _, part := range s.parts(all) {
		spans := lang.Sentences(all[part.Start:part.End])
		first := len(out)
		for i, span := range spans {
			until := part.End
			if i+1 < len(spans) {
				until = part.Start + spans[i+1].Start
			}
			var cited []corpus.Chunk
			for ; next < len(s.marks) && s.marks[next].at <= until; next++ {
				cited = append(cited, s.marks[next].chunk)
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
func (s *answerText) parts(all string) []lang.Span {
	var out []lang.Span
	start := 0
	for i, c := range s.marks {
		if i+1 < len(s.marks) && s.marks[i+1].at == c.at {
			continue // only the last of adjacent citations counts
		}
		end := c.at
		for end < len(all) && strings.ContainsRune(".!?;:,)]\"'”’»…。！？", firstRune(all[end:])) {
			_, n := utf8.DecodeRuneInString(all[end:])
			end += n
		}
		if end > start && endsStatement(all[start:end], all[end:]) {
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

// endsStatement reports whether a statement ends between two texts: by a mark that ends sentences, or because a line or a sentence begins.
func endsStatement(before, after string) bool {
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
