package answer

import (
	"cmp"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

const (
	// versionSimilarity is the least similarity of passages of two versions of a document, and yearSimilarity if only years tell them apart, since
	// the reports of two years are alike and say different things.
	versionSimilarity = 0.5
	yearSimilarity    = 0.8
	// formatShare is the least share of a passage that another one holds for both to be the same text in two formats. It is the share that two passages of
	// equal size with versionSimilarity have in common. Passages of two formats differ in size, because formats have other headings and paragraphs.
	formatShare = 2. / 3
	// shingleWords is the length of the sequences of words that are compared.
	shingleWords = 3
)

// fingerprint is a sketch of the sequences of words of a passage: the least of their hashes, ascending. Its similarity to another is an estimate of
// the Jaccard coefficient of the sets: A. Broder, On the resemblance and containment of documents, 1997.
type fingerprint struct {
	least []uint64
	size  int    // number of all sequences
	all   uint64 // hash of all words in their order
}

// sketchSize is the most hashes of a fingerprint. The estimate of a coefficient of 0.5 has a standard deviation of 0.05.
const sketchSize = 100

// fingerprintOf returns the fingerprint of a text. The marks of lists and the fences of code do not count, because formats and versions differ in them.
func fingerprintOf(text string) fingerprint {
	const offset, prime = 14695981039346656037, 1099511628211 // of FNV-1a with 64 bits
	words := make([]uint64, 0, len(text)/5)
	for line := range strings.SplitSeq(text, "\n") {
		h := uint64(offset)
		if mayBegin(line) {
			line = layout.ReplaceAllLiteralString(line, "")
		}
		for _, r := range line {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				h = (h ^ uint64(unicode.ToLower(r))) * prime
			} else if h != offset {
				words, h = append(words, h), offset
			}
		}
		if h != offset {
			words = append(words, h)
		}
	}
	f := fingerprint{least: make([]uint64, 0, len(words))}
	for _, w := range words {
		f.all = (f.all ^ w) * prime
	}
	for i := range max(0, len(words)-shingleWords+1) {
		x := uint64(offset)
		for _, w := range words[i : i+shingleWords] {
			x = (x ^ w) * prime
			x ^= x >> 32
		}
		f.least = append(f.least, x)
	}
	slices.Sort(f.least)
	f.least = slices.Compact(f.least)
	f.size = len(f.least)
	f.least = f.least[:min(len(f.least), sketchSize)]
	return f
}

// similarity returns the share of the least hashes of both that are in both, 0..1.
func (f *fingerprint) similarity(o *fingerprint) float64 {
	a, b, both, n := f.least, o.least, 0, 0
	for ; n < sketchSize && (len(a) > 0 || len(b) > 0); n++ {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			a = a[1:]
		case len(a) == 0 || b[0] < a[0]:
			b = b[1:]
		default:
			both++
			a, b = a[1:], b[1:]
		}
	}
	return float64(both) / float64(max(n, 1))
}

// share returns which share of the sequences of f is also in o, 0..1. similar is their similarity.
func (f *fingerprint) share(o *fingerprint, similar float64) float64 {
	return min(1, similar/(1+similar)*float64(f.size+o.size)/float64(max(f.size, 1)))
}

// versionMark matches what tells versions of a document apart in its path: v2, 1.4, 2024 or 2024-05-01.
var versionMark = regexp.MustCompile(`(?i)\bv\d+(?:\.\d+)*\b|\b\d+(?:\.\d+)+\b|\b(?:19|20)\d\d(?:-\d\d){0,2}\b`)

// extension matches the extension of a file, which may be compressed.
var extension = regexp.MustCompile(`(?i)(?:\.[a-z][a-z0-9]{0,4})?(?:\.(?:gz|bz2|xz|zst))?$`)

// layout matches the mark of an item of a list, such as - or 2. or (a), and the fence of a block of code.
var layout = regexp.MustCompile("^\\s*(?:[-*+•] |\\(?(?:\\d{1,3}|[a-zA-Z])[.)] |(?:```|~~~).*$)")

// mayBegin reports whether a line may begin with what layout matches. Most lines do not, and the regular expression is much slower.
func mayBegin(line string) bool {
	line = strings.TrimLeft(line, "\t\n\f\r ")
	n := strings.IndexAny(line[:min(len(line), 5)], ".) ")
	switch {
	case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"), strings.HasPrefix(line, "• "):
		return true
	case n == 1 && strings.ContainsAny(line[:1], "-*+"):
		return true
	}
	return n > 0 && n+1 < len(line) && line[n] != ' ' && line[n+1] == ' '
}

// formats are extensions of documents. Files with others, such as Dockerfile.dev, are not the same document in another format.
var formats = func() map[string]bool {
	out := map[string]bool{}
	for f := range strings.FieldsSeq("txt text md markdown rst adoc asciidoc html htm xhtml xml pdf ps doc docx odt rtf epub ppt pptx odp xls xlsx ods csv tsv man info texi") {
		out[f] = true
	}
	return out
}()

