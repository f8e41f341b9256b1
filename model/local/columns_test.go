package local_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestAnswersFromDetails checks parts of documents that are easily passed over.
func TestAnswersFromDetails(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{Patience: 1})
	tasks := "Nr. | Aufgabe | Wer | Bis\n1 | Mahnungen schreiben | A. Feil | 31.03.2031\n2 | Umzug der Noten organisieren | R. Lund | 26.04.2031\n3 | Bus bestellen | T. Holm | 25.03.2031\n"
	cake := "Gâteau au citron\n\nPour 6 personnes · cuisson au four 35 min à 180 °C\n\nLe pot sert de mesure. Tout mélanger dans l'ordre et verser dans un moule.\n"
	for name, c := range map[string]struct{ question, title, text, want string }{
		"columns named by question words": {"Wer organisiert den Umzug der Noten und bis wann?", "Protokoll", tasks, "2: Aufgabe Umzug der Noten organisieren; Wer R. Lund; Bis 26.04.2031."},
		"a line of several facts":         {"À quelle température cuire le gâteau au citron ?", "Recettes", cake, "Pour 6 personnes · cuisson au four 35 min à 180 °C."},
		"a typing error in a short stem":  {"When were the plots fensed?", "Garden", "The garden has 40 plots and a hut. The plots were fenced in 1998. Hedges are cut in May.", "The plots were fenced in 1998."},
		"a version":                       {"What is new in Lampkeeper 4.2?", "Lampkeeper 4.1.3", "# 4.2.0\n\n- The lamp can be dimmed\n\n# 4.1.3\n\n- A crash was mended\n", "The lamp can be dimmed"},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{titled(1, c.title, c.text)}})
			if !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
