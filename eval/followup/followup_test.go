package followup_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/eval/followup"
	"github.com/sluice-rag/sluice/internal/tools/beir"
)

// harbour is an article. It uses a pronoun for each of its names.
var harbour = map[string][]string{"Harbour": {
	"Ada Vale was an engineer. She built the sluice. Ada Vale and her brother came from Osterby.",
	"Osterby is a town by the sea. It has a sluice. People live in Osterby, and ships are built in Osterby.",
	"The Normans came from the north. They settled near Osterby. The Normans spoke their own language."}}

// questions returns questions about the harbour with the ids 0, 1, ….
func questions(texts ...string) (out []followup.Question) {
	for i, s := range texts {
		out = append(out, followup.Question{ID: string(rune('0' + i)), Text: s, Paragraph: "p", Article: "Harbour"})
	}
	return out
}

func TestForms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second string
		form          followup.Form
		want          []string // by the random opening
	}{
		"she":                  {"Where was Ada Vale born?", "When did Ada Vale die?", followup.Personal, []string{"When did she die?", "And when did she die?", "So when did she die?", "OK, and when did she die?"}},
		"her":                  {"Where was Ada Vale born?", "Who worked for Ada Vale?", followup.Personal, []string{"Who worked for her?", "And who worked for her?", "So who worked for her?", "OK, and who worked for her?"}},
		"possessive":           {"Where was Ada Vale born?", "Who was Ada Vale's brother?", followup.Possessive, []string{"Who was her brother?", "And who was her brother?", "So who was her brother?", "OK, and who was her brother?"}},
		"they":                 {"Where did the Normans live?", "What did the Normans speak?", followup.Personal, []string{"What did they speak?", "And what did they speak?", "So what did they speak?", "OK, and what did they speak?"}},
		"noun phrase":          {"Who paid for the old mill?", "Who built the old mill?", followup.Personal, []string{"Who built it?", "And who built it?", "So who built it?", "OK, and who built it?"}},
		"place":                {"Where is Osterby?", "Who lives in Osterby?", followup.Place, []string{"Who lives there?", "And who lives there?", "So who lives there?", "OK, and who lives there?"}},
		"replaced":             {"When did Ada Vale die?", "When did Bo Lind die?", followup.Replaced, []string{"And Bo Lind?", "What about Bo Lind?", "How about Bo Lind?"}},
		"question word":        {"When was a sluice built?", "Where was a sluice built?", followup.QuestionWord, []string{"And where?", "where?"}},
		"part of a name":       {"Who owns the Osterby Company?", "How big is Osterby?", "", nil},
		"nothing in common":    {"Where is Osterby?", "When did Ada Vale die?", "", nil},
		"nobody knows its sex": {"Where was Bo Lind born?", "When did Bo Lind marry?", "", nil},
		"half a noun phrase":   {"What is the price of salt?", "Who sets the price of bread?", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got followup.Case
			for _, one := range followup.Cases(questions(c.first, c.second), harbour, 10) {
				if one.ID == "1" {
					got = one
				}
			}
			if c.want == nil && c.form == "" {
				if got.Form != "" {
					t.Errorf("%+v", got)
				}
				return
			}
			if got.Form != c.form || !slices.Contains(c.want, got.FollowUp) || got.First != c.first || got.Second != c.second || got.FirstID != "0" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestCasesAreLimited checks the order of cases, their limits, and that the same input gives the same cases.
func TestCasesAreLimited(t *testing.T) {
	t.Parallel()
	qs := questions("Where was Ada Vale born?", "When did Ada Vale die?", "Who was Ada Vale's brother?", "What did Ada Vale build?", "Who taught Ada Vale?")
	all := followup.Cases(qs, harbour, 100)
	count, round := map[string]int{}, 0
	for i, c := range all {
		if count[c.ID]++; count[c.ID] > 3 || count[c.ID] < round {
			t.Errorf("case %d: case %d of question %s", i, count[c.ID], c.ID)
		}
		round = count[c.ID]
	}
	slices.Reverse(qs)
	if d := cmp.Diff(all, followup.Cases(qs, harbour, 100)); d != "" || len(all) < 10 {
		t.Errorf("%d cases; in another order of the questions:\n%s", len(all), d)
	}
	if d := cmp.Diff(all[:2], followup.Cases(qs, harbour, 2)); d != "" {
		t.Error(d)
	}
}

// TestPublicSet checks that a public set makes as many cases as the published figures are measured with.
func TestPublicSet(t *testing.T) {
	t.Parallel()
	cases := beir.LoadSet(t, "squad").FollowUps()
	forms := map[followup.Form]int{}
	for _, c := range cases {
		forms[c.Form]++
	}
	t.Log(len(cases), forms)
	if len(cases) != 200 || len(forms) < 5 {
		t.Errorf("%d cases: %v", len(cases), forms)
	}
}
