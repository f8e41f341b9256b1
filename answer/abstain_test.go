package answer_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// TestAbstentionNamesTheNearest checks that an abstention names the passage with the words of the question, in its language, and that this passage is its
// only source.
func TestAbstentionNamesTheNearest(t *testing.T) {
	t.Parallel()
	for question, want := range map[string][]string{
		"What was the salary of the keeper of the Farland lighthouse in 1840?": {"The documents mention “keeper”, “Farland lighthouse” (lighthouse.md, The keeper), but do not seem to hold an answer"},
		"Welches Gehalt bekommt Ada Brook in Farland?":                         {"Die Dokumente erwähnen „", "Ada Brook", "keine Antwort"},
		"Who won the football world cup in Brazil?":                            {lang.NoAnswer},
	} {
		p := library()
		p.Generator = plain{p.Generator, []model.Delta{{Text: lang.NoAnswer}}}
		s := event.Fold(askDirect(t, p, question))
		text, sources := string(s.Text), 1
		if want[0] == lang.NoAnswer {
			sources = 0
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q lacks %q", question, text, w)
			}
		}
		if !s.Abstained() || len(s.Sources) != sources || sources == 1 && !strings.Contains(s.Sources[0].Text, "Ada Brook") {
			t.Errorf("%s: abstained %v, sources %+v", question, s.Abstained(), s.Sources)
		}
		if len(s.Check.Claims) != 0 || s.Check.Flagged || s.Confidence != 0 {
			t.Errorf("%s: %+v, confidence %v", question, s.Check, s.Confidence)
		}
	}
}

// TestMinConfidence checks that an answer of the generator without a model becomes an abstention before any of its text is emitted, and that one of a
// model is flagged.
func TestMinConfidence(t *testing.T) {
	t.Parallel()
	const question = "Who is the keeper of the Farland lighthouse?"
	p := library()
	p.MinConfidence = 0.3
	sure := event.Fold(askDirect(t, p, question))
	if sure.Abstained() || sure.Check.Flagged || sure.Confidence < 0.3 {
		t.Errorf("%q: confidence %v, flagged %v", sure.Text, sure.Confidence, sure.Check.Flagged)
	}
	p.MinConfidence = 0.99
	if s := event.Fold(askDirect(t, p, question)); !s.Abstained() || strings.Contains(string(s.Text), "Ada") || len(s.Sources) != 1 || s.Confidence != 0 {
		t.Errorf("%q, confidence %v, %d sources", s.Text, s.Confidence, len(s.Sources))
	}
	for least, flagged := range map[float64]bool{0.1: false, 0.99: true} {
		p := library()
		p.Generator, p.MinConfidence = quoting{p.Generator}, least
		s := event.Fold(askDirect(t, p, question))
		if s.Abstained() || s.Check.Flagged != flagged || s.Confidence < 0.1 || !strings.Contains(string(s.Text), "Ada") {
			t.Errorf("%v: %q, confidence %v, flagged %v", least, s.Text, s.Confidence, s.Check.Flagged)
		}
	}
}

// quoting is a generator that supports all parameters, as language models do.
type quoting struct{ model.Generator }

func (quoting) SupportsParameters() bool { return true }

// plain is a generator that yields some deltas.
type plain struct {
	model.Generator
	says []model.Delta
}

func (p plain) Generate(context.Context, model.Task) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		for _, d := range p.says {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// TestTextThatBeginsLikeAnAbstention checks that text is only replaced if it is an abstention as a whole, in whatever pieces it comes.
func TestTextThatBeginsLikeAnAbstention(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says      []model.Delta
		abstained bool
	}{
		"as a whole":      {[]model.Delta{{Text: lang.NoAnswer}}, true},
		"in pieces":       {[]model.Delta{{Text: lang.NoAnswer[:9]}, {Text: lang.NoAnswer[9:]}}, true},
		"the beginning":   {[]model.Delta{{Text: lang.NoAnswer[:20]}}, false},
		"with more text":  {[]model.Delta{{Text: lang.NoAnswer}, {Text: " But Ada Brook keeps it."}}, false},
		"with a citation": {[]model.Delta{{Text: lang.NoAnswer}, {Cite: 1}}, false},
	} {
		p := library()
		p.Generator = plain{p.Generator, c.says}
		var want strings.Builder
		for _, d := range c.says {
			want.WriteString(d.Text)
		}
		s := event.Fold(askDirect(t, p, "Who keeps the Farland lighthouse?"))
		if replaced := string(s.Text) != want.String(); replaced != c.abstained || s.Status != event.Finished {
			t.Errorf("%s: %s %q", name, s.Status, s.Text)
		}
	}
}
