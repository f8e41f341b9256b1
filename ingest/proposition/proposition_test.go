package proposition_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/proposition"
	"github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func chunksOf(t testing.TB, name, data string) []corpus.Chunk {
	t.Helper()
	p, err := parse.Parse(t.Context(), name, []byte(data), parse.Limits{})
	require.NoError(t, err)
	_, chunks := ingest.Cut("doc_1", p)
	return chunks
}

// proposed returns the sentences of a document with their propositions.
func proposed(t testing.TB, name, data string) (sentences []corpus.Chunk) {
	t.Helper()
	chunks := chunksOf(t, name, data)
	require.NoError(t, (proposition.Rules{}).Generate(t.Context(), chunks))
	for _, c := range chunks {
		if c.Level == corpus.Sentence {
			sentences = append(sentences, c)
		} else if c.Proposition != "" {
			t.Fatalf("%s has a proposition", c.Level)
		}
	}
	return sentences
}

const (
	ada  = "# Ada Moor\n\nAda Moor (born 10 December 1915) is an English mathematician from the city of Hull. "
	box  = "# Riffle Box\n\nThe Riffle Box is a wooden box that washes gravel. "
	farm = "# Farland Light\n\nThe lighthouse is open to all.\n\n## Visits\n\n"
)

// TestRules checks the proposition of the last sentence of each text; "" means none.
func TestRules(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// Pronouns.
		{ada + "She wrote a program.", "Ada Moor — She wrote a program."},
		{ada + "Her book sold well.", "Ada Moor — Her book sold well."},
		{ada + "In 1940, she moved to Hull.", "Ada Moor — In 1940, she moved to Hull."},
		{ada + "She later taught Ada Moor and others.", ""},
		{ada + "Joan Marsh wrote to her, she said.", "Ada Moor — Joan Marsh wrote to her, she said."},
		{ada + "Joan Marsh wrote to her.", ""},
		{box + "It was patented in 1871.", "Riffle Box — It was patented in 1871."},
		{box + "This led to a boom.", "Riffle Box — This led to a boom."},
		{box + "Gravel is washed in winter.", ""},
		{"# Ada Moor\n\nAda Moor war eine englische Mathematikerin. Sie schrieb ein Programm.", "Ada Moor — Sie schrieb ein Programm."},
		{"# Ada Moor\n\nAda Moor war eine englische Mathematikerin. Joan schrieb ein Programm.", ""},
		{"# Ada Moor\n\nAda Moor est une mathématicienne anglaise. Elle a écrit un programme.", "Ada Moor — Elle a écrit un programme."},

		// Headings.
		{farm + "- Opening hours: Sundays 10–16", "Farland Light › Visits — Opening hours: Sundays 10–16"},
		{farm + "Opening hours: Sundays 10–16", "Farland Light › Visits — Opening hours: Sundays 10–16"},
		{farm + "- by boat from Hull", "Farland Light › Visits — by boat from Hull"},
		{farm + "1. Buy a ticket.", "Farland Light › Visits — 1. Buy a ticket."},
		{farm + "Bring a warm coat.", ""},
		{farm + "- Dogs are allowed in the garden and on the beach.", "Farland Light › Visits — Dogs are allowed in the garden and on the beach."},
		{farm + "| Day | Hours |\n| --- | --- |\n| Sunday | 10–16 |", "Farland Light › Visits — Day: Sunday; Hours: 10–16"},
		{farm + "| 1 | 2 |\n| --- | --- |\n| Sunday | 10–16 |", "Farland Light › Visits — Sunday | 10–16"},
		{farm + "- Farland Light closes at four", "Visits — Farland Light closes at four"},
		{farm + "```\nmake light\n```", ""},
		{farm + "It is closed in winter.", "Farland Light › Visits — It is closed in winter."},
		{"# Besuche\n\nDer Turm ist für alle da.\n\n- Öffnungszeiten: sonntags 10–16 Uhr", "Besuche — Öffnungszeiten: sonntags 10–16 Uhr"},
	} {
		all := proposed(t, "a.md", c.text)
		if last := all[len(all)-1]; last.Proposition != c.want {
			t.Errorf("%s\n got %q\nwant %q", strings.TrimSpace(c.text[strings.LastIndex(c.text, "\n")+1:]), last.Proposition, c.want)
		}
	}
}

