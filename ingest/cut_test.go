package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/lang"
)

// checkChunks checks the properties of the chunks of any document.
func checkChunks(t *testing.T, p parse.Parsed, text string, chunks []corpus.Chunk) {
	t.Helper()
	byID := map[corpus.ChunkID]corpus.Chunk{}
	next := map[corpus.Level]int{}
	for _, c := range chunks {
		if c.Start < 0 || c.End > len(text) || c.Start >= c.End || text[c.Start:c.End] != c.Text || !utf8.ValidString(c.Text) {
			t.Fatalf("%s %d: offsets %d:%d do not give %q", c.Level, c.Ordinal, c.Start, c.End, c.Text)
		}
		if _, twice := byID[c.ID]; twice {
			t.Fatalf("id %s twice", c.ID)
		}
		byID[c.ID] = c
		if c.Ordinal != next[c.Level] {
			t.Fatalf("%s: ordinal %d, want %d", c.Level, c.Ordinal, next[c.Level])
		}
		next[c.Level]++
		if c.Level == corpus.Section {
			if c.Parent != "" {
				t.Fatal("a section has a parent")
			}
			continue
		}
		parent, ok := byID[c.Parent]
		if !ok || parent.Level != c.Level-1 || c.Start < parent.Start || c.End > parent.End {
			t.Fatalf("%s %d stands outside its parent", c.Level, c.Ordinal)
		}
		if d := cmp.Diff(c.Pages, parent.PagesOf(c.Start-parent.Start, c.End-parent.Start)); d != "" {
			t.Fatalf("pages of %s %d in its parent: %s", c.Level, c.Ordinal, d)
		}
		if part := parent.Slice(c.Start-parent.Start, c.End-parent.Start); part.Text != c.Text || part.Start != c.Start || part.End != c.End ||
			cmp.Diff(c.Pages, part.Pages) != "" || cmp.Diff(c.PageStarts, part.PageStarts, cmpopts.EquateEmpty()) != "" {
			t.Fatalf("part of the parent: %+v, want %+v", part, c)
		}
		if most := map[corpus.Level]int{corpus.Section: 9000, corpus.Passage: 4000, corpus.Sentence: 2100}[c.Level]; len(c.Text) > most {
			t.Fatalf("%s of %d bytes", c.Level, len(c.Text))
		}
	}
	// Each word of the text is in exactly one passage, in order.
	at := 0
	for _, c := range chunks {
		if c.Level != corpus.Passage {
			continue
		}
		if c.Start < at || strings.TrimSpace(text[at:c.Start]) != "" {
			t.Fatalf("between passages: %q", text[at:max(at, c.Start)])
		}
		at = c.End
	}
	if strings.TrimSpace(text[at:]) != "" {
		t.Fatalf("after the last passage: %q", text[at:])
	}
	for _, b := range p.Blocks {
		if !b.Synthetic && !strings.Contains(text, b.Text) {
			t.Fatalf("text lacks %q", b.Text)
		}
	}
}

func cut(t testing.TB, name, data string) (parse.Parsed, string, []corpus.Chunk) {
	t.Helper()
	p, err := parse.Parse(t.Context(), name, []byte(data), parse.Limits{})
	require.NoError(t, err)
	text, chunks := ingest.Cut("doc_1", p)
	return p, text, chunks
}

func outline(chunks []corpus.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		if c.Level == corpus.Sentence && c.Ordinal == 10 {
			b.WriteString("…\n")
			break
		}
		fmt.Fprintf(&b, "%s %d %v %d:%d %s\n", c.Level, c.Ordinal, c.Headings, c.Start, c.End, strings.ReplaceAll(short(c.Text), "\n", "⏎"))
	}
	return b.String()
}

func short(s string) string {
	if r := []rune(s); len(r) > 70 {
		return string(r[:40]) + " … " + string(r[len(r)-25:])
	}
	return s
}

