package parse

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/runes"
)

//go:embed cmaps/*.gz
var cmaps embed.FS

// collections are the texts of the characters of Adobe's character collections, by their number in the collection (CID). They are read when a file needs them.
var collections = map[string]func() map[uint32]string{
	"Japan1": collection("Japan1"), "GB1": collection("GB1"), "CNS1": collection("CNS1"), "Korea1": collection("Korea1"),
}

func collection(name string) func() map[uint32]string {
	return sync.OnceValue(func() map[uint32]string {
		raw, err := cmaps.ReadFile("cmaps/Adobe-" + name + "-UCS2.gz")
		if err != nil {
			panic(err) // it is part of the program
		}
		plain, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			panic(err)
		}
		data, err := io.ReadAll(plain)
		if err != nil {
			panic(err)
		}
		left := 200_000
		f := &pdfFont{left: &left}
		f.readMap(data)
		for c, text := range f.unicode {
			f.unicode[c] = variation.String(text)
		}
		return f.unicode
	})
}

// variation removes the selectors of variants of a character, which are not written when one searches for it.
var variation = runes.Remove(runes.In(unicode.Variation_Selector))

// charsets are the encodings of predefined CMaps (ISO 32000-2, table 116), by the beginnings of their names.
var charsets = []struct {
	prefix string
	of     encoding.Encoding
}{
	{"83pv-RKSJ", japanese.ShiftJIS}, {"90ms", japanese.ShiftJIS}, {"90pv-RKSJ", japanese.ShiftJIS}, {"Add-RKSJ", japanese.ShiftJIS}, {"Ext-RKSJ", japanese.ShiftJIS}, {"EUC-", japanese.EUCJP},
	{"GB-EUC", simplifiedchinese.GBK}, {"GBpc-EUC", simplifiedchinese.GBK}, {"GBK", simplifiedchinese.GBK}, {"B5pc", traditionalchinese.Big5}, {"HKscs-B5", traditionalchinese.Big5},
	{"ETen", traditionalchinese.Big5}, {"KSC", korean.EUCKR},
}

// readPredefined reads the encoding of a font without a ToUnicode map: that of a predefined CMap, or numbers of characters in a collection. Fonts for Chinese,
// Japanese and Korean that are not embedded have such encodings.
func (f *pdfFont) readPredefined(v, descendant pdf.Value) {
	name := v.Key("Encoding").Name()
	switch {
	case strings.HasPrefix(name, "Identity-"):
		if texts := collections[descendant.Key("CIDSystemInfo").Key("Ordering").RawString()]; texts != nil {
			f.unicode = texts()
		}
	case strings.HasPrefix(name, "Uni") && (strings.Contains(name, "-UCS2-") || strings.Contains(name, "-UTF16-")):
		f.utf16 = true
	default:
		for _, c := range charsets {
			if strings.HasPrefix(name, c.prefix) {
				f.charset = c.of
				return
			}
		}
	}
}

// character returns the first character of a string in the encoding of a predefined CMap: its length in bytes, its text and its width. Widths in the
// file are those of numbers of characters, which these encodings do not have.
func (f *pdfFont) character(s string) (n int, text string, width float64) {
	const half, full = 500, 1000
	if f.utf16 {
		if n = min(2, len(s)); n == 2 && s[0]&0xfc == 0xd8 {
			n = min(4, len(s))
		}
		text = fromUTF16(s[:n])
	} else {
		if n = 1; s[0] >= 0x80 && len(s) > 1 && (f.charset != japanese.ShiftJIS || s[0] < 0xa1 || s[0] > 0xdf) {
			n = 2
		}
		text, _ = f.charset.NewDecoder().String(s[:n]) // it fails never: what is not valid is replaced
	}
	if r, _ := utf8.DecodeRuneInString(text); r == utf8.RuneError {
		return n, "", full
	}
	if text < "\u0100" {
		return n, text, half
	}
	return n, text, full
}
