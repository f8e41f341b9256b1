package display_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// hostile holds texts that could control a terminal, imitate other output, or are expensive to render.
var hostile = []string{
	"\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "\x1b]52;c;ZXZpbA==\x07", "\x1bP+q\x1b\\", "\x1b[8mhidden\x1b[0m", "\u009b31m\u009d0;x\u009c",
	"&#27;[2J", "&#x1b;]0;title&#7;", "&#x0000001b;[31m `&#27;`", "&#155;31m", "&NewLine;&Tab;&#x202e;", "\\\x1b[31m", "```\n\x1b[31m&#27;\n```",
	"[bank](http://evil/\x1b]0;x\x07)", "[x](javascript:alert(1))", "![i](http://x/\u009d)", "<b onclick=x>\x1b</b>", "<http://a/%1b[2J>", "[a]: http://x \"\x1b[31m\"\n\n[a]",
	"\u202egnp.exe", "\u2066a\u2069", "a\u200bb\ufeffc", "\U000e0041\U000e0042", "\ue000 7 \ue001 \ue00012\ue001", "a\rb\r\nc\vd\fe\u0085f\u2028g\u2029h", "\x00\x01\x7f", "\xff\xfe\xc0\xaf",
	"e" + strings.Repeat("\u0301", 500), strings.Repeat("👨\u200d", 300), strings.Repeat("漢", 500), "⟦⟦1⟧⟧⟦⟦999999999999⟧⟧⟦⟦⟧⟧⟦⟦x⟧⟧⟦⟦0⟧⟧",
	strings.Repeat(">", 3000) + "x", strings.Repeat("> ", 1500) + "x", strings.Repeat("- ", 1500) + "x", strings.Repeat("[", 3000), strings.Repeat("*a_", 1300),
	strings.Repeat("|a", 2000) + "|\n" + strings.Repeat("|-", 2000) + "|\n", strings.Repeat("`", 3000), "<" + strings.Repeat("!--", 1000), strings.Repeat("1. a\n   ", 400),
	strings.Repeat("![", 1800) + strings.Repeat("](a)", 900), strings.Repeat("~~", 1500), strings.Repeat("\\", 3999), strings.Repeat("#", 3000), strings.Repeat("a\n===\n", 600),
	strings.Repeat("&amp;", 800), strings.Repeat("\t", 3000) + "x", strings.Repeat("<a>", 1300), strings.Repeat("http://a ", 400), strings.Repeat("a@b.c ", 600),
	strings.Repeat("[^1]: x\n", 400), strings.Repeat("a\n: b\n", 500), strings.Repeat("- [ ] ", 600) + "x", strings.Repeat("    ", 900) + "x", strings.Repeat("[a]: b\n", 500) + strings.Repeat("[a]", 100),
}

// colours matches the sequences that a display writes for its own styles.
var colours = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// own matches the sequences by which the live panel is drawn.
var own = regexp.MustCompile("\x1b\\[(?:[0-9]*A|2?K|\\?25[hl]|\\?2026[hl])")

// harmless reports control sequences in an output that are not those of the display.
func harmless(t *testing.T, name, out string) {
	t.Helper()
	rest := own.ReplaceAllString(colours.ReplaceAllString(out, ""), "")
	for i, r := range rest {
		if r == '\n' || r == '\r' && name == "rich" {
			continue
		}
		if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' || name != "json" && name != "json stream" && (r >= 0xE000 && r <= 0xF8FF || r >= 0xE0000) {
			t.Fatalf("%s wrote %U after %q", name, r, rest[max(0, i-40):i])
		}
	}
	for _, sequence := range []string{"\x1b[8m", "\x1b[31mx"} {
		if strings.Contains(out, sequence) {
			t.Fatalf("%s wrote %q", name, sequence)
		}
	}
}