func TestCut(t *testing.T) {
	sentence := "The water in the box runs over the riffles and leaves what is heavy behind it. "
	for name, in := range map[string]string{
		"short.md": "# A\n\n## B\n\nOne. Two.\n\n## C\n\nThree.\n\n## D",
		"long.md":  "# A\n\n" + strings.Repeat(sentence, 30) + "\n\n## B\n\n" + strings.Repeat(strings.Repeat(sentence, 6)+"\n\n", 16) + "Tail.",
		"list.md": "# A\n\n" + strings.Repeat(sentence, 8) + "\n\n" + strings.Repeat("- an item of the list\n", 12) +
			"\n" + strings.Repeat(sentence, 3) + "\n\n|a|b|\n|-|-|\n" + strings.Repeat("|one cell|another|\n", 90),
		"code.md":  "# A\n\nSee:\n\n```\n" + strings.Repeat("line of code here\nand one more\n\n", 60) + "```\n",
		"zoo.py":   "import os\n\ndef a():\n    return 1\n\n" + "def b():\n" + strings.Repeat("    x = x + 1  # once more and again\n", 60) + "\ndef c():\n    pass\n",
		"wall.txt": strings.Repeat("a", 5000) + " " + strings.Repeat("ü", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			p, text, chunks := cut(t, name, in)
			checkChunks(t, p, text, chunks)
			golden.Check(t, "testdata/"+name+".golden", outline(chunks))
		})
	}
}

// TestCutKeepsFences checks that all chunks with code in prose have its fences, and that a source file has no fences.
func TestCutKeepsFences(t *testing.T) {
	line := "sluice ask --data /srv/data something\n"
	code := strings.Repeat(line, 4) + "\n" + strings.Repeat(line, 60)
	for name, in := range map[string]string{
		"a.md":   "# A\n\nRun this:\n\n```sh\n" + code + "```\n\nIt is done.\n\n- item\n\n  ```\n  one line\n  ```\n",
		"b.md":   "````\n```\n" + code + "```\n````",
		"c.html": "<h1>A</h1><p>Run this:</p><pre>" + code + "</pre><p>It is done.</p>",
		"d.md":   "```\n" + strings.Repeat("a", 9000) + "\n```",
	} {
		p, body, chunks := cut(t, name, in)
		checkChunks(t, p, body, chunks)
		for _, c := range chunks {
			for _, sp := range lang.Sentences(c.Text) {
				s := c.Text[sp.Start:sp.End]
				if _, fenced := lang.Unfence(s); !fenced && (strings.Contains(s, "sluice ask") || strings.Contains(s, "aaaa") || strings.HasPrefix(s, "```")) {
					t.Errorf("%s: %s %d says %q as prose", name, c.Level, c.Ordinal, s)
				}
			}
		}
	}
	if _, body, _ := cut(t, "a.go", "package a\n\nfunc a() {}\n"); strings.Contains(body, "```") {
		t.Errorf("fences in a source file: %q", body)
	}
}

func TestCutPages(t *testing.T) {
	p := parse.Parsed{Title: "T", Blocks: []parse.Block{
		{Kind: parse.Heading, Level: 1, Text: "H", Page: 1},
		{Text: "One on page one. Two goes on and ends here. Three.", Page: 1, PageBreaks: []parse.PageBreak{{Offset: 31, Page: 2}}},
		{Text: "Four.", Page: 3},
	}}
	text, chunks := ingest.Cut("d", p)
	checkChunks(t, p, text, chunks)
	got := map[string][]int{}
	for _, c := range chunks {
		got[c.Text] = c.Pages
	}
	for s, want := range map[string][]int{"One on page one.": {1}, "Two goes on and ends here.": {1, 2}, "Three.": {2}, "Four.": {3}, text: {1, 2, 3}} {
		if d := cmp.Diff(want, got[s]); d != "" {
			t.Errorf("%q: %s", s, d)
		}
	}
}

func TestIDsAreStable(t *testing.T) {
	const in = "# A\n\nOne.\n\n# B\n\nTwo."
	_, _, a := cut(t, "a.md", in)
	_, _, b := cut(t, "a.md", in)
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
	_, _, c := cut(t, "a.md", strings.Replace(in, "Two", "Three", 1))
	if a[0].ID != c[0].ID || a[1].ID == c[1].ID {
		t.Error("an id must change with its text and only with it")
	}
	if got := ingest.DocumentID("c", "u"); got == ingest.DocumentID("cu", "") || len(got) != 20 {
		t.Errorf("document id %s", got)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a.md", "# A\n\n- b\n- c\n\n|a|b|\n|-|-|\n|1|2|\n\n```\nx\n\ny\n```")
	f.Add("a.py", "def a():\n  x\n\nclass B:\n    def c(): pass")
	f.Add("a.html", "<h1>x</h1><p>y. z?<ul><li>a")
	f.Add("a.txt", strings.Repeat("ü", 3000)+"\n\n"+strings.Repeat("word ", 800))
	f.Fuzz(func(t *testing.T, name, data string) {
		p, err := parse.Parse(t.Context(), name, []byte(data), parse.Limits{Bytes: 1 << 20})
		if err != nil {
			return
		}
		text, chunks := ingest.Cut("d", p)
		checkChunks(t, p, text, chunks)
	})
}
