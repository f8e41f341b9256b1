package lang_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/lang"
)

func TestNormalizeName(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"...":                             "",
		"The":                             "the",
		"The Who":                         "who",
		"the  BEATLES'":                   "beatles",
		"Xawery Żuławski":                 "xawery zulawski",
		"Xawery Z\u0307ul\u0301awski’s":   "xawery zulawski",
		"Polish-Russian War (Film)":       "polish russian war film",
		"Dr. O'Neill's dog":               "dr oneill dog",
		"Straße":                          "strasse",
		"ΑΘΉΝΑ":                           "αθηνα",
		"日本":                              "日 本",
		"\xff\xfe":                        "",
		"हिन्दी":                          "हिन्दी",
		"U.S. Route 66":                   "u.s route 66",
		"A":                               "a",
		strings.Repeat("x", 10) + "\x00y": "xxxxxxxxxx y",
	} {
		if got := lang.NormalizeName(in); got != want {
			t.Errorf("%q is named %q, not %q", in, got, want)
		}
		if again := lang.NormalizeName(want); again != want && want != "the" {
			t.Errorf("%q is named %q again", want, again)
		}
	}
}
