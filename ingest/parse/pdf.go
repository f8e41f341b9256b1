package parse

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"unicode"

	"github.com/ledongthuc/pdf"
)

const (
	// pdfStreams limits the decompressed size of all streams of a file, and pdfStream that of one.
	pdfStreams = 512 << 20
	pdfStream  = 64 << 20
	// pdfPageBudget limits the operators and glyphs of a page, and pdfBudget those of a file. Expensive ones count more.
	pdfPageBudget = 4_000_000
	pdfBudget     = 400_000_000
	pdfLines      = 1_500_000 // of text in a file
	pdfCodes      = 2_000_000 // of all fonts of a file
	// pdfStack limits the recursion of the library, which follows references without a limit. Beyond it, reads from the file fail.
	pdfStack = 2000
)

// pdfSlots limits the PDF files that this process parses concurrently, including those whose time is over and whose parser still runs.
var pdfSlots = make(chan struct{}, 16)

// parsePDF parses a PDF file in another goroutine, so that it can return if the library loops without reading.
func parsePDF(ctx context.Context, src source) (Parsed, error) {
	select {
	case pdfSlots <- struct{}{}:
	case <-ctx.Done():
		return Parsed{}, ctx.Err()
	}
	type result struct {
		p   Parsed
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-pdfSlots }()
		p, err := readPDF(ctx, src)
		done <- result{p, err}
	}()
	select {
	case r := <-done:
		return r.p, r.err
	case <-ctx.Done():
		return Parsed{}, ctx.Err()
	}
}

func readPDF(ctx context.Context, src source) (p Parsed, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = Parsed{}, refuse(fmt.Errorf("panic: %v", r), "not valid PDF")
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	if i := bytes.Index(src.data[:min(len(src.data), 1024)], []byte("%PDF-")); i > 0 {
		src.data = src.data[i:]
	}
	d, pages, err := openPages(ctx, src, src.data)
	if err != nil && ctx.Err() == nil {
		if repaired := repairPDF(ctx, src.data); repaired != nil {
			if fixed, found, err := openPages(ctx, src, repaired); err == nil {
				d, pages = fixed, found
			}
		}
	}
	if len(pages) == 0 {
		return Parsed{}, err
	}
	for i, page := range pages {
		if ctx.Err() != nil {
			return Parsed{}, ctx.Err()
		}
		lines := d.pageLines(page)
		if d.shown -= len(lines); d.shown < 0 {
			return Parsed{}, tooLarge("holds more than %d lines", pdfLines)
		}
		if d.text < 0 {
			return Parsed{}, tooLarge("holds more than %d bytes of text", src.limits.Text)
		}
		for j := range lines {
			lines[j].page = i + 1
		}
		d.lines = append(d.lines, lines)
	}
	p.Pages = len(pages)
	d.info(&p)
	p.Blocks = pdfBlocks(d.lines, d.outline())
	if unreadable := d.judge(p); unreadable != nil {
		return p, cmp.Or(err, unreadable)
	}
	return p, nil
}

// openPages opens a file and finds its pages, of which there is at least one.
func openPages(ctx context.Context, src source, data []byte) (*pdfDoc, []pdfPage, error) {
	r, err := openPDF(ctx, data)
	if err != nil {
		return nil, nil, err
	}
	d := &pdfDoc{ctx: ctx, r: r, limits: src.limits, left: pdfStreams, fonts: map[string]*pdfFont{}, codes: pdfCodes,
		budget: pdfBudget, text: src.limits.Text, shown: pdfLines}
	pages, err := d.pages()
	return d, pages, err
}

// judge rejects a file whose pages contain almost no text.
func (d *pdfDoc) judge(p Parsed) error {
	letters := 0
	for _, b := range p.Blocks {
		for _, r := range b.Text {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				letters++
			}
		}
	}
	switch {
	case letters > 3*p.Pages:
		return nil
	case d.images > 0:
		return refuse(ErrPictures, "holds pictures of pages and no text: it looks scanned and needs text recognition first")
	case d.broken != nil && d.r.Trailer().Key("Encrypt").Kind() != pdf.Null:
		// The library checks passwords of 40-bit keys and then decrypts with too long a key.
		return refuse(d.broken, "the PDF is encrypted in a way that cannot be read")
	case d.broken != nil:
		return refuse(d.broken, "not valid PDF: no text could be read")
	case letters == 0:
		return refuse(nil, "holds no text")
	}
	return nil
}

