package lang_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/lang"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain\ttext\n", "plain\ttext\n"},
		{"a\r\nb\rc", "a\nb\nc"},
		{"\ufeffbom", "bom"},
		{"bad\xffbyte", "bad\ufffdbyte"},
		{"nul\x00 bell\x07 del\x7f", "nul bell del"},
		{"field\x1dnext\x1erecord", "field next record"},
		{"zero\u200bwidth soft\u00adhyphen", "zerowidth softhyphen"},
		{"over\u202eride tag\U000e0041", "override tag"},
		{"e\u0301", "é"},
		{"ef\ufb01cient o\ufb03ce", "efficient office"},
		{"page\fbreak", "page\nbreak"},
		{"a\u00a0b", "a b"},
		{"\uf0b7 lamp \uf0d8 lit \uf0ff", "• lamp • lit \uf0ff"},
		{"क्‍ष", "क्‍ष"},
	} {
		if got := lang.Clean(c.in); got != c.want {
			t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		name, in string // want separates sentences by ¦
		want     string
	}{
		{"two", "One is here. Two is there.", "One is here.¦Two is there."},
		{"titles", "Dr. Smith met Mr. Jones at St. Paul's. They spoke.", "Dr. Smith met Mr. Jones at St. Paul's.¦They spoke."},
		{"acronym inside", "The U.S. Army left. It won.", "The U.S. Army left.¦It won."},
		{"acronym at the end", "He lives in the U.S. The house is big.", "He lives in the U.S.¦The house is big."},
		{"dates without a year", "Notdienst: 23.-27.12. Yildiz, 28.12.-1.1. Vogl. Bis 27.12. Der Rest folgt.", "Notdienst: 23.-27.12. Yildiz, 28.12.-1.1. Vogl.¦Bis 27.12.¦Der Rest folgt."},
		{"versions", "It needs Go 1.26. Download it.", "It needs Go 1.26.¦Download it."},
		{"German abbreviations", "Frag Abt. Verkauf. Köln, gez. Pohlmann.", "Frag Abt. Verkauf.¦Köln, gez. Pohlmann."},
		{"figure", "See Fig. 3 and Eq. 4. Both hold.", "See Fig. 3 and Eq. 4.¦Both hold."},
		{"et al", "Shown by Lee et al. (2017) and Kim et al. in 2018. Good.", "Shown by Lee et al. (2017) and Kim et al. in 2018.¦Good."},
		{"decimals", "It rose 3.5 percent to 1,000.25 units. Then fell.", "It rose 3.5 percent to 1,000.25 units.¦Then fell."},
		{"initials", "J. R. R. Tolkien wrote it. George W. Bush did not.", "J. R. R. Tolkien wrote it.¦George W. Bush did not."},
		{"initials after titles and words", "Ask Dr. A. Weber or Part-Time B. Roy. By J. Smith.", "Ask Dr. A. Weber or Part-Time B. Roy.¦By J. Smith."},
		{"degrees", "The fuser reaches 200 °C. Wait 30 minutes. Below 50 ° F. Nobody swims at 5°C. Nor here.", "The fuser reaches 200 °C.¦Wait 30 minutes.¦Below 50 ° F.¦Nobody swims at 5°C.¦Nor here."},
		{"letters of parts", "Parts are listed in Annex A. Consumables are not. Siehe Anlage B. Kosten trägt\nTeil\nC. Wasser nicht.", "Parts are listed in Annex A.¦Consumables are not.¦Siehe Anlage B.¦Kosten trägt\nTeil\nC.¦Wasser nicht."},
		{"titles of parts", "Annex A. Parts of the pump", "Annex A. Parts of the pump"},
		{"latin", "Fruit, e.g. Apples, i.e. Malus. Next.", "Fruit, e.g. Apples, i.e. Malus.¦Next."},
		{"year", "It ended in 1999. Peace came.", "It ended in 1999.¦Peace came."},
		{"quotes", `He said "Stop!" She did not. (It was late.) So.`, `He said "Stop!"¦She did not.¦(It was late.)¦So.`},
		{"quoted question", `"Why?" she asked.`, `"Why?" she asked.`},
		{"references", "It was so.[12] Then[3] more.[4][5] End.", "It was so.[12]¦Then[3] more.[4][5]¦End."},
		{"blank line", "A heading\n\nThe body is\nwrapped here.", "A heading¦The body is\nwrapped here."},
		{"bullets", "Fruits:\n- apples\n- pears and\n  plums\n* figs", "Fruits:¦- apples¦- pears and\n  plums¦* figs"},
		{"counters", "1. First thing. 2 more.\n2. Second thing.\n10) Third", "1. First thing.¦2 more.¦2. Second thing.¦10) Third"},
		{"heading", "# Title\nText here.\n## Next\nMore.", "# Title¦Text here.¦## Next¦More."},
		{"table", "| a | b |\n| 1 | 2 |", "| a | b |¦| 1 | 2 |"},
		{"names in code", "One holds the folder. sluice asks it, approx. half of it. e.g. this. It is well.", "One holds the folder.¦sluice asks it, approx. half of it. e.g. this.¦It is well."},
		{"rows", "The ports:\n\nname | port\nhttp | 80. Or else 8080\nssh | 22\nMore text.", "The ports:¦name | port¦http | 80. Or else 8080¦ssh | 22¦More text."},
		{"rows of empty cells", "a |\nb | c\n| d", "a |¦b | c¦| d"},
		{"bars in brackets", "It is P(a | b)\nby definition.", "It is P(a | b)\nby definition."},
		{"fenced code", "Run it:\n```sh\nrun. Now!\n\nagain\n```\nDone.", "Run it:¦```sh\nrun. Now!\n\nagain\n```¦Done."},
		{"wide fence", "````\n```\nx. Y\n```\n````\nOne. Two.", "````\n```\nx. Y\n```\n````¦One.¦Two."},
		{"half a fence", "```\nOne. Two.\nThree", "```¦One.¦Two.¦Three"},
		{"address", "Visit www.example.com. Write to a.b@c.org today.", "Visit www.example.com.¦Write to a.b@c.org today."},
		{"ellipsis", "Well... maybe. So… Then.", "Well... maybe.¦So…¦Then."},
		{"marks", "What?! Really!!! Yes.", "What?!¦Really!!!¦Yes."},
		{"number sign", "It is No. 5 on the list. He said no. Then left.", "It is No. 5 on the list.¦He said no.¦Then left."},
		{"number of a code", "Ring ext. 44, contract no. CM-20. Then wait.", "Ring ext. 44, contract no. CM-20.¦Then wait."},
		{"floor", "Ort: Vereinsheim, 1. Stock. Beginn: 19 Uhr.", "Ort: Vereinsheim, 1. Stock.¦Beginn: 19 Uhr."},
		{"company", "Apple Inc. The firm grew. Acme Ltd. Partners sued.", "Apple Inc.¦The firm grew.¦Acme Ltd. Partners sued."},
		{"cjk", "你好。再见！", "你好。¦再见！"},
		{"german", "Das ist gut. Äpfel auch.", "Das ist gut.¦Äpfel auch."},
		{"time", "At 5 p.m. on Monday it rained. At 6 p.m. It stopped.", "At 5 p.m. on Monday it rained.¦At 6 p.m.¦It stopped."},
		{"empty", " \n\t ", ""},
		{"no stop", "no end here", "no end here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, sp := range lang.Sentences(c.in) {
				got = append(got, c.in[sp.Start:sp.End])
			}
			if d := cmp.Diff(c.want, strings.Join(got, "¦")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"The quick brown fox.", "the quick brown fox"},
		{"3.5 and 1,000,000, or 2024-01-02.", "3.5 and 1,000,000 or 2024-01-02"},
		{"1990-1995 COVID-19", "1990 1995 covid 19"},
		{"don't won’t rock'n'roll 'quoted'", "don't won't rock'n'roll quoted"},
		{"snake_case getHTTPStatus x86_64 v1.2.3", "snake_case gethttpstatus x86_64 v1.2.3"},
		{"U.S. and e.g. node.js example.com", "u.s and e.g node js example com"},
		{"Café MÜNCHEN Привет", "café münchen привет"},
		{"漢字かな カタカナ", "漢 字 か な カタカナ"},
		{"", ""},
		{"\xff\xfe --- !!", ""},
	} {
		var got []string
		for _, w := range lang.Words(c.in) {
			got = append(got, w.Text)
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("Words(%q): %s", c.in, d)
		}
	}
}

