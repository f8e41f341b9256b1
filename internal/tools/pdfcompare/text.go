package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/text/unicode/norm"
)

var (
	hyphenated = regexp.MustCompile(`(\p{L})[-\x{2010}\x{00AD}]\s*\n\s*(\p{L})`)
	word       = regexp.MustCompile(`[\p{L}\p{M}\p{N}]+`)
)

// wordsOf returns the words of a text in lower case. Words that are divided at the end of a line are joined.
func wordsOf(text string) []string {
	text = hyphenated.ReplaceAllString(norm.NFKC.String(text), "$1$2")
	var out []string
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		begin := 0
		for i, c := range w {
			if unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
				if i > begin {
					out = append(out, w[begin:i])
				}
				out = append(out, string(c))
				begin = i + len(string(c))
			}
		}
		if begin < len(w) {
			out = append(out, w[begin:])
		}
	}
	return out
}

func triples(words []string) []string {
	var out []string
	for i := range len(words) - min(2, len(words)) {
		out = append(out, strings.Join(words[i:i+3], " "))
	}
	return out
}

// f1 returns the harmonic mean of precision and recall of two bags.
func f1(got, want []string) float64 {
	counts := map[string]int{}
	for _, w := range want {
		counts[w]++
	}
	both := 0
	for _, w := range got {
		if counts[w]--; counts[w] >= 0 {
			both++
		}
	}
	return 2 * float64(both) / max(1, float64(len(got)+len(want)))
}

// rowsFound returns the share of rows whose cells are on one line in their order.
func rowsFound(text string, rows [][]string) float64 {
	var lines []string
	for l := range strings.Lines(text) {
		lines = append(lines, strings.Join(wordsOf(l), " "))
	}
	found := 0
	for _, cells := range rows {
		if slices.ContainsFunc(lines, func(line string) bool {
			for _, c := range cells {
				_, after, ok := strings.Cut(line, strings.Join(wordsOf(c), " "))
				if !ok {
					return false
				}
				line = after
			}
			return true
		}) {
			found++
		}
	}
	return float64(found) / max(1, float64(len(rows)))
}

// plain returns the text of an HTML page without scripts, styles, navigation and the head.
func plain(page string) string {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return ""
	}
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.Type == html.ElementNode && slices.Contains([]string{"script", "style", "head", "nav"}, n.Data):
			return
		case n.Type == html.ElementNode && n.Data == "input":
			for _, a := range n.Attr {
				if a.Key == "value" {
					b.WriteString(" " + a.Val)
				}
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if n.Type == html.ElementNode && !slices.Contains([]string{"b", "i", "span", "em", "code", "a"}, n.Data) {
			b.WriteByte('\n')
		}
	}
	walk(root)
	return b.String()
}

// unpacked reads a file, which may be compressed.
func unpacked(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return data, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// packaged returns the PDF files of Debian's packages, each with the text or HTML beside it: a text file of the same name, or else the
// pages of the same folder.
func packaged(root string) ([]sample, error) {
	var out []sample
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, isPDF := strings.CutSuffix(strings.TrimSuffix(path, ".gz"), ".pdf")
		if !isPDF || strings.Contains(path, "/images/") {
			return nil
		}
		texts, err := beside(name)
		if err != nil || len(texts) == 0 {
			return err
		}
		var b strings.Builder
		for _, t := range texts {
			data, err := unpacked(t)
			if err != nil {
				return err
			}
			if text := string(data); strings.Contains(t, ".htm") {
				b.WriteString(plain(text))
			} else {
				b.WriteString(text)
			}
			b.WriteByte('\n')
		}
		pdf, err := unpacked(path)
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(root, path)
		out = append(out, sample{group: "Debian's documentation", name: relative, pdf: pdf, words: wordsOf(b.String())})
		return nil
	})
	return out, err
}

// beside returns the files with the text of name.pdf.
func beside(name string) ([]string, error) {
	for _, pattern := range []string{name + ".txt*", filepath.Join(filepath.Dir(name), "*.html"), filepath.Join(filepath.Dir(name), "*", "*.html")} {
		found, err := filepath.Glob(pattern)
		found = slices.DeleteFunc(found, func(p string) bool {
			return strings.Contains(p, "search") || strings.Contains(p, "genindex")
		})
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	return nil, nil
}
