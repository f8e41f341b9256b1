package lang

import (
	"slices"
	"testing"
)

func TestWeekdays(t *testing.T) {
	for _, x := range []struct {
		code, text string
		want       []Weekdays
	}{
		{"en", "Mon–Fri 9 to 5", []Weekdays{0b0011111}},
		{"en", "open Monday to Thursday and on Saturday", []Weekdays{0b0001111, 0b0100000}},
		{"en", "Fri-Sun", []Weekdays{0b1110000}},
		{"en", "Saturday to Monday", []Weekdays{0b1100001}},
		{"en", "Sat 10–16", []Weekdays{0b0100000}},
		{"en", "Mon and Wed 9-5", []Weekdays{0b0000001, 0b0000100}},
		{"en", "Is it open on Sat?", []Weekdays{0b0100000}},
		{"en", "Mon\u00a0–\u00a0Fri", []Weekdays{0b0011111}},
		{"en", "She sat 2 exams. The sun: a star", nil},
		{"en", "within 14 working days", nil},
		{"de", "So 3 Leute kamen", nil},
		{"de", "Di und Do 7:30–9:30 Uhr", []Weekdays{0b0000010, 0b0001000}},
		{"fr", "Mer 18 °C", nil},
		{"es", "Hotel Costa, Mar Azul", nil},
		{"pt", "de segunda-feira a sexta-feira, às quartas-feiras", []Weekdays{0b0011111, 0b0000100}},
		{"pt", "Quinta da Regaleira", nil},
		{"ru", "с понедельника по пятницу", []Weekdays{0b0011111}},
		{"nl", "zondags gesloten", []Weekdays{0b1000000}},
		{"zh", "每周一次, 一周三次", nil},
		{"zh", "周一 至 周五", []Weekdays{0b0011111}},
		{"en", "We sat in the sun.", nil},
		{"en", "Sat", []Weekdays{0b0100000}},
		{"en", "at weekends and every day in July", []Weekdays{0b1100000, AllWeekdays}},
		{"de", "Mo.–Fr. 8–18 Uhr", []Weekdays{0b0011111}},
		{"de", "Do 14:00 bis 18:00", []Weekdays{0b0001000}},
		{"de", "so fragen Sie bitte", nil},
		{"de", "montags bis donnerstags", []Weekdays{0b0001111}},
		{"fr", "du lundi au vendredi", []Weekdays{0b0011111}},
		{"fr", "mon fils", nil},
		{"es", "de martes a domingo", []Weekdays{0b1111110}},
		{"es", "a orillas del mar", nil},
		{"it", "lun-ven 9:00", []Weekdays{0b0011111}},
		{"pt", "segunda a sexta", []Weekdays{0b0011111}},
		{"pt", "a segunda vez", nil},
		{"nl", "ma t/m vr", []Weekdays{0b0011111}},
		{"ru", "Пн–Пт", []Weekdays{0b0011111}},
		{"tr", "hafta sonu", []Weekdays{0b1100000}},
		{"zh", "周一至周五 9:00", []Weekdays{0b0011111}},
		{"ja", "月曜日から金曜日まで", []Weekdays{0b0011111}},
	} {
		var got []Weekdays
		for _, d := range Languages()[x.code].Weekdays(x.text) {
			got = append(got, d.Weekdays)
		}
		slices.Sort(got)
		slices.Sort(x.want)
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %q names %07b, want %07b", x.code, x.text, got, x.want)
		}
	}
}

func BenchmarkWeekdays(b *testing.B) {
	for b.Loop() {
		English.Weekdays("The library is open from Monday to Thursday and at weekends from nine to five.")
	}
}
