package propose_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/propose"
)

// proposed cuts a Markdown document and gives its sentences and what they became.
func proposed(t testing.TB, name, data string) (sentences []corpus.Chunk) {
	t.Helper()
	p, err := parse.Parse(t.Context(), name, []byte(data), parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, chunks := ingest.Cut("doc_1", p)
	if err := (propose.Rules{}).Propose(t.Context(), chunks); err != nil {
		t.Fatal(err)
	}
	for _, c := range chunks {
		if c.Level == corpus.Sentence {
			sentences = append(sentences, c)
		} else if c.Proposition != "" {
			t.Fatalf("%s has a proposition", c.Level)
		}
	}
	return sentences
}

// TestRules gives the last sentence of each text and what it becomes; "" where it stays as it is.
func TestRules(t *testing.T) {
	ada := "# Ada Lovelace\n\nAda Lovelace (born 10 December 1815) was an English mathematician. "
	box := "# Riffle Box\n\nThe Riffle Box is a wooden box that washes gravel. "
	film := "# Night Water\n\nNight Water is a 1987 British drama film directed by Joan Marsh. "
	for _, c := range []struct{ text, want string }{
		{ada + "She wrote a program.", "Ada Lovelace wrote a program."},
		{film + "The film was shot in Wales.", "The film Night Water was shot in Wales."},
		{box + "It was patented in 1871.", "The Riffle Box was patented in 1871."},
	} {
		all := proposed(t, "a.md", c.text)
		if last := all[len(all)-1]; last.Proposition != c.want {
			t.Errorf("%s\n got %q\nwant %q", strings.TrimSpace(last.Text), last.Proposition, c.want)
		}
	}
}
