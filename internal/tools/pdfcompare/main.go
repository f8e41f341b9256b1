// Command pdfcompare compares what three readers get out of PDF files: Sluice, PDFium in WebAssembly, and poppler's pdftotext. The files are
// those of Debian's packages that hold the same text in another format too, files that Chromium prints from pages with known text, and
// damaged copies. It is a module of its own, so that PDFium is no dependency of Sluice.
//
// For each file it measures, against the words of the text in the other format:
//
//   - words: the F1 measure of the bag of words; a Chinese, Japanese or Korean character is a word
//   - order: the F1 measure of the bag of sequences of three words
//   - rows: of files with tables, the share of rows whose cells are on one line in their order
//   - processor time in seconds of a process that reads the file, from its start to its end
//
// scripts/pdfcompare.sh gets the packages and runs it.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sample is a PDF file and its text.
type sample struct {
	group, name string
	pdf         []byte
	words       []string
	rows        [][]string // cells of the rows of tables
}

// measures of a file by one reader.
type measures struct{ words, order, rows, cpu float64 }

// reader is a program that prints the text of a PDF file, whose path is its last argument.
type reader struct {
	name    string
	command []string
}

func main() {
	packages := flag.String("packages", "", "`folder` of the unpacked Debian packages")
	sluice := flag.String("sluice", "sluice", "`path` of the program")
	verbose := flag.Bool("v", false, "print each file")
	flag.Parse()
	if flag.Arg(0) == "pdfium" {
		exit(pdfium(flag.Arg(1)))
	}
	self, err := os.Executable()
	exit(err)
	readers := []reader{{"Sluice", []string{*sluice, "parse", "--json"}}, {"PDFium", []string{self, "pdfium"}}, {"pdftotext", []string{"pdftotext", "-enc", "UTF-8"}}}
	dir, err := os.MkdirTemp("", "pdfcompare")
	exit(err)
	defer func() { _ = os.RemoveAll(dir) }()
	samples, err := packaged(*packages)
	exit(err)
	made, err := printed(dir)
	exit(err)
	samples = append(samples, made...)
	samples = append(samples, damaged(samples)...)
	results := make([][]measures, len(samples))
	for i, s := range samples {
		path := filepath.Join(dir, "sample.pdf")
		exit(os.WriteFile(path, s.pdf, 0o600))
		for _, r := range readers {
			m, err := measure(r, path, s)
			exit(err)
			results[i] = append(results[i], m)
			if *verbose {
				fmt.Printf("%-10s %-9s %s words %.3f order %.3f rows %.2f cpu %.2f\n", s.group, r.name, s.name, m.words, m.order, m.rows, m.cpu)
			}
		}
		fmt.Fprintf(os.Stderr, "\r%d of %d ", i+1, len(samples))
	}
	fmt.Fprintln(os.Stderr)
	report(readers, samples, results)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "pdfcompare:", err)
		os.Exit(1)
	}
}

// measure runs a reader on a file. A reader that fails has read what it printed.
func measure(r reader, path string, s sample) (measures, error) {
	args := append(slices.Clone(r.command[1:]), path)
	if r.name == "pdftotext" {
		args = append(args, "-")
	}
	c := exec.Command(r.command[0], args...)
	out, err := c.Output()
	if c.ProcessState == nil {
		return measures{}, err
	}
	text := string(out)
	if r.name == "Sluice" {
		text = blocks(out)
	}
	got := wordsOf(text)
	return measures{
		words: f1(got, s.words), order: f1(triples(got), triples(s.words)), rows: rowsFound(text, s.rows),
		cpu: (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(),
	}, nil
}

// blocks returns the texts of the blocks that sluice parse --json prints.
func blocks(out []byte) string {
	var b strings.Builder
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var block struct {
			Text string `json:"text"`
		}
		if d.Decode(&block) != nil {
			return b.String()
		}
		b.WriteString(block.Text + "\n")
	}
}

// report prints the means of each group of files as a Markdown table.
func report(readers []reader, samples []sample, results [][]measures) {
	var groups []string
	for _, s := range samples {
		if !slices.Contains(groups, s.group) {
			groups = append(groups, s.group)
		}
	}
	fmt.Println("| files | | reader | words | order | rows | processor time (s) |")
	fmt.Println("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
	for _, g := range append(groups, "all") {
		for k, r := range readers {
			var sum measures
			n, tables := 0.0, 0.0
			for i, s := range samples {
				if g != "all" && s.group != g {
					continue
				}
				m := results[i][k]
				n++
				sum.words, sum.order, sum.cpu = sum.words+m.words, sum.order+m.order, sum.cpu+m.cpu
				if len(s.rows) > 0 {
					tables++
					sum.rows += m.rows
				}
			}
			rows := ""
			if tables > 0 {
				rows = fmt.Sprintf("%.2f", sum.rows/tables)
			}
			fmt.Printf("| %s | %.0f | %s | %.3f | %.3f | %s | %.2f |\n", g, n, r.name, sum.words/n, sum.order/n, rows, sum.cpu/n)
		}
	}
}

// damaged returns copies of some files: cut at 70 %, with 20 bytes changed, and without the table of cross-references.
func damaged(samples []sample) []sample {
	small := slices.DeleteFunc(slices.Clone(samples), func(s sample) bool { return len(s.pdf) > 1<<20 })
	slices.SortStableFunc(small, func(a, b sample) int { return cmp.Compare(len(b.pdf), len(a.pdf)) })
	var out []sample
	for i := 0; i < len(small); i += max(len(small)/4, 1) {
		s := small[i]
		s.group = "damaged"
		cut, changed := s, s
		cut.name, cut.pdf = "cut "+s.name, s.pdf[:len(s.pdf)*7/10]
		changed.name, changed.pdf = "changed "+s.name, slices.Clone(s.pdf)
		for k := range 20 {
			changed.pdf[len(s.pdf)/20*k+k%7] ^= 0x55
		}
		unlinked := s
		unlinked.name, unlinked.pdf = "unlinked "+s.name, []byte(strings.ReplaceAll(string(s.pdf), "startxref", "startxxxx"))
		out = append(out, cut, changed, unlinked)
	}
	return out
}
