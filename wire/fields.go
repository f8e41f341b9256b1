package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/lang"
)

// maxDepth limits the nesting of objects and lists in a checked JSON text.
const maxDepth = 100

// CheckFields returns an error that names the first field of a JSON text that is unknown or given twice, or that is nested more
// than 100 levels deep. The fields of an object are those of the struct type of like, by their json tags, in exactly this
// spelling. Objects that are decoded into other types may have any fields. The text must be valid JSON.
//
// Package encoding/json ignores unknown fields, takes the last of two equal ones, and does not compare case.
func CheckFields(body []byte, like any) error {
	c := fieldChecker{dec: json.NewDecoder(bytes.NewReader(body))}
	c.dec.UseNumber()
	return c.value(reflect.TypeOf(like))
}

// fieldAt returns the path of the value of a JSON text that ends at a byte, or, if it is an object or a list, begins there. It is empty for the whole text.
func fieldAt(body []byte, offset int64) string {
	c := fieldChecker{dec: json.NewDecoder(bytes.NewReader(body)), until: offset}
	c.dec.UseNumber() // a number that is out of range would end the search before its path is found
	_ = c.value(nil)  // the text may have errors after the value
	c.path = c.found
	return shown(c.at())
}

// A fieldChecker keeps one path for all levels. It is only converted to a string for an error: one string for each level
// would need memory that grows with the square of the depth.
type fieldChecker struct {
	dec   *json.Decoder
	path  []step // from the body to the current value
	until int64  // if positive: found is the path of the last value whose first token ends at this byte or before it
	found []step
}

// A step is a part of a path: a field of an object or an element of a list.
type step struct {
	name  string
	index int // -1: the step is a field
}

// at returns the path of the current value; empty for the body.
func (c *fieldChecker) at() string {
	var b strings.Builder
	for _, s := range c.path {
		switch {
		case s.index >= 0:
			fmt.Fprintf(&b, "[%d]", s.index)
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
		if b.Len() > maxShown {
			break // errors show no more
		}
	}
	return b.String()
}

// inside checks the value that is one step below the current one.
func (c *fieldChecker) inside(s step, t reflect.Type) error {
	outer := c.path
	c.path = append(c.path, s)
	err := c.value(t)
	c.path = outer
	return err
}

// value checks the next value, which will be decoded into type t. A nil t stands for any type.
func (c *fieldChecker) value(t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := c.dec.Token()
	if err != nil {
		return fault.Invalid("body", "not valid JSON")
	}
	if c.dec.InputOffset() <= c.until {
		c.found = append(c.found[:0], c.path...)
	}
	if _, nested := token.(json.Delim); nested && len(c.path) >= maxDepth {
		c.path = c.path[:1] // the rest of the path does not help
		return fault.Invalid(shown(c.at()), "nested more than %d levels deep", maxDepth)
	}
	switch token {
	case json.Delim('['):
		var elem reflect.Type
		if t != nil && t.Kind() == reflect.Slice && t != reflect.TypeFor[json.RawMessage]() {
			elem = t.Elem()
		}
		for i := 0; c.dec.More(); i++ {
			if err := c.inside(step{index: i}, elem); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		if err := c.object(t); err != nil {
			return err
		}
	default:
		return nil
	}
	_, err = c.dec.Token() // the closing bracket
	return err
}

func (c *fieldChecker) object(t reflect.Type) error {
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
		field, ok := known[name]
		if known != nil && !ok {
			return UnknownField(c.at(), name, slices.Sorted(maps.Keys(known)))
		}
		if seen[name] {
			c.path = append(c.path, step{name, -1})
			return fault.Invalid(cmp.Or(shown(c.at()), `""`), "given twice")
		}
		seen[name] = true
		if err := c.inside(step{name, -1}, field); err != nil {
			return err
		}
	}
	return nil
}

// UnknownField returns the error for an unknown field of the object at path, which is empty for the body. It suggests the
// known name that is closest, or names all.
func UnknownField(path, name string, known []string) error {
	near := lang.Nearest(name, known, max(len(name)/3, 1))
	if name == "" {
		name = `""`
	}
	if path != "" {
		name = path + "." + name
	}
	if near != "" {
		return fault.Invalid(shown(name), "unknown field; did you mean %s?", near)
	}
	return fault.Invalid(shown(name), "unknown field; known are %s", Clip(strings.Join(known, ", "), 4*maxShown))
}

// maxShown limits the length of a path in an error message, in bytes.
const maxShown = 128

// shown shortens a path, since it contains names that the client chose.
func shown(path string) string {
	if len(path) > maxShown {
		path = strings.ToValidUTF8(path[:maxShown], "") + "…"
	}
	return path
}

// fieldsOf adds the JSON fields of a struct type to a map, including those of embedded structs.
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