func TestTerms(t *testing.T) {
	got := lang.Terms("What were the running costs of Newton's 1,000 machines, and who didn't pay?")
	want := []string{"run", "cost", "newton", "1000", "machin", "pay"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, w := range []string{"the", "what", "how", "isn't"} {
		if !lang.IsStopWord(w) {
			t.Errorf("IsStopWord(%q) is false", w)
		}
	}
	if lang.IsStopWord("energy") {
		t.Error(`IsStopWord("energy") is true`)
	}
}

func TestFence(t *testing.T) {
	for _, code := range []string{"a", "a\n\nb. C", "```\na\n```", ""} {
		f, ok := lang.Fence(code)
		if got, back := lang.Unfence(f); !ok || !back || got != code {
			t.Errorf("%q became %q and %q", code, f, got)
		}
		if n := len(lang.Sentences(f)); n != 1 {
			t.Errorf("%q: %d sentences", f, n)
		}
	}
	if _, ok := lang.Fence(strings.Repeat("`", 500)); ok {
		t.Error("a fence of any width")
	}
	if _, ok := lang.Unfence("```\na"); ok {
		t.Error("half a fence")
	}
	if d := cmp.Diff([]string{"a", "", "f(b | c)"}, lang.TableCells("| a | | f(b | c) |")); d != "" {
		t.Error(d)
	}
}

// hostile are units that, repeated, make naive scanners quadratic.
var hostile = []string{"a", ".", " ", "\n", ". ", ")", "[", "[1]", "'", "a'", "1,", "1-", "a.", "é", "\u0301", "\xff", "🙂", "。", "\x80", "#\n", "- \n", "```\n", "```a\n",
	"````\n```a\n", " | ", "a | (\n"}

func TestHostile(t *testing.T) {
	const n = 1 << 16
	for _, unit := range hostile {
		s := strings.Repeat(unit, n/len(unit))
		for _, sp := range lang.Sentences(s) {
			if sp.End-sp.Start > 2100 {
				t.Errorf("%q: a sentence of %d bytes", unit, sp.End-sp.Start)
			}
		}
		if clean := lang.Clean(s); len(clean) > 3*len(s) {
			t.Errorf("%q: %d bytes became %d", unit, len(s), len(clean))
		}
		if terms := lang.Terms(s); len(terms) > n {
			t.Errorf("%q: %d terms of %d bytes", unit, len(terms), n)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"A b. C d.", "\xff\r\n", "1. U.S. e.g. [12", "e\u0301\u200b’s", "# x\n- y\n|", "a | b\nc |\n```\nx\n```", "don’t 2024-01-02"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean := lang.Clean(s)
		if !utf8.ValidString(clean) {
			t.Fatalf("Clean(%q) is not UTF-8", s)
		}
		for _, r := range clean {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("Clean(%q) holds %q", s, r)
			}
		}
		if again := lang.Clean(clean); again != clean {
			t.Fatalf("Clean is not idempotent: %q, %q", clean, again)
		}
		for _, in := range []string{s, clean} {
			last := 0
			for _, sp := range lang.Sentences(in) {
				if sp.Start < last || sp.End <= sp.Start || sp.End > len(in) {
					t.Fatalf("Sentences(%q): span %v after %d", in, sp, last)
				}
				if lost := in[last:sp.Start]; strings.TrimSpace(lost) != "" {
					t.Fatalf("Sentences(%q) lost %q", in, lost)
				}
				if utf8.ValidString(in) && !utf8.ValidString(in[sp.Start:sp.End]) {
					t.Fatalf("Sentences(%q) cut a character", in)
				}
				last = sp.End
			}
			if lost := in[last:]; strings.TrimSpace(lost) != "" {
				t.Fatalf("Sentences(%q) lost %q at the end", in, lost)
			}
			last = 0
			for _, w := range lang.Words(in) {
				if w.Start < last || w.End <= w.Start || w.End > len(in) || w.Text == "" {
					t.Fatalf("Words(%q): %+v after %d", in, w, last)
				}
				last = w.End
			}
			lang.Terms(in)
		}
	})
}

