package parse

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/ledongthuc/pdf"
)

// pdfEntry is an entry of a cross-reference stream: PDF 32000-1:2008, section 7.5.8.3.
type pdfEntry struct {
	kind uint8  // 1: an object of the file, 2: an object of an object stream
	a    uint64 // offset, or the number of the object stream
	b    uint32 // generation, or the index in the object stream
}

var (
	pdfObject = regexp.MustCompile(`(\d{1,9})[\s\x00]+(\d{1,5})[\s\x00]+obj\b`)
	pdfRoot   = regexp.MustCompile(`/Root[\s\x00]+(\d{1,9}[\s\x00]+\d{1,5}[\s\x00]+R)\b`)
	pdfTyped  = regexp.MustCompile(`/Type[\s\x00]*/(Catalog|Page|ObjStm)\b`)
)

// pdfMaxFound limits the objects of a file that is repaired.
const pdfMaxFound = 1 << 20

// repairPDF returns a damaged file with a new table of cross-references at its end, made of the objects that are found in it. Without a
// catalog, all pages that are found are the document, in the order of the file. It returns nil if there is nothing to repair, or the file
// is encrypted.
func repairPDF(ctx context.Context, data []byte) []byte {
	if encryptKey.Match(data) || encryptHidden.Match(data) {
		return nil
	}
	table := map[int]pdfEntry{}
	type object struct{ number, at int }
	var objects []object
	for _, m := range pdfObject.FindAllSubmatchIndex(data, pdfMaxFound) {
		n, _ := strconv.Atoi(string(data[m[2]:m[3]]))
		generation, _ := strconv.Atoi(string(data[m[4]:m[5]]))
		if n > 0 && n < pdfMaxFound-10 {
			table[n] = pdfEntry{1, uint64(m[0]), uint32(generation)} //nolint:gosec // an offset, and at most 5 digits
			objects = append(objects, object{n, m[0]})
		}
	}
	found := map[string][]int{} // numbers of objects by their type
	for _, m := range pdfTyped.FindAllSubmatchIndex(data, pdfMaxFound) {
		i, _ := slices.BinarySearchFunc(objects, m[0], func(o object, at int) int { return cmp.Compare(o.at, at) })
		if i > 0 && table[objects[i-1].number].a == uint64(objects[i-1].at) { //nolint:gosec // an offset
			kind := string(data[m[2]:m[3]])
			found[kind] = append(found[kind], objects[i-1].number)
		}
	}
	if len(table) == 0 {
		return nil
	}
	if streams := found["ObjStm"]; len(streams) > 0 {
		readObjectStreams(ctx, appendTable(data, table, "/Streams["+references(streams)+"]"), streams, table, found)
	}
	out := slices.Clip(data)
	var root string
	if m := pdfRoot.FindAllSubmatch(data, -1); len(m) > 0 {
		root = string(m[len(m)-1][1])
	} else if c := found["Catalog"]; len(c) > 0 {
		root = fmt.Sprintf("%d 0 R", c[len(c)-1])
	} else {
		last := slices.Max(slices.Collect(maps.Keys(table)))
		out, root = addPages(out, table, last, found["Page"])
	}
	return appendTable(out, table, "/Root "+root)
}

// addPages appends a catalog and a tree of the pages, with the numbers after last.
func addPages(data []byte, table map[int]pdfEntry, last int, pages []int) (out []byte, root string) {
	data = append(data, '\n')
	table[last+1] = pdfEntry{kind: 1, a: uint64(len(data))}
	data = fmt.Appendf(data, "%d 0 obj<</Type/Catalog/Pages %d 0 R>>endobj\n", last+1, last+2)
	table[last+2] = pdfEntry{kind: 1, a: uint64(len(data))}
	data = fmt.Appendf(data, "%d 0 obj<</Type/Pages/Kids[%s]/Count %d>>endobj\n", last+2, references(pages), len(pages))
	return data, fmt.Sprintf("%d 0 R", last+1)
}

func references(numbers []int) string {
	var b bytes.Buffer
	for _, n := range numbers {
		fmt.Fprintf(&b, "%d 0 R ", n)
	}
	return b.String()
}

// appendTable appends a cross-reference stream with the entries, whose dictionary has the keys too.
func appendTable(data []byte, table map[int]pdfEntry, keys string) []byte {
	size := slices.Max(slices.Collect(maps.Keys(table))) + 1
	out := append(slices.Clip(data), '\n')
	at := len(out)
	out = fmt.Appendf(out, "%d 0 obj<</Type/XRef/Size %d/W[1 8 4]/Length %d%s>>stream\n", size, size, 13*size, keys)
	for n := range size {
		e := table[n]
		out = append(out, e.kind)
		out = binary.BigEndian.AppendUint64(out, e.a)
		out = binary.BigEndian.AppendUint32(out, e.b)
	}
	return fmt.Appendf(out, "\nendstream\nendobj\nstartxref\n%d\n%%%%EOF", at)
}

// readObjectStreams adds the objects of the object streams of a repaired file to the table, unless the file has them outside of streams too,
// and those with a type to found.
func readObjectStreams(ctx context.Context, data []byte, streams []int, table map[int]pdfEntry, found map[string][]int) {
	_ = attempt(func() {
		r, err := openPDF(ctx, data)
		if err != nil {
			return
		}
		left := int64(pdfStreams)
		list := r.Trailer().Key("Streams")
		for i := range list.Len() {
			_ = attempt(func() { left -= readObjectStream(list.Index(i), min(left, pdfStream), streams[i], table, found) })
		}
	})
}

// readObjectStream returns the size of the stream.
func readObjectStream(v pdf.Value, most int64, number int, table map[int]pdfEntry, found map[string][]int) int64 {
	n, first := v.Key("N").Int64(), v.Key("First").Int64()
	if v.Kind() != pdf.Stream || n <= 0 || n > int64(pdfMaxFound) || first <= 0 {
		return 0
	}
	text, err := io.ReadAll(io.LimitReader(v.Reader(), most))
	if err != nil && len(text) == 0 || first > int64(len(text)) {
		return int64(len(text))
	}
	lx, body := &lexer{data: text[:first]}, text[first:]
	var pairs [][2]int // number and offset
	for range n {
		id, ok := lx.next()
		at, more := lx.next()
		if !ok || !more || id.num < 0 || id.num > float64(pdfMaxFound) || at.num < 0 || at.num > float64(len(body)) {
			break
		}
		pairs = append(pairs, [2]int{int(id.num), int(at.num)})
	}
	for i, p := range pairs {
		if p[0] <= 0 || p[0] >= pdfMaxFound-10 || table[p[0]].kind == 1 {
			continue
		}
		table[p[0]] = pdfEntry{2, uint64(number), uint32(i)} //nolint:gosec // a number of an object, and a small index
		end := len(body)
		if i+1 < len(pairs) {
			end = max(p[1], pairs[i+1][1])
		}
		if m := pdfTyped.FindSubmatch(body[p[1]:end]); m != nil {
			found[string(m[1])] = append(found[string(m[1])], p[0])
		}
	}
	return int64(len(text))
}
