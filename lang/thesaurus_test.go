package lang_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/lang"
)

// TestThesaurus checks the form of the files: each line has words, and no line has a word twice or is repeated.
func TestThesaurus(t *testing.T) {
	t.Parallel()
	for code := range lang.Languages() {
		text, err := os.ReadFile(filepath.Join("thesaurus", code+".txt"))
		if err != nil {
			t.Error(err)
			continue
		}
		seen := map[string]bool{}
		n := 0
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			n++
			left, right, answers := strings.Cut(strings.TrimLeft(line, "=~ "), "|")
			words := strings.Split(left, ",")
			same := line[0] == '='
			if answers == same || !same && line[0] != '~' || same && len(words) < 2 || seen[line] {
				t.Errorf("%s: line %q", code, line)
			}
			seen[line] = true
			for i, w := range append(words, strings.Split(right, ",")...) {
				if found := lang.Words(w); len(found) == 0 && (answers || i < len(words)) || len(found) > 8 || w != strings.ToLower(w) && code != "tr" {
					t.Errorf("%s: %q of line %q", code, w, line)
				}
			}
		}
		if n < 20 {
			t.Errorf("%s has %d lines", code, n)
		}
	}
}

// TestAlternatives checks what is found for words and phrases of questions, and what their inflections and stop words do.
func TestAlternatives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, question, word, of string
		same                     bool
	}{
		{"en", "Can I call off the booking?", "cancel", "call", true},
		{"en", "How many people have signed up?", "registered", "signed", true},
		{"en", "Is it cold in the mine?", "thermometer", "cold", false},
		{"de", "Darf ich untervermieten?", "untermiete", "untervermieten", true},
	} {
		found := lang.Languages()[c.code].Alternatives(c.question)
		ok := slices.ContainsFunc(found, func(a lang.Alternative) bool {
			return strings.Join(a.Words, " ") == c.word && slices.Contains(a.For, c.of) && a.Same == c.same
		})
		if !ok {
			t.Errorf("%s: %d alternatives, but not %q for %q", c.question, len(found), c.word, c.of)
		}
	}
	if found := lang.English.Alternatives("the of and"); found != nil {
		t.Errorf("stop words have %d alternatives", len(found))
	}
}

func BenchmarkAlternatives(b *testing.B) {
	for b.Loop() {
		lang.English.Alternatives("How many people have signed up with the health centre altogether?")
	}
}
