package entities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/entities"
	"github.com/sluice-rag/sluice/lang"
)

func extract(t testing.TB, chunks ...corpus.Chunk) []entities.Extraction {
	t.Helper()
	out, err := entities.Rules{}.Extract(t.Context(), chunks, nil)
	if err != nil || len(out) != len(chunks) {
		t.Fatalf("%d of %d: %v", len(out), len(chunks), err)
	}
	return out
}

func passage(title, text string, headings ...string) corpus.Chunk {
	return corpus.Chunk{Level: corpus.Passage, Title: title, Headings: headings, Text: text}
}

var kinds = map[corpus.MentionKind]string{corpus.Subject: "*", corpus.Link: "@", corpus.Named: ""}

// TestMentions lists the mentions of a passage; * marks a subject and @ a link.
func TestMentions(t *testing.T) {
	for name, c := range map[string]struct {
		title, text string
		headings    []string
		want        string
	}{
		"a film": {title: "Polish-Russian War (film)", text: "Polish-Russian War (Wojna polsko-ruska) is a 2009 film directed by Xawery Żuławski " +
			"after Dorota Masłowska's novel.",
			want: "*Polish-Russian War (film)|*Polish-Russian War|Wojna|Xawery Żuławski|Dorota Masłowska"},
		"a comma in the title": {title: "Adalbert II, Margrave of Tuscany", want: "*Adalbert II, Margrave of Tuscany|*Adalbert II"},
		"one word before it":   {title: "Lambert, Margrave of Tuscany", want: "*Lambert, Margrave of Tuscany"},
		"headings":             {title: "Guide", headings: []string{"Guide", "Rate limits"}, text: "none.", want: "*Guide|*Rate limits"},
		"connectors": {text: "It was the University of Warsaw, then King of the Hill, and Ludwig van Beethoven and Charles de Gaulle of it.",
			want: "University of Warsaw|King of the Hill|Ludwig van Beethoven|Charles de Gaulle"},
		"numbers":  {text: "They flew with Apollo 11, Louis XIV and 20th Century Fox in 1969.", want: "Apollo 11|Louis XIV|20th Century Fox"},
		"dates":    {text: "On Monday, May 3, 2005 in December and in May 1990 we saw May Whitty in April.", want: "May Whitty"},
		"initials": {text: "The book by J. R. R. Tolkien and St. Maurice was read.", want: "J. R. R. Tolkien|St. Maurice"},
		"first words": {text: "Researchers met. Nobody knew the researchers. Warsaw was far. He left Warsaw. Old Jan Nowak came. He was old.",
			want: "Warsaw|Jan Nowak"},
		"quotes":     {text: `He wrote "What is God?" and “The Road” and "we went away".`, want: "What is God?|The Road"},
		"links":      {text: "See [[rate limits]] and [[X", want: "@rate limits"},
		"articles":   {text: "We saw The Hague and the Beatles, and it was A Day.", want: "Hague|Beatles|Day"},
		"Japanese":   {title: "東京", text: "首都は東京です。アントニオ・ガウディの『雪国』を読む。首都は遠い。", want: "*東京|アントニオ・ガウディ|雪国"},
		"a pronoun":  {text: "Then I said that I was there.", want: ""},
		"shouting":   {text: strings.Repeat("VERY LOUD ", 20), want: ""},
		"a table":    {text: "| Name | Town |\n| Jan Nowak | Old Warsaw |", want: "Town|Jan Nowak|Old Warsaw"},
		"same names": {title: "The Beatles", text: "In it the BEATLES met Beatles.", want: "*The Beatles"},
		"nothing":    {},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, m := range extract(t, passage(c.title, c.text, c.headings...))[0].Mentions {
				got = append(got, kinds[m.Kind]+m.Name)
			}
			if d := cmp.Diff(c.want, strings.Join(got, "|")); d != "" {
				t.Errorf("mentions (-want +got):\n%s", d)
			}
		})
	}
}

