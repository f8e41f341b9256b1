package eval

import (
	"cmp"
	"slices"
)

// ModeComparison compares two modes on the same questions.
type ModeComparison struct {
	Set      string                `json:"set"`
	Group    string                `json:"group,omitempty"` // empty: all questions
	A        string                `json:"a"`
	B        string                `json:"b"`
	Measures map[string]Difference `json:"measures"` // by key; only measures that both have
}

// CompareModes compares two reports question by question, over all questions and over each group. Empty names are replaced by those of
// the modes. Questions that are in one report only are left out.
func CompareModes(a, b *ModeReport, nameA, nameB string) []ModeComparison {
	ra, rb := shared(a.Results, b.Results)
	return compareResults(b.Set, ra, rb, cmp.Or(nameA, string(a.Mode)), cmp.Or(nameB, string(b.Mode)))
}

// CompareAll is [CompareModes] over all questions of the sets that are in both lists, under the name of all.
func CompareAll(name string, a, b []*ModeReport, nameA, nameB string) []ModeComparison {
	var ra, rb []AskResult
	for _, y := range b {
		for _, x := range a {
			if x.Set == y.Set {
				p, q := shared(x.Results, y.Results)
				ra, rb = append(ra, p...), append(rb, q...)
			}
		}
	}
	return compareResults(name, ra, rb, nameA, nameB)
}

// compareResults compares results of the same questions.
func compareResults(set string, ra, rb []AskResult, nameA, nameB string) (out []ModeComparison) {
	if len(ra) == 0 {
		return nil
	}
	for _, g := range append([]string{""}, groups(rb)...) {
		var of [2][]AskResult
		for i := range rb { // the groups of b count; an older report a may have others
			if g == "" || slices.Contains(rb[i].Groups, g) {
				of[0], of[1] = append(of[0], ra[i]), append(of[1], rb[i])
			}
		}
		c := ModeComparison{Set: set, Group: g, A: nameA, B: nameB, Measures: map[string]Difference{}}
		measures := Measures()
		var x, y [][]float64
		for _, m := range measures {
			x, y = append(x, column(of[0], m.Key)), append(y, column(of[1], m.Key))
		}
		for i, d := range Differences(x, y) {
			_, na := mean(x[i])
			_, nb := mean(y[i])
			if na > 0 && nb > 0 {
				c.Measures[measures[i].Key] = d
			}
		}
		out = append(out, c)
	}
	return out
}

// shared returns the results of the questions that are in both reports, in the order of b.
func shared(a, b []AskResult) (x, y []AskResult) {
	at := make(map[string]int, len(a))
	for i, r := range a {
		at[r.Query] = i
	}
	for _, r := range b {
		if i, ok := at[r.Query]; ok {
			x, y = append(x, a[i]), append(y, r)
			delete(at, r.Query)
		}
	}
	return x, y
}
