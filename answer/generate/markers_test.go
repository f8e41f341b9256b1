package generate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// read gives what a scanner yields for pieces, with passages 1 to 5 and 12: texts joined, a citation as {n}. A piece "\x00"
// stands for a model that breaks off and another that goes on.
func read(tb testing.TB, pieces ...string) string {
	tb.Helper()
	var b strings.Builder
	m := &markers{numbers: []int{1, 2, 3, 4, 5, 12}, yield: func(d model.Delta, err error) bool {
		if d.Text == "" && d.Cite == 0 || err != nil {
			tb.Errorf("%q: yields %v, %v", pieces, d, err)
		}
		b.WriteString(d.Text)
		if d.Cite != 0 {
			fmt.Fprintf(&b, "{%d}", d.Cite)
		}
		return true
	}}
	for _, p := range pieces {
		if p == "\x00" {
			m.resume()
			continue
		}
		m.write(p)
	}
	m.end()
	return b.String()
}

var scanned = []struct{ name, in, want string }{
	{"plain text", "Gold is heavy.", "Gold is heavy."},
	{"a citation", "Gold is heavy ⟦1⟧.", "Gold is heavy{1}."},
	{"several numbers", "Gold ⟦1, 3⟧ and ⟦2;4⟧⟦ 5 ⟧.", "Gold{1}{3} and{2}{4}{5}."},
	{"a range", "Gold ⟦1-3⟧ ⟦4–12⟧ ⟦1 - 2⟧.", "Gold{1}{2}{3}{4}{5}{12}."},
	{"a range turned round, or of nothing", "Gold ⟦3-1⟧⟦6-9⟧⟦-⟧.", "Gold."},
	{"side by side", "Gold ⟦1⟧ ⟦2⟧ shines ⟦1⟧", "Gold{1}{2} shines{1}"},
	{"twice in a row", "Gold ⟦1⟧⟦1⟧ ⟦2, 1, 2⟧. More ⟦1⟧", "Gold{1}{2}. More{1}"},
	{"other brackets", "Gold 【1】, tin [2], lead [3, 4] and zinc[5].", "Gold{1}, tin{2}, lead{3}{4} and zinc{5}."},
	{"places behind daggers", "Gold 【2†L10-L14】 and ⟦3†source⟧.", "Gold{2} and{3}."},
	{"numbers of no passage", "Gold ⟦9⟧ and ⟦0⟧ tin ⟦123456789⟧, lead [99] and ⟦9, 2⟧.", "Gold and tin, lead and{2}."},
	{"text in brackets", "a[0], [1999], [01], [x], [], [ ], [1-3], [1 2], [1, 0], [^1], [1, 2,], [,1] [1,]", "a[0], [1999], [01], [x], [], [ ], [1-3], [1 2], [1, 0], [^1], [1, 2,], [,1] [1,]"},
	{"brackets in brackets", "Gold [[1]] and ⟦⟦2⟧⟧ and [⟦3⟧].", "Gold [{1}] and{2} and [{3}]."},
	{"stray brackets", "Gold ⟧ is ⟦heavy⟧ and ⟦12 grams⟧ 【中】 】.", "Gold  is heavy and 12 grams 【中】 】."},
	{"the letter of the instruction", "Gold ⟦n⟧.", "Gold."},
	{"too long", "Gold ⟦1, 2, 3, 4, 5, 6, 7, 8, 9⟧.", "Gold 1, 2, 3, 4, 5, 6, 7, 8, 9."},
	{"unfinished at the end", "Gold ⟦1", "Gold"},
	{"unfinished, plain", "Gold [1, ", "Gold"},
	{"in a span of code", "Take `a[1]` and ``b[`2`]`` [3].", "Take `a[1]` and ``b[`2`]``{3}."},
	{"in a block of code", "So:\n\n```go\na[1] = `x[2]`\n```\n\nas told [3].", "So:\n\n```go\na[1] = `x[2]`\n```\n\nas told{3}."},
	{"in a block in a list", "- So:\n  ```\n  a[1]\n  ```\n  as told [3].", "- So:\n  ```\n  a[1]\n  ```\n  as told{3}."},
	{"our own in code", "Take `a ⟦1⟧`.", "Take `a{1}`."},
	{"a stray backtick", "The ` key [1]\nis left [2].", "The ` key [1]\nis left{2}."},
	{"a fence on one line", "```a[1]``` is so [2].", "```a[1]``` is so{2}."},
	{"white space before a citation", "Gold \t\u00a0⟦1⟧  is", "Gold{1}  is"},
	{"a citation in a line of its own", "Gold.\n⟦1⟧\n\nTin.\n\n⟦2⟧ Lead.\n[3]: x\n⟦4⟧.", "Gold.{1}\n\nTin.{2}\n\nLead.{3}: x{4}."},
	{"a list of sources", "Sources:\n[1] Gold\n[2] Tin", "Sources:{1}\nGold{2}\nTin"},
	{"control characters", "Go\x00ld\x1b is\u0085 he\u202eavy\ufeff.\r\n\u2066So\u200b ⟦1⟧\x07⟦2⟧", "Gold is heavy.\nSo{1}{2}"},
	{"hidden in a marker", "Gold ⟦\x001⟧ [\u200b2]", "Gold 1 [2]"},
	{"joiners stay", "क्\u200dष 👩\u200d🔬", "क्\u200dष 👩\u200d🔬"},
	{"invalid bytes", "Gold\xff is \xe2\x9f.", "Gold is ."},
	{"around the answer", "\n\n \tGold is heavy. \n\n", "Gold is heavy."},
	{"a label", " Answer: Gold is heavy.", "Gold is heavy."},
	{"a label in bold", "**ANSWER:**\n\nGold", "Gold"},
	{"another label in bold", "**Answer**: Gold", "Gold"},
	{"no label", "Answers: gold", "Answers: gold"},
	{"no label either", "**Gold** [1]", "**Gold**{1}"},
	{"a label cut short", "Answ", "Answ"},
	{"a label broken by a space", "Answer : gold", "Answer : gold"},
	{"a list at the beginning", "* gold ⟦1⟧\n* tin", "* gold{1}\n* tin"},
	{"cited before any text", "⟦1⟧ Gold [2]", "Gold{2}"},
	{"nothing", "", ""},
	{"white space alone", " \n ", ""},
	{"markers alone", "⟦1⟧ [2]", ""},
	{"a model that is stuck", "Gold" + strings.Repeat("\n", 500) + "tin" + strings.Repeat(" ", 500), "Gold" + strings.Repeat("\n", maxBlank) + "tin"},
}

