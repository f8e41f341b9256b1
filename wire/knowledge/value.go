package knowledge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// value is a value in the JSON of a request with its path, such as input[2].content[0].type. Package encoding/json is not
// used for these, since its type errors have no list indexes and it ignores the case of field names.
type value struct {
	path string
	v    any
}

// parse parses a body, which must be an object.
func parse(body []byte) (value, error) {
	if !utf8.Valid(body) {
		return value{}, fault.Invalid("body", "not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if broken, ok := errors.AsType[*json.SyntaxError](err); ok {
			return value{}, fault.Invalid("body", "not valid JSON at byte %d", broken.Offset)
		}
		if errors.Is(err, io.EOF) {
			return value{}, fault.Invalid("body", "empty; want a JSON object")
		}
		return value{}, fault.Invalid("body", "not valid JSON")
	}
	if _, err := dec.Token(); err != io.EOF {
		return value{}, fault.Invalid("body", "something follows the JSON object")
	}
	if _, ok := v.(map[string]any); !ok {
		return value{}, fault.Invalid("body", "want a JSON object, got %s", kindOf(v))
	}
	return value{v: v}, nil
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	}
	return "an object"
}

func (v value) invalid(format string, args ...any) error {
	return fault.Invalid(v.path, format, args...)
}

// none reports whether the field is left out or null.
func (v value) none() bool { return v.v == nil }

// get returns a field of an object. It returns an empty value if v is not an object.
func (v value) get(name string) value {
	path := name
	if v.path != "" {
		path = v.path + "." + name
	}
	m, _ := v.v.(map[string]any)
	return value{path, m[name]}
}

// object returns an error if the value is neither an object nor left out.
func (v value) object() error {
	if _, ok := v.v.(map[string]any); !ok && !v.none() {
		return v.invalid("want an object, got %s", kindOf(v.v))
	}
	return nil
}

// only returns an error if the object has fields that are not in known.
func (v value) only(known ...string) error {
	m, _ := v.v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, name) {
			return wire.UnknownField(v.path, name, known)
		}
	}
	return nil
}

// list returns the elements of a list, which may have at most limit of them.
func (v value) list(limit int) ([]value, error) {
	l, ok := v.v.([]any)
	if !ok && !v.none() {
		return nil, v.invalid("want a list, got %s", kindOf(v.v))
	}
	if len(l) > limit {
		return nil, v.invalid("%d elements; the limit is %d", len(l), limit)
	}
	out := make([]value, len(l))
	for i, e := range l {
		out[i] = value{fmt.Sprintf("%s[%d]", v.path, i), e}
	}
	return out, nil
}

// text returns a string of any length. It must not contain control characters other than white space.
func (v value) text() (string, error) {
	s, ok := v.v.(string)
	if !ok && !v.none() {
		return "", v.invalid("want a string, got %s", kindOf(v.v))
	}
	for i, r := range s {
		if isControl(r) {
			return "", v.invalid("a control character at byte %d", i)
		}
	}
	return s, nil
}

// name returns a string of one line and at most limit bytes.
func (v value) name(limit int) (string, error) {
	s, err := v.text()
	switch {
	case err != nil:
		return "", err
	case len(s) > limit:
		return "", v.invalid("over %d bytes", limit)
	}
	for i, r := range s {
		if unicode.IsControl(r) {
			return "", v.invalid("a control character at byte %d", i)
		}
	}
	return s, nil
}

// one returns a string that must be one of the given ones. It is empty if the field is left out.
func (v value) one(of ...string) (string, error) {
	s, ok := v.v.(string)
	if !ok && !v.none() {
		return "", v.invalid("want a string, got %s", kindOf(v.v))
	}
	for _, o := range of {
		if s == o || v.none() {
			return s, nil
		}
	}
	return "", v.invalid("want one of %s", joinOr(of))
}

func joinOr(of []string) string {
	var b []byte
	for i, s := range of {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, s...)
	}
	return string(b)
}

// boolean returns a boolean, or nil if the field is left out.
func (v value) boolean() (*bool, error) {
	b, ok := v.v.(bool)
	if !ok {
		if v.none() {
			return nil, nil
		}
		return nil, v.invalid("want true or false, got %s", kindOf(v.v))
	}
	return &b, nil
}

// number returns a number within bounds, or nil if the field is left out.
func (v value) number(least, most float64) (*float64, error) {
	n, ok := v.v.(json.Number)
	if !ok {
		if v.none() {
			return nil, nil
		}
		return nil, v.invalid("want a number, got %s", kindOf(v.v))
	}
	f, err := n.Float64()
	if err != nil || f < least || f > most {
		return nil, v.invalid("want a number from %g to %g", least, most)
	}
	return &f, nil
}

// integer returns an integer within bounds, or 0 if the field is left out.
func (v value) integer(least, most int) (int, error) {
	f, err := v.number(math.Inf(-1), math.Inf(1))
	if err != nil || f == nil {
		return 0, err
	}
	if *f != math.Trunc(*f) || *f < float64(least) || *f > float64(most) {
		return 0, v.invalid("want an integer from %d to %d", least, most)
	}
	return int(*f), nil
}

// isControl reports whether r is a control character other than white space.
func isControl(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r'
}
