package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/text"
)

// CheckFields returns an error that names the first field of a JSON text that is unknown or given twice. The fields of an
// object are those of the struct type of like, by their json tags, in exactly this spelling. Objects that are decoded into
// other types may have any fields. The text must be valid JSON.
//
// Package encoding/json ignores unknown fields, takes the last of two equal ones, and does not compare case.
func CheckFields(body []byte, like any) error {
	c := fieldChecker{json.NewDecoder(bytes.NewReader(body))}
	c.dec.UseNumber()
	return c.value("", reflect.TypeOf(like))
}

type fieldChecker struct{ dec *json.Decoder }

// value checks the next value, which is decoded into type t. A nil t stands for any type.
func (c fieldChecker) value(path string, t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := c.dec.Token()
	if err != nil {
		return fault.Invalid("body", "not valid JSON")
	}
	switch token {
	case json.Delim('['):
		var elem reflect.Type
		if t != nil && t.Kind() == reflect.Slice && t != reflect.TypeFor[json.RawMessage]() {
			elem = t.Elem()
		}
		for i := 0; c.dec.More(); i++ {
			if err := c.value(fmt.Sprintf("%s[%d]", path, i), elem); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		if err := c.object(path, t); err != nil {
			return err
		}
	default:
		return nil
	}
	_, err = c.dec.Token() // the closing bracket
	return err
}

func (c fieldChecker) object(path string, t reflect.Type) error {
	var known map[string]reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		known = map[string]reflect.Type{}
		fieldsOf(t, known)
	}
	seen := map[string]bool{}
	for c.dec.More() {
		token, err := c.dec.Token()
		if err != nil {
			return fault.Invalid("body", "not valid JSON")
		}
		name, _ := token.(string)
		of := name
		if path != "" {
			of = path + "." + name
		}
		field, ok := known[name]
		if known != nil && !ok {
			return UnknownField(path, name, slices.Sorted(maps.Keys(known)))
		}
		if seen[name] {
			return fault.Invalid(shown(of), "given twice")
		}
		seen[name] = true
		if err := c.value(of, field); err != nil {
			return err
		}
	}
	return nil
}

// UnknownField returns the error for an unknown field of the object at path, which is empty for the body. It suggests the
// known name that is closest.
func UnknownField(path, name string, known []string) error {
	near := text.Nearest(name, known, max(len(name)/3, 1))
	if path != "" {
		name = path + "." + name
	}
	if near != "" {
		return fault.Invalid(shown(name), "unknown field; did you mean %s?", near)
	}
	return fault.Invalid(shown(name), "unknown field")
}

// maxShown is the length of the longest path of a field that an error repeats, in bytes.
const maxShown = 128

// shown shortens the path of a field that a client made up.
func shown(path string) string {
	if len(path) > maxShown {
		path = strings.ToValidUTF8(path[:maxShown], "") + "…"
	}
	return path
}

// fieldsOf adds the JSON fields of a struct type, with those of embedded structs.
func fieldsOf(t reflect.Type, into map[string]reflect.Type) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fieldsOf(f.Type, into)
		case f.IsExported() && name != "" && name != "-":
			into[name] = f.Type
		}
	}
}