// isFormat reports whether an extension, which may be followed by that of a compression, is one of a document. Names without one are texts.
func isFormat(extension string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(extension), "."), ".")
	return extension == "" || formats[first]
}

var year = regexp.MustCompile(`^\d{4}`)

// duplicates finds passages of the pool that repeat others.
type duplicates struct {
	job      *job
	prints   map[int]*fingerprint // by the index in the pool
	versions map[corpus.DocumentID]version
}

func (d *duplicates) print(i int) *fingerprint {
	if d.prints == nil {
		d.prints = map[int]*fingerprint{}
	}
	if d.prints[i] == nil {
		f := fingerprintOf(d.job.pool[i].Chunk.Text)
		d.prints[i] = &f
	}
	return d.prints[i]
}

// of returns the place in kept, whose elements are indexes in the pool, of the passage that a passage repeats, or -1. It has the same words, or is
// of another version or format of a document: that of the kept passage, or one that repeats it, of outputs. newer reports that the passage is to be read in
// place of the kept one: of two versions, the one that the question names, or else the newer one. If the question names both, both are read.
func (d *duplicates) of(ctx context.Context, i int, kept []int, outputs []event.Found) (place int, newer bool) {
	c := d.job.pool[i]
	if c.pinned {
		return -1, false
	}
	for place, k := range kept {
		o := d.job.pool[k]
		similar := d.print(i).similarity(d.print(k))
		share := d.print(i).share(d.print(k), similar)
		if similar < versionSimilarity && share < formatShare || o.pinned {
			continue
		}
		d.job.describe(ctx, []corpus.Chunk{c.Chunk, o.Chunk})
		a := d.versionOf(c.Chunk.Document)
		for _, other := range append([]corpus.DocumentID{o.Chunk.Document}, outputs[place].Also...) {
			b := d.versionOf(other)
			if a.of == b.of && a.text == b.text && a.format != b.format && share >= formatShare && isFormat(a.format) && isFormat(b.format) {
				return place, a.newerThan(b)
			}
			if a.of != b.of || a.text == b.text || similar < versionSimilarity || similar < yearSimilarity && !a.numbered {
				continue
			}
			if a.asked && b.asked {
				return -1, false
			}
			return place, a.asked || !b.asked && a.newerThan(b)
		}
		if d.print(i).all == d.print(k).all {
			return place, false
		}
	}
	return -1, false
}

// version is the version of a document.
type version struct {
	of       string // the path without what differs between versions and formats
	format   string // the extension
	text     string // of the marks of the version
	date     string // of the document
	numbered bool   // not only by years
	asked    bool   // the question names it
}

// versionOf returns the version of a document by its path, which describe has loaded.
func (d *duplicates) versionOf(id corpus.DocumentID) version {
	v, known := d.versions[id]
	if !known {
		v = d.job.versionOf(d.job.files[id])
		if d.versions == nil {
			d.versions = map[corpus.DocumentID]version{}
		}
		d.versions[id] = v
	}
	return v
}

func (j *job) versionOf(f file) version {
	v := version{of: path.Clean(versionMark.ReplaceAllString(f.uri, "")), text: strings.Join(versionMark.FindAllString(f.uri, -1), " ")}
	v.format = extension.FindString(v.of)
	v.of = strings.TrimSuffix(v.of, v.format)
	if f.meta != nil {
		v.date = f.meta.Date
	}
	for mark := range strings.FieldsSeq(v.text) {
		v.numbered = v.numbered || !year.MatchString(mark)
		v.asked = v.asked || asksVersion(j.q.Query, mark)
	}
	return v
}

// asksVersion reports whether a question names a version: v2 and version 2 for v2, 1.4 and v1.4 for 1.4.
func asksVersion(question, mark string) bool {
	number := strings.TrimLeft(mark, "vV")
	if !strings.Contains(question, number) {
		return false
	}
	before := `v?`
	if number != mark && !strings.Contains(number, ".") {
		before = `(?:v|version )`
	}
	return regexp.MustCompile(`(?i)(?:^|[^\w.])` + before + regexp.QuoteMeta(number) + `(?:\.?$|[^\w.]|\.\D)`).MatchString(question)
}

// newerThan compares the marks of the versions number by number, and the dates if there is no difference.
func (v version) newerThan(o version) bool {
	digits := func(c rune) bool { return c < '0' || c > '9' }
	a, b := strings.FieldsFunc(v.text, digits), strings.FieldsFunc(o.text, digits)
	number := func(x, y string) int {
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	}
	return cmp.Or(slices.CompareFunc(a, b, number), cmp.Compare(v.date, o.date)) > 0
}
