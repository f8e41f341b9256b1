package suggest

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
)

// TestSentences: each sentence becomes the question that it answers, and sentences that only make sense where they stand become none.
func TestSentences(t *testing.T) {
	t.Parallel()
	for language, sentences := range map[string]map[string]string{
		"en": {
			"To reset the machine to factory settings, hold the power button.": "How do I reset the machine to factory settings?",
			"You can change your password under Settings.":                     "How can I change my password?",
			"A locker costs €1 per day.":                                       "How much does a locker cost?",
			"The outdoor pool opens at 8 in the morning.":                      "When does the outdoor pool open?",
			"The cancellation period is six weeks.":                            "How long is the cancellation period?",
			"The deposit is 5 euros.":                                          "What is the deposit?",
			"A season pass must be paid within 14 days of the order.":          "By when must a season pass be paid?",
			"If a key is lost, a fee of €25 is charged.":                       "What happens if a key is lost?",
			"The society decided to hold the summer fair on 4 July.":           "What did the society decide?",
			"Mrs Okafor will repair the pump by 30 March.":                     "Who will repair the pump?",
			"Garden waste is taken home because the council is broke.":         "",
			"The tram is free because the council pays for it.":                "Why is the tram free?",
			"Sluice is a server that answers questions.":                       "What is Sluice?",
			"This costs €5 per day.":                                           "",
			"If it fails, call us.":                                            "",
			"To do this, press the button.":                                    "",
			"The value is 5 in the table above and its copies.":                "What is the value?",
			"A deletion costs an overwrite and a sync.":                        "",
			"The file `a/b` is a copy.":                                        "",
		},
		"de": {
			"Um die Kindersicherung auszuschalten, halten Sie beide Tasten gedrückt.": "Wie kann ich die Kindersicherung ausschalten?",
			"Um die Maschine zu starten, drücken Sie den Schalter.":                   "Wie kann ich die Maschine starten?",
			"Eine Wäsche kostet 2,50 Euro.":                                           "Wie viel kostet eine Wäsche?",
			"Die Kündigungsfrist beträgt drei Monate zum Jahresende.":                 "Wie lang ist die Kündigungsfrist?",
			"Der Jahresbeitrag beträgt 84 Euro für Erwachsene.":                       "Wie hoch ist der Jahresbeitrag?",
			"Der Beitrag muss bis zum 31. März eines Jahres bezahlt werden.":          "",
			"Der Beitrag muss bis zum Ende des Jahres bezahlt werden.":                "Bis wann muss der Beitrag bezahlt werden?",
			"Der Verein wurde im Jahr 1921 gegründet.":                                "Wann wurde der Verein gegründet?",
			"Wenn das Wasser nicht abläuft, reinigen Sie das Sieb.":                   "Was passiert, wenn das Wasser nicht abläuft?",
			"Frau Lindner übernimmt die Wartung der Geräte.":                          "Wer übernimmt die Wartung der Geräte?",
			"Das Flusensieb ist ein Filter hinter der Klappe.":                        "Was ist das Flusensieb?",
			"Wenn es regnet, bleiben wir hier.":                                       "",
		},
		"fr": {
			"L'inscription annuelle coûte 12 euros.":                    "Combien coûte l'inscription annuelle ?",
			"La bibliothèque ouvre à 10 heures du mardi au samedi.":     "Quand ouvre la bibliothèque ?",
			"Pour obtenir une carte, présentez une pièce d'identité.":   "Comment obtenir une carte ?",
			"La durée du prêt est de trois semaines.":                   "Quelle est la durée du prêt ?",
			"L'amende s'élève à 0,20 euro par jour.":                    "À combien s’élève l'amende ?",
			"Si un livre est perdu, l'emprunteur paie.":                 "Que se passe-t-il si un livre est perdu ?",
			"Mme Durand est responsable de l'heure du conte.":           "Qui est responsable de l'heure du conte ?",
			"Si elle est perdue, elle est remplacée par une autre.":     "",
			"Le formulaire doit être rendu avant la fin de la semaine.": "Quand le formulaire doit-il être rendu ?",
		},
		"es": {
			"Para solicitar una reparación, llame al servicio técnico.": "¿Cómo puedo solicitar una reparación?",
			"El diagnóstico cuesta 30 euros.":                           "¿Cuánto cuesta el diagnóstico?",
			"El taller abre a las nueve de la mañana.":                  "¿Cuándo abre el taller?",
			"La garantía es de dos años desde la compra.":               "¿Cuál es la garantía?",
			"Si el aparato tiene golpes, no hay garantía.":              "¿Qué ocurre si el aparato tiene golpes?",
		},
	} {
		g := grammars[language]
		for sentence, want := range sentences {
			got, _ := g.fromSentence(plain(sentence))
			if got != "" && !g.sensible(got) {
				got = ""
			}
			if got != want {
				t.Errorf("%s: %q, want %q", sentence, got, want)
			}
		}
	}
}

