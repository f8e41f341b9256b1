package lang_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/lang"
)

func TestDates(t *testing.T) {
	for _, c := range []struct {
		lang, text string
		want       []lang.Date
	}{
		{"en", "Start: 2025-06-05.", []lang.Date{{2025, 6, 5}}},
		{"en", "on June 5, 2025 and on the 6th of July", []lang.Date{{2025, 6, 5}, {0, 7, 6}}},
		{"en", "5/6/2025", []lang.Date{{2025, 6, 5}, {2025, 5, 6}}},
		{"en", "in March 2025", []lang.Date{{2025, 3, 0}}},
		{"en", "You may pay within 14 days. May 2 is a holiday.", []lang.Date{{0, 5, 2}}},
		{"de", "am 5. Juni 2025, am 7.6. und am 08.06.25", []lang.Date{{2025, 6, 8}, {0, 6, 7}, {2025, 6, 5}}},
		{"es", "el 5 de junio de 2025", []lang.Date{{2025, 6, 5}}},
		{"fr", "le 1er mars", []lang.Date{{0, 3, 1}}},
		{"ru", "5 июня 2025", []lang.Date{{2025, 6, 5}}},
		{"zh", "2025年6月5日，6月", []lang.Date{{2025, 6, 5}, {0, 6, 0}}},
		{"en", "15 - 19 Feb and Sept 2031, and Jan is on leave", []lang.Date{{0, 2, 19}, {2031, 9, 0}}},
		{"de", "am 3. Okt. 2031", []lang.Date{{2031, 10, 3}}},
		{"en", "version 1.2.3, section 3.2, 40/50/60, room 12", nil},
		{"en", "2025-13-05 and 2025-06-45", nil},
	} {
		var got []lang.Date
		for _, d := range lang.Languages()[c.lang].Dates(c.text) {
			if d.Start < 0 || d.End > len(c.text) || d.Start >= d.End {
				t.Errorf("%q: %v is at [%d:%d]", c.text, d.Date, d.Start, d.End)
			}
			got = append(got, d.Date)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q: %s", c.text, d)
		}
	}
}

func TestDateContains(t *testing.T) {
	for _, c := range []struct {
		d, e lang.Date
		want bool
	}{
		{lang.Date{2025, 6, 5}, lang.Date{2025, 6, 5}, true},
		{lang.Date{2025, 6, 5}, lang.Date{0, 6, 5}, true},
		{lang.Date{0, 6, 5}, lang.Date{2025, 6, 5}, true},
		{lang.Date{2024, 6, 5}, lang.Date{2025, 6, 5}, false},
		{lang.Date{0, 6, 5}, lang.Date{0, 6, 6}, false},
		{lang.Date{2025, 3, 0}, lang.Date{2025, 3, 11}, true},
		{lang.Date{2025, 3, 11}, lang.Date{2025, 3, 0}, false},
		{lang.Date{2025, 0, 0}, lang.Date{2025, 3, 11}, true},
		{lang.Date{2025, 0, 0}, lang.Date{0, 3, 11}, false},
	} {
		if got := c.d.Contains(c.e); got != c.want {
			t.Errorf("%v contains %v: %v", c.d, c.e, got)
		}
	}
}

func TestClocks(t *testing.T) {
	for text, want := range map[string][]int{
		"20:00, 8 p.m. and 8pm":           {1200, 1200, 1200},
		"um 20 Uhr oder 20.30 Uhr":        {1200, 1230},
		"à 14h30, à 9 h":                  {870, 540},
		"12 a.m. 12 p.m. 10 o'clock":      {0, 720, 600},
		"8点":                              {480},
		"12 rooms, 3.50 €, version 25:61": nil,
	} {
		var got []int
		for _, c := range lang.Clocks(text) {
			got = append(got, c.Minute)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

func FuzzDates(f *testing.F) {
	f.Add("5/6/2025, 7.6. and June 5, 2025; 20h30, 2025年6月5日")
	f.Fuzz(func(t *testing.T, s string) {
		for _, l := range lang.Languages() {
			for _, d := range l.Dates(s) {
				if d.Start < 0 || d.Start >= d.End || d.End > len(s) || d.Month < 1 || d.Month > 12 || d.Day > 31 {
					t.Fatalf("%q: %+v", s, d)
				}
			}
		}
		for _, c := range lang.Clocks(s) {
			if c.Start < 0 || c.Start >= c.End || c.End > len(s) || c.Minute < 0 || c.Minute > 24*60+59 {
				t.Fatalf("%q: %+v", s, c)
			}
		}
	})
}