func TestRelations(t *testing.T) {
	got := extract(t, passage("Polish-Russian War (film)", "It was directed by Xawery Żuławski, son of Małgorzata Braunek. "+
		"A long way "+strings.Repeat("of words ", 30)+"to Warsaw."))[0].Relations
	want := []corpus.Relation{
		{From: "Polish-Russian War (film)", To: "Xawery Żuławski", Predicate: "It was directed by"},
		{From: "Xawery Żuławski", To: "Małgorzata Braunek", Predicate: ", son of"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("relations (-want +got):\n%s", d)
	}
}

// TestDocument checks that the spelling of a word in other passages decides whether the first word of a sentence is part of a name.
func TestDocument(t *testing.T) {
	section := passage("T", "Section Name here.")
	section.Level = corpus.Section
	got := extract(t, section, passage("T", "The painter Jan Nowak likes signals."), passage("T", "Painter Jan Nowak left."))
	if len(got[0].Mentions) != 0 {
		t.Errorf("a section names %v", got[0].Mentions)
	}
	want := []corpus.Mention{{Name: "T", Kind: corpus.Subject}, {Name: "Jan Nowak", Kind: corpus.Named}}
	for i := 1; i <= 2; i++ {
		if d := cmp.Diff(want, got[i].Mentions); d != "" {
			t.Errorf("passage %d (-want +got):\n%s", i, d)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (entities.Rules{}).Extract(ctx, []corpus.Chunk{passage("T", "Text")}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// check checks the properties of every extraction.
func check(t *testing.T, f entities.Extraction) {
	t.Helper()
	if len(f.Mentions) > 64 || len(f.Relations) > 64 {
		t.Errorf("%d mentions, %d relations", len(f.Mentions), len(f.Relations))
	}
	names, keys := map[string]bool{}, map[string]bool{}
	for _, m := range f.Mentions {
		key := lang.NormalizeName(m.Name)
		if key == "" || keys[key] || len(m.Name) > 200 || !utf8.ValidString(m.Name) || m.Kind < corpus.Subject || m.Kind > corpus.Phrase {
			t.Errorf("mention %+v", m)
		}
		names[m.Name], keys[key] = true, true
	}
	for _, r := range f.Relations {
		if !names[r.From] || !names[r.To] || r.From == r.To || r.Predicate == "" || len(r.Predicate) > 120 {
			t.Errorf("relation %+v", r)
		}
	}
}

var hostile = []string{
	strings.Repeat("A ", 100_000), strings.Repeat("A. ", 100_000), strings.Repeat("Aa of ", 50_000), strings.Repeat(`"`, 200_000), strings.Repeat("[[", 100_000),
	strings.Repeat("“", 70_000), strings.Repeat("the ", 50_000), strings.Repeat("東", 70_000), strings.Repeat("Ab", 100_000), strings.Repeat("weak signals ", 20_000),
	strings.Repeat("Aa's ", 50_000), strings.Repeat("1 ", 100_000), strings.Repeat("Of The ", 30_000), strings.Repeat("\u0301", 100_000), "\xff\xfeA\xff B",
}

func TestHostile(t *testing.T) {
	for _, s := range hostile {
		for _, f := range extract(t, passage(s, s, s, s), passage("Title", s)) {
			check(t, f)
		}
		for _, f := range extract(t, passage("(", "("+s+")"), passage(")", "")) {
			check(t, f)
		}
	}
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "Name Number%d knows word%d pair%d. ", i, i, i)
	}
	check(t, extract(t, passage("Many", b.String()))[0])
}

func FuzzRules(f *testing.F) {
	f.Add("Polish-Russian War (film)", "It was directed by Xawery Żuławski in May 2009. \"What is God?\" he said.", "Nowak's [[Link]]")
	f.Add("東京", "首都は東京です。『雪国』", "首都は遠い。")
	for _, s := range hostile {
		f.Add("T", s[:min(len(s), 300)], s[:min(len(s), 40)])
	}
	f.Fuzz(func(t *testing.T, title, one, two string) {
		chunks := []corpus.Chunk{passage(title, one, two), passage(title, two)}
		found := extract(t, chunks...)
		for _, f := range found {
			check(t, f)
		}
		if d := cmp.Diff(found, extract(t, chunks...)); d != "" {
			t.Errorf("found something else the second time:\n%s", d)
		}
	})
}

// BenchmarkHostile should take about the same time per byte for each text and length.
func BenchmarkHostile(b *testing.B) {
	for i, s := range hostile {
		b.Run(fmt.Sprint(i), func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				extract(b, passage("T", s))
			}
		})
	}
}
