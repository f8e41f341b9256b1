package search

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/fault"
)

// Limits of a filter.
const (
	maxFilterDepth  = 16
	maxFilterTerms  = 256
	maxFilterValues = 1000 // of in and nin
)

// truth is the value of a filter in three-valued logic: some attributes are only known for a passage.
type truth int

const (
	no truth = iota
	unknown
	yes
)

// Filter is a condition on the attributes of a passage, in the form that OpenAI's vector stores use: a comparison of a key
// with a value, or filters joined by "and" or "or". A nil Filter is true.
type Filter struct {
	kind  string // eq ne gt gte lt lte in nin and or
	key   string
	value any // string, float64 or bool; for in and nin a list of these
	parts []*Filter
}

// ParseFilter parses the filter in a field of a request. It returns nil for no filter. Errors are [fault.InvalidRequest] and name the invalid part of the field.
func ParseFilter(field string, raw json.RawMessage) (*Filter, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) || bytes.Equal(raw, []byte("{}")) {
		return nil, nil
	}
	p := parser{field: field}
	return p.parse(field, raw, 0)
}

// parser counts the conditions of a filter.
type parser struct {
	field string
	terms int
}

func (p *parser) parse(at string, raw json.RawMessage, depth int) (*Filter, error) {
	if p.terms++; p.terms > maxFilterTerms || depth > maxFilterDepth {
		return nil, fault.Invalid(p.field, "want at most %d conditions, nested at most %d deep", maxFilterTerms, maxFilterDepth)
	}
	var in struct {
		Type    *string           `json:"type"`
		Key     *string           `json:"key"`
		Value   any               `json:"value"`
		Filters []json.RawMessage `json:"filters"`
	}
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &in) != nil {
		return nil, fault.Invalid(at, "want an object with type, key and value, or type and filters")
	}
	if in.Type == nil {
		return nil, fault.Invalid(at+".type", "required: eq, ne, gt, gte, lt, lte, in, nin, and or or")
	}
	f := &Filter{kind: *in.Type, value: in.Value}
	switch f.kind {
	case "and", "or":
		if len(in.Filters) == 0 {
			return nil, fault.Invalid(at+".filters", "required")
		}
		for i, part := range in.Filters {
			sub, err := p.parse(fmt.Sprintf("%s.filters[%d]", at, i), bytes.TrimSpace(part), depth+1)
			if err != nil {
				return nil, err
			}
			f.parts = append(f.parts, sub)
		}
		return f, nil
	case "eq", "ne", "gt", "gte", "lt", "lte", "in", "nin":
	default:
		return nil, fault.Invalid(at+".type", "want eq, ne, gt, gte, lt, lte, in, nin, and or or")
	}
	if in.Key == nil || *in.Key == "" {
		return nil, fault.Invalid(at+".key", "required")
	}
	f.key = *in.Key
	if !f.comparable() {
		return nil, fault.Invalid(at+".value", "want a text, a number or a truth value, and for in and nin a list of at most %d of them", maxFilterValues)
	}
	return f, nil
}

func (f *Filter) comparable() bool {
	if f.kind != "in" && f.kind != "nin" {
		return scalar(f.value)
	}
	list, ok := f.value.([]any)
	return ok && len(list) <= maxFilterValues && !slices.ContainsFunc(list, func(v any) bool { return !scalar(v) })
}

func scalar(v any) bool {
	switch v.(type) {
	case string, float64, bool:
		return true
	}
	return false
}

// attributes returns the value of a key. Attributes of a passage are unknown for a whole file.
type attributes func(key string) (value any, t truth)

// matches evaluates a filter. A missing key is not equal to anything; a nil filter is true.
func (f *Filter) matches(of attributes) truth {
	if f == nil {
		return yes
	}
	switch f.kind {
	case "and":
		t := yes
		for _, part := range f.parts {
			t = min(t, part.matches(of))
		}
		return t
	case "or":
		t := no
		for _, part := range f.parts {
			t = max(t, part.matches(of))
		}
		return t
	}
	v, known := of(f.key)
	if known == unknown {
		return unknown
	}
	if f.compare(v, known == yes) {
		return yes
	}
	return no
}

func (f *Filter) compare(v any, there bool) bool {
	switch f.kind {
	case "in", "nin":
		list, _ := f.value.([]any)
		return (there && slices.ContainsFunc(list, func(w any) bool { return same(v, w) })) == (f.kind == "in")
	case "eq":
		return there && same(v, f.value)
	case "ne":
		return !there || !same(v, f.value)
	}
	n, ok := order(v, f.value)
	if !there || !ok {
		return false
	}
	switch f.kind {
	case "gt":
		return n > 0
	case "gte":
		return n >= 0
	case "lt":
		return n < 0
	}
	return n <= 0
}

func same(v, w any) bool {
	if list, ok := v.([]any); ok { // a list in the metadata matches if one of its elements does
		return slices.ContainsFunc(list, func(v any) bool { return scalar(v) && v == w })
	}
	return scalar(v) && v == w
}

func order(v, w any) (int, bool) {
	switch v := v.(type) {
	case float64:
		if w, ok := w.(float64); ok {
			return cmp.Compare(v, w), true
		}
	case string:
		if w, ok := w.(string); ok {
			return strings.Compare(v, w), true
		}
	}
	return 0, false
}
