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
		"another word of five letters":    {"Wer sitzt alles im Vorstand?", "Satzung", "Der Verein hat drei Tarife.\n\n- Natur: aus Wasserkraft\n- Flex: setzt einen digitalen Zähler voraus\n\nDer Vorstand besteht aus Ada Feil und Tom Holm.", "Ada Feil und Tom Holm"},
		"the whole of a section":          {"How do I switch on the child lock?", "Washer", "## Child lock\n\nHold Temp and Spin for 4 seconds. The on/off button is not locked.\n\n## Door\n\nThe door opens after a minute.\n", "Hold Temp and Spin for 4 seconds. The on/off button is not locked."},
		"all items if most are chosen":    {"An wen gehen meine Daten beim Fahrradverleih?", "Datenschutz beim Fahrradverleih", "## Wer bekommt die Daten?\n\n- Zahlungsdienstleister Paymund AG\n- Werkstattpartner (nur Nummer und Termin)\n- bei Diebstahl: Polizei und Versicherung\n\nWir verkaufen keine Daten.\n", "Paymund AG; Werkstattpartner (nur Nummer und Termin); bei Diebstahl: Polizei und Versicherung."},
		"a possessive of an irregular":    {"Who coaches the children's crews?", "Club", "Day | Group | Coach\nThu | Crews, children | Wren Hosk\nFri | Crews, men | Jonah Reeve\n", "Thu: Group Crews, children; Coach Wren Hosk."},
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

// TestColumnNames asks for cells by what the names of their columns stand for.
func TestColumnNames(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{})
	boxes := "Article | Goods | 1-99 | 100-499 | 500-999 | 1000+\nCB-1 | Box, small | 0.48 | 0.41 | 0.36 | 0.31\nCB-210 | Box, large | 1.62 | 1.45 | 1.32 | 1.19\nWR-3 | Wrap | 9.80 | 8.90 | 8.20 | on request\n"
	delivery := "Pos | Goods | ordered | delivered\n050 | LED panel 62x62, 36 W, 4000 K | 40 | 28\n060 | Frame for LED panel | 44 | 41\n"
	hall := "Room | Seats | 1-3 h | 4-8 h\nRoom 5 | 60 | 30 € | 80 €\nRoom 7 | 20 | 10 € | 25 €\n"
	rows := "Mehl      500 g   Vorrat\nEier      6       Markt\nMilch     2 dl    Kühlschrank\n"
	mobile := "Name | Room | Ext. | Mobile\nGrace Yoon | 1.15 | 350 |\nAda Feil | 1.16 | 351 | 0555 12\n"
	for name, c := range map[string]struct{ question, text, want string }{
		"the number of a room":         {"How many seats does room 5 have?", hall, "Room 5: Seats 60."},
		"a day of the month":           {"What does the large box CB-210 cost on 15 June?", boxes, "CB-210: Goods Box, large; 1-99 1.62; 100-499 1.45; 500-999 1.32; 1000+ 1.19."},
		"a number after a noun":        {"What is the fee of room 5 tours?", "Room | 1-3 | 4-8\nRoom 5 | 30 € | 80 €\nRoom 7 | 10 € | 25 €\n", "Room 5: 1-3 30 €; 4-8 80 €."},
		"times of day are no amounts":  {"What is the price of room 5 for 15 hours?", "Room | 9:00-12:00 h | 18:00-20:00 h\nRoom 5 | 30 € | 80 €\nRoom 7 | 10 € | 25 €\n", "Room 5: 9:00-12:00 h 30 €; 18:00-20:00 h 80 €."},
		"a price that selects a row":   {"Which person pays 4 €?", "Person | Price\nAdults | 8 €\nChildren | 4 €\n", "Children: Price 4 €."},
		"a day of the week":            {"Who collects the money of the chess club?", "Club | Mon. | Fri.\nChess | Ada | Carl\nJudo | Ben | Dora\n", "Chess: Mon. Ada; Fri. Carl."},
		"a month":                      {"Who makes decisions for the chess club?", "Club | Nov. | Dec.\nChess | Ada | Carl\nJudo | Ben | Dora\n", "Chess: Nov. Ada; Dec. Carl."},
		"a price":                      {"Wer zahlt 6 Euro?", "Gruppe | Preis | Alter\nErwachsene | 6 € | ab 15\nKinder | 3 € | bis 14\n", "Erwachsene: Preis 6 €; Alter ab 15."},
		"rows without names":           {"Wie viel Mehl brauchen wir?", rows, "Mehl: 500 g; Vorrat."},
		"an empty cell":                {"What is Grace Yoon's mobile number?", mobile, "The documents do not seem to hold an answer to this question."},
		"a filled cell":                {"What is Ada Feil's mobile number?", mobile, "Ada Feil: Mobile 0555 12."},
		"a name with details after it": {"How many LED panels were delivered?", delivery, "050: Goods LED panel 62x62, 36 W, 4000 K; delivered 28."},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{titled(1, "List", c.text)}})
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
