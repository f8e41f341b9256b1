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
	v, err := readCanonical(dec)
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return v.append(nil), nil
}

// canonicalValue is a value whose objects are sorted. It is written when the whole value was read: to sort the texts of members
// would copy a value once for each level that it is nested in.
type canonicalValue struct {
	text  []byte // of a value without parts
	open  byte   // { or [ for a value with parts
	parts []canonicalPart
}

// canonicalPart is a member of an object, or an element of an array, which has no name.
type canonicalPart struct {
	name  string
	order []uint16 // the UTF-16 code units of the name
	value canonicalValue
}

// readCanonical reads the next value.
func readCanonical(dec *json.Decoder) (v canonicalValue, err error) {
	token, err := dec.Token()
	if err != nil {
		return v, err
	}
	switch t := token.(type) {
	case json.Delim:
		v.open = byte(t)
		err = v.readParts(dec)
	case string:
		v.text = appendCanonicalString(nil, t)
	case json.Number:
		v.text = []byte(canonicalNumber(t.String()))
	case bool:
		v.text = strconv.AppendBool(nil, t)
	default:
		v.text = []byte("null")
	}
	return v, err
}

// readParts reads the rest of an object or array.
func (v *canonicalValue) readParts(dec *json.Decoder) (err error) {
	for dec.More() {
		var p canonicalPart
		if v.open == '{' {
			token, err := dec.Token()
			if err != nil {
				return err
			}
			p.name, _ = token.(string) // the decoder accepts nothing else
			p.order = utf16.Encode([]rune(p.name))
		}
		if p.value, err = readCanonical(dec); err != nil {
			return err
		}
		v.parts = append(v.parts, p)
	}
	slices.SortStableFunc(v.parts, func(a, b canonicalPart) int { return slices.Compare(a.order, b.order) })
	_, err = dec.Token()
	return err
}

// append appends the text of the value.
func (v *canonicalValue) append(dst []byte) []byte {
	if v.open == 0 {
		return append(dst, v.text...)
	}
	dst = append(dst, v.open)
	for i := range v.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.open == '{' {
			dst = append(appendCanonicalString(dst, v.parts[i].name), ':')
		}
		dst = v.parts[i].value.append(dst)
	}
	return append(dst, v.open+2) // the closing bracket
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
