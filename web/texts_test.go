package web_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// keys returns the keys and texts of a file of texts.
func keys(t *testing.T, language string) map[string]string {
	t.Helper()
	b, err := os.ReadFile("src/locales/" + language + ".ts")
	require.NoError(t, err)
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+):\s+"(.*)",$`).FindAllStringSubmatch(string(b), -1) {
		out[m[1]] = m[2]
	}
	if len(out) < 100 {
		t.Fatalf("%s: only %d texts were read", language, len(out))
	}
	return out
}

// TestTextsAreUsed fails for texts that nothing shows. That each shown text exists is checked by the compiler, and so is that each language has all of them.
func TestTextsAreUsed(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	err := filepath.WalkDir("src", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "locales" {
			return filepath.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			b, err := os.ReadFile(name)
			source.Write(b)
			return err
		}
		return err
	})
	require.NoError(t, err)
	text := source.String()
	// Keys that are put together, such as `dc_${e}` and plural("found_n", n).
	var begins []string
	for _, m := range regexp.MustCompile("[`\"](\\w+_)\\$\\{").FindAllStringSubmatch(text, -1) {
		begins = append(begins, m[1])
	}
	for _, m := range regexp.MustCompile(`plural\("(\w+)"`).FindAllStringSubmatch(text, -1) {
		begins = append(begins, m[1]+"_one", m[1]+"_other")
	}
	for key := range keys(t, "en") {
		used := regexp.MustCompile(`["'` + "`" + `]` + key + `["'` + "`" + `]`).MatchString(text)
		for _, b := range begins {
			used = used || strings.HasPrefix(key, b)
		}
		if !used {
			t.Errorf("the text %s is not used", key)
		}
	}
}

// TestTranslations fails if a text of a language has other names in braces than the English one, or is the same although it is a sentence.
func TestTranslations(t *testing.T) {
	t.Parallel()
	english := keys(t, "en")
	names := regexp.MustCompile(`\{\w+\}`)
	for _, language := range []string{"de", "fr", "es"} {
		texts := keys(t, language)
		for key, text := range english {
			if texts[key] == "" {
				t.Errorf("%s: %s is missing", language, key)
				continue
			}
			want := map[string]bool{}
			for _, n := range names.FindAllString(text, -1) {
				want[n] = true
			}
			got := names.FindAllString(texts[key], -1)
			for _, n := range got {
				if !want[n] {
					t.Errorf("%s: %s has %s", language, key, n)
				}
			}
			if len(got) < len(want) {
				t.Errorf("%s: %s has not all of %s", language, key, names.FindAllString(text, -1))
			}
			if texts[key] == text && strings.Count(text, " ") > 1 {
				t.Errorf("%s: %s is not translated", language, key)
			}
		}
		for key := range texts {
			if english[key] == "" {
				t.Errorf("%s: %s is not in en.ts", language, key)
			}
		}
	}
}
