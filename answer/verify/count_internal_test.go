package verify

import "testing"

func TestWithoutCount(t *testing.T) {
	for claim, want := range map[string]string{
		"2: Eagle; Marmot.":           "Eagle; Marmot.",
		"3: Eagle; Marmot.":           "3: Eagle; Marmot.", // the number is wrong
		"1: Eagle.":                   "Eagle.",
		"Eagle: 2; Marmot: 3.":        "Eagle: 2; Marmot: 3.",
		"203: Day Monday; Boat ferry": "203: Day Monday; Boat ferry",
	} {
		if got := withoutCount(claim); got != want {
			t.Errorf("%q: %q, want %q", claim, got, want)
		}
	}
}