func TestMarkers(t *testing.T) {
	for _, c := range scanned {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, read(t, c.in)); d != "" {
				t.Errorf("in one piece: %s", d)
			}
			if d := cmp.Diff(c.want, read(t, splitValid(c.in)...)); d != "" {
				t.Errorf("character by character: %s", d)
			}
		})
	}
}

// splitValid cuts between characters.
func splitValid(s string) []string {
	var out []string
	for len(s) > 0 {
		_, n := utf8.DecodeRuneInString(s)
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

func TestMarkersAcrossModels(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		want   string
	}{
		"in a marker":                {[]string{"Gold is heavy ⟦1", "\x00", " ⟦2⟧ and rare."}, "Gold is heavy{2} and rare."},
		"the rest of a marker":       {[]string{"Gold is heavy ⟦1", "\x00", "⟧ and rare."}, "Gold is heavy and rare."},
		"the rest of a plain marker": {[]string{"Gold is heavy [1", "\x00", "] and rare."}, "Gold is heavy{1} and rare."},
		"a plain marker left open":   {[]string{"Gold is heavy [1", "\x00", " and rare."}, "Gold is heavy and rare."},
		"in a word":                  {[]string{"Gold is hea", "\x00", "vy ⟦2⟧."}, "Gold is heavy{2}."},
		"after a space":              {[]string{"Gold ", "\x00", "is"}, "Gold is"},
		"a space twice":              {[]string{"Gold ", "\x00", " is"}, "Gold is"},
		"a space in time":            {[]string{"Gold", "\x00", " is"}, "Gold is"},
		"before anything":            {[]string{"", "\x00", "Answer: Gold"}, "Gold"},
		"cited by the first":         {[]string{"Gold ⟦1⟧", "\x00", "⟦1⟧."}, "Gold{1}."},
		"a citation that ended":      {[]string{"Gold ⟦1⟧", "\x00", " is"}, "Gold{1} is"},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, read(t, c.pieces...)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestMarkersDoNotWait holds that text is yielded with the piece that it comes in.
func TestMarkersDoNotWait(t *testing.T) {
	var got []string
	m := &markers{numbers: []int{1}, yield: func(d model.Delta, _ error) bool {
		got = append(got, d.Text)
		return true
	}}
	for _, c := range []struct{ in, want string }{
		{"G", "G"}, {"old", "old"}, {" is", " is"}, {" ", ""}, {"heavy [", " heavy"}, {"12", ""}, {"x", " [12x"}, {" ⟦", ""}, {"tin", " tin"},
		{"[1234", "[1234"}, {" ⟦1", ""}, {"⟧.", "|."}, {"中文", "中文"}, {"`", "`"}, {"[1]", "[1]"}, {"`é", "`é"},
	} {
		got = nil
		m.write(c.in)
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%q yields %q, want %q", c.in, s, c.want)
		}
	}
}

func TestMarkersStop(t *testing.T) {
	for n := range 5 {
		calls := 0
		m := &markers{numbers: []int{1, 2, 3}, yield: func(model.Delta, error) bool {
			calls++
			return calls <= n
		}}
		for range 10 {
			m.write("Gold ⟦1, 2⟧ is heavy. ")
		}
		if m.end() || calls != n+1 {
			t.Errorf("%d calls after %d", calls, n+1)
		}
	}
}

// pieces are what random texts are made of.
var pieces = []string{"Gold", " is", " ", "\n", "\n\n", "\t", ".", ",", "⟦", "⟧", "【", "】", "[", "]", "1", "2", "9", "12", "0", "†", "-", "–", "n",
	"⟦1⟧", " ⟦2⟧", "[1, 2]", " 【3】", "`", "```", "``", "\x00", "\u202e", "é", "中", "👩", "Answer:", "**", "* ", "\r\n", "x[1]", "\u00a0"}

// TestMarkersAnyCut holds that the cuts of a stream do not show.
func TestMarkersAnyCut(t *testing.T) {
	for seed := range uint64(4000) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var b strings.Builder
		for range 1 + rnd.IntN(14) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		check(t, b.String(), rnd)
	}
}

func check(t *testing.T, s string, rnd *rand.Rand) {
	t.Helper()
	want := read(t, s)
	for range 3 {
		var cut []string
		last := ""
		for _, r := range splitValid(s) {
			if last != "" && rnd.IntN(3) == 0 {
				cut = append(cut, last)
				last = ""
			}
			last += r
		}
		cut = append(cut, last)
		for i, p := range cut {
			if p == "\x00" { // stands for a break in read
				cut[i] = "\x01"
			}
		}
		if got := read(t, cut...); got != want {
			t.Fatalf("%q: %q\nin one piece: %q", cut, got, want)
		}
	}
	for _, r := range want {
		if r == '⟦' || r == '⟧' || unicode.IsControl(r) && r != '\n' && r != '\t' || r == 0x202e {
			t.Fatalf("%q: shows %q", s, want)
		}
	}
	if strings.TrimSpace(want) != want || !utf8.ValidString(want) {
		t.Fatalf("%q: %q", s, want)
	}
}

// TestUnmarked holds that what a model repeats of a document is no citation.
func TestUnmarked(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"Gold [1], tin ⟦2⟧ and 【3】.":      "Gold ⁅1⁆, tin ⟬2⟭ and ⦗3⦘.",
		"Gold [1, 2] [12][3].":            "Gold ⁅1, 2⁆ ⁅12⁆⁅3⁆.",
		"a[0] [1999] [x](y) [ ] 【中】":      "a[0] [1999] [x](y) [ ] 【中】",
		"[[1]] [1[2] ⟦⟦3⟧ [1":             "[⁅1⁆] [1⁅2⁆ ⟬⟬3⟭ [1",
		"`a[1]` [1]\n```\nb[1]\n```\n[1]": "`a[1]` ⁅1⁆\n```\nb[1]\n```\n⁅1⁆",
		"`a⟦1⟧`":                          "`a⟬1⟭`",
	} {
		if got := unmarked(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for seed := range uint64(4000) {
		rnd := rand.New(rand.NewPCG(seed, 8))
		var b strings.Builder
		for range 1 + rnd.IntN(14) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		s := lang.Clean(b.String())
		if got := read(t, "Gold\n"+unmarked(s)); strings.Contains(got, "{") {
			t.Fatalf("%q cites: %q", s, got)
		}
	}
}

func FuzzMarkers(f *testing.F) {
	for _, c := range scanned {
		f.Add(c.in, uint64(1))
	}
	f.Fuzz(func(t *testing.T, s string, seed uint64) { check(t, s, rand.New(rand.NewPCG(seed, 0))) })
}

// BenchmarkMarkers measures a token of an answer in which every sentence of ten tokens has a citation.
func BenchmarkMarkers(b *testing.B) {
	tokens := []string{" Gold", " is", " heavier", " than", " gravel", " ⟦", "1", "⟧", ".", " So"}
	m := &markers{numbers: []int{1, 2, 3}, yield: func(model.Delta, error) bool { return true }}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.write(tokens[i%len(tokens)])
	}
}

// TestMarksOfDocumentsStand: a model that copies a passage gives its brackets as the document has them, and they cite nothing.
func TestMarksOfDocumentsStand(t *testing.T) {
	marks := []string{"[1]", "[12]", "[1, 2]", "⟦1⟧", "⟦⟦1⟧⟧", "【3】", "【3†L1】", "[[1]]", "⟦[2]⟧", "〚1〛", "[1][2]", "[1999]", "(1)", "]", "⟧⟧", "⟦⟦", "⟦", "`a[1]`", " ", "x", "7"}
	for seed := range uint64(4000) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		var b strings.Builder
		b.WriteString("Gold")
		for range 1 + rnd.IntN(10) {
			b.WriteString(marks[rnd.IntN(len(marks))])
		}
		b.WriteString(" end")
		in := b.String()
		if got := read(t, unmarked(in)); got != in {
			t.Fatalf("%q becomes %q", in, got)
		}
	}
}
