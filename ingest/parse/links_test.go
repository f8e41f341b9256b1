package parse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/ingest/parse"
)

// TestLinks lists the text and the links of each block.
func TestLinks(t *testing.T) {
	long := strings.Repeat("long ", 41)
	for _, c := range []struct{ name, in, want string }{
		{"inline.md", "See [how it\nis graded](pipeline.md#grade \"title\") and *[the `cache`](../cache/)*.",
			"See how it is graded and the cache. how it is graded>pipeline.md#grade the cache>../cache/"},
		{"the same words.md", "Rates, [Rates](a.md), [Rates](b.md).", "Rates, Rates, Rates. Rates>a.md Rates>b.md"},
		{"reference.md", "Read [the guide][g] or [g] or [none].\n\n[g]: guide.md", "Read the guide or g or [none]. the guide>guide.md g>guide.md"},
		{"autolink.md", "At <https://a.example/b> or <x@y.example>.", "At https://a.example/b or x@y.example. https://a.example/b>https://a.example/b x@y.example>mailto:x@y.example"},
		{"wiki.md", "[[Rate limits]], [[Keys#Lost keys]], [[#Here]], [[Big Keys|such keys]], `[[ -f x ]]`, [[]] [[open and [a](b).",
			"[[Rate limits]], [[Keys#Lost keys]], [[#Here]], [[Big Keys|such keys]], [[ -f x ]], [[]] [[open and a. " +
				"Rate limits>Rate limits Keys>Keys#Lost keys Here>#Here such keys>Big Keys a>b"},
		{"tags.md", "It is <a class=\"x\" href=\"a.md\">the one</a>, <abbr>HTML</abbr> <a name=\"y\">no</a>.", "It is the one, HTML no. the one>a.md"},
		{"block of tags.md", "<p>\n<a href=\"a.md\">the one</a>\n</p>", "the one the one>a.md"},
		{"pictures.md", "[![Build](b.svg)](https://ci) is it, ![alone](c.png), [![logo](l.png) Sluice](s.md).", "Build is it, alone, logo Sluice. Sluice>s.md"},
		{"heading.md", "# On [grades](g.md) ![x](y)\n\n- [One](1.md)\n- [Two](2.md)\n\n| a | [b](c) |\n|--|--|\n| [d](e) | f |",
			"On grades grades>g.md|- One One>1.md|- Two Two>2.md|a | b b>c|d | f d>e"},
		{"code.md", "```\n[a](b)\n```\n\n    [[c]]", "[a](b)|[[c]]"},
		{"long.md", "[" + long + "x](a) [b](" + strings.Repeat("c", 201) + ")", long + "x b b>"},
		{"plain.txt", "[a](b) [[c]]", "[a](b) [[c]]"},
		{"inline.html", "<p>See <a href=' p.html#grade '>how it\n<b>is</b> graded</a>, <a>nothing</a>, <a href=x><img alt=Logo></a> and <a href=y><img alt=Logo> Sluice</a>.",
			"See how it is graded, nothing, Logo and Logo Sluice. how it is graded>p.html#grade Sluice>y"},
		{"blocks.html", "<a href=x><h2>Head</h2><p>Body</a> rest<ul><li><a href=y>item<br>more</a></ul>", "Head Head>x|Body rest Body>x|- item\nmore item\nmore>y"},
		{"table.html", "<table><tr><td><a href=x>one</a><td>two <a href=y>three</a></table>", "one | two three one>x three>y"},
		{"hidden.html", "<p>a<a hidden href=x>b</a><nav><a href=y>c</a></nav><pre><a href=z>d</a></pre>", "a|d"},
		{"menu.html", "<div><a href=#m>Skip</a> | <a href=a>Pay it</a> | <a href=b>Report it</a></div><ul><li><a href=c>Fines</a></ul><p><a href=d>One</a> page and <a href=e>two</a> <a href=f>more</a></p><h1>Fees</h1><p><a href=a>2023</a>, <a href=b>2024</a>, <a href=c>2025</a></p>",
			"One page and two more One>d two>e more>f|Fees|2023, 2024, 2025 2023>a 2024>b 2025>c"},
		{"list.html", "<ul><li><a href=a>2023</a><li><a href=b>2024</a></ul>", "- 2023 2023>a|- 2024 2024>b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := parse.Parse(t.Context(), c.name, []byte(c.in), parse.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var blocks []string
			for _, b := range p.Blocks {
				s := b.Text
				for _, l := range b.Links {
					if !strings.HasPrefix(b.Text[l.Offset:], l.Text) {
						t.Errorf("%q is not at %d of %q", l.Text, l.Offset, b.Text)
					}
					s += " " + l.Text + ">" + l.Target
				}
				blocks = append(blocks, s)
			}
			if d := cmp.Diff(c.want, strings.Join(blocks, "|")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLinksAreBounded(t *testing.T) {
	var md, page, wiki, row strings.Builder
	for i := range 500 {
		fmt.Fprintf(&md, "[a%d](b)\n", i)
		fmt.Fprintf(&page, "<a href=b>a%d</a> ", i)
		fmt.Fprintf(&wiki, "[[a%d]]\n", i)
		fmt.Fprintf(&row, "<td><a href=b>a%d</a> ", i)
	}
	for name, in := range map[string]string{"a.md": md.String(), "a.html": page.String(), "wiki.md": wiki.String(), "row.html": "<table><tr>" + row.String()} {
		p, err := parse.Parse(t.Context(), name, []byte(in), parse.Limits{})
		if err != nil || len(p.Blocks) != 1 || len(p.Blocks[0].Links) != 64 {
			t.Errorf("%s: %d blocks, %v", name, len(p.Blocks), err)
		} else if last := p.Blocks[0].Links[63]; last.Text != "a63" {
			t.Errorf("%s: the last is %+v", name, last)
		}
	}
}
