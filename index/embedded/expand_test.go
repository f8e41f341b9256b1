package embedded_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestForms checks which passages are found by other forms of a word and by misspelled words, and what the hits say about corrections.
func TestForms(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	for id, text := range map[string]string{
		"de1": "Die Beiträge steigen im Mai.", "de2": "Der Gitarre fehlt eine Saite.", "de3": "Die Straße ist gesperrt.",
		"fr1": "L'ascenseur est en panne.", "fr2": "Deux réparations sont prévues.", "es1": "La matrícula cuesta poco.", "en1": "The shift ends at six.",
		"ru1": "Новогодняя ёлка стоит у входа.", "ru2": "Актер живет у моря.",
		"de4": "Die Vibrafonorchestergesellschaft spielt.",
	} {
		require.NoError(t, put(t.Context(), x, id, text, 1))
	}
	for _, c := range []struct {
		question, want string
		corrected      map[string][]string
	}{
		{"Wie hoch ist der Beitrag?", "de1", nil},
		{"wo ist die strasse gesperrt", "de3", nil},
		{"Wer ist der Gitarrenlehrer?", "de2", map[string][]string{"gitarrenlehrer": {"gitarr"}}},
		{"Quels sont les ascenseurs ?", "fr1", nil},
		{"Où est la reparation ?", "fr2", nil},
		{"cuanto cuesta la matricula", "es1", nil},
		{"when does the shfit end", "en1", map[string][]string{"shfit": {"shift"}}},
		{"где стоит елка", "ru1", nil},
		{"Где же ёлка?", "ru1", nil},
		{"актёр", "ru2", nil},
		{"Кто живёт рядом?", "ru2", nil},
		{"xylophon", "", nil},
		{"Wo ist das Vibrafon?", "", nil}, // the rest of the compound is too long
	} {
		hits, err := x.Search(t.Context(), index.Query{Collection: "c", Text: c.question})
		require.NoError(t, err)
		found := func(h index.Hit) bool { return string(h.Chunk.Document) == c.want }
		if c.want == "" && len(hits) > 0 || c.want != "" && !slices.ContainsFunc(hits[:min(1, len(hits))], found) {
			t.Errorf("%s: %d hits", c.question, len(hits))
			continue
		}
		if len(hits) > 0 {
			if d := cmp.Diff(c.corrected, hits[0].Corrected); d != "" {
				t.Errorf("%s (-want +got)\n%s", c.question, d)
			}
		}
	}
}

// TestFormsOfNewPassages checks that the forms of a word that was looked up before are those of the passages that have come since, and that a second search
// gets the same corrections as the first.
func TestFormsOfNewPassages(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	search := func() (documents []string, corrected map[string][]string) {
		hits, err := x.Search(t.Context(), index.Query{Collection: "c", Text: "where is the zepelin"})
		require.NoError(t, err)
		for _, h := range hits {
			documents, corrected = append(documents, string(h.Chunk.Document)), h.Corrected
		}
		return documents, corrected
	}
	require.NoError(t, put(t.Context(), x, "hall", "The hall is closed.", 1))
	for range 2 {
		if found, _ := search(); found != nil {
			t.Fatalf("found %q before there is a passage", found)
		}
	}
	require.NoError(t, put(t.Context(), x, "ship", "The zeppelin is over the lake.", 1))
	for range 2 {
		found, corrected := search()
		if d := cmp.Diff([]string{"ship"}, found); d != "" {
			t.Errorf("documents (-want +got)\n%s", d)
		}
		if d := cmp.Diff(map[string][]string{"zepelin": {"zeppelin"}}, corrected); d != "" {
			t.Errorf("corrections (-want +got)\n%s", d)
		}
	}
}

// TestManyUnknownWords checks that only some words of a long question are looked up in the dictionary.
func TestManyUnknownWords(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	require.NoError(t, put(t.Context(), x, "d", "The shift ends at six.", 1))
	var unknown strings.Builder
	for i := range 63 {
		unknown.WriteString("qqzx" + strings.Repeat(string(rune('a'+i%26)), 3+i/26) + "wv ")
	}
	for question, found := range map[string]int{unknown.String() + "shfit": 1, unknown.String() + "anotherqqz shfit": 0} {
		hits, err := x.Search(t.Context(), index.Query{Collection: "c", Text: question})
		require.NoError(t, err)
		if len(hits) != found {
			t.Errorf("%d hits, not %d: %s", len(hits), found, question)
		}
	}
}
