package sessions

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session"
)

// page returns the Markdown of a session of three turns, in which s is the title, a question, two answers, a failure, and the names of a source.
func page(t *testing.T, s string) []byte {
	t.Helper()
	var b strings.Builder
	source := event.Source{Title: s, Name: s + ".md", Heading: "h " + s}
	messages := []session.Message{
		{Role: event.RoleUser, Text: s},
		{Role: event.RoleAssistant, Text: s, Answer: session.Answer{Status: session.Completed, Citations: []session.Citation{{N: 1, At: len(s) / 2, Source: source}}}},
		{Role: event.RoleUser, Text: "Why?"},
		{Role: event.RoleAssistant, Text: s, Answer: session.Answer{Status: session.Failed, Failure: &event.RunFailed{Code: fault.Model, Message: s}}},
		{Role: event.RoleUser, Text: "When?"},
	}
	pages := [][]session.Message{messages}
	err := writeMarkdown(&b, session.Session{Title: "t " + s, CreatedAt: time.Unix(0, 0)}, func() ([]session.Message, error) {
		if len(pages) == 0 {
			return nil, nil
		}
		next := pages[0]
		pages = nil
		return next, nil
	})
	require.NoError(t, err)
	return []byte(b.String())
}

// checkPlaces parses a page. Its top level must have no headings but its own, and it must have no HTML, no images, and no links in other places
// than answers and questions.
func checkPlaces(t *testing.T, source []byte) {
	t.Helper()
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	var headings []string
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level <= 3 {
			var title []byte
			for i := range h.Lines().Len() {
				line := h.Lines().At(i)
				title = append(title, line.Value(source)...)
			}
			headings = append(headings, fmt.Sprint(h.Level, " ", string(title)))
		}
	}
	ours := func(h string) bool { return h == "3 Sources" || h == "2 Why?" || h == "2 When?" }
	var rest []string
	for _, h := range headings {
		if ours(h) {
			rest = append(rest, h)
		}
	}
	others := slices.DeleteFunc(headings, ours)
	if diff := cmp.Diff([]string{"3 Sources", "2 Why?", "2 When?"}, rest); diff != "" || len(others) != 2 || others[0][0] != '1' || others[1][0] != '2' {
		t.Fatalf("headings %q and %q of\n%s", others, rest, source)
	}
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n.Kind() {
		case ast.KindHTMLBlock, ast.KindRawHTML, ast.KindImage:
			t.Fatalf("%s in\n%s", n.Kind(), source)
		}
		return ast.WalkContinue, nil
	})
}

// hostile are texts that try to leave their place on a page of Markdown.
var hostile = []string{
	"# Injected", "a\n## Sources\n### Sources\n", "Title\n===", "Title\n---", "Title\n-", "a\n\n***\n---\n\nb", "```", "~~~\n# x\n```\n", "a\n```js\nlet a = '<b>'\n# c\n", "````\n```\n# x",
	"```\u3000\n```\u3000\n# x", "- a\n  ```\n# Evil <script>alert(1)</script>", "- ```\n  ```\n  <b>\n", "> ```\n# x\n", "- a\n    ```\n  ```\n  <b>x</b>", "1. a\n   ```sh\n   # c\n   ```\n2. b",
	"- a\n\t```\n\t```\n<i>x</i>", "<!--", "<script>", "</blockquote><div>", "<?php", "<![CDATA[", "a <img src=x onerror=alert(1)> b", "![x](http://127.0.0.1/x.png)",
	"[1]: http://evil.example", "> [1]: http://evil.example 'x'", "[a\n1]: http://evil.example", "x\r# Lone CR", "x\u2028# Separator", "**a", "`a", "[x](javascript:alert(1))", "(http://evil.example)",
	"*\n```\n# x\n", "    ```\n    <b>", "a\n    ```\n    <b>", "``` a`b\n# x", "[ ] ```\n", ": ```\n# x", "\\", "\\<b>", "\\\\<b>", "a | b\n--- | ---\n`|` | <b>", "<http://x.example>", "&lt;b&gt;", "1.\t```\n\t<b>",
}

func TestTextsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	for _, s := range hostile {
		checkPlaces(t, page(t, s))
	}
}

func TestContained(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Plain *text* with `code`, a [link](http://x.example) and 1 < 2.": "Plain *text* with `code`, a [link](http://x.example) and 1 < 2.",
		"# One\n#two\n##### Five":                "#### One\n#two\n###### Five",
		"1. a\n   ```sh\n   # <c>\n   ```\n2. b": "1. a\n```sh\n# <c>\n```\n2. b",
		"```\n<b> [1]: x\n# y":                   "```\n<b> [1]: x\n# y\n```",
		"a\n---\n| a |\n|---|\n| b |":            "a\n***\n| a |\n|---|\n| b |",
		"<b> ![i](u) [1]: u":                     `\<b> !\[i](u) [1]\: u`,
		"- ~~~\n  x":                             "- \\~\\~\\~\n  x",
	} {
		if diff := cmp.Diff(want, contained(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
	if got, want := inline("a_b [x](y) <i> `c` **d** &amp; & \\"), "a\\_b \\[x\\](y) \\<i> \\`c\\` \\*\\*d\\*\\* \\&amp; & \\\\"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := marked("as shown(http://evil.example)", []session.Citation{{N: 1, At: 8}}); got != `as shown [1]\(http://evil.example)` {
		t.Errorf("got %s", got)
	}
}

// FuzzTextsKeepTheirPlaces checks that no text leaves its place on a page.
func FuzzTextsKeepTheirPlaces(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 300 || strings.TrimSpace(s) == "" || strings.Contains(s, "Why?") || strings.Contains(s, "When?") || strings.Contains(s, "Sources") {
			return
		}
		checkPlaces(t, page(t, s))
	})
}
