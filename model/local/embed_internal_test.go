package local

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/model"
)

// TestKeptVectorsAreBounded embeds more different words in a call than vectors are kept: the memory is bounded, and the vectors of the texts do not change.
func TestKeptVectorsAreBounded(t *testing.T) {
	t.Parallel()
	const perText = 200
	m := New(Options{})
	texts := make([]string, maxKept/perText+10)
	for i := range texts {
		words := make([]string, perText)
		for j := range words {
			words[j] = fmt.Sprintf("w%dx%d", i, j)
		}
		texts[i] = strings.Join(words, " ")
	}
	kept := map[string]wordVectors{}
	for _, text := range texts {
		m.embed(text, kept)
	}
	if len(kept) == 0 || len(kept) > maxKept {
		t.Errorf("the vectors of %d words are kept, want at most %d", len(kept), maxKept)
	}
	last := texts[len(texts)-1] + " lighthouse"
	all, err := m.Embed(t.Context(), append(texts, last), model.ForPassage)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := m.Embed(t.Context(), []string{last}, model.ForPassage)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(all[len(all)-1], alone[0]) || alone[0] == nil {
		t.Error("a text after the limit has another vector than alone")
	}
}
