package files

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestFileName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 300)
	for _, c := range []struct{ name, from, want string }{
		{"a.md", "", "a.md"}, {"/etc/passwd", "", "passwd"}, {`C:\x\b.txt`, "", "b.txt"}, {"../..", "", "file"}, {"", "", "file"}, {" ", "", "file"}, {"a/", "", "file"},
		{"報 no 1.txt", "", "報 no 1.txt"}, {"a\x00\n\xff.md", "", "a\\x00\\x0a\uFFFD.md"}, {long + ".pdf", "", strings.Repeat("ä", 125) + ".pdf"},
		{"", "https://example.org/x/ferns.md?token=secret#y", "ferns.md"}, {"", "https://example.org/", "example.org"}, {"b.md", "https://example.org/a.md", "b.md"},
	} {
		if got := fileName(c.name, c.from); got != c.want {
			t.Errorf("%q from %q is %q, want %q", c.name, c.from, got, c.want)
		}
	}
}

func FuzzFileName(f *testing.F) {
	f.Add("a.md", "")
	f.Add("", "https://example.org/%2e%2e/a?b#c")
	f.Add(strings.Repeat("\u202e", 400)+".x", "http://[::1]/\x7f")
	f.Fuzz(func(t *testing.T, name, from string) {
		got := fileName(name, from)
		if got == "" || len(got) > maxName || strings.ContainsAny(got, "/\x00\n") || !utf8.ValidString(got) || strings.Trim(got, ".") == "" {
			t.Errorf("%q", got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q does not print", got)
		}
		if s := WithoutQuery(from); strings.ContainsAny(s, "?#") {
			t.Errorf("bare %q", s)
		}
	})
}
