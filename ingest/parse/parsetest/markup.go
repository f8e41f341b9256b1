package parsetest

import (
	"fmt"
	"strings"
)

// numbered repeats a format with increasing numbers.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func htmlFiles() []bomb {
	return []bomb{
		{"formatting-rebuilt.html", func() []byte {
			return []byte("<p>" + numbered(`<b class="%d">`, 400) + strings.Repeat("<p>a", 60_000))
		}},
		{"formatting-rebuilt-by-cells.html", func() []byte {
			return []byte("<table><tr><td><p>" + numbered(`<font size=%d>`, 450) + strings.Repeat("<p>a", 60_000))
		}},
		{"formatting-ended-within-cells.html", func() []byte {
			return []byte("<p>" + numbered(`<i id=%d>`, 450) + "<table><td>" + strings.Repeat("</i>", 450) + "</table>" + strings.Repeat("<p>a", 60_000))
		}},
		{"formatting-misnested.html", func() []byte { return []byte(strings.Repeat("<b><p></b><i><p></i>", 100_000)) }},
		{"anchors-open.html", func() []byte { return []byte(strings.Repeat("<a href=x><div>", 200_000)) }},
		filled("paragraphs-open.html", "", "<p>a", 4<<20, ""),
		filled("breaks.html", "", "<br>", MaxBytes, ""),
		filled("elements-nested.html", "", "<div>", 8<<20, ""),
		filled("spans-empty.html", "", "<i></i>", MaxBytes, ""),
		filled("attributes-one-tag.html", "<p ", "a ", MaxBytes, ">text"),
		{"attributes-distinct.html", func() []byte { return fill("<p "+numbered("a%d ", 1_000_000), "b ", 16<<20, ">text") }},
		filled("attributes-many-tags.html", "<body>", "<p a b c d e f g h>x", 8<<20, ""),
		filled("tables-nested.html", "", "<table><tr><td>", 8<<20, ""),
		filled("tables-misplaced.html", "<table>", "a<b>", 256<<10, ""),
		filled("cells.html", "<table><tr>", "<td>", MaxBytes, ""),
		filled("items.html", "<ul>", "<li>a", 5<<20, ""),
		filled("lists-nested.html", "", "<ul><li>a", 256<<10, ""),
		filled("comments.html", "text", "<!-- <!-", MaxBytes, ""),
		filled("entities.html", "<p>", "&NotEqualTilde;", 256<<10, ""),
		filled("options.html", "<select>", "<option>a", 9<<20, ""),
		filled("drawings.html", "<p>x</p>", "<svg><g>", 16<<20, ""),
		filled("metadata.html", "<title>t</title>", `<meta name=a content=b>`, 32<<20, ""),
		filled("title-long.html", "<title>", "word ", MaxBytes, "</title><p>text"),
		filled("link-open.html", "<a href=x>", "words <img alt=y>", 256<<10, ""),
		filled("wide.html", "\xff\xfe", "<\x00p\x00>\x00a\x00", 16<<20, ""),
	}
}

func markdownFiles() []bomb {
	return []bomb{
		{"table-wide.md", func() []byte {
			return []byte(strings.Repeat("|a", 200) + "|\n" + strings.Repeat("|-", 200) + "|\n" + strings.Repeat("|x\n", 50_000))
		}},
		{"table-wide-quoted.md", func() []byte {
			return []byte("> " + strings.Repeat("|a", 1000) + "|\n> " + strings.Repeat("|-", 1000) + "|\n" + strings.Repeat("> |x\n", 80_000))
		}},
		{"table-wide-listed.md", func() []byte {
			return []byte("- " + strings.Repeat("a|", 1000) + "a\n  " + strings.Repeat(":-:|", 1000) + "-\n" + strings.Repeat("  x|\n", 80_000))
		}},
		{"tables-many.md", func() []byte {
			return []byte(strings.Repeat(strings.Repeat("|a", 1500)+"|\n"+strings.Repeat("|-", 1500)+"|\n"+strings.Repeat("|\n", 1000)+"\n", 100))
		}},
		filled("brackets.md", "", "[", 512<<10, ""),
		filled("brackets-on-lines.md", "", strings.Repeat("[", 900)+"\n", 256<<10, ""),
		filled("links-half.md", "", "[a](", 256<<10, ""),
		filled("pictures-half.md", "", strings.Repeat("![", 300)+"\n", 256<<10, ""),
		filled("links.md", "", "[a](b) ", MaxBytes, ""),
		filled("backticks.md", "", "`a``b```c````d\n", 256<<10, ""),
		filled("emphasis.md", "", "*a **b _c __d ", 512<<10, ""),
		filled("emphasis-nested.md", "", "**a *b ", 256<<10, ""),
		filled("quotes-nested.md", strings.Repeat(">", 60)+" a\n", "> > > > b\n", 1<<20, ""),
		{"lists-nested.md", func() []byte {
			var b strings.Builder
			for b.Len() < 512<<10 {
				for i := range 60 {
					b.WriteString(strings.Repeat("  ", i) + "- a\n")
				}
			}
			return []byte(b.String())
		}},
		filled("comments-open.md", "a", "b<!--c\n", 512<<10, ""),
		filled("declarations-open.md", "a", "b<!X c\n", 512<<10, ""),
		filled("instructions-open.md", "a", "b<?c\n", 512<<10, ""),
		filled("sections-open.md", "a", "b<![CDATA[c\n", 512<<10, ""),
		filled("tags-open.md", "a", "b<c d\n", 512<<10, ""),
		filled("addresses-open.md", "", "<http:a\n", 512<<10, ""),
		filled("html-blocks.md", "", "<p>\n\n", 8<<20, ""),
		{"html-formatting.md", func() []byte {
			return []byte("<p>" + numbered(`<b class="%d">`, 400) + strings.Repeat("<p>a", 60_000) + "\n")
		}},
		{"references.md", func() []byte {
			return []byte("[a]: /" + strings.Repeat("x", 100_000) + "\n\n" + strings.Repeat("[a] ", 100_000))
		}},
		{"definitions.md", func() []byte { return []byte(numbered("[a%d]: /x\n", 50_000)) }},
		filled("definition-lists.md", "", "a\n: b\n\n", 16<<20, ""),
		filled("headings.md", "", "# \n", MaxBytes, ""),
		filled("entities.md", "", "&amp", 256<<10, ""),
		filled("tabs.md", "", "\t\t\t\t\t\t\t\t- a\n", 512<<10, ""),
		filled("paragraphs.md", "", "a\n\n", MaxBytes, ""),
		filled("line-long.md", "", "word ", MaxBytes, ""),
		filled("breaks-hard.md", "", "a  \n", 512<<10, ""),
		filled("fences.md", "", "```\n", MaxBytes, ""),
	}
}