// everywhere puts a text into each field of a stream.
func everywhere(t testing.TB, text string) []client.Event {
	t.Helper()
	b, err := json.Marshal(text)
	require.NoError(t, err)
	q := string(b)
	return []client.Event{
		forge("query_analysis", `{"query":`+q+`,"complexity":`+q+`,"estimated_mode":`+q+`}`),
		forge("retrieval_start", `{"tool":`+q+`,"query":`+q+`,"reason":`+q+`,"iteration":2}`), forge("retrieval_result", `{"tool":`+q+`}`),
		forge("tool_call", `{"tool":"t","reason":`+q+`}`), forge("tool_result", `{"tool":"t","result":{"sub_queries":[`+q+`],"entities":[`+q+`]}}`),
		forge("error", `{"code":`+q+`,"message":`+q+`,"recoverable":true}`), forge("generation_start", `{"model":`+q+`}`), forge("token", `{"content":`+q+`}`),
		forge("token", `{"content":" and more "}`), forge("token", `{"content":`+q+`}`), forge("verification", `{"details":[{"claim":`+q+`,"verdict":`+q+`}]}`),
		forge("sources", `{"sources":[{"cited":true,"chunk_id":`+q+`,"document_id":`+q+`,"title":`+q+`,"heading":`+q+`,"text":`+q+`,"path":[`+q+`]}]}`),
		forge("done", `{"mode":`+q+`,"usage":{"input_tokens":1,"models":[`+q+`]}}`)}
}

// TestHostileTexts: texts of models, documents and servers reach the terminal only as text, and take little time.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	all := displays()
	rich := all["rich"]
	delete(all, "rich")
	delete(all, "json stream") // the same output as json
	out, err := rich(stream(everywhere(t, strings.Join(hostile[:25], "\n\n"))...))
	require.NoError(t, err)
	harmless(t, "rich", out)
	for _, text := range hostile {
		for name, show := range all {
			out, err := show(stream(everywhere(t, text)...))
			if err != nil {
				t.Fatalf("%.40q as %s: %v", text, name, err)
			}
			harmless(t, name, out)
		}
	}
}

// TestWidths: the panel keeps its width and height, also with wide and combined characters.
func TestWidths(t *testing.T) {
	t.Parallel()
	for _, text := range append([]string{"漢字 かな 한글 👩🏽‍🚀 e\u0301 " + strings.Repeat("wide 漢字 ", 40), "| a | 漢字 |\n|---|---|\n| b | c |", "```go\nfunc main() { " + strings.Repeat("x", 200) + " }\n```"}, hostile...) {
		var f client.Fold
		for _, ev := range everywhere(t, text[:min(len(text), 700)]) {
			require.NoError(t, f.Add(ev))
		}
		s := f.Snapshot()
		p := display.NewPanel()
		for _, width := range []int{10, 80} {
			shown := p.Final(&s, width, nil)
			for _, height := range []int{3, 50} {
				live := p.Live(&s, width, height, time.Unix(1, 0))
				if n := strings.Count(live, "\n") + 1; n > height {
					t.Errorf("%.40q: %d lines of %d", text, n, height)
				}
				shown += "\n" + live
			}
			harmless(t, "panel", shown)
			for line := range strings.SplitSeq(shown, "\n") {
				if n := ansi.StringWidth(line); n > width {
					t.Fatalf("%.40q: a line of %d columns of %d: %.200q", text, n, width, line)
				}
			}
		}
	}
}

// FuzzDisplays: any text is shown as text.
func FuzzDisplays(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Add(message)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		var fold client.Fold
		for _, ev := range everywhere(t, text) {
			require.NoError(t, fold.Add(ev))
		}
		s := fold.Snapshot()
		var plain, js bytes.Buffer
		for name, d := range map[string]display.Display{"plain": display.NewPlain(&plain, &plain, display.PlainOptions{}), "json": display.NewJSON(&js, true)} {
			h := display.NewHandler(d)
			require.NoError(t, h.Show(s))
			require.NoError(t, d.Close(&s, nil))
			_ = name
		}
		harmless(t, "plain", plain.String())
		harmless(t, "json", js.String())
		harmless(t, "panel", display.NewPanel().Final(&s, 40, nil))
	})
}
