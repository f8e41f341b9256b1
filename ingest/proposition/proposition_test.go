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
)

func chunksOf(t testing.TB, name, data string) []corpus.Chunk {
	t.Helper()
	p, err := parse.Parse(t.Context(), name, []byte(data), parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, chunks := ingest.Cut("doc_1", p)
	return chunks
}

// proposed returns the sentences of a document with their propositions.
func proposed(t testing.TB, name, data string) (sentences []corpus.Chunk) {
	t.Helper()
	chunks := chunksOf(t, name, data)
	if err := (proposition.Rules{}).Generate(t.Context(), chunks); err != nil {
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

const (
	ada    = "# Ada Moor\n\nAda Moor (born 10 December 1915) is an English mathematician from the city of Hull. "
	tom    = "# Tom Hale\n\nTom Hale was a Scottish painter and engraver. "
	alex   = "# Alex Reed\n\nAlex Reed is a British journalist. "
	box    = "# Riffle Box\n\nThe Riffle Box is a wooden box that washes gravel. "
	film   = "# Night Water\n\nNight Water is a 1987 British drama film directed by Joan Marsh and the Hull Players. "
	band   = "# The Sluices\n\nThe Sluices are an English folk band from Hull. "
	people = "# Marshmen\n\nThe Marshmen were the people of the eastern fens. "
	farm   = "# Farland Light\n\nThe lighthouse is open to all.\n\n## Visits\n\n"
)

// TestRules checks the proposition of the last sentence of each text; "" means none.
func TestRules(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// A person.
		{ada + "She wrote a program.", "Ada Moor wrote a program."},
		{ada + "Her book sold well.", "Ada Moor's book sold well."},
		{ada + "In 1940, she moved to Hull.", "In 1940, Ada Moor moved to Hull."},
		{ada + "In 1940 she moved to Hull.", "In 1940 Ada Moor moved to Hull."},
		{ada + "Born in Hull, she moved to Leeds.", "Born in Hull, Ada Moor moved to Leeds."},
		{ada + "Two years later, she moved.", "Two years later, Ada Moor moved."},
		{ada + "However, she moved to Hull.", "However, Ada Moor moved to Hull."},
		{ada + "Later she moved to Hull.", "Later Ada Moor moved to Hull."},
		{ada + "She wrote a program. She sold it.", "Ada Moor sold it."},
		{ada + "Moor studied in Hull. She taught there.", "Ada Moor taught there."},
		{ada + "She is the mother of Joan Moor.", "Ada Moor is the mother of Joan Moor."},
		{tom + "He died in Leith.", "Tom Hale died in Leith."},
		{tom + "His etchings hang in Leith.", "Tom Hale's etchings hang in Leith."},
		{tom + "The weather was bad. He left.", "Tom Hale left."},
		{"# Ed Hale\n\nEdward James Hale (born 1915) was a Scottish painter. He died in Leith.", "Ed Hale died in Leith."},
		{"# Storm\n\nAnna Storm was a famous dancer born in Hull. She moved to Leeds in 1916.", "Anna Storm moved to Leeds in 1916."},

		// A person, with uncertain antecedents.
		{ada + "Joan Marsh met Ada Moor in Hull. She was charmed.", "Ada Moor — She was charmed."},
		{ada + "Her mother was a nurse. She moved.", "Ada Moor — She moved."},
		{ada + "The prize was given by Joan Marsh. She spoke.", "Ada Moor — She spoke."},
		{ada + "She wrote to her aunt. He wrote to the king.", "Ada Moor — He wrote to the king."},
		{ada + "After Joan Marsh died, she moved.", "Ada Moor — After Joan Marsh died, she moved."},
		{ada + "It is known that she moved.", ""},
		{ada + "She later taught Ada Moor and others.", ""},
		{alex + "The editor praised the story. He was glad. She was not.", "Alex Reed — She was not."},
		{ada + "\"She was brave,\" said Joan Marsh.", "Ada Moor — \"She was brave,\" said Joan Marsh."},
		{ada + "Critics praised her book.", "Ada Moor — Critics praised her book."},

		// A thing.
		{box + "It was patented in 1871.", "The Riffle Box was patented in 1871."},
		{box + "Its walls are of pine.", "The Riffle Box's walls are of pine."},
		{box + "Made of pine, it lasts for years.", "Made of pine, the Riffle Box lasts for years."},
		{box + "It was patented in 1871. Today, it is rare.", "Today, the Riffle Box is rare."},
		{box + "It is believed that boxes are older.", ""},
		{box + "It was Joan Marsh who built the first.", ""},
		{box + "It rained.", ""},
		{box + "It is hard to build one.", ""},
		{box + "It seems that nobody knows.", ""},
		{box + "It took years.", ""},
		{box + "Miners bought a shovel. It broke.", "Riffle Box — It broke."},
		{box + "They were sold in Hull.", "Riffle Box — They were sold in Hull."},
		{box + "This led to a boom.", "Riffle Box — This led to a boom."},
		{box + "Gravel is washed in winter.", ""},
		{"# History of Hull\n\nThe Exchange Railway was a tramway in Hull. It was closed in 1912.", "The Exchange Railway was closed in 1912."},

		// Definite noun phrases.
		{film + "The film was shot in Wales.", "The film Night Water was shot in Wales."},
		{film + "The movie stars Ann Lee.", "The movie Night Water stars Ann Lee."},
		{film + "The film focuses on a well.", "The film Night Water focuses on a well."},
		{film + "This film was shot in Wales.", "This film Night Water was shot in Wales."},
		{film + "The film's score is by Ann Lee.", "The film Night Water's score is by Ann Lee."},
		{film + "Shot in Wales, the film was cheap.", "Shot in Wales, the film Night Water was cheap."},
		{film + "The film critics were kind.", "Night Water — The film critics were kind."},
		{film + "The film of the year was another.", "Night Water — The film of the year was another."},
		{film + "The weather was bad.", ""},
		{film + "Marsh made a second film in 1990. The film was shot in France.", "Night Water — The film was shot in France."},
		{"# Emory College\n\nEmory College is a small college in Hull. The college was founded in 1836.", "Emory College was founded in 1836."},

		// Plurals.
		{band + "They toured in 1979.", "The Sluices toured in 1979."},
		{band + "Their songs are short.", "The Sluices' songs are short."},
		{people + "They lived on eels.", "The Marshmen lived on eels."},
		{people + "They lived on eels. The eels died. They left.", "Marshmen — They left."},

		{"# Hull\n\nNorman mercenaries were first seen in the city of Hull. They were of the north.", "Hull — They were of the north."},
		{"# Guild\n\nThe members met Hale in the hall. Hale led the guild. He sold it to the city.", "Hale sold it to the city."},
		{"# Guild\n\nPainters led the guild of the city. He sold it.", "Guild — He sold it."},
		{"# Guild\n\nTom Hale is a former captain of the guild. A Quaker, he sold it.", "A Quaker, Tom Hale sold it."},
		{"# Tom Hale\n\nTom Hale was an English fashion and film photographer. He left the city.", "Tom Hale left the city."},

		// Headings.
		{farm + "- Opening hours: Sundays 10–16", "Farland Light › Visits — Opening hours: Sundays 10–16"},
		{farm + "Opening hours: Sundays 10–16", "Farland Light › Visits — Opening hours: Sundays 10–16"},
		{farm + "- by boat from Hull", "Farland Light › Visits — by boat from Hull"},
		{farm + "1. Buy a ticket.", "Farland Light › Visits — 1. Buy a ticket."},
		{farm + "Bring a warm coat.", ""},
		{farm + "Use the eastern gate.", "Farland Light › Visits — Use the eastern gate."},
		{farm + "- Dogs are allowed in the garden and on the beach.", ""},
		{farm + "| Day | Hours |\n| --- | --- |\n| Sunday | 10–16 |", "Farland Light › Visits — Day: Sunday; Hours: 10–16"},
		{farm + "| 1 | 2 |\n| --- | --- |\n| Sunday | 10–16 |", "Farland Light › Visits — Sunday | 10–16"},
		{farm + "- Farland Light closes at four", ""},
		{farm + "```\nmake light\n```", ""},
		{farm + "It is closed in winter.", "Farland Light › Visits — It is closed in winter."},

		// Other languages.
		{"# Ada Moor\n\nAda Moor war eine englische Mathematikerin. Sie schrieb ein Programm.", ""},
		{"# Ada Moor\n\nAda Moor var en engelsk matematiker. Her var hun i mange år.", ""},
		{"# Besuche\n\nDer Turm ist für alle da.\n\n- Öffnungszeiten: sonntags 10–16 Uhr", "Besuche — Öffnungszeiten: sonntags 10–16 Uhr"},
		{"# 灯台\n\n彼女は本を書いた。彼は町に住んでいた。", ""},
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
	if err := (proposition.None{}).Generate(t.Context(), chunks); err != nil {
		t.Fatal(err)
	}
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
	for _, s := range []string{document, ada + "In 1940, she ( moved.", film + "The film's", "# a\n\n| | |\n|-|-|\n| a | |", "# (\n\n( is a (", "# It\n\nIt is it. It"} {
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
		if err := (proposition.Rules{}).Generate(t.Context(), chunks); err != nil {
			t.Fatal(err)
		}
		if err := (proposition.Rules{}).Generate(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		for i, c := range chunks {
			checkOne(t, c)
			if c.Proposition != again[i].Proposition {
				t.Fatalf("%q and %q", c.Proposition, again[i].Proposition)
			}
		}
	})
}

func BenchmarkRules(b *testing.B) {
	for name, data := range map[string]string{
		"prose":    strings.Repeat(document[:strings.Index(document, "| Ticket")]+"\n\n", 200),
		"brackets": "# A b\n\n" + strings.Repeat("A b (((((((((( is a film (", 20000),
		"capitals": "# A b\n\n" + strings.Repeat("In A B C D E F G, A B C D. ", 20000),
	} {
		b.Run(name, func(b *testing.B) {
			chunks := chunksOf(b, "a.md", data)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := (proposition.Rules{}).Generate(b.Context(), chunks); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
