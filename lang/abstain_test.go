package lang_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/lang"
)

// TestAbstain checks that every language has both texts of an abstention, without placeholders that are left, and that no two languages share one.
func TestAbstain(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for code, l := range lang.Languages() {
		plain, near := l.Abstain(nil, ""), l.Abstain([]string{"mill", "wheel"}, "mill.md, History")
		unanswered := l.Unanswered("Why?")
		if !strings.HasSuffix(unanswered, "Why?") {
			t.Errorf("%s: %q", code, unanswered)
		}
		for _, s := range []string{plain, near, unanswered} {
			if other, ok := seen[s]; ok || s == "" || strings.ContainsAny(s, "{};") {
				t.Errorf("%s: %q, as in %q", code, s, other)
			}
			seen[s] = code
		}
		if !strings.Contains(near, "mill.md, History") || !strings.Contains(near, "mill") || !strings.Contains(near, "wheel") || strings.Contains(plain, "mill") {
			t.Errorf("%s: %q", code, near)
		}
	}
	if got := lang.English.Abstain(nil, ""); got != lang.NoAnswer {
		t.Errorf("%q", got)
	}
	want := "Die Dokumente erwähnen „Hund“, „Halle B“ (halle.md, Regeln), scheinen aber keine Antwort auf diese Frage zu enthalten."
	if got := lang.Languages()["de"].Abstain([]string{"Hund", "Halle B"}, "halle.md, Regeln"); got != want {
		t.Errorf("%q", got)
	}
}

func TestPhrases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		question, text string
		want           []string
	}{
		{"How old is the Annual Report of Osterby?", "Osterby published its annual reports.", []string{"Annual Report", "Osterby"}},
		{"Wann öffnet das Freibad, und wann die Sauna?", "Das Freibad öffnet im Mai.", []string{"öffnet", "Freibad"}},
		{"古桥讲座谁来讲？", "古桥讲座在周六。", []string{"古桥讲座"}},
		{"Who rows, swims, dives, climbs and sails?", "We row, swim, dive, climb and sail.", []string{"rows", "swims", "dives"}},
		{"Who was it?", "It was a mill.", nil},
	} {
		m := lang.NewMatcher(c.question, []string{c.text}, nil)
		has := map[int]bool{}
		for _, w := range lang.Words(c.text) {
			for _, x := range m.Match(w.Text) {
				has[x.Term] = true
			}
		}
		got := m.Phrases(c.question, c.text, func(t int) bool { return has[t] })
		if diff := cmp.Diff(c.want, got); diff != "" || !slices.Equal(got, m.Phrases(c.question, c.text, func(t int) bool { return has[t] })) {
			t.Errorf("%s (-want +got):\n%s", c.question, diff)
		}
	}
}
