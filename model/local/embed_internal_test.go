package local

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/model"
)

// TestMoreWordsThanKept embeds more different words in a call than vectors are kept: the vectors of the texts do not change.
func TestMoreWordsThanKept(t *testing.T) {
	t.Parallel()
	const perText = 200
	m := New(Options{})
	texts := make([]string, maxKept/perText+10)
	for i := range texts {
		words := make([]string, perText)
		for j := range words {
			words[j] = fmt.Sprintf("w%dx%d", i, j)
		}
		texts[i] = strings.Join(words, " ") + " lighthouse"
	}
	first, err := m.Embed(t.Context(), texts[:1], model.ForPassage)
	if err != nil {
		t.Fatal(err)
	}
	last := texts[len(texts)-1]
	all, err := m.Embed(t.Context(), texts, model.ForPassage)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := m.Embed(t.Context(), []string{last}, model.ForPassage)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(all[len(all)-1], alone[0]) || alone[0] == nil || !slices.Equal(all[0], first[0]) || first[0] == nil {
		t.Error("a text has another vector among others than alone")
	}
}