// openPDF converts the bytes to the form that the library requires, and validates what the library trusts.
func openPDF(ctx context.Context, data []byte) (*pdf.Reader, error) {
	if i := bytes.LastIndex(data, []byte("%%EOF")); i > 0 {
		data = data[:i+5]
	} else {
		return nil, refuse(nil, "not valid PDF: its end is missing")
	}
	if len(data) < 100 {
		return nil, refuse(nil, "not valid PDF")
	}
	if err := checkNumbers(data); err != nil {
		return nil, err
	}
	head := []byte("%PDF-1.7\n")
	file := &pdfFile{ctx: ctx, head: head, data: data, left: 64*int64(len(data)) + 256<<20}
	locks := encryptKey.FindAllIndex(data, -1)
	if len(locks) > 0 {
		// The library follows the encryption entry before its cross-references can be checked, so check them first
		// on a copy without that entry.
		masked := bytes.Clone(data)
		for _, at := range locks {
			masked[at[1]-1] = 'x'
		}
		r, err := pdf.NewReader(&pdfFile{ctx: ctx, head: head, data: masked, left: file.left}, int64(len(data)))
		if err != nil {
			return nil, refuse(err, "not valid PDF")
		}
		if err := checkReferences(r, data); err != nil {
			return nil, err
		}
	}
	r, err := pdf.NewReader(file, int64(len(data)))
	file.opened = true
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return nil, refuse(err, "the PDF is encrypted and needs a password")
	case err != nil && len(locks) > 0:
		return nil, refuse(err, "the PDF is encrypted in a way that cannot be read")
	case err != nil:
		return nil, refuse(err, "not valid PDF")
	}
	return r, checkReferences(r, data)
}

// pdfFile is a file in memory. Reads fail when ctx has ended, too much was read, or the reader recurses too deeply.
type pdfFile struct {
	ctx  context.Context
	head []byte // replaces the first bytes of data
	data []byte
	left int64
	// seen counts the reads at each offset while the file is opened, because cross-reference tables may refer to each other.
	opened bool
	seen   map[int64]int
}

// pdfRead is the least that a read counts, so that many small reads reach the limit too.
const pdfRead = 1024

