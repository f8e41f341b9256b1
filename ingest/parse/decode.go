package parse

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// decode converts text to UTF-8 with \n as the line end. It detects UTF-8, UTF-16, and the encodings of
// [guess]. Invalid bytes become U+FFFD.
func decode(data []byte) string {
	var s string
	if order, ok := utf16Order(data); ok {
		s = decodeUTF16(withoutMark(data), order)
	} else {
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		switch {
		case utf8.Valid(data):
			s = string(data)
		case mostlyUTF8(data):
			s = strings.ToValidUTF8(string(data), "\uFFFD")
		default:
			out, err := guess(data).NewDecoder().Bytes(data)
			if err != nil {
				out = bytes.ToValidUTF8(data, []byte("\uFFFD"))
			}
			s = string(out)
		}
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	return s
}

// decodeHTML is like decode, and honours the encoding that a meta element names.
func decodeHTML(data []byte) string {
	if _, ok := utf16Order(data); ok || utf8.Valid(data) {
		return decode(data)
	}
	enc, _, _ := charset.DetermineEncoding(data, "") // default: Windows-1252
	out, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		return decode(data)
	}
	return decode(out)
}

func utf16Order(data []byte) (binary.ByteOrder, bool) {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return binary.LittleEndian, true
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return binary.BigEndian, true
	}
	// Without a byte order mark: in most texts, many characters, such as spaces and the ends of lines, have a zero as their upper byte.
	head := data[:min(len(data), sampleSize)&^1]
	if bytes.IndexByte(head, 0) < 0 {
		return nil, false
	}
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i&1]++
		}
	}
	for i, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		if len(head) >= 8 && len(data)%2 == 0 && zeros[i]*20 > len(head) && zeros[1-i] == 0 && printable(decodeUTF16(head, order)) {
			return order, true
		}
	}
	return nil, false
}

// sampleSize is the number of bytes from which encodings are detected.
const sampleSize = 64 << 10

// printable reports whether a text has no other control characters than white space, and at most one in a hundred is not assigned.
func printable(s string) bool {
	n, odd := 0, 0
	for _, r := range s {
		n++
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return false
		}
		if r == utf8.RuneError || !unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) {
			odd++
		}
	}
	return odd*100 <= n
}

func withoutMark(data []byte) []byte {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return data[2:]
	}
	return data
}

// minConfidence is the confidence of the detection below which text is Windows-1252.
const minConfidence = 0.5

// guess returns the encoding of text that is not UTF-8, by the frequencies of its characters: Shift JIS, EUC-JP, ISO-2022-JP, GB 18030, Big5,
// EUC-KR, KOI8-R and other encodings of eight bits. It is Windows-1252, a superset of Latin-1's letters, if none is likely.
func guess(data []byte) encoding.Encoding {
	found := chardet.Detect(data[:min(len(data), sampleSize)])
	if found.Confidence >= minConfidence {
		if e, name := charset.Lookup(aliases[found.Encoding]); e != nil && name != "replacement" {
			return e
		}
		if e, name := charset.Lookup(found.Encoding); e != nil && name != "replacement" && name != "utf-8" {
			return e
		}
	}
	return charmap.Windows1252
}

// aliases replace names of package chardet: those that the standard of the web does not know, subsets, and the encodings of old Macintoshes,
// which are rarer than those of Windows with almost the same letters.
var aliases = map[string]string{"CP949": "euc-kr", "GB2312": "gb18030", "MacCyrillic": "windows-1251", "MacRoman": "windows-1252"}

func decodeUTF16(data []byte, order binary.ByteOrder) string {
	var b strings.Builder
	b.Grow(len(data))
	for ; len(data) >= 2; data = data[2:] {
		r := rune(order.Uint16(data))
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if len(data) >= 4 {
				low = rune(order.Uint16(data[2:]))
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				data = data[2:]
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

// mostlyUTF8 reports whether data is UTF-8 with a few invalid bytes and not an eight-bit encoding: 90% of the bytes above 127 belong to
// valid characters.
func mostlyUTF8(data []byte) bool {
	good, bad := 0, 0
	for len(data) > 0 {
		if data[0] < utf8.RuneSelf {
			data = data[1:]
			continue
		}
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n <= 1 {
			bad++
		} else {
			good += n
		}
		data = data[n:]
	}
	return good >= 9*bad
}
