package analyze_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/analyze"
	"github.com/sluice-rag/sluice/event"
)

var _ analyze.Analyzer = analyze.Rules{}

func TestRules(t *testing.T) {
	for q, want := range map[string]event.Complexity{
		"":                                      event.Simple,
		"\xff\x00":                              event.Simple,
		"When was the lighthouse lit?":          event.Simple,
		"How does the oil affect the lamp?":     event.Moderate,
		"Compare the old lamp and the new one.": event.Moderate,
		"Who lit the lamp that stood where the tower is now?":                                                                                  event.Moderate,
		strings.Repeat("Why does the lamp differ and fail? ", 90):                                                                              event.Complex,
		"How did the two keepers differ in their work, and which of them stayed longer, or was it the one that came after the storm that did?": event.Complex,
	} {
		got, err := analyze.Rules{}.Analyze(context.Background(), q)
		if err != nil || got.Complexity != want || got.By != "rules" {
			t.Errorf("%.60q: %+v, %v, want %s", q, got, err, want)
		}
	}
}

// TestComparisonsAreTakenApart: into the same question about either side, if both are names.
func TestComparisonsAreTakenApart(t *testing.T) {
	t.Parallel()
	for q, want := range map[string][]string{
		"Which film came out first, The Salt Road or A Lantern at Noon?": {"Which film came out first, The Salt Road?", "Which film came out first, A Lantern at Noon?"},
		"Are Osterby and Lunden both located in the same country?":       {"Is Osterby located in the same country?", "Is Lunden located in the same country?"},
		"Do both films The Salt Road and Dusk (1950 Film) have directors from one town?": {"Do films The Salt Road have directors from one town?",
			"Do films Dusk (1950 Film) have directors from one town?"},
		"Who lived longer, Ines Calloway, 1st Baronet or Tobias von Merrin?": {"Who lived longer, Ines Calloway, 1st Baronet?", "Who lived longer, Tobias von Merrin?"},
		"Which plant is larger, the Elder or the Rowan?":                     {"Which plant is larger, the Elder?", "Which plant is larger, the Rowan?"},
		"Was Jung Eun-ji or Cora Vane born first?":                           {"Was Jung Eun-ji born first?", "Was Cora Vane born first?"},
		"Who married Ines and Tobias?":                                       nil,
		"Is bread or cake better?":                                           nil,
		"Which is older?":                                                    nil,
		"or":                                                                 nil,
		"Is A or A older?":                                                   nil,
	} {
		got, err := analyze.Rules{}.Analyze(t.Context(), q)
		if d := cmp.Diff(want, got.Parts); d != "" || err != nil || want != nil && got.Complexity == event.Simple {
			t.Errorf("%s: %s, %v %s", q, got.Complexity, err, d)
		}
	}
}

