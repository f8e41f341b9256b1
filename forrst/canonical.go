package forrst

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// fingerprint returns the hash of a JSON value. Values that differ only in the order of members, in white space or in how
// numbers and characters are written have the same one.
func fingerprint(raw json.RawMessage) (string, error) {
	text, err := canonicalJSON(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// canonicalJSON returns a value in the canonical form of RFC 8785 (JCS). The RFC is only defined for values that survive in
// other programs; here, two kinds of others stay different from all values: numbers that are no double keep their digits, and
// members with the same name keep their order.
func canonicalJSON(raw json.RawMessage) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return appendCanonical(nil, dec)
}

// appendCanonical appends the next value.
func appendCanonical(dst []byte, dec *json.Decoder) ([]byte, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return appendObject(dst, dec)
		}
		dst = append(dst, '[')
		for first := true; dec.More(); first = false {
			if !first {
				dst = append(dst, ',')
			}
			if dst, err = appendCanonical(dst, dec); err != nil {
				return nil, err
			}
		}
		_, err = dec.Token()
		return append(dst, ']'), err
	case string:
		return appendCanonicalString(dst, v), nil
	case json.Number:
		return append(dst, canonicalNumber(v.String())...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	}
	return append(dst, "null"...), nil
}

// appendObject appends the rest of an object, its members sorted by the UTF-16 code units of their names.
func appendObject(dst []byte, dec *json.Decoder) ([]byte, error) {
	type member struct {
		name  []uint16
		bytes []byte
	}
	var members []member
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read JSON: %w", err)
		}
		name, _ := token.(string) // the decoder accepts nothing else
		text, err := appendCanonical(append(appendCanonicalString(nil, name), ':'), dec)
		if err != nil {
			return nil, err
		}
		members = append(members, member{utf16.Encode([]rune(name)), text})
	}
	slices.SortStableFunc(members, func(a, b member) int { return slices.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m.bytes...)
	}
	_, err := dec.Token()
	return append(dst, '}'), err
}

func appendCanonicalString(dst []byte, s string) []byte {
	const short = "btn\x00fr" // the escapes of 0x08 to 0x0d
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x08 && c <= 0x0d && c != 0x0b:
			dst = append(dst, '\\', short[c-0x08])
		case c < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// canonicalNumber returns the shortest text of a double, as in ECMAScript, and the exact value of any other number.
func canonicalNumber(literal string) string {
	f, err := strconv.ParseFloat(literal, 64)
	if err == nil {
		if f == 0 {
			f = 0 // not -0
		}
		text, err := json.Marshal(f) // writes doubles as ECMAScript does
		if err == nil && exactNumber(string(text)) == exactNumber(literal) {
			return string(text)
		}
	}
	return exactNumber(literal)
}

// exactNumber returns the value of a number as an integer without zeros at its ends, and an exponent.
func exactNumber(literal string) string {
	mantissa, exponent := literal, int64(0)
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		var err error
		mantissa = literal[:i]
		if exponent, err = strconv.ParseInt(literal[i+1:], 10, 32); err != nil {
			return literal // no program reads such a number
		}
	}
	sign := ""
	if rest, negative := strings.CutPrefix(mantissa, "-"); negative {
		mantissa, sign = rest, "-"
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= int64(len(fraction))
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	return sign + short + "e" + strconv.FormatInt(exponent+int64(len(digits)-len(short)), 10)
}
