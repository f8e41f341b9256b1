package local

import (
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

func TestCorrectQuestionWord(t *testing.T) {
	m := New(Options{})
	passages := []model.Passage{{Chunk: corpus.Chunk{Text: "The chapel of Wren was built in 1690."}}}
	for question, want := range map[string]string{
		"wat is the meeting point":    "what is the meeting point",
		"hoow many rooms are there":   "how many rooms are there",
		"wher is it kept":             "where is it kept",
		"hog roast price per head":    "hog roast price per head",
		"Wren was born in which year": "Wren was born in which year",
		"wren was a builder":          "wren was a builder",
		"wat":                         "wat",
	} {
		if got := m.correctQuestionWord(question, passages); got != want {
			t.Errorf("%q: got %q, want %q", question, got, want)
		}
	}
}

func TestStemOfPossessive(t *testing.T) {
	for word, same := range map[string]string{"women's": "women", "children's": "child", "dog's": "dogs"} {
		if a, b := stemIn(lang.English, word), stemIn(lang.English, same); a != b {
			t.Errorf("%s: %q, %s: %q", word, a, same, b)
		}
	}
}