// TestSeveralQuestionsAreTakenApart: each by itself, and a later one knows what the first is about.
func TestSeveralQuestionsAreTakenApart(t *testing.T) {
	t.Parallel()
	for q, want := range map[string][]string{
		"When was the lighthouse built, and who built it?":                         {"When was the lighthouse built?", "who built it (the lighthouse built)?"},
		"Who keeps the light? How far is the lamp visible?":                        {"Who keeps the light?", "How far is the lamp visible?"},
		"What is the default port and how do I change it?":                         {"What is the default port?", "how do I change it (the default port)?"},
		"Who wakes a reader, and what happens to a slow reader?":                   {"Who wakes a reader?", "what happens to a slow reader?"},
		"Compare the forge protocol with the knowledge protocol.":                  {"What is the forge protocol?", "What is the knowledge protocol?"},
		"What is the difference between a run and a log?":                          {"What is a run?", "What is a log?"},
		"Who wrote zstd and how fast is it?":                                       {"Who wrote zstd?", "how fast is it (zstd)?"},
		"Who is the keeper, and when was she born?":                                {"Who is the keeper?", "when was she born (the keeper)?"},
		"Who keeps the light, and since when has she kept it?":                     {"Who keeps the light?", "since when has she kept it (the light)?"},
		"What does the lamp burn and for how long does bread rise? ":               {"What does the lamp burn?", "for how long does bread rise?"},
		"Was kostet der Eintritt und ab wann ist der Turm offen?":                  {"Was kostet der Eintritt?", "ab wann ist der Turm offen?"},
		"Wer ist der Wärter, und seit wann hütet er das Licht?":                    {"Wer ist der Wärter?", "seit wann hütet er das Licht (der Wärter)?"},
		"Quand la tour est-elle ouverte et combien coûte le billet ?":              {"Quand la tour est-elle ouverte?", "combien coûte le billet?"},
		"¿Dónde se vende la entrada y a qué hora abre la torre?":                   {"Dónde se vende la entrada?", "a qué hora abre la torre?"},
		"Сколько стоит билет и когда открыта башня?":                               {"Сколько стоит билет?", "когда открыта башня?"},
		"Hoeveel kost een kaartje en wanneer is de toren open?":                    {"Hoeveel kost een kaartje?", "wanneer is de toren open?"},
		"Which documents that I sign and that you keep are old?":                   nil,
		"Quels sont les papiers que je signe et que vous gardez ?":                 nil,
		"Which keeper who lives here and who pays is the oldest?":                  nil,
		"Wer wohnt hier, und wo?":                                                  nil,
		"Compare the old lamp and the new one.":                                    nil,
		"Who built the tower and the house?":                                       nil,
		"Which keeper stayed and when?":                                            nil,
		"The lamp burns, and who pays for it?":                                     nil,
		"Who coaches the crew, and on which day?":                                  nil,
		"Which firm services the lamps, and under which contract number?":          nil,
		"Combien a coûté la lampe en 2023, et combien en 2024 ?":                   nil,
		"Who painted the tower? Where is the tower?":                               {"Who painted the tower?", "Where is the tower?"},
		"Qui a peint la tour et à qui appartient l'île ?":                          {"Qui a peint la tour?", "à qui appartient l'île?"},
		"Wer hat den Turm gemalt und an wen schreibt Ada?":                         {"Wer hat den Turm gemalt?", "an wen schreibt Ada?"},
		"Who coaches the team, and on which day, and how much does the hall cost?": {"Who coaches the team, on which day?", "how much does the hall cost?"},
		"Quanto costava il biglietto nel 2024 e quanto costa nel 2025?":            nil,
		"¿Qué días se abre la torre y a qué hora?":                                 nil,
		"and what?": nil,
		"Who built the tower, and who keeps it, and who owns the " + strings.Repeat("very ", 60) + "old lamp?": nil, // no part may be lost
	} {
		got, err := analyze.Rules{}.Analyze(t.Context(), q)
		if d := cmp.Diff(want, got.Parts); d != "" || err != nil || want != nil && got.Complexity == event.Simple || got.Several != (want != nil) {
			t.Errorf("%s: %s, %v %s", q, got.Complexity, err, d)
		}
	}
}

// TestWhatHasToBeFoundFirst: a question about something that another look-up gives is not simple.
func TestWhatHasToBeFoundFirst(t *testing.T) {
	t.Parallel()
	for q, simple := range map[string]bool{
		"Who is the keeper of the Farland lighthouse?":           true,
		"Who is Ada Brook's father?":                             true,
		"When was the Battle of Veldt?":                          true,
		"Where did Ada Brook's father study?":                    false,
		"Where was the director of the film The Salt Road born?": false,
		"Who is the mother of the keeper of the lighthouse?":     false,
		"Who is Ada Brook's mother-in-law?":                      false,
		"Who founded the town where Ada Brook lives?":            false,
	} {
		if got, err := (analyze.Rules{}).Analyze(t.Context(), q); err != nil || (got.Complexity == event.Simple) != simple {
			t.Errorf("%s: %s, %v", q, got.Complexity, err)
		}
	}
}

func FuzzRules(f *testing.F) {
	f.Add("Which is older, A (b) or C?")
	f.Add("or or and \xff ( ) A or (")
	f.Fuzz(func(t *testing.T, q string) {
		a, err := analyze.Rules{}.Analyze(t.Context(), q)
		if err != nil || len(a.Parts) == 1 || len(a.Parts) > 4 {
			t.Errorf("%q: %+v, %v", q, a, err)
		}
	})
}

func BenchmarkHostileQuestion(b *testing.B) {
	q := strings.Repeat("A (or ", 5000)
	for b.Loop() {
		if _, err := (analyze.Rules{}).Analyze(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
}
