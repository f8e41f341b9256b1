package lang_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/lang"
)

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		question, passage string
		df                map[string]int
		want              map[string]float64 // credit of each matched word of the passage with the term
	}{
		{"What does the ferry cost?", "The ferries cost more.", nil, map[string]float64{"ferries=ferry": 1, "cost=cost": 1}},
		{"Wie hoch sind die Beiträge?", "Der Mitgliedsbeitrag und der Beitrag sind hoch.", nil,
			map[string]float64{"mitgliedsbeitrag=beiträge": 0.8, "beitrag=beiträge": 1, "hoch=hoch": 1}},
		{"Wann endet die Kündigungsfrist?", "Die Kündigung hat eine Frist.", nil, map[string]float64{"kündigung=kündigungsfrist": 0.8, "frist=kündigungsfrist": 0.8}},
		{"wo sind die gerate und die schluessel", "Die Geräte und der Schlüssel.", nil, map[string]float64{"geräte=gerate": 1, "schlüssel=schluessel": 1}},
		{"Quand est réparé l'ascenseur ?", "L’ascenseur et les ascenseurs sont en reparation.", nil, map[string]float64{"l'ascenseur=l'ascenseur": 1, "ascenseurs=l'ascenseur": 1, "reparation=réparé": 1}},
		{"What is the ferry's schedule?", "Our boathouse has a house.", nil, nil}, // English has no compounds
		{"when does the shfit end", "The shift ends at six.", map[string]int{"shfit": 0, "end": 3}, map[string]float64{"shift=shfit": 0.8, "ends=end": 1}},
		{"when does the shaft end", "The shift ends at six.", map[string]int{"shaft": 2, "end": 3}, map[string]float64{"ends=end": 1}},    // a known word
		{"does the shfit end", "The shift ends: shfit.", map[string]int{"shfit": 0}, map[string]float64{"shfit=shfit": 1, "ends=end": 1}}, // a passage has it
	} {
		m := lang.NewMatcher(c.question, []string{c.passage}, c.df)
		var got map[string]float64
		for _, w := range lang.Words(c.passage) {
			for _, x := range m.Match(w.Text) {
				if got == nil {
					got = map[string]float64{}
				}
				got[fmt.Sprintf("%s=%s", w.Text, m.Terms[x.Term].Word)] = x.Credit
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s %s (-want +got)\n%s", m.Code, c.question, d)
		}
	}
}

func TestSimilar(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"shfit", "shift", true}, {"wark", "work", false}, {"bidriera", "vidriera", true}, {"jahreshauptversamlung", "jahreshauptversammlung", true},
		{"2024", "2025", false}, {"12345", "12346", false}, {"adapter", "adopted", false}, {"", "", false}, {"maschine", "", false},
	} {
		if got := lang.Similar(c.a, c.b); got != c.want {
			t.Errorf("%s %s: %v", c.a, c.b, got)
		}
	}
}

// TestMatchersOfOneQuestion checks that matchers of a question, which share what they have found, differ in the words that may be misspelled, and may be
// used at the same time.
func TestMatchersOfOneQuestion(t *testing.T) {
	const question, passage = "when does the shfit end", "The shift ends at six."
	var all sync.WaitGroup
	for range 8 {
		for _, df := range []map[string]int{{"shfit": 0}, {"shfit": 1}} {
			all.Go(func() {
				m := lang.NewMatcher(question, []string{passage}, df)
				if got, want := len(m.Match("shift")) > 0, df["shfit"] == 0; got != want {
					t.Errorf("%v: shift stands for shfit: %v", df, got)
				}
				if got := m.Match("ends"); len(got) != 1 || m.Terms[got[0].Term].Word != "end" {
					t.Errorf("%v: ends stands for %v", df, got)
				}
				if got := m.Match("the"); got != nil {
					t.Errorf("%v: a stop word stands for %v", df, got)
				}
			})
		}
	}
	all.Wait()
}