func TestHeadingsAndTables(t *testing.T) {
	t.Parallel()
	for heading, want := range map[string]string{
		"What does the orange light mean?": "What does the orange light mean?",
		"How to clean your machine":        "How do I clean my machine?",
		"2.1 Resetting the machine":        "How does resetting the machine work?",
		"§ 4 Refunds":                      "What should I know about “Refunds”?",
		"Building regulations":             "What should I know about “Building regulations”?",
		"Part 1: the beginning of the end": "",
		"Of":                               "",
	} {
		if got, _ := english.fromHeading(heading); got != want {
			t.Errorf("%s: %q, want %q", heading, got, want)
		}
	}
	for row, want := range map[string]string{
		"Adult day ticket | €6.50": "How much is “Adult day ticket”?", "Ticket | Price": "", "€5 | €6": "", "Small box | 4 EUR | 9 EUR": "", "12 | €3": "",
	} {
		if got := english.fromRow(row); got != want {
			t.Errorf("%s: %q, want %q", row, got, want)
		}
	}
}

func TestSensible(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]bool{
		"How much does a locker cost?": true, "What is it?": false, "Why is the rest empty?": false, "What is https://example.com?": false, "What is the file a/b.go?": false,
		"What is the (old) key?": false, "What? Why?": false, "What is " + strings.Repeat("a very ", 20) + "long thing?": false,
	} {
		if got := english.sensible(q); got != want {
			t.Errorf("%s: %v", q, got)
		}
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The pool is open from May to September.": "en", "Der Verein hat den Zweck, die Jugend zu fördern.": "de", "La durée du prêt est de trois semaines pour les livres.": "fr",
		"La garantía es de dos años y no se aplica en los golpes.": "es", "": "en", "1 2 3": "en",
	} {
		if got := languageOf(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestClarity: a question about the subject of its document comes before one about something else.
func TestClarity(t *testing.T) {
	t.Parallel()
	found, language := candidatesOf([]corpus.Chunk{{ID: "p", Title: "Opening hours of the pool", Text: "The red door closes at 9. The pool opens at 8."}})
	if language != "en" || len(found) != 2 || found[0].question != "When does the pool open?" || found[0].passage.ID != "p" {
		t.Errorf("%s: %+v", language, found)
	}
}

// FuzzCandidates: no text makes the rules fail or breaks the limits of a question.
func FuzzCandidates(f *testing.F) {
	f.Add("To reset the machine, hold it. | a | €5\n\n# How to $1 ${1}", "How to x")
	f.Add("L’\xff coûte ", "É")
	f.Fuzz(func(t *testing.T, text, heading string) {
		found, _ := candidatesOf([]corpus.Chunk{{Text: text, Headings: []string{heading}}})
		for _, c := range found {
			if len(c.question) > maxQuestion || strings.ContainsAny(c.question, "\n<>{}") {
				t.Errorf("%q", c.question)
			}
		}
	})
}
