package parse_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/sluice-rag/sluice/ingest/parse"
)

const rich = `{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss Helvetica;}{\f1\fmodern Courier;}{\f2\fnil\fcharset204 Arial;}}
{\colortbl;\red255\green0\blue0;}{\stylesheet{\s0 Normal;}{\s3 heading 2;}}{\info{\title Harbour guide}{\author Ada Quill}}{\header Page head}
{\pard\outlinelevel0\b Harbour\par}{\pard The tide turns {\i twice} at {\f1 noon}; see {\field{\*\fldinst{HYPERLINK "https://example.org"}}{\fldrslt the
 tables}}. Caf\'e9 costs 3 \u8364? \u-10179?\u-8704?\emdash\~so.{\v secret}{\footnote Measured in 1999.}\par}
\pard\plain\s3 Boats\par\pard {\pard\li360\bullet\tab Ferry\par}{\pard\li720\endash\tab small\par}{\pard\li360 1.\tab Untie \{ropes\}.\par}
{\pard\f1 tide --pier 4\line   echo "a \\ b"\par}{\f2 \'ec\'e8\'f0}\par
\trowd{\pard\intbl Pier\par}\cell{\pard\intbl Depth\par}\cell\row\trowd\pard\intbl North\cell 4 m\cell\row\pard End.\par{\*\unknown lost}{\pict\bin4 }}}}}`

func TestRTF(t *testing.T) {
	for _, name := range []string{"a.rtf", "b"} {
		p := parsed(t, name, []byte(rich), `heading1: Harbour
		paragraph: The tide turns twice at noon; see the tables. Café costs 3 € 😀— so.
		paragraph: Note: Measured in 1999.
		heading2: Boats
		item1: - Ferry
		item2: - small
		item1: 1. Untie {ropes}.
		code: tide --pier 4⏎  echo "a \ b"
		paragraph: мир
		row: Pier | Depth
		row: North | 4 m
		paragraph: End.`)
		if p.Title != "Harbour guide" || p.Meta.Creator != "Ada Quill" || p.MediaType != "application/rtf" {
			t.Errorf("%q %+v %s", p.Title, p.Meta, p.MediaType)
		}
	}
}

// TestPandoc converts Markdown with pandoc and checks that the words, headings, code and rows that are read are those of the original.
func TestPandoc(t *testing.T) {
	if _, err := exec.LookPath("pandoc"); err != nil {
		t.Skip("pandoc is not installed")
	}
	for _, page := range []string{"ingest", "keys"} {
		original := "../../docs/" + page + ".md"
		data, err := os.ReadFile(original)
		if err != nil {
			t.Fatal(err)
		}
		want, err := parse.Parse(t.Context(), original, data, parse.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{"rtf", "docx", "odt", "epub"} {
			out := filepath.Join(t.TempDir(), page+"."+form)
			if msg, err := exec.CommandContext(t.Context(), "pandoc", "-f", "gfm", "-s", "--metadata", "title=x", original, "-o", out).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, msg)
			}
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parse.Parse(t.Context(), out, data, parse.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if f := agreement(words(want), words(got)); f < 0.98 {
				t.Errorf("%s: F1 of words %.3f", filepath.Base(out), f)
			}
			for _, k := range []parse.Kind{parse.Heading, parse.TableRow, parse.Code} {
				if f := agreement(texts(want, k), texts(got, k)); f < 0.9 {
					t.Errorf("%s: F1 of blocks of the kind %s %.3f", filepath.Base(out), k, f)
				}
			}
		}
	}
}

func words(p parse.Parsed) map[string]int {
	out := map[string]int{}
	for _, b := range p.Blocks {
		for _, w := range strings.FieldsFunc(b.Text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			out[w]++
		}
	}
	return out
}

// texts returns the blocks of a kind, without white space and typographic quotation marks.
func texts(p parse.Parsed, k parse.Kind) map[string]int {
	out := map[string]int{}
	plain := strings.NewReplacer("“", `"`, "”", `"`, "’", "'", "‘", "'", "…", "...")
	for _, b := range p.Blocks {
		if b.Kind == k {
			out[plain.Replace(strings.Join(strings.Fields(b.Text), ""))]++
		}
	}
	return out
}

// agreement returns the F1 of two bags. It is 1 if both are empty.
func agreement(a, b map[string]int) float64 {
	common, all := 0, 0
	for k, n := range a {
		common += min(n, b[k])
		all += n
	}
	for _, n := range b {
		all += n
	}
	if all == 0 {
		return 1
	}
	return 2 * float64(common) / float64(all)
}

func FuzzRTF(f *testing.F) { fuzz(f, "a.rtf", rich, `{\rtf1\u8364`, `{\rtf1 a\cell\cell\row`) }
