package filter

import (
	"encoding/json"
	"strings"

	"github.com/sluice-rag/sluice/fault"
)

// operators are the comparisons in the text form of a condition. Of two that begin at the same place, the longer one comes first.
var operators = []struct{ sign, kind string }{
	{"~=", Contains}, {"^=", StartsWith}, {"!=", NotEqual}, {">=", GreaterOrEqual}, {"<=", LessOrEqual}, {"=", Equal}, {">", Greater}, {"<", Less},
}

// ParseText parses a condition as a person types it: a key, an operator and a value, such as creator~=Brook or date>=2024, or a filter in
// JSON. The operators are = != > >= < <=, ~= (contains) and ^= (starts with). A number, true and false are no texts unless they are quoted, except
// for dates. Errors are [fault.InvalidRequest] of the field.
func ParseText(field, s string) (*Filter, error) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "{") {
		return Parse(field, json.RawMessage(s))
	}
	at, sign, kind := len(s), "", ""
	for _, o := range operators {
		if i := strings.Index(s, o.sign); i >= 0 && i < at {
			at, sign, kind = i, o.sign, o.kind
		}
	}
	if kind == "" {
		return nil, fault.Invalid(field, "want a condition such as creator~=Brook or date>=2024, with =, !=, >, >=, <, <=, ~= (contains) or ^= (starts with)")
	}
	f := &Filter{Type: kind, Key: strings.TrimSpace(s[:at])}
	text := strings.TrimSpace(s[at+len(sign):])
	f.Value = text
	var v any
	if json.Unmarshal([]byte(text), &v) == nil && scalar(v) {
		if _, quoted := v.(string); quoted || kind != Contains && kind != StartsWith && attributeName(f.Key) != "date" {
			f.Value = v
		}
	}
	return f, f.Validate(field)
}

// String returns the filter as a person reads it, with the operators of [ParseText].
func (f *Filter) String() string {
	if f.Empty() {
		return ""
	}
	if f.Type == And || f.Type == Or {
		parts := make([]string, len(f.Filters))
		for i := range f.Filters {
			if parts[i] = f.Filters[i].String(); len(f.Filters[i].Filters) > 1 {
				parts[i] = "(" + parts[i] + ")"
			}
		}
		return strings.Join(parts, " "+f.Type+" ")
	}
	value, _ := json.Marshal(f.Value) // a checked value always has JSON
	for _, o := range operators {
		if o.kind == f.Type {
			return f.Key + o.sign + string(value)
		}
	}
	return f.Key + " " + f.Type + " " + string(value)
}
