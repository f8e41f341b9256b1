package parse

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/charmap"
)

// decode converts text to UTF-8 with \n as the line end. It detects UTF-8 and UTF-16 with a byte order mark, and assumes Windows-1252, a
// superset of Latin-1's letters, otherwise. Invalid bytes become U+FFFD.
func decode(data []byte) string {
	var s string
	if order, ok := utf16Order(data); ok {
		s = decodeUTF16(data[2:], order)
	} else {
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		switch {
		case utf8.Valid(data):
			s = string(data)
		case mostlyUTF8(data):
			s = strings.ToValidUTF8(string(data), "\uFFFD")
		default:
			out, err := charmap.Windows1252.NewDecoder().Bytes(data)
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
	return nil, false
}

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
