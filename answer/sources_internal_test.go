package answer

import "testing"

// TestWordsOfNames checks that whole words of a name are compared with those of the title.
func TestWordsOfNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"preise-eu.md": "eu", "Neue Preise.txt": "", "preise_2031.v2.csv": "2031 v2", "": "", ".md": ""} {
		if got := nameWords(name, "Neue Preise"); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
