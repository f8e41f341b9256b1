package local

import (
	"slices"
	"strings"
	"testing"
)

func FuzzReadAligned(f *testing.F) {
	f.Add("CHARGES      Mon-Thu      Fri-Sun\nMarket Hall  41 pounds    66 pounds\nLoft                      19 pounds\n")
	f.Add("1 First steps ..... 3\n```\na   b\n```\n> a\t\tb\n名前　　値段\n")
	f.Fuzz(func(t *testing.T, s string) {
		lines := strings.Split(s, "\n")
		had := len(lines)
		dropContents(lines)
		before := slices.Clone(lines)
		readAligned(lines)
		if len(lines) != had {
			t.Fatalf("%d lines of %d", len(lines), had)
		}
		for i, line := range lines { // no word is lost or made up
			if a, b := letters(before[i]), letters(line); a != b {
				t.Errorf("%q becomes %q", before[i], line)
			}
		}
	})
}

// letters returns a text without spaces and what separates cells.
func letters(s string) string {
	return strings.NewReplacer(" ", "", "\t", "", "\u3000", "", "|", "", ":", "", ";", "").Replace(strings.Join(strings.Fields(s), ""))
}
