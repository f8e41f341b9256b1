package parsetest

import (
	"fmt"
	"strings"
)

// frontMatter returns a Markdown file with the given front matter.
func frontMatter(name, yaml string) bomb {
	return bomb{name, func() []byte { return []byte("---\n" + yaml + "\n---\n\nText.\n") }}
}

// textFiles returns plain text, tables, source code, front matter and encodings.
func textFiles() []bomb {
	return []bomb{
		filled("lines-empty.txt", "a", "\n", MaxBytes, "b"),
		filled("lines-short.txt", "", "a\n", MaxBytes, ""),
		filled("line-long.txt", "", "a", MaxBytes, ""),
		filled("words.txt", "", "a ", MaxBytes, ""),
		filled("statements.txt", "", "A. ", 32<<20, ""),
		filled("underlined.txt", "", "a\n===\n", MaxBytes, ""),
		filled("items.txt", "", "- a\n", MaxBytes, ""),
		filled("returns.txt", "a", "\r", MaxBytes, "b"),
		filled("marks-combining.txt", "a", "\u0301", MaxBytes, ""),
		filled("blanks-wide.txt", "a", "\u00a0", MaxBytes, "b"),
		filled("euros.txt", "", "\x80 ", MaxBytes, ""),
		filled("wrong-bytes.txt", "", "aaaa\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\xff", MaxBytes, ""),
		filled("wide.txt", "\xff\xfe", "\x41\x30\x42\x30", MaxBytes, ""),
		filled("wide-halves.txt", "\xfe\xff", "\xd8\x00", MaxBytes, ""),
		filled("controls.txt", repeat("text ", 64<<10), "\x01\x02", 60<<20, ""),

		filled("commas.csv", "", ",", MaxBytes, ""),
		filled("cells.csv", "", "a,", MaxBytes, ""),
		filled("quotes.csv", "", `"a",`, MaxBytes, ""),
		filled("quote-open.csv", `"`, "a,b\n", MaxBytes, ""),
		filled("quotes-doubled.csv", `"`, `""`, 256<<10, ""),
		filled("semicolons.csv", "", ";", MaxBytes, ""),
		filled("rows-empty.csv", "", ",\n", MaxBytes, ""),
		filled("rows.csv", "", "a,b\n", MaxBytes, ""),
		filled("tabs.tsv", "", "\t", MaxBytes, ""),

		filled("line-long.json", "[", "1,", MaxBytes, "1]"),
		filled("nested.json", "", "[", MaxBytes, ""),
		filled("lines-empty.go", "package a\n", "\n", MaxBytes, ""),
		filled("functions.go", "package a\n", "func a()\n", MaxBytes, ""),
		filled("comments.go", "package a\n", "//\n", MaxBytes, "func a()\n"),
		filled("lines.py", "", "a\n\n", MaxBytes, ""),
		filled("keys.yaml", "", "a:\n", MaxBytes, ""),
		filled("statements.sql", "", "CREATE TABLE a\n", MaxBytes, ""),

		frontMatter("aliases.md", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"+
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ntitle: [*f,*f,*f,*f,*f,*f,*f]"),
		frontMatter("merges.md", "a: &a {x: 1}\n"+numbered("b%d: {<<: *a}\n", 3000)),
		frontMatter("sequences-nested.md", "a:\n  "+strings.Repeat("- ", 30_000)+"x"),
		frontMatter("flow-nested.md", "a: "+strings.Repeat("[", 990)+strings.Repeat("]", 990)),
		frontMatter("keys-many.md", numbered("a%d: 1\n", 5500)),
		frontMatter("keys-complex.md", strings.Repeat("? ", 30_000)+"a"),
		frontMatter("scalar-folded.md", "a: >\n"+strings.Repeat("  x\n", 15_000)),
		frontMatter("quoted-long.md", `title: "`+strings.Repeat(`\u00e9`, 10_000)+`"`),
		{"indented.md", func() []byte {
			var b strings.Builder
			b.WriteString("---\n")
			for i := range 330 {
				fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
			}
			return []byte(b.String() + "---\n\nText.\n")
		}},
	}
}

// structureFiles returns JSON and XML.
func structureFiles() []bomb {
	return []bomb{
		filled("objects.json", "[", `{"a":1},`, MaxBytes, "{}]"),
		{"keys-distinct.json", func() []byte {
			return fill("{"+numbered(`"a%d":{"b":1},`, 400_000), `"a":1,`, MaxBytes, `"b":1}`)
		}},
		filled("paths.json", strings.Repeat(`{"`+repeat("k", 1000)+`":`, 60)+"{", `"a":1,`, 2<<20, `"b":1}`+strings.Repeat("}", 60)),
		filled("records.jsonl", "", "{\"a\":1}\n", MaxBytes, ""),
		filled("strings.json", "[", `"\u0000",`, MaxBytes, "1]"),
		filled("elements.xml", "<a>", "<b/>", MaxBytes, "</a>"),
		filled("attributes.xml", "<a>", "<b c='d' e='f'/>", MaxBytes, "</a>"),
		filled("nested.xml", "", "<a>", MaxBytes, ""),
		filled("mixed.xml", "<article>", "x<para>y</para>", MaxBytes, "</article>"),
		filled("entries.rss", "<rss><channel>", "<item><title>a</title><description>&lt;p></description></item>", MaxBytes, "</channel></rss>"),
	}
}

// markupFiles returns reStructuredText, AsciiDoc and manual pages.
func markupFiles() []bomb {
	return []bomb{
		filled("items-nested.rst", "", "- ", MaxBytes, "a"),
		filled("items.rst", "", "- a\n", MaxBytes, ""),
		{"indented.rst", func() []byte {
			var b strings.Builder
			for i := range 10_000 {
				b.WriteString(strings.Repeat(" ", i%5000) + "a\n")
			}
			return []byte(b.String())
		}},
		filled("titles.rst", "", "a\n==\n", MaxBytes, ""),
		filled("grid.rst", strings.Repeat("+-", 190)+"+\n", "|a\n", MaxBytes, strings.Repeat("+-", 190)+"+\n"),
		filled("simple-tables.rst", "", "== ==\na  b\n", MaxBytes, ""),
		filled("substitutions.rst", ".. |a| replace:: "+repeat("x", 4000)+"\n\n", "|a| ", MaxBytes, ""),
		filled("marks.rst", "", "*a `b ``c |d ", MaxBytes, ""),
		filled("targets.rst", "", ".. _a: b\n", MaxBytes, ""),
		filled("tabs.rst", "", "\t\t\t\ta\n", MaxBytes, ""),
		filled("directives.rst", "", ".. a::\n", MaxBytes, ""),

		filled("cells.adoc", "|===\n", "|", MaxBytes, "\n|===\n"),
		filled("cells-repeated.adoc", "|===\n", "999*|a ", MaxBytes, "\n|===\n"),
		filled("attributes.adoc", ":a: "+repeat("x", 4000)+"\n\n", "{a} ", MaxBytes, ""),
		filled("marks.adoc", "", "*a _b `c <<d ((e i:[", MaxBytes, ""),
		filled("marks-nested.adoc", "", "*_", MaxBytes, ""),
		filled("items.adoc", "", "* a\n** b\n. c\n", MaxBytes, ""),
		filled("terms.adoc", "", "a::\n", MaxBytes, ""),
		filled("blocks.adoc", "", "====\n=====\n", MaxBytes, ""),

		filled("items.1", ".TH A 1\n", ".TP\na\nb\n", MaxBytes, ""),
		filled("indents.1", ".TH A 1\n", ".RS\n", MaxBytes, ""),
		filled("strings.1", ".TH A 1\n.ds a x\n", ".as a \\*a\\*a\n", MaxBytes, "\\*a\n"),
		filled("strings-used.1", ".TH A 1\n.ds a "+repeat("x", 1000)+"\n", "\\*a", MaxBytes, "\n"),
		filled("cells-open.1", ".TH A 1\n.TS\nl.\n", "T{\n", MaxBytes, ""),
		filled("lines-joined.1", ".TH A 1\n", "a\\\n", MaxBytes, ""),
		filled("macros.1", ".Dd x\n.Dt A 1\n", ".Op Op Op Op Op\n", MaxBytes, ""),
		filled("terms.1", ".Dd x\n.Bl -tag\n", ".It Xo\n", MaxBytes, ""),
	}
}
