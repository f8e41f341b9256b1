package chat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                         {},
		"  a  b\tc ":               {"a", "b", "c"},
		`"a b" 'c d' e\ f`:         {"a b", "c d", "e f"},
		`a"b c"d`:                  {"ab cd"},
		`'it is \ plain' "a \" b"`: {`it is \ plain`, `a " b`},
		`""`:                       {""},
		`häuser ⟦⟦1⟧⟧`:             {"häuser", "⟦⟦1⟧⟧"},
	} {
		all, err := words(in)
		if err != nil || !cmp.Equal(texts(all), want) {
			t.Errorf("%q gives %q, %v; want %q", in, texts(all), err, want)
		}
	}
	if _, err := words(`a "b`); !errors.Is(err, errQuote) {
		t.Errorf("an open quote: %v", err)
	}
}

// FuzzWords: words parses a quoted text as the original text.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "a b", `a\"b'`, "*?[", "\x1b[2J", "a\u2028b", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		all, _ := words(s)
		for _, w := range all {
			if w.start < 0 || w.start >= len(s) {
				t.Fatalf("a word begins at %d of %q", w.start, s)
			}
		}
		s = strings.ToValidUTF8(s, "?")
		all, err := words(quoted(s))
		if s == "" {
			return
		}
		if err != nil || len(all) != 1 || all[0].text != s {
			t.Errorf("%q is written as %q, which is read as %q, %v", s, quoted(s), texts(all), err)
		}
	})
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"uplaod": "upload", "quti": "quit", "hlep": "help", "collection": "collections", "s": "sources", "mdoe": "mode", "xyzzy": "", "": "",
		strings.Repeat("upload", 100): "",
	} {
		_, _, err := find("/" + in)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if in != "" && (want == "") != !strings.Contains(said, "did you mean /"+want+"?") || want == "" && !strings.Contains(said, "/help") {
			t.Errorf("/%s: %s; want %q", in, said, want)
		}
	}
}

func TestIsCommand(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{"/help": true, " /use a,b": true, "/nothing": true, "/usr/bin is what?": false, "what is /help?": false, "": false} {
		if isCommand(in) != want {
			t.Errorf("%q: %v", in, !want)
		}
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "chat_history")
	require.NoError(t, os.WriteFile(path, []byte("not json\n\"first\"\n\"se"), 0o644))
	h, err := openHistory(path)
	require.NoError(t, err)
	for _, e := range []string{"", "two\nlines", "two\nlines", "/upload https://user:secret@host/a", strings.Repeat("x", maxEntry+1), "last"} {
		require.NoError(t, h.add(e))
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history may be read by others: %v %v", info.Mode(), err)
	}
	raw, _ := os.ReadFile(path)
	if strings.Contains(string(raw), "secret") {
		t.Error("a password is kept")
	}
	if h, err = openHistory(path); err != nil {
		t.Fatal(err)
	}
	// An incomplete line after a crash loses that entry and the next one.
	if want := []string{"first", "last"}; !cmp.Equal(h.entries, want) {
		t.Errorf("there is %q, want %q", h.entries, want)
	}
	var seen []string
	for e, ok := h.back("draft"); ok; e, ok = h.back(e) {
		seen = append(seen, e)
	}
	for e, ok := h.forth(); ok; e, ok = h.forth() {
		seen = append(seen, e)
	}
	if want := []string{"last", "first", "last", "draft"}; !cmp.Equal(seen, want) {
		t.Errorf("up and down give %q, want %q", seen, want)
	}
}