var sample = strings.Repeat("The U.S. economy grew 3.5 percent in 1999, according to Dr. Smith et al. (2001). It wasn't expected! "+
	"Industrial production of machines, however, fell; several banks failed.\n\n", 100)

// BenchmarkHostile shows that the time is linear: the rate does not depend on the size.
func BenchmarkHostile(b *testing.B) {
	for _, unit := range hostile {
		for _, n := range []int{1 << 16, 1 << 18} {
			s := strings.Repeat(unit, n/len(unit))
			b.Run(fmt.Sprintf("%q/%dKiB", unit, n>>10), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					lang.Clean(s)
					lang.Sentences(s)
					lang.Terms(s)
				}
			})
		}
	}
}

func BenchmarkClean(b *testing.B) {
	b.SetBytes(int64(len(sample)))
	for b.Loop() {
		lang.Clean(sample)
	}
}

func BenchmarkSentences(b *testing.B) {
	b.SetBytes(int64(len(sample)))
	for b.Loop() {
		lang.Sentences(sample)
	}
}

func BenchmarkWords(b *testing.B) {
	b.SetBytes(int64(len(sample)))
	for b.Loop() {
		lang.Words(sample)
	}
}

func BenchmarkTerms(b *testing.B) {
	b.SetBytes(int64(len(sample)))
	for b.Loop() {
		lang.Terms(sample)
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", " ", "\n", "a", " a", "a ", "a b", "a  b", "a b ", "a b\n", "a\nb", "a \n b", "ä b", "a\u00a0b", "\u00a0a", "a\u2003 b c", "a\xffb \xff", "a\x01b", "x\t\v\f\r y", "über die  Brücke"} {
		if got, want := lang.OneLine(s), strings.Join(strings.Fields(s), " "); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// TestCleanRunes compares [lang.Clean] for text that has to be changed and text that has not.
func TestCleanRunes(t *testing.T) {
	t.Parallel()
	for r := rune(1); r < 0x20000; r++ {
		s := "a" + string(r) + "b"
		if got, want := lang.Clean(s), lang.Clean(s+"\x01"); got != want { // \x01 is removed
			t.Errorf("%U: %q, and %q before a control character", r, got, want)
		}
	}
}

func TestStemOfNumbers(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"1,000": "1000", "7th": "7", "21st": "21", "4.2.0": "4.2", "4.2.1": "4.2.1", "5x": "5x", "st": "st"} {
		if got := lang.Stem(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