// TestDocument checks all propositions of a small document.
func TestDocument(t *testing.T) {
	var b strings.Builder
	for _, c := range proposed(t, "light.md", document) {
		fmt.Fprintf(&b, "%s\n    %s\n", strings.ReplaceAll(c.Text, "\n", "⏎"), c.Proposition)
	}
	golden.Check(t, "testdata/document.golden", b.String())
}

const document = `# Farland Light

Farland Light is a lighthouse on the coast of Holderness. It was built in 1871 by Ann Marsh. The lighthouse is 40 metres high, and
its lamp is seen for 20 miles. She had built two others before.

## Early life of the keeper

John Hale was the first keeper of the light. He lived in the tower with his wife. She kept the log. In 1890, he moved to Hull.

## Visits

- Opening hours: Sundays 10–16
- Dogs are allowed on the beach.
- by boat from Hull

| Ticket | Price |
| --- | --- |
| Adult | £4 |
| Child | £2 |

Call the office before you come. It is best to book early.

` + "```sh\nlight --on\n```" + `
`

// TestBounds checks that propositions respect MaxGrowth for any title and heading.
func TestBounds(t *testing.T) {
	long := strings.Repeat("Very Long Name ", 40)
	for _, text := range []string{
		"# " + long + "\n\n" + long + " is a film. It was shot.\n\n## " + long + "\n\n- item\n\nThe film was shot.",
		"# A\n\n| " + strings.Repeat(strings.Repeat("h", 39)+"x | ", 8) + "\n|" + strings.Repeat("---|", 8) + "\n|" + strings.Repeat(" v |", 8) + "\n",
	} {
		for _, c := range proposed(t, "a.md", text) {
			checkOne(t, c)
		}
	}
}

func checkOne(t testing.TB, c corpus.Chunk) {
	t.Helper()
	switch p := c.Proposition; {
	case len(p) > len(c.Text)+proposition.MaxGrowth:
		t.Fatalf("%d bytes became %d", len(c.Text), len(p))
	case !utf8.ValidString(p), p != strings.TrimSpace(p):
		t.Fatalf("%q", p)
	case p == c.Text:
		t.Fatalf("%q is proposed for itself", p)
	}
}

func TestNone(t *testing.T) {
	chunks := chunksOf(t, "a.md", box+"It was patented.")
	require.NoError(t, (proposition.None{}).Generate(t.Context(), chunks))
	for _, c := range chunks {
		if c.Proposition != "" {
			t.Errorf("%q", c.Proposition)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, p := range []proposition.Generator{proposition.Rules{}, proposition.None{}} {
		if err := p.Generate(ctx, chunksOf(t, "a.md", box)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", p.Name(), err)
		}
	}
}

func FuzzRules(f *testing.F) {
	for _, s := range []string{document, ada + "In 1940, she ( moved.", "# a\n\n| | |\n|-|-|\n| a | |", "# (\n\n( is a (", "# It\n\nIt is it. It"} {
		f.Add("a.md", s)
	}
	f.Add("", "He’s")
	f.Fuzz(func(t *testing.T, title, data string) {
		p, err := parse.Parse(t.Context(), "a.md", []byte(data), parse.Limits{})
		if err != nil {
			return
		}
		if p.Title == "" {
			p.Title = strings.ToValidUTF8(title, "")
		}
		_, chunks := ingest.Cut("doc_1", p)
		again := append([]corpus.Chunk(nil), chunks...)
		require.NoError(t, (proposition.Rules{}).Generate(t.Context(), chunks))
		require.NoError(t, (proposition.Rules{}).Generate(t.Context(), again))
		for i, c := range chunks {
			checkOne(t, c)
			if c.Proposition != again[i].Proposition {
				t.Fatalf("%q and %q", c.Proposition, again[i].Proposition)
			}
		}
	})
}
