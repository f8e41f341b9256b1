package local

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/lang"
)

func FuzzReadAligned(f *testing.F) {
	f.Add("CHARGES      Mon-Thu      Fri-Sun\nMarket Hall  41 pounds    66 pounds\nLoft                      19 pounds\n")
	f.Add("1 First steps ..... 3\n```\na   b\n```\n> a\t\tb\n名前　　値段\n")
	f.Fuzz(func(t *testing.T, s string) {
		lines := strings.Split(s, "\n")
		n := len(lines)
		dropContents(lines)
		before := slices.Clone(lines)
		readAligned(lines, lang.English)
		if len(lines) != n {
			t.Fatalf("%d lines of %d", len(lines), n)
		}
		had, has := wordsOf(before), wordsOf(lines)
		for w := range had {
			if !has[w] {
				t.Errorf("%q is lost", w)
			}
		}
		for w := range has {
			if !had[w] {
				t.Errorf("%q is made up", w)
			}
		}
	})
}

// wordsOf returns the words of lines, without what separates cells.
func wordsOf(lines []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(strings.NewReplacer("|", " ", ":", " ", ";", " ").Replace(strings.Join(lines, " "))) {
		out[w] = true
	}
	return out
}

// TestReadAligned checks what becomes of tables that are aligned with spaces; rows are separated by slashes.
func TestReadAligned(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Flat           Day         Hours\nGround         Monday      7 - 20\n1. left        Tuesday     7 - 20":                                            "Flat | Day | Hours/Ground | Monday | 7 - 20/1. left | Tuesday | 7 - 20",
		"1. Apples      2 kg\n2. Flour       1 kg":                                                                                                          "1. Apples      2 kg/2. Flour       1 kg",
		"Code   Item     Price\nMEAT (fresh)\nM1     Ham       4.90\nFISH\nF1     Cod       5.90\nF2     Eel       6.90":                                    "Code | Item | Price | /M1 | Ham | 4.90 | MEAT (fresh)/F1 | Cod | 5.90 | FISH/F2 | Eel | 6.90 | FISH",
		"Item         Unit       Price\nMILK PRODUCTS\nMilk         1 l         1.20\nBREAD\nRye bread    1 kg        4.10\nTotal        4 items     5.30":  "Item | Unit | Price | /Milk | 1 l | 1.20 | MILK PRODUCTS/Rye bread | 1 kg | 4.10 | BREAD/Total | 4 items | 5.30 | ",
		"Employee       Phone          Room\nSILVA          0113 4455      12\nMEYER\nNOWAK          0113 4457      14\nADAMS          0113 4458      15":   "Employee | Phone | Room/SILVA | 0113 4455 | 12/MEYER/NOWAK: 0113 4457; 14/ADAMS: 0113 4458; 15",
		"WEEK 1              Mon 2  Tue 3  Wed 4\nG. Hehir   CNM2     --     early  late\nP. Mathew  SN       night  night  --":                             "WEEK 1 |  | Mon 2 | Tue 3 | Wed 4/G. Hehir | CNM2 | -- | early | late/P. Mathew | SN | night | night | --",
		"Boat       10 €      50 €\nOar         1 €       5 €\nALL BOATS ARE CLEANED BY THEIR USERS AFTER EACH DAY ON THE WATER\nKite        2 €       9 €": "Boat: 10 €; 50 €/Oar: 1 €; 5 €/ALL BOATS ARE CLEANED BY THEIR USERS AFTER EACH DAY ON THE WATER/Kite        2 €       9 €",
	} {
		lines := strings.Split(in, "\n")
		readAligned(lines, lang.English)
		got := strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "/")
		if got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// TestHeadless: the first row of a table without names of columns is a row.
func TestHeadless(t *testing.T) {
	t.Parallel()
	r := &reader{lang: lang.English}
	for rows, want := range map[string]bool{
		"10 Boat VX11 (11 kW) | je 412,00 €/4 Boat VX22 (22 kW) | je 598,00 €": true,
		"Week 12 | Morning | Evening/Tour 1 | Bolt | Reed":                     false,
		"2024 | 2025/12 | 14":                       false,
		"Boat 1 | Price 2/Oars | 3":                 false,
		"1st class | 2nd class | Price/12 | 14 | 3": false,
	} {
		var cells [][]string
		for row := range strings.SplitSeq(rows, "/") {
			cells = append(cells, strings.Split(row, " | "))
		}
		if got := r.isHeadless(cells); got != want {
			t.Errorf("%s: %t", rows, got)
		}
	}
}