func (f *pdfFile) ReadAt(b []byte, off int64) (int, error) {
	if f.left -= int64(max(len(b), pdfRead)); f.left < 0 {
		panic(errors.New("read too much"))
	}
	if !f.opened {
		if f.seen == nil {
			f.seen = map[int64]int{}
		}
		if f.seen[off]++; f.seen[off] > 16 {
			panic(errors.New("tables of cross-references lead back to each other"))
		}
	}
	if err := f.ctx.Err(); err != nil {
		panic(err)
	}
	var pc [1]uintptr
	if runtime.Callers(pdfStack, pc[:]) > 0 {
		panic(errors.New("references nest too deep"))
	}
	if off < 0 || off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.data[off:])
	if off < int64(len(f.head)) {
		copy(b, f.head[off:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// escaped returns a pattern for a PDF name. Each letter may be written as #xx.
func escaped(name string) string {
	var b strings.Builder
	b.WriteByte('/')
	for i := range len(name) - 1 {
		fmt.Fprintf(&b, "(?:%c|#(?i:%02x))", name[i], name[i])
	}
	return b.String() + fmt.Sprintf("(?:%c|#(?i:%02x))", name[len(name)-1], name[len(name)-1])
}

const pdfBlank = `(?:[\s\x00]|%[^\r\n]*[\r\n])*`

var (
	encryptKey    = regexp.MustCompile(escaped("Encryp") + "t")
	encryptHidden = regexp.MustCompile(escaped("Encryp") + "#74")
	tableSizes    = regexp.MustCompile("(?:" + escaped("Size") + "|" + escaped("Columns") + ")" + pdfBlank + `\+?(\d+)`)
	tableIndex    = regexp.MustCompile(escaped("Index") + pdfBlank + `\[((?:%[^\r\n]*[\r\n]|[^\]%])*)`)
	digits        = regexp.MustCompile(`\d+`)
)

// checkNumbers rejects tables with a stated size that the library would allocate and the file cannot contain.
func checkNumbers(data []byte) error {
	most := max(len(data)/16, 1<<20) // objects; a plain entry has 20 bytes, and an object has more
	all := 64 * most                 // each change to the file may repeat parts of a table, and an entry may have no bytes
	check := func(number []byte) error {
		n, err := strconv.Atoi(string(number))
		if all -= n; err != nil || n > most || all < 0 {
			return refuse(nil, "not valid PDF: a table is larger than the file")
		}
		return nil
	}
	for _, m := range tableSizes.FindAllSubmatch(data, -1) {
		if err := check(m[1]); err != nil {
			return err
		}
	}
	for _, m := range tableIndex.FindAllSubmatch(data, -1) {
		for _, n := range digits.FindAll(m[1], -1) {
			if err := check(n); err != nil {
				return err
			}
		}
	}
	if encryptHidden.Match(data) {
		return refuse(nil, "the PDF is encrypted in a way that cannot be read")
	}
	return checkSections(data, check)
}

// checkSections checks the subsections of plain cross-reference tables: pairs of first object and count, and for each object an offset, a
// generation and a letter.
func checkSections(data []byte, check func([]byte) error) error {
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("xref"))
		if i < 0 {
			return nil
		}
		at += i + len("xref")
		lx := &lexer{data: data, at: at}
		var numbers [][]byte
		for lx.blanks(); lx.at < len(data) && strings.IndexByte("+-0123456789nf", data[lx.at]) >= 0; lx.blanks() {
			word := lx.regular()
			if word[0] == 'n' || word[0] == 'f' {
				numbers = numbers[:0]
				continue
			}
			// Four numbers before a letter are a subsection's two and an entry's two; a subsection may be empty.
			if numbers = append(numbers, word); len(numbers) > 4 && len(numbers)%2 == 0 || len(numbers) == 4 {
				for _, n := range numbers[len(numbers)-4 : len(numbers)-2] {
					if err := check(n); err != nil {
						return err
					}
				}
			}
		}
		at = max(at, lx.at)
	}
}

// checkReferences rejects object streams that are inside an object stream, because the library would recurse until the stack overflows,
// which ends the process. It also rejects object streams with more objects than a file can contain, because the library would look for
// each. It reads the library's private table by reflection. If its fields are renamed, all files are rejected and the tests fail.
func checkReferences(r *pdf.Reader, data []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = refuse(fmt.Errorf("read cross-references: %v", p), "not valid PDF")
		}
	}()
	table := reflect.ValueOf(r).Elem().FieldByName("xref")
	checked := map[uint64]bool{}
	for i := range table.Len() {
		if e := table.Index(i); e.FieldByName("inStream").Bool() {
			id := e.FieldByName("stream").FieldByName("id").Uint()
			if id >= uint64(table.Len()) || id > math.MaxInt32 || checked[id] {
				continue
			}
			checked[id] = true
			holder := table.Index(int(id))
			if holder.FieldByName("inStream").Bool() {
				return refuse(nil, "not valid PDF: object streams contain each other")
			}
			if at := holder.FieldByName("offset").Int(); at > 0 && at < int64(len(data)) {
				if err := checkHolder(data, int(at)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkHolder rejects an object stream whose number of objects is a reference, or more than any writer uses, because the library reads
// that many objects, also beyond the end of the data.
func checkHolder(data []byte, at int) error {
	lx := &lexer{data: data, at: at}
	for range 1000 {
		o, ok := lx.next()
		if !ok || o.kind == opKeyword && (o.text == "stream" || o.text == "endobj") {
			return nil
		}
		if o.kind != opName || o.text != "N" {
			continue
		}
		n, _ := lx.next()
		after := *lx
		_, _ = after.next()
		if r, _ := after.next(); n.kind != opNumber || n.num > 1<<20 || r.kind == opKeyword && r.text == "R" {
			break
		}
	}
	return refuse(nil, "not valid PDF: an object stream has no end")
}
