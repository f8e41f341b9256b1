package lang_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/lang"
)

func TestLanguages(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"de", "en", "es", "fr", "it", "ja", "nl", "pt", "ru", "tr", "zh"} {
		l := lang.Languages()[code]
		if l == nil || l.Code != code {
			t.Fatalf("no language %s", code)
		}
		for _, s := range []lang.Section{lang.StopWords, lang.Negations, lang.Pronouns, lang.Months, lang.Days, lang.Counts} {
			if code == "ja" && s == lang.StopWords || l.HasAny(s) {
				continue
			}
			t.Errorf("%s has no section %s", code, s)
		}
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Wie hoch ist die Gebühr für Auswärtige?":      "de",
		"What does the family membership cost?":        "en",
		"¿A qué hora abre la biblioteca los domingos?": "es",
		"À quelle heure ouvre la médiathèque ?":        "fr",
		"A che ora parte l'ultimo traghetto?":          "it",
		"図書館は何時に開きますか":                                 "ja",
		"Hoe laat gaat de bibliotheek open?":           "nl",
		"A que horas sai o último barco da ilha?":      "pt",
		"Во сколько открывается библиотека?":           "ru",
		"Kütüphane saat kaçta açılıyor ve kim açıyor?": "tr",
		"图书馆几点开门？":                                     "zh",
	} {
		if l := lang.Detect(text); l == nil || l.Code != want {
			t.Errorf("%s: %+v", text, l)
		}
	}
	if l := lang.Detect("Brezza 40"); l != nil {
		t.Errorf("a name has the language %s", l.Code)
	}
	if l := lang.OfQuestion("Öffnungszeiten Sonntag?", "Das Bad ist am Sonntag von 9 bis 20 Uhr geöffnet."); l.Code != "de" {
		t.Errorf("the language of the passages is %s", l.Code)
	}
	if l := lang.OfQuestion("Was kosten alle Wallboxen zusammen?"); l.Code != "de" {
		t.Errorf("a German question is %s", l.Code)
	}
	if l := lang.OfQuestion("Brezza 40?"); l != lang.English {
		t.Errorf("an unknown language is %s", l.Code)
	}
}

func TestAsks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lang.Section{
		"Wann beginnt der Unterricht?":         lang.AsksTime,
		"Seit wann ist er dort?":               lang.AsksTime,
		"Wie viele Mitglieder hat der Verein?": lang.AsksNumber,
		"Und wer leitet die Gruppe?":           lang.AsksPerson,
		"Wo steht das Klavier?":                lang.AsksPlace,
		"Warum wurde das Fest verschoben?":     lang.AsksReason,
		"Wie kann ich die Halle buchen?":       lang.AsksManner,
		"Combien coûte l'inscription ?":        lang.AsksNumber,
		"¿Por qué se cerró la sala?":           lang.AsksReason,
		"Сколько стоит билет?":                 lang.AsksNumber,
		"会议什么时候开始？":                            lang.AsksTime,
		"Ist das Bad am Montag offen?":         "",
	} {
		l := lang.Detect(text)
		if got := l.Asks(text); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestStem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, a, b string }{
		{"de", "gebühren", "gebühr"}, {"fr", "l'ascenseur", "ascenseurs"}, {"es", "habitación", "habitaciones"}, {"ru", "библиотека", "библиотеки"},
		{"tr", "fiyatlar", "fiyat"}, {"nl", "boeken", "boek"}, {"it", "dell'orario", "orari"}, {"pt", "câmara", "camara"}, {"de", "straße", "strasse"},
		{"ru", "ёлка", "елки"}, {"ru", "живёт", "живет"}, {"ru", "счёт", "счет"}, {"de", "4.2.0", "4.2"}, {"en", "4.2.0", "4.2"}, {"en", "1,200", "1200"},
	} {
		l := lang.Languages()[c.code]
		if a, b := l.Stem(c.a), l.Stem(c.b); a != b {
			t.Errorf("%s: %s and %s", c.code, a, b)
		}
	}
	if !lang.Languages()["fr"].IsStopWord("d'un") || lang.Languages()["fr"].IsStopWord("d'ascenseur") {
		t.Error("stop words after an elision")
	}
}

func TestSentencesOfLanguages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"Das Fest ist am 3. Juli im Pfarrsaal. Es beginnt um 9 Uhr.":    2,
		"Der 2. Vorsitzende leitet die Sitzung. Nr. 5 gilt bis Abs. 2.": 2,
		"Le tarif est d'env. 4 €. Il change en 2026.":                   2,
		"Hay un 10 % de descuento p. ej. para socios.":                  1,
	} {
		if got := lang.Sentences(text); len(got) != want {
			t.Errorf("%d sentences in %s", len(got), text)
		}
	}
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for code, l := range lang.Languages() {
		for _, s := range []lang.Section{lang.Money, lang.Weight, lang.Length, lang.Temperature, lang.TimeUnits, lang.MoneyUnits, lang.WeightUnits, lang.LengthUnits,
			lang.TemperatureUnits, lang.Age, lang.AsksAge, lang.AsksPhone, lang.AsksEmail, lang.AsksDuration, lang.AsksClock, lang.AsksDay, lang.Above, lang.Below,
			lang.AsksLoudness, lang.AsksPower, lang.AsksEnergy, lang.AsksVoltage, lang.AsksCurrent, lang.AsksArea, lang.AsksVolume, lang.AsksSpeed, lang.AsksData, lang.AsksShare,
			lang.AsksPressure, lang.AsksSize, lang.LoudnessUnits, lang.PowerUnits, lang.EnergyUnits, lang.VoltageUnits, lang.CurrentUnits, lang.AreaUnits, lang.VolumeUnits, lang.DataUnits,
			lang.PressureUnits, lang.Unlimited} {
			if !l.HasAny(s) {
				t.Errorf("%s has no section %s", code, s)
			}
		}
		for s, without := range map[lang.Section]string{lang.InUnit: "tr ja zh", lang.Squares: "ja zh", lang.Cubes: "ja zh", lang.SpeedUnits: "es fr it nl pt ru", lang.ShareUnits: "es it pt tr"} {
			if l.HasAny(s) == strings.Contains(without, code) {
				t.Errorf("%s: section %s is there: %t", code, s, l.HasAny(s))
			}
		}
	}
	for _, c := range []struct {
		code, phrase string
		section      lang.Section
	}{
		{"en", "for how many days", lang.AsksDuration}, {"de", "um wie viel uhr", lang.AsksClock}, {"it", "quanti anni ha", lang.AsksAge}, {"nl", "telefoonnummer", lang.AsksPhone}, {"ja", "メールアドレス", lang.AsksEmail}, {"fr", "quel jour", lang.AsksDay}, {"es", "al menos", lang.Above},
		{"it", "fino a", lang.Below}, {"pt", "preço", lang.Money}, {"ru", "кг", lang.WeightUnits}, {"zh", "米", lang.LengthUnits}, {"ja", "度", lang.TemperatureUnits},
	} {
		if !lang.Languages()[c.code].Has(c.section, c.phrase) {
			t.Errorf("%s: %s does not have %q", c.code, c.section, c.phrase)
		}
	}
}
