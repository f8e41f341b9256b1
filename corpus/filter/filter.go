// Package filter holds conditions on the attributes of documents and passages.
package filter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/lang"
)

// Limits of a filter.
const (
	maxDepth  = 16
	maxTerms  = 256
	maxValues = 1000 // of in and nin
	maxText   = 2048 // bytes of a key or a value
)

// The types of a filter. The first eight are those of OpenAI's vector stores.
const (
	Equal          = "eq"
	NotEqual       = "ne"
	Greater        = "gt"
	GreaterOrEqual = "gte"
	Less           = "lt"
	LessOrEqual    = "lte"
	In             = "in"          // equal to one of a list
	NotIn          = "nin"         // equal to none of a list
	Contains       = "contains"    // has all words of a text, in any order, whatever their case and accents
	StartsWith     = "starts_with" // begins with a text
	And            = "and"
	Or             = "or"
)

const wantType = "eq, ne, gt, gte, lt, lte, in, nin, contains, starts_with, and or or"

// Filter is a condition on attributes, in the form that OpenAI's vector stores use: a comparison of a key with a value, or filters joined by
// "and" or "or". A nil Filter and the zero value are true.
type Filter struct {
	Type    string   `json:"type" enum:"eq,ne,gt,gte,lt,lte,in,nin,contains,starts_with,and,or" required:"true" description:"Comparison, or and, or."`
	Key     string   `json:"key,omitempty" description:"Attribute that is compared."`
	Value   any      `json:"value,omitempty" description:"A text, a number or a truth value; for in and nin a list of these."`
	Filters []Filter `json:"filters,omitempty" description:"For and and or: the filters that are joined."`
}

// Join returns the filter that is true if all given ones are; nil for none.
func Join(all ...Filter) *Filter {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return &all[0]
	}
	return &Filter{Type: And, Filters: all}
}

// Empty reports whether the filter has no condition.
func (f *Filter) Empty() bool {
	return f == nil || f.Type == "" && f.Key == "" && f.Value == nil && len(f.Filters) == 0
}

// Has reports whether the filter has a condition on an attribute.
func (f *Filter) Has(key string) bool {
	return f != nil && (attributeName(f.Key) == key || slices.ContainsFunc(f.Filters, func(part Filter) bool { return part.Has(key) }))
}

// Parse parses the filter in a field of a request. It returns nil for no filter. Errors are [fault.InvalidRequest] and name the invalid part of the field.
func Parse(field string, raw json.RawMessage) (*Filter, error) {
	if text := string(bytes.TrimSpace(raw)); text == "" || text == "null" || text == "{}" {
		return nil, nil
	}
	f := &Filter{}
	if err := json.Unmarshal(raw, &f); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			field += "." + wrong.Field
		}
		return nil, fault.Invalid(field, "want an object with type, key and value, or type and filters")
	}
	c := checker{field: field}
	return f, c.check(field, f, 0)
}

// Validate checks the filter in a field of a request. Errors are [fault.InvalidRequest] and name the invalid part of the field.
func (f *Filter) Validate(field string) error { return f.validate(field, false) }

// ValidateDocuments is Validate for a filter of whole documents, which cannot have conditions on attributes of passages.
func (f *Filter) ValidateDocuments(field string) error { return f.validate(field, true) }

func (f *Filter) validate(field string, documents bool) error {
	if f.Empty() {
		return nil
	}
	c := checker{field: field, documents: documents}
	return c.check(field, f, 0)
}

// checker counts the conditions of a filter.
type checker struct {
	field     string
	documents bool
	terms     int
}

func (c *checker) check(at string, f *Filter, depth int) error {
	if c.terms++; c.terms > maxTerms || depth > maxDepth {
		return fault.Invalid(c.field, "want at most %d conditions, nested at most %d deep", maxTerms, maxDepth)
	}
	switch f.Type {
	case And, Or:
		return c.checkParts(at, f, depth)
	case Equal, NotEqual, Greater, GreaterOrEqual, Less, LessOrEqual, In, NotIn, Contains, StartsWith:
	case "":
		return fault.Invalid(at+".type", "required: %s", wantType)
	default:
		return fault.Invalid(at+".type", "want %s", wantType)
	}
	switch {
	case f.Key == "":
		return fault.Invalid(at+".key", "required")
	case len(f.Key) > maxText || !utf8.ValidString(f.Key):
		return fault.Invalid(at+".key", "want at most %d bytes of UTF-8", maxText)
	case c.documents && OfPassage(f.Key):
		return fault.Invalid(at+".key", "%s is an attribute of passages; want one of documents", f.Key)
	case len(f.Filters) > 0:
		return fault.Invalid(at+".filters", "only and and or have filters")
	}
	return c.checkValue(at+".value", f)
}

