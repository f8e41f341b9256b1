package parsetest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/ulikunitz/xz"
)

// gzipped returns a compressed file.
func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		panic(err) // a buffer cannot fail
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// gzippedZeros returns a compressed file of 512 MiB of zeros, in members of 4 MiB.
func gzippedZeros() []byte { return bytes.Repeat(gzipped(make([]byte, 4<<20)), 128) }

// Xz returns a file of xz. It panics on errors, as a buffer cannot fail.
func Xz(data []byte) []byte {
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	if err != nil {
		panic(err)
	}
	if _, err := w.Write(data); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// XzWindow returns the beginning of a file of xz, whose block states the size of its dictionary by a code (The .xz File Format 1.2.1, 5.3.1): 40 is 4 GiB.
func XzWindow(code byte) []byte {
	b := []byte("\xfd7zXZ\x00\x00\x04")
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[6:8]))
	block := []byte{2, 0, 0x21, 1, code, 0, 0, 0}
	block = binary.LittleEndian.AppendUint32(block, crc32.ChecksumIEEE(block))
	return append(append(b, block...), 1, 0, 3, 't', 'e', 'x', 't')
}

// archiveFiles returns archives, compressed files, calendars and contacts.
func archiveFiles() []bomb {
	return []bomb{
		{"zeros.txt.gz", gzippedZeros},
		{"twice.txt.gz.gz", func() []byte { return gzipped(gzippedZeros()) }},
		{"text.txt.gz", func() []byte { return gzipped([]byte(numbered("%d ", 8_000_000))) }},
		{"zeros.txt.xz", func() []byte { return bytes.Repeat(Xz(make([]byte, 4<<20)), 128) }},
		{"text.txt.xz", func() []byte { return Xz([]byte(numbered("%d ", 1_000_000))) }},
		{"window.txt.xz", func() []byte { return XzWindow(40) }},
		{"streams.txt.xz", func() []byte { return bytes.Repeat(Xz(nil), 1<<20) }},
		{"spread.zip", func() []byte {
			inner := Zip("a.md", strings.Repeat("- a\n", 1<<19))
			var pairs []string
			for i := range 2000 {
				pairs = append(pairs, fmt.Sprintf("%d.zip", i), string(inner))
			}
			return Zip(pairs...)
		}},
		{"nested.zip", func() []byte {
			data := Zip("a.txt", "end")
			for range 20 {
				data = Zip("a.zip", string(data), "b.zip", string(data)[:len(data)/2])
			}
			return data
		}},
		{"tables.zip", func() []byte {
			var pairs []string
			for i := range 200 {
				pairs = append(pairs, fmt.Sprintf("%d.csv", i), numbered("%d,a\n", 30_000))
			}
			return Zip(pairs...)
		}},
		filled("groups.rtf", "{\\rtf1 ", "{", MaxBytes, ""),
		filled("cells.rtf", "{\\rtf1 ", "\\cell", MaxBytes, ""),
		filled("code-joined.rtf", "{\\rtf1{\\fonttbl{\\f1 Courier;}}\\f1 ", "a\\par ", MaxBytes, ""),
		filled("components-nested.ics", "BEGIN:VCALENDAR\n", "BEGIN:VEVENT\n", MaxBytes, ""),
		filled("events.ics", "BEGIN:VCALENDAR\n", "BEGIN:VEVENT\nSUMMARY:a\nEND:VEVENT\n", MaxBytes, ""),
		filled("line-folded.ics", "BEGIN:VEVENT\nSUMMARY:", "\n a", MaxBytes, ""),
		filled("parameters.vcf", "BEGIN:VCARD\nTEL", ";A=b", MaxBytes, ""),
		filled("lines-soft.vcf", "BEGIN:VCARD\nNOTE;ENCODING=QUOTED-PRINTABLE:", "=\n", MaxBytes, ""),
	}
}
