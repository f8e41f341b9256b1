package parsetest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
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

// archiveFiles returns archives, compressed files, calendars and contacts.
func archiveFiles() []bomb {
	return []bomb{
		{"zeros.txt.gz", func() []byte { return gzipped(make([]byte, 512<<20)) }},
		{"twice.txt.gz.gz", func() []byte { return gzipped(gzipped(make([]byte, 512<<20))) }},
		{"text.txt.gz", func() []byte { return gzipped([]byte(numbered("%d ", 8_000_000))) }},
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
