package local_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// titled is a passage of a document of its own.
func titled(n int, title, body string) model.Passage {
	return model.Passage{N: n, Score: 1, Chunk: corpus.Chunk{Title: title, Text: body}}
}

const mill = "The mill was built by Anna Berg in 1841 near the river Loire. The largest wheel turned twelve times a minute. " +
	"The miners did not accept the new wages. Only the northern shaft was flooded in 1902. The owners allowed visitors until the war."

// TestAbstains asks what a passage answers beside what it nearly does.
func TestAbstains(t *testing.T) {
	m := local.New(local.Options{})
	for question, holds := range map[string]string{
		"Who built the mill near the Loire?":            "Anna Berg",
		"When was the mill near the river Loire built?": "1841",
		"Which shaft was flooded in 1902?":              "northern",
		"What did the miners not accept?":               "new wages",
		"Who built the mill near the Danube?":           "",
		"Which southern shaft was flooded in 1915?":     "",
		"What did the owners prohibit until the war?":   "",
		"When was the mill not built near the Loire?":   "",
		"Who wrote the opera Fidelio?":                  "",
	} {
		got, cites := answer(t, m, model.Task{Question: question, Passages: []model.Passage{titled(1, "The mill", mill)}})
		if holds == "" && len(cites) > 0 || holds != "" && !strings.Contains(got, holds) {
			t.Errorf("%s: want %q: %s", question, holds, got)
		}
	}
}

// TestSlips asks with letters mistaken, swapped and without their marks, and with other forms of verbs.
func TestSlips(t *testing.T) {
	m := local.New(local.Options{})
	text := "Möngke Khan began the campaign in 1258. Schrödinger chose the journal Naturwissenschaften. Baudouin withdrew the treaty."
	for question, holds := range map[string]string{
		"When did Mongke Khan begin the campaign?":         "1258",
		"Which journal did Schrodinger choose?":            "Naturwissenschaften",
		"What did Baudoiun withdraw?":                      "treaty",
		"Who chose the journal Naturwisenschaften?":        "Schrödinger",
		"When did Zhengde Khan begin the trade with Rome?": "",
	} {
		got, cites := answer(t, m, model.Task{Question: question, Passages: []model.Passage{titled(1, "", text)}})
		if holds == "" && len(cites) > 0 || holds != "" && !strings.Contains(got, holds) {
			t.Errorf("%s: want %q: %s", question, holds, got)
		}
	}
}

// TestSteps asks what only two documents together answer.
func TestSteps(t *testing.T) {
	m := local.New(local.Options{})
	film := titled(1, "Silver Creek (film)", "Silver Creek is a 1962 western. It was shot in Utah. Silver Creek was directed by Ida Moreau.")
	director := titled(2, "Ida Moreau", "Ida Moreau was a Belgian director. She was the daughter of the singer Claire Moreau, her mother, and a baker.")
	other := titled(3, "Gold River", "Gold River is a 1958 western about a sheriff. It was directed by John Price.")
	for _, c := range []struct {
		question string
		passages []model.Passage
		holds    []string
		cites    []int
	}{
		{"Who is the mother of the director of film Silver Creek?", []model.Passage{film, director, other},
			[]string{"directed by Ida Moreau", "Claire Moreau"}, []int{1, 2}},
		{"Which film came out first, Silver Creek or Gold River?", []model.Passage{film, director, other},
			[]string{"1962", "1958"}, []int{1, 3}},
		{"Where was Silver Creek shot?", []model.Passage{film, director, other}, []string{"Utah"}, []int{1, 1}},
	} {
		got, cites := answer(t, m, model.Task{Question: c.question, Passages: c.passages})
		for _, h := range c.holds {
			if !strings.Contains(got, h) {
				t.Errorf("%s: lacks %q: %s", c.question, h, got)
			}
		}
		if d := cmp.Diff(c.cites, cites); d != "" {
			t.Errorf("%s: %s: cites %s", c.question, got, d)
		}
	}
}

// TestSaysMoreThanWasAsked holds that an answer does not only repeat the question, prefers what it is for, and shows code that
// does what was asked.
func TestSaysMoreThanWasAsked(t *testing.T) {
	m := local.New(local.Options{})
	for _, c := range []struct{ question, text, want string }{
		{"What happens when a model fails in the middle of an answer?",
			"A model may fail in the middle of an answer. Another model takes over and the text so far stands.",
			"A model may fail in the middle of an answer. Another model takes over and the text so far stands."},
		{"How do I change the port of the server?",
			"To allow a further name, start the server with a host. To change the port, start the server with an address.",
			"To change the port, start the server with an address."},
		{"How do I decode gravel into a sieve?", "Gravel can be heavy.\n\n```\ngravel.Decode(sieve)\n```\n",
			"```\ngravel.Decode(sieve)\n```\n"},
		{"What is a riffle?", "name | meaning\nbar | A riffle lies behind it\n\nA riffle is a bar on the bottom of a sluice.",
			"A riffle is a bar on the bottom of a sluice."},
	} {
		got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{titled(1, "Manual", c.text)}})
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.question, d)
		}
	}
}

// TestHostilePassages gives passages that name each other, repeat themselves or hold nothing but near words; the time that go
// test gives is the limit.
func TestHostilePassages(t *testing.T) {
	m := local.New(local.Options{Patience: -1})
	words := strings.Repeat("riffel rifle riffles rifles riffler ", 2500)
	var ps []model.Passage
	for i := range 50 {
		ps = append(ps, titled(i+1, strings.Repeat("Aa ", i+1), strings.Repeat("Aa ", 300)+"is gold. "+words[:2000]))
	}
	answer(t, m, model.Task{Question: "Which Aa Aa Aa Aa or Aa Aa is " + strings.Repeat("rifflles not Aa ", 300), Passages: ps})
	for i := range ps { // the same two words of the question, thousands of times, under a title that is as long
		ps[i] = titled(i+1, strings.Repeat("Aa ", 2000)+"b", strings.Repeat("Aa ", 4000))
	}
	answer(t, m, model.Task{Question: "Which is older, or " + strings.Repeat("Aa ", 4000), Passages: ps})
	answer(t, m, model.Task{Question: strings.Repeat("rifflles aaaaaaaaaaaaaaab ", 100), Passages: []model.Passage{titled(1, words, words)}})
}

func FuzzSteps(f *testing.F) {
	f.Add("Which is older, Silver Creek or Gold?", "Silver Creek", "Gold", "Silver Creek is by Gold.", "Gold was not born.")
	f.Add("", " (", "\xff", "é\n", "| a |")
	m := local.New(local.Options{})
	f.Fuzz(func(t *testing.T, q, one, two, a, b string) {
		got, cites := answer(t, m, model.Task{Question: q, Passages: []model.Passage{titled(1, one, a), titled(2, two, b)}})
		if len(cites) == 0 && got != local.NoAnswer {
			t.Fatalf("says %q and cites nothing", got)
		}
	})
}

// TestAgents asks by the verb for the person whose name is made of it.
func TestAgents(t *testing.T) {
	text := "The keeper of the lighthouse is Marta Quill. She has kept the lighthouse since 1987.\n"
	got, _ := answer(t, local.New(local.Options{}), model.Task{Question: "Who keeps the lighthouse?", Passages: []model.Passage{titled(1, "notes.md", text)}})
	if !strings.Contains(got, "Marta Quill") {
		t.Error(got)
	}
}
