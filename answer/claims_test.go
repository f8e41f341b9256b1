package answer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
)

// TestClaims reads answers in which [n] stands for a citation.
func TestClaims(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Ada keeps the light.[1] She came in 1998.[2]":                        "Ada keeps the light.=1 | She came in 1998.=2",
		"Ada keeps the light[1]. She came in 1998[2].":                        "Ada keeps the light.=1 | She came in 1998.=2",
		"Ada keeps the light[1][2].":                                          "Ada keeps the light.=1,2",
		"Ada[1] keeps the light of Farland[2], and Bob[3] bakes.":             "Ada keeps the light of Farland, and Bob bakes.=1,2,3",
		"Ada keeps the light. She came in 1998.[2] Nobody else knows.":        "Ada keeps the light.=2 | She came in 1998.=2 | Nobody else knows.=",
		"Ada keeps the light.\n\nShe came in 1998.[2]":                        "Ada keeps the light.= | She came in 1998.=2",
		"Price: three; day: Sunday[1] Bread: twelve hours[2]":                 "Price: three; day: Sunday=1 | Bread: twelve hours=2",
		"- Ada keeps the light [1]\n- Bob bakes the bread [2]\n":              "- Ada keeps the light=1 | - Bob bakes the bread=2",
		"\"Ada keeps the light.\"[1] He said so.[2]":                          "\"Ada keeps the light.\"=1 | He said so.=2",
		"The documents do not seem to hold an answer to this question.":       "",
		"Ada keeps the light, says the paper[1], since the storm of 1998[2].": "Ada keeps the light, says the paper, since the storm of 1998.=1,2",
		"":    "",
		"[1]": "",
	} {
		var s answerText
		for rest := said; rest != ""; {
			before, after, found := strings.Cut(rest, "[")
			s.text.WriteString(before)
			if rest = after; found {
				s.cite(corpus.Chunk{ID: corpus.ChunkID(after[:1])})
				rest = after[2:]
			}
		}
		var got []string
		for _, c := range s.claims() {
			var ids []string
			for _, chunk := range c.Cited {
				ids = append(ids, string(chunk.ID))
			}
			got = append(got, fmt.Sprintf("%s=%s", strings.TrimSpace(c.Text), strings.Join(ids, ",")))
		}
		if g := strings.Join(got, " | "); g != want {
			t.Errorf("%s\n got %s\nwant %s", said, g, want)
		}
	}
}
