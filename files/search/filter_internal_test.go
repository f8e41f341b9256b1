package search

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/fault"
)

func TestFilterHolds(t *testing.T) {
	t.Parallel()
	of := func(key string) (any, truth) {
		switch key {
		case "filename":
			return "a.md", yes
		case "year":
			return 2024.0, yes
		case "draft":
			return false, yes
		case "tags":
			return []any{"x", "y"}, yes
		case "page":
			return nil, unknown
		}
		return nil, no
	}
	for _, test := range []struct {
		filter string
		want   truth
	}{
		{`{"type":"eq","key":"filename","value":"a.md"}`, yes},
		{`{"type":"eq","key":"filename","value":"b.md"}`, no},
		{`{"type":"ne","key":"filename","value":"b.md"}`, yes},
		{`{"type":"ne","key":"nothing","value":"b.md"}`, yes},
		{`{"type":"eq","key":"nothing","value":"b.md"}`, no},
		{`{"type":"gt","key":"year","value":2023}`, yes},
		{`{"type":"gte","key":"year","value":2024}`, yes},
		{`{"type":"lt","key":"year","value":2024}`, no},
		{`{"type":"lte","key":"year","value":2024}`, yes},
		{`{"type":"gt","key":"year","value":"2023"}`, no},
		{`{"type":"lt","key":"filename","value":"b"}`, yes},
		{`{"type":"in","key":"filename","value":["b.md","a.md"]}`, yes},
		{`{"type":"nin","key":"filename","value":["b.md"]}`, yes},
		{`{"type":"nin","key":"nothing","value":["b.md"]}`, yes},
		{`{"type":"in","key":"nothing","value":["b.md"]}`, no},
		{`{"type":"eq","key":"draft","value":false}`, yes},
		{`{"type":"eq","key":"tags","value":"y"}`, yes},
		{`{"type":"eq","key":"page","value":1}`, unknown},
		{`{"type":"and","filters":[{"type":"eq","key":"page","value":1},{"type":"eq","key":"draft","value":true}]}`, no},
		{`{"type":"and","filters":[{"type":"eq","key":"page","value":1},{"type":"eq","key":"draft","value":false}]}`, unknown},
		{`{"type":"or","filters":[{"type":"eq","key":"page","value":1},{"type":"eq","key":"draft","value":false}]}`, yes},
		{`null`, yes}, {`{}`, yes}, {``, yes},
	} {
		f, err := ParseFilter("filters", json.RawMessage(test.filter))
		if err != nil {
			t.Errorf("%s: %v", test.filter, err)
		} else if got := f.matches(of); got != test.want {
			t.Errorf("%s: %d, want %d", test.filter, got, test.want)
		}
	}
}

func TestFilterRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"and","filters":[`, 40) + `{"type":"eq","key":"a","value":1}` + strings.Repeat(`]}`, 40)
	wide := `{"type":"or","filters":[` + strings.TrimSuffix(strings.Repeat(`{"type":"eq","key":"a","value":1},`, 400), ",") + `]}`
	for filter, field := range map[string]string{
		`[]`:                                    "filters",
		`"x"`:                                   "filters",
		`{"key":"a","value":1}`:                 "filters.type",
		`{"type":"like","key":"a","value":1}`:   "filters.type",
		`{"type":"eq","value":1}`:               "filters.key",
		`{"type":"eq","key":"a"}`:               "filters.value",
		`{"type":"eq","key":"a","value":{}}`:    "filters.value",
		`{"type":"in","key":"a","value":"x"}`:   "filters.value",
		`{"type":"in","key":"a","value":[[]]}`:  "filters.value",
		`{"type":"and"}`:                        "filters.filters",
		`{"type":"and","filters":[1]}`:          "filters.filters[0]",
		`{"type":"and","filters":[{"type":1}]}`: "filters.filters[0]",
		deep:                                    "filters", wide: "filters",
	} {
		_, err := ParseFilter("filters", json.RawMessage(filter))
		if f := fault.Public(err); f == nil || f.Code != fault.InvalidRequest || f.Field != field {
			t.Errorf("%.60s: %v, want an error of %s", filter, err, field)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add(`{"type":"and","filters":[{"type":"eq","key":"a","value":1},{"type":"nin","key":"b","value":["x"]}]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		x, err := ParseFilter("filters", json.RawMessage(raw))
		if err == nil {
			x.matches(func(string) (any, truth) { return nil, unknown })
			x.matches(func(string) (any, truth) { return []any{"a", 1.0, nil}, yes })
		} else if fault.Public(err).Code != fault.InvalidRequest {
			t.Error(err)
		}
	})
}
