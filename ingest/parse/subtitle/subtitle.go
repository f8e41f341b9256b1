// Package subtitle parses subtitles in SubRip (.srt) and WebVTT (W3C Candidate Recommendation, 4 April 2019).
package subtitle

import (
	"context"
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

var (
	timing = regexp.MustCompile(`^\s*((?:\d{1,3}:)?\d{2}:\d{2})[.,]\d{1,3}\s+-->\s`)
	tag    = regexp.MustCompile(`<[^<>]{0,200}>|\{\\[^{}]{0,100}\}`)
)

// paragraphMin is the size from which a paragraph ends with a sentence, and paragraphMax the size at which it ends anyway, in bytes.
const (
	paragraphMin = 300
	paragraphMax = 1000
)

// Parse parses subtitles as a text.
func Parse(ctx context.Context, s string, _ document.Limits) (document.Parsed, error) {
	return document.Parsed{Blocks: Blocks(s)}, ctx.Err()
}

// Blocks returns the spoken text of subtitles as paragraphs, each with the time at which it begins. Text that consecutive cues repeat is
// kept once.
func Blocks(s string) []document.Block {
	var out []document.Block
	var b strings.Builder
	begun, last := "", ""
	flush := func() {
		if b.Len() > 0 {
			out = append(out, document.Block{Kind: document.Paragraph, Text: "[" + begun + "] " + b.String()})
			b.Reset()
		}
	}
	at, open := "", false
	for line := range strings.SplitSeq(s, "\n") {
		if m := timing.FindStringSubmatch(line); m != nil {
			at, open = m[1], true
			continue
		}
		line = document.OneLine(tag.ReplaceAllString(line, ""))
		if open = open && line != ""; !open || line == last {
			continue
		}
		last = line
		if b.Len() == 0 {
			begun = at
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(line)
		if b.Len() > paragraphMax || b.Len() > paragraphMin && strings.ContainsRune(".?!。？！", []rune(line)[len([]rune(line))-1]) {
			flush()
		}
	}
	flush()
	return out
}
