package eval

import (
	"cmp"
	"slices"
)

// ModeComparison is how one way of answering does against another on the same questions.
type ModeComparison struct {
	Set      string                `json:"set"`
	Group    string                `json:"group,omitempty"` // empty: all questions
	A        string                `json:"a"`
	B        string                `json:"b"`
	Measures map[string]Difference `json:"measures"` // by key; those that one of the two lacks are left out
}

// CompareModes compares two reports question by question, over all questions and in each group. Names that are empty are those of
// the modes. Questions that only one of them has are left out.
func CompareModes(a, b *ModeReport, nameA, nameB string) []ModeComparison {
	ra, rb := shared(a.Results, b.Results)
	var out []ModeComparison
	if len(ra) == 0 {
		return nil
	}
	for _, g := range append([]string{""}, groups(rb)...) {
		var of [2][]Asked
		for i := range rb { // by the groups that b tells: an earlier report may know others
			if g == "" || slices.Contains(rb[i].Groups, g) {
				of[0], of[1] = append(of[0], ra[i]), append(of[1], rb[i])
			}
		}
		c := ModeComparison{Set: b.Set, Group: g, A: cmp.Or(nameA, string(a.Mode)), B: cmp.Or(nameB, string(b.Mode)), Measures: map[string]Difference{}}
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

// shared gives the results of the questions that both have, in the order of b.
func shared(a, b []Asked) (x, y []Asked) {
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