func (c *checker) checkParts(at string, f *Filter, depth int) error {
	if len(f.Filters) == 0 {
		return fault.Invalid(at+".filters", "required")
	}
	for i := range f.Filters {
		if err := c.check(fmt.Sprintf("%s.filters[%d]", at, i), &f.Filters[i], depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) checkValue(at string, f *Filter) error {
	values := []any{f.Value}
	switch f.Type {
	case In, NotIn:
		list, ok := f.Value.([]any)
		if !ok || len(list) > maxValues {
			return fault.Invalid(at, "want a list of at most %d texts, numbers or truth values", maxValues)
		}
		values = list
	case Contains, StartsWith:
		s, ok := f.Value.(string)
		if !ok || s == "" || f.Type == Contains && len(folded(s)) == 0 {
			return fault.Invalid(at, "want a text with a word")
		}
	}
	for _, v := range values {
		s, text := v.(string)
		switch {
		case !scalar(v):
			return fault.Invalid(at, "want a text, a number or a truth value, and for in and nin a list of at most %d of them", maxValues)
		case len(s) > maxText || !utf8.ValidString(s):
			return fault.Invalid(at, "want at most %d bytes of UTF-8", maxText)
		}
		if _, date := ParseDate(s); c.documents && attributeName(f.Key) == "date" && !(text && date) {
			return fault.Invalid(at, "want a date, such as 2024-05-06 or 2024")
		}
	}
	return nil
}

func scalar(v any) bool {
	if _, ok := number(v); ok {
		return true
	}
	switch v.(type) {
	case string, bool:
		return true
	}
	return false
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	return 0, false
}

// Truth is the value of a filter in three-valued logic: some attributes are only known for a passage.
type Truth int

// The values of a filter.
const (
	No Truth = iota
	Unknown
	Yes
)

// Attributes returns the value of a key: a text, a number, a truth value, a [Span] of days, or a list of these, which meets a condition if one
// of its elements does. The value of an attribute of passages is Unknown for a document. No: the key is missing.
type Attributes func(key string) (value any, t Truth)

// Matches evaluates a filter. A missing key is not equal to anything.
func (f *Filter) Matches(of Attributes) Truth {
	if f.Empty() {
		return Yes
	}
	switch f.Type {
	case And:
		t := Yes
		for i := range f.Filters {
			t = min(t, f.Filters[i].Matches(of))
		}
		return t
	case Or:
		t := No
		for i := range f.Filters {
			t = max(t, f.Filters[i].Matches(of))
		}
		return t
	}
	v, known := of(f.Key)
	if known == Unknown {
		return Unknown
	}
	if f.compare(v, known == Yes) {
		return Yes
	}
	return No
}

func (f *Filter) compare(v any, there bool) bool {
	list, ok := v.([]any)
	switch {
	case !there:
		list = nil
	case !ok:
		list = []any{v}
	}
	switch f.Type {
	case NotEqual:
		return !slices.ContainsFunc(list, func(v any) bool { return test(Equal, v, f.Value) })
	case In, NotIn:
		values, _ := f.Value.([]any)
		in := slices.ContainsFunc(list, func(v any) bool {
			return slices.ContainsFunc(values, func(w any) bool { return test(Equal, v, w) })
		})
		return in == (f.Type == In)
	}
	return slices.ContainsFunc(list, func(v any) bool { return test(f.Type, v, f.Value) })
}

// test compares an attribute, which is not a list, with a value.
func test(kind string, v, w any) bool {
	switch kind {
	case Equal:
		if n, ok := order(v, w); ok {
			return n == 0
		}
		return scalar(v) && v == w
	case Contains, StartsWith:
		s, isText := v.(string)
		t, wantText := w.(string)
		if kind == StartsWith {
			return isText && wantText && strings.HasPrefix(s, t)
		}
		return isText && wantText && hasWords(s, t)
	}
	if days, ok := v.(Span); ok {
		return days.test(kind, w)
	}
	n, ok := order(v, w)
	switch kind {
	case Greater:
		return ok && n > 0
	case GreaterOrEqual:
		return ok && n >= 0
	case Less:
		return ok && n < 0
	}
	return ok && n <= 0
}

// order compares two numbers or two texts. A span of days is equal to a date that it overlaps.
func order(v, w any) (int, bool) {
	if days, ok := v.(Span); ok {
		date, _ := w.(string)
		other, ok := ParseDate(date)
		if ok && days.overlaps(other) {
			return 0, true
		}
		return days.First.Compare(other.First), ok
	}
	if n, ok := number(v); ok {
		m, ok := number(w)
		return cmp.Compare(n, m), ok
	}
	s, ok := v.(string)
	t, both := w.(string)
	return strings.Compare(s, t), ok && both
}

// hasWords reports whether all words of wanted are words of s, whatever their case and accents.
func hasWords(s, wanted string) bool {
	have, words := folded(s), folded(wanted)
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(have, w) })
}

func folded(s string) []string {
	var out []string
	for _, w := range lang.Words(lang.Truncate(s, maxText)) {
		out = append(out, lang.FoldWord(w.Text))
	}
	return out
}
