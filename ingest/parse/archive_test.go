package parse_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
)

func gzipped(data string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(data)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// tarFile returns a tar archive with pairs of names and contents, and a link.
func tarFile(pairs ...string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h tar.Header, content string) {
		if err := w.WriteHeader(&h); err != nil {
			panic(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			panic(err)
		}
	}
	add(tar.Header{Name: "link.txt", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, "")
	for i := 0; i+1 < len(pairs); i += 2 {
		add(tar.Header{Name: pairs[i], Mode: 0o600, Size: int64(len(pairs[i+1]))}, pairs[i+1])
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// changed returns data with another byte at an offset.
func changed(data []byte, at int) []byte {
	data[at] ^= 0xff
	return data
}

var members = []string{
	"harbour/guide.md", "# Tides\n\nThey turn.\n", "harbour/depths.csv", "Pier,Depth\nNorth,4\n", "../outside.txt", "Outside.", "/root.txt", "Absolute.",
	"a.png", "\x89PNG\r\n\x1a\n", "harbour/.hidden.txt", "Hidden.", "__MACOSX/a.txt", "Resource fork.", "inner.zip", string(parsetest.Zip("note.txt", "Inside.")),
}

const membersRead = `heading1: harbour/guide.md
		heading2: Tides
		paragraph: They turn.
		heading1: harbour/depths.csv
		row: Pier | Depth
		row: North | 4
		heading1: inner.zip
		heading2: note.txt
		paragraph: Inside.`

func TestArchives(t *testing.T) {
	compressed, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	archive := tarFile(members...)
	for name, data := range map[string][]byte{
		"a.zip": parsetest.Zip(members...), "b": parsetest.Zip(members...), "a.tar": []byte(archive), "c": []byte(archive),
		"a.tar.gz": gzipped(archive), "a.tgz": gzipped(archive), "d": gzipped(archive), "a.tar.zst": compressed.EncodeAll([]byte(archive), nil),
		"a.tar.xz": parsetest.Xz([]byte(archive)), "e": parsetest.Xz([]byte(archive)), "f.txz": append(parsetest.Xz([]byte(archive[:5000])), parsetest.Xz([]byte(archive[5000:]))...),
	} {
		if p := parsed(t, name, data, membersRead); p.Title != name {
			t.Errorf("%s: title %q", name, p.Title)
		}
	}
	// A compressed document is that document.
	if p := parsed(t, "guide.md.gz", gzipped("---\ntitle: Harbour\n---\n# Tides\n\nThey turn.\n"), "heading1: Tides\n\t\tparagraph: They turn."); p.Title != "Harbour" || p.MediaType != "text/markdown" {
		t.Errorf("%+v", p)
	}
	// What is before the damaged part of an archive is read.
	parsed(t, "cut.tar", []byte(archive[:1800]), "heading1: harbour/guide.md\n\t\theading2: Tides\n\t\tparagraph: They turn.")
}

// TestHostileArchives checks that archives that expand without end are refused with their reasons.
func TestHostileArchives(t *testing.T) {
	deep := parsetest.Zip("a.txt", "end")
	for range 12 {
		deep = parsetest.Zip("a.zip", string(deep))
	}
	names := make([]string, 0, 50_000)
	for range 25_000 {
		names = append(names, "a.txt", "")
	}
	wide := parsetest.Zip("a.md", strings.Repeat("- a\n", 1<<15))
	var copies []string
	for i := range 600 {
		copies = append(copies, strings.Repeat("x", i+1)+".zip", string(wide))
	}
	for name, c := range map[string]struct {
		data []byte
		code fault.Code
		want string
	}{
		"deep.zip":   {deep, fault.TooLarge, "nested more than 8 deep"},
		"ratio.zip":  {parsetest.Zip("a.txt", strings.Repeat(" ", 20<<20)), fault.TooLarge, "compressed more than"},
		"ratio.gz":   {gzipped(strings.Repeat(" ", 20<<20)), fault.TooLarge, "compressed more than"},
		"ratio.xz":   {parsetest.Xz([]byte(strings.Repeat(" ", 20<<20))), fault.TooLarge, "compressed more than"},
		"window.xz":  {parsetest.XzWindow(40), fault.InvalidRequest, "not a valid compressed file"},
		"damaged.xz": {parsetest.Xz([]byte("text"))[:30], fault.InvalidRequest, "not a valid compressed file"},
		"changed.xz": {changed(parsetest.Xz([]byte(strings.Repeat("text ", 100))), 30), fault.InvalidRequest, "not a valid compressed file"},
		"many.tar":   {[]byte(tarFile(names...)), fault.TooLarge, "holds more than 20000 files"},
		"wide.tar":   {[]byte(tarFile(copies...)), fault.TooLarge, "holds more than"},
		"damaged.gz": {gzipped("text")[:12], fault.InvalidRequest, "not a valid compressed file"},
		"links.tar":  {[]byte(tarFile("a.png", "\x89PNG\r\n")), fault.InvalidRequest, "without a file that can be read"},
		"a.zip":      {[]byte("text"), fault.InvalidRequest, "not valid ZIP"},
		"a.docx":     {parsetest.Zip("a.txt", "text"), fault.InvalidRequest, "a ZIP archive cannot be read"},
	} {
		_, err := parse.Parse(t.Context(), name, c.data, parse.Limits{Text: 8 << 20, Blocks: 100_000})
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzArchive(f *testing.F) {
	for _, data := range [][]byte{parsetest.Zip(members...), []byte(tarFile(members...)), gzipped(tarFile("a.txt", "a")), gzipped("text"), parsetest.Xz([]byte("text")),
		parsetest.Xz([]byte(tarFile("a.txt", "a"))), append(parsetest.Xz([]byte("a")), parsetest.Xz([]byte("b"))...), parsetest.XzWindow(4)} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, "a", data) })
}
