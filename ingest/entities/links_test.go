package entities_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/entities"
)

func linked(t testing.TB, c corpus.Chunk, links ...entities.Link) entities.Extraction {
	t.Helper()
	out, err := entities.Rules{}.Extract(t.Context(), []corpus.Chunk{{Level: corpus.Section, Text: c.Text}, c}, [][]entities.Link{nil, links})
	if err != nil || len(out) != 2 || len(out[0].Mentions) > 0 {
		t.Fatalf("%v, %v", out, err)
	}
	return out[1]
}

func TestLinked(t *testing.T) {
	for _, c := range []struct{ text, target, want string }{
		{"how it is graded", "pipeline.md#grade", "@how it is graded|@pipeline|@grade"},
		{"here", "../docs/rate-limits.html?x=y#what-is_sent", "@rate limits|@what is sent"},
		{"Read more", "/guide/", "@guide"},
		{"this page", "#user-content-lost-keys", "@lost keys"},
		{"The cache", "./cache/README.md", "@The cache"},
		{"what is kept", "./cache/README.md", "@what is kept|@cache"},
		{"Lost keys", "a%20b/lost%20keys%zz.md#L10", "@Lost keys|@lost%20keys%zz"},
		{"release", "v1.2", "@release"}, {"v1.2", "v1.2.zip", ""}, {"東京", "首都.md#京", "@東京|@首都"},
		{"Keys", "Node.js", "@Keys|@Node"},
		{"the site", "https://a.example/pipeline.md#grade", ""},
		{"Sluice", "https://a.example/pipeline.md#grade", "@Sluice"},
		{"Sluice", "//a.example/pipeline", "@Sluice"},
		{"Sluice", `\\a.example\pipeline`, "@Sluice"},
		{"mail", "mailto:ada", "@mail"},
		{"12", "#fn:1", ""}, {"[3]", "#cite_note-3", ""}, {"¶", "#", ""}, {"a", "..", ""}, {"", "", ""},
		{"grades", "p.md#:~:text=secret", "@grades"},
		{"one two three four five six seven eight nine ten eleven twelve thirteen", "page.md", ""},
	} {
		t.Run(c.text+" "+c.target, func(t *testing.T) {
			var got []string
			for _, m := range linked(t, passage("", ""), entities.Link{Text: c.text, Target: c.target}).Mentions {
				got = append(got, kinds[m.Kind]+m.Name)
			}
			if d := cmp.Diff(c.want, strings.Join(got, "|")); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestLinkedAndNamed checks that the name of a link is listed once, after the subjects and before the names of the text.
func TestLinkedAndNamed(t *testing.T) {
	got := linked(t, passage("notes.txt", "Jan Nowak met Anna Lis in [[Warsaw#Centre|the town]]."), entities.Link{Text: "anna lis"}, entities.Link{Text: "Notes"}).Mentions
	want := []corpus.Mention{{Name: "notes.txt", Kind: corpus.Subject}, {Name: "notes", Kind: corpus.Subject}, {Name: "anna lis", Kind: corpus.Link},
		{Name: "Jan Nowak", Kind: corpus.Named}, {Name: "Warsaw", Kind: corpus.Link}, {Name: "Centre", Kind: corpus.Named}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestLinkedIsBounded(t *testing.T) {
	var links []entities.Link
	var names []string
	for i := range 5000 {
		links = append(links, entities.Link{Text: fmt.Sprint("link", i), Target: fmt.Sprintf("file%d.md#place%d", i, i)})
		names = append(names, fmt.Sprintf("Name%d.", i))
	}
	f := linked(t, passage("T", "we saw "+strings.Join(names, " and ")), links...)
	check(t, f)
	if f.Mentions[32].Kind != corpus.Link || f.Mentions[33].Kind != corpus.Named || len(f.Mentions) != 64 {
		t.Errorf("%d, %+v", len(f.Mentions), f.Mentions)
	}
	for _, s := range hostile {
		check(t, linked(t, passage("T", "x"), entities.Link{Text: s, Target: s}, entities.Link{Text: s[:min(len(s), 100)], Target: strings.Repeat("%", 200)}))
	}
}

func FuzzLinks(f *testing.F) {
	f.Add("how it is graded", "pipeline.md#grade")
	f.Add("\xff", "a/%ff#%00.b\xff")
	f.Add("", "#:~:text=../index?")
	f.Fuzz(func(t *testing.T, text, target string) {
		check(t, linked(t, passage("T", text), entities.Link{Text: text, Target: target}))
	})
}
