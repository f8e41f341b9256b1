package external

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
)

const (
	// pixels is the longer side of a page that tesseract reads: that of A4 at 300 dots per inch, which its documentation recommends.
	pixels = "3508"
	// pageBytes limits the picture of a page, and what tesseract prints of it.
	pageBytes = 128 << 20
	// leastConfidence of a word, in percent. Below it, most words are read from drawings and dirt.
	leastConfidence = 30
	// leastMean is the least mean confidence of the words of a page, in percent.
	leastMean = 45
)

// Pictures are the extensions of pictures that tesseract reads.
var Pictures = []string{".jpeg", ".jpg", ".png", ".tif", ".tiff"}

// workers is the number of pages that are read concurrently.
var workers = runtime.GOMAXPROCS(0)

// missing returns an error that names the programs that are not installed.
func missing(programs ...string) error {
	var absent []string
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			absent = append(absent, p)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	return errors.New("holds pictures and no text; to read it, install " + strings.Join(absent, " and ") +
		" (in Debian's packages tesseract-ocr and poppler-utils)")
}

// recognise reads a picture or the pages of a PDF file.
func (r *Reader) recognise(ctx context.Context, path, name string, data []byte, limits parse.Limits) (p parse.Parsed, err error) {
	isPDF := bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-"))
	if err := missing(programsOf(isPDF)...); err != nil {
		return p, err
	}
	languages, err := r.languages(ctx)
	if err != nil {
		return p, err
	}
	p.MediaType = mediaTypeOf(data)
	pages := 1
	if isPDF {
		if pages, err = r.countPages(ctx, path); err != nil {
			return p, err
		}
		p.Pages = pages
	}
	if most := min(r.opts.Pages, limits.Pages); pages > most {
		return p, fault.New(fault.TooLarge, "%s: has %d scanned pages, and at most %d are read", parse.PrintableName(name), pages, most)
	}
	read := make([][]parse.Block, pages)
	errs := make([]error, pages)
	var group sync.WaitGroup
	for i := range pages {
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			group.Wait()
			return p, ctx.Err()
		}
		group.Go(func() {
			defer func() { <-r.slots }()
			number := 0
			if isPDF {
				number = i + 1
			}
			read[i], errs[i] = r.page(ctx, path, number, languages)
		})
	}
	group.Wait()
	for i := range read {
		p.Blocks = append(p.Blocks, read[i]...)
	}
	if len(p.Blocks) == 0 {
		if err := cmp.Or(errs...); err != nil {
			return p, err
		}
		return p, errors.New("holds pictures in which no text was found")
	}
	return p, parse.Finish(&p, name, limits) // a page that could not be read does not lose the others
}

func programsOf(isPDF bool) []string {
	if isPDF {
		return []string{"tesseract", "pdftoppm", "pdfinfo"}
	}
	return []string{"tesseract"}
}

// mediaTypeOf returns the media type of a PDF file or picture by its first bytes.
func mediaTypeOf(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("II*\x00")), bytes.HasPrefix(data, []byte("MM\x00*")):
		return "image/tiff"
	}
	return "application/pdf"
}

// maxLanguages limits the languages that are used by default, since each takes time.
const maxLanguages = 6

// languages returns the languages of the options, or all that are installed.
func (r *Reader) languages(ctx context.Context) (string, error) {
	if r.opts.Languages != "" {
		return r.opts.Languages, nil
	}
	out, err := r.run(ctx, 1<<20, "tesseract", "--list-langs")
	if err != nil {
		return "", err
	}
	var found []string
	for l := range strings.FieldsSeq(string(bytes.TrimPrefix(out, firstLine(out)))) {
		if l != "osd" && l != "equ" && !strings.Contains(l, "/") && len(found) < maxLanguages {
			found = append(found, l)
		}
	}
	if len(found) == 0 {
		return "", errors.New("tesseract has no language installed")
	}
	return strings.Join(found, "+"), nil
}

func firstLine(b []byte) []byte {
	i := bytes.IndexByte(b, '\n')
	return b[:i+1]
}

var pageCount = regexp.MustCompile(`(?m)^Pages:\s+(\d+)`)

func (r *Reader) countPages(ctx context.Context, path string) (int, error) {
	out, err := r.run(ctx, 1<<20, "pdfinfo", path)
	if err != nil {
		return 0, err
	}
	m := pageCount.FindSubmatch(out)
	if m == nil {
		return 0, errors.New("its pages could not be counted")
	}
	return strconv.Atoi(string(m[1]))
}

// page reads a page of a PDF file, or a picture if number is 0.
func (r *Reader) page(ctx context.Context, path string, number int, languages string) ([]parse.Block, error) {
	picture := path
	if number > 0 {
		n := strconv.Itoa(number)
		picture = path + "-" + n
		if _, err := r.run(ctx, 1<<20, "pdftoppm", "-f", n, "-l", n, "-singlefile", "-gray", "-scale-to", pixels, "-png", path, picture); err != nil {
			return nil, err
		}
		picture += ".png"
	}
	out, err := r.run(ctx, pageBytes, "tesseract", picture, "stdout", "-l", languages, "tsv")
	if err != nil {
		return nil, err
	}
	return paragraphs(string(out), number), nil
}

var divided = regexp.MustCompile(`(\p{L})[-\x{2010}]\n(\p{Ll})`)

// paragraphs reads the table that tesseract prints: level, page, block, paragraph, line, word, left, top, width, height, confidence, text,
// separated by tabs. Words of level 5 have a confidence in percent. Of a picture with several pages, each begins with page number one more.
func paragraphs(table string, page int) []parse.Block {
	type place struct{ page, block, paragraph string }
	var out []parse.Block
	var text strings.Builder
	var at place
	line, sum, words := "", 0.0, 0
	flush := func() {
		if text.Len() > 0 {
			joined := divided.ReplaceAllString(text.String(), "$1$2")
			out = append(out, parse.Block{Text: strings.ReplaceAll(joined, "\n", " "), Page: page})
		}
		text.Reset()
	}
	for row := range strings.Lines(table) {
		f := strings.SplitN(strings.TrimRight(row, "\r\n"), "\t", 12)
		if len(f) < 12 || f[0] != "5" {
			continue
		}
		confidence, err := strconv.ParseFloat(f[10], 64)
		if err != nil || confidence < leastConfidence || strings.TrimSpace(f[11]) == "" {
			continue
		}
		sum, words = sum+confidence, words+1
		if here := (place{f[1], f[2], f[3]}); here != at {
			flush()
			at, line = here, f[4]
		}
		switch {
		case text.Len() == 0:
		case f[4] != line:
			text.WriteByte('\n')
		default:
			text.WriteByte(' ')
		}
		line = f[4]
		text.WriteString(f[11])
	}
	flush()
	if words == 0 || sum/float64(words) < leastMean {
		return nil
	}
	return out
}