// TestHistoryIsBounded checks the limits of the entries in memory and of the file.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "chat_history")
	var b strings.Builder
	for i := range 120 {
		b.Write(encodeEntry(strings.Repeat(string(rune('a'+i%26)), maxEntry-i)))
	}
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	if _, err := openHistory(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > maxHistory || info.Size() < maxHistory/4 || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %d bytes, %v: %v", info.Size(), info.Mode(), err)
	}
	h := &history{}
	for i := range 3 * maxEntries {
		_ = h.add(strings.Repeat("x", i%7+1))
	}
	if len(h.entries) != maxEntries {
		t.Errorf("%d entries", len(h.entries))
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a file.md", "another.md", ".hidden", "escape\x1b[2J.md", "sub/x.txt"} {
		p := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o700))
		require.NoError(t, os.WriteFile(p, []byte("x"), 0o600))
	}
	s := &conversation{known: []collection{{"vs_1", "Harbour papers"}, {"vs_2", "twin"}, {"vs_3", "twin"}, {"vs_4", "a,b"}, {"vs_5", "evil\x1b[2J"}},
		names: []string{"lock.md", "Log.md"}, sessions: []string{"chat_a2", "chat_b", "chat_a1"}}
	for _, c := range []struct {
		in   string
		from int
		want []string
	}{
		{"/q", 0, []string{"/quit"}},
		{"/u", 0, []string{"/upload ", "/use "}},
		{"/upload " + dir + "/a", 8, []string{dir + `/a\ file.md `, dir + "/another.md "}},
		{"/upload x.md " + dir + "/an", 13, []string{dir + "/another.md "}},
		{`/upload "` + dir + "/a f", 8, []string{dir + `/a\ file.md `}},
		{"/upload " + dir + `/a\ `, 8, []string{dir + `/a\ file.md `}},
		{"/upload " + dir + "/s", 8, []string{dir + "/sub/"}},
		{"/upload " + dir + "/e", 0, nil},
		{"/upload " + dir + "/.h", 8, []string{dir + "/.hidden "}},
		{"/upload https://host/", 0, nil},
		{"/export ~", 8, []string{"~/"}},
		{"/use harb", 5, []string{"Harbour papers"}},
		{"/use Harbour papers,vs", 20, []string{"vs_2", "vs_3", "vs_4", "vs_5"}},
		{"/use twin", 5, nil},
		{"/mode h", 6, []string{"high"}},
		{"/files l", 7, []string{"lock.md"}},
		{"/session chat_a", 9, []string{"chat_a1", "chat_a2"}},
		{"/nothing x", 0, nil},
		{"What is a cursor?", 0, nil},
		{"/use a\nb", 0, nil},
	} {
		from, got := s.complete(c.in)
		if len(c.want) == 0 && len(got) == 0 {
			continue
		}
		if from != c.from || !cmp.Equal(got, c.want) {
			t.Errorf("%q is completed from %d by %q; want from %d %q", c.in, from, got, c.from, c.want)
		}
	}
}

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	for _, name := range []string{"a.md", "b.md", "c.txt", "[x].md"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d.md"), 0o700))
	for in, want := range map[string][]string{
		"~/*.md":                  {"~/[x].md", "~/a.md", "~/b.md"},
		"~/a.md ~/a.md ~/?.txt":   {"~/a.md", "~/c.txt"},
		`"~/[x].md"`:              {"~/[x].md"},
		"https://host/x?y=* ~/b*": {"~/b.md", "https://host/x?y=*"},
		"~/*.pdf":                 nil,
		"~/[":                     nil,
	} {
		all, err := words(in)
		require.NoError(t, err)
		got, err := expand(all)
		for i := range got {
			got[i] = strings.Replace(got[i], dir, "~", 1)
		}
		if !cmp.Equal(got, want) || (want == nil) != (err != nil) {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
}

// TestFit: pasted text is cleaned, and limited in characters and lines.
func TestFit(t *testing.T) {
	t.Parallel()
	if got := fit("a\x1b[2Jb\r\nc\u202ed"); got != "a[2Jb\ncd" {
		t.Errorf("%q", got)
	}
	if got := fit(strings.Repeat("x\n", 10_000)); strings.Count(got, "\n") >= maxLines {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
	if got := fit(strings.Repeat("漢", 1<<20)); len([]rune(got)) > maxTyped || !strings.HasSuffix(got, "漢") {
		t.Errorf("%d characters", len([]rune(got)))
	}
}
