package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/fault"
)

// Decode decodes the JSON object in the body of a request into the struct that into points to. Unknown and repeated fields are
// errors, as [CheckFields] describes. Errors have the code [fault.InvalidRequest] and name the field.
func Decode[T any](body []byte, into *T) error { return DecodeLike(body, into, *into) }

// DecodeLike is [Decode] with the fields of the struct type of like, which may have other types in objects that are decoded as they are.
func DecodeLike(body []byte, into, like any) error {
	if err := decode(body, into); err != nil {
		return err
	}
	if string(bytes.TrimSpace(body)) == "null" {
		return fault.Invalid("body", "want a JSON object, got null")
	}
	return CheckFields(body, like)
}

// DecodeKnown is [Decode] for protocols whose clients send more fields than a server uses: unknown fields are ignored.
func DecodeKnown[T any](body []byte, into *T) error {
	if err := decode(body, into); err != nil {
		return err
	}
	return CheckFields(body, nil)
}

func decode(body []byte, into any) error {
	if !utf8.Valid(body) {
		return fault.Invalid("body", "not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(into); err != nil {
		return decodeFault(body, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fault.Invalid("body", "something follows the JSON object")
	}
	return nil
}

func decodeFault(body []byte, err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := fieldAt(body, wrong.Offset)
		if field == "" {
			return fault.Invalid("body", "want a JSON object, got %s", wrong.Value)
		}
		return fault.Invalid(field, "want %s, got %s", jsonType(wrong.Type.Kind().String()), wrong.Value)
	}
	if broken, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fault.Invalid("body", "not valid JSON at byte %d", broken.Offset)
	}
	if errors.Is(err, io.EOF) {
		return fault.Invalid("body", "empty; want a JSON object")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.Invalid("body", "not valid JSON: it ends too early")
	}
	return fault.Invalid("body", "not valid JSON")
}

func jsonType(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"):
		return "an integer"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "bool":
		return "true or false"
	case kind == "slice":
		return "a list"
	case kind == "struct", kind == "map":
		return "an object"
	}
	return "a " + kind
}

// CheckText returns an error that names the field if its value has more than limit bytes, or a control character other than
// white space.
func CheckText(field, value string, limit int) error {
	if len(value) > limit {
		return fault.Invalid(field, "%d bytes; the limit is %d", len(value), limit)
	}
	i := strings.IndexFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' })
	if i >= 0 {
		return fault.Invalid(field, "a control character at byte %d", i)
	}
	return nil
}
