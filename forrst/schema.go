package forrst

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	reflector "github.com/swaggest/jsonschema-go"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

const (
	dialect    = "https://json-schema.org/draft/2020-12/schema"
	maxErrors  = 100 // in a response
	maxMessage = 300 // bytes of a message of the validator, which may repeat the value
	// maxNumber limits the length of a number, and its exponent. The validator calculates with exact numbers: for 1e999999 it
	// needs milliseconds, and for a million digits seconds. Doubles end at 1e308.
	maxNumber = 400
)

// schemaOf returns the JSON Schema of a Go type. Definitions are in $defs.
func schemaOf(t reflect.Type) (raw json.RawMessage, err error) {
	if t.Kind() == reflect.Interface {
		return json.RawMessage(`{"$schema":"` + dialect + `"}`), nil
	}
	defer func() { // the library panics on some types, such as channels
		if recover() != nil {
			err = fmt.Errorf("type %v has no JSON Schema", t)
		}
	}()
	r := reflector.Reflector{}
	s, err := r.Reflect(reflect.New(t).Elem().Interface(), reflector.DefinitionsPrefix("#/$defs/"))
	if err != nil {
		return nil, fmt.Errorf("schema of type %v: %w", t, err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema of type %v: %w", t, err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("schema of type %v: %w", t, err)
	}
	if defs, ok := members["definitions"]; ok {
		members["$defs"] = defs
		delete(members, "definitions")
	}
	members["$schema"] = json.RawMessage(`"` + dialect + `"`)
	return json.Marshal(members)
}

// compile returns the validator of a schema, and nil for no schema.
func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	if schema == nil {
		return nil, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // a schema loads nothing from files or the network
	const address = "urn:forrst:schema"
	if err := c.AddResource(address, doc); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	compiled, err := c.Compile(address)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return compiled, nil
}

// violations validates a JSON value, which is at a pointer in the request. Each violation is one error.
func violations(s *jsonschema.Schema, value []byte, at string) Errors {
	if s == nil {
		return nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return Errors{Errorf(SchemaValidationFailed, "the value is not valid JSON").At(at)}
	}
	if path, found := hugeNumber(doc); found {
		slices.Reverse(path)
		return Errors{Errorf(SchemaValidationFailed, "the number has more than %d characters, or an exponent beyond %d", maxNumber, maxNumber).
			At(pointer(at, path...))}
	}
	err = s.Validate(doc)
	var failed *jsonschema.ValidationError
	if err == nil || !errors.As(err, &failed) {
		return nil
	}
	return leaves(nil, failed, at)
}

// hugeNumber finds a number that is too large for the validator. It returns the path to it, the last part first.
func hugeNumber(v any) (path []string, found bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if path, found = hugeNumber(member); found {
				return append(path, name), true
			}
		}
	case []any:
		for i, element := range v {
			if path, found = hugeNumber(element); found {
				return append(path, strconv.Itoa(i)), true
			}
		}
	case json.Number:
		if len(v) > maxNumber {
			return nil, true
		}
		if i := strings.IndexAny(string(v), "eE"); i >= 0 {
			exponent, err := strconv.Atoi(string(v[i+1:]))
			return nil, err != nil || exponent > maxNumber || exponent < -maxNumber
		}
	}
	return nil, false
}

var english = message.NewPrinter(language.English)

// leaves appends the violations that have no cause of their own. The alternatives of anyOf and oneOf are one violation:
// which of them was meant is not known.
func leaves(errs Errors, e *jsonschema.ValidationError, at string) Errors {
	if len(errs) >= maxErrors {
		return errs
	}
	at2 := pointer(at, e.InstanceLocation...)
	keyword := strings.Join(e.ErrorKind.KeywordPath(), "/")
	add := func(at, message string) {
		errs = append(errs, Errorf(SchemaValidationFailed, "%s", cut(message)).At(at).With(map[string]any{"constraint": keyword}))
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not:
		add(at2, e.ErrorKind.LocalizedString(english))
	case *kind.Required:
		for _, name := range k.Missing {
			add(pointer(at2, name), "the value is missing")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add(pointer(at2, name), "the name is not allowed")
		}
	default:
		if len(e.Causes) == 0 {
			add(at2, e.ErrorKind.LocalizedString(english))
		}
		for _, cause := range e.Causes {
			errs = leaves(errs, cause, at)
		}
	}
	return errs
}

// cut shortens a message at the end of a character.
func cut(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	n := maxMessage
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
