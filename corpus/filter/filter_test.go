package filter_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestFilterHolds(t *testing.T) {
	t.Parallel()
	of := func(key string) (any, filter.Truth) {
		switch key {
		case "filename":
			return "a.md", filter.Yes
		case "year":
			return 2024.0, filter.Yes
		case "draft":
			return false, filter.Yes
		case "tags":
			return []any{"x", "y"}, filter.Yes
		case "page":
			return nil, filter.Unknown
		}
		return nil, filter.No
	}
	for _, test := range []struct {
		raw  string
		want filter.Truth
	}{
		{`{"type":"eq","key":"filename","value":"a.md"}`, filter.Yes},
		{`{"type":"eq","key":"filename","value":"b.md"}`, filter.No},
		{`{"type":"ne","key":"filename","value":"b.md"}`, filter.Yes},
		{`{"type":"ne","key":"nothing","value":"b.md"}`, filter.Yes},
		{`{"type":"eq","key":"nothing","value":"b.md"}`, filter.No},
		{`{"type":"gt","key":"year","value":2023}`, filter.Yes},
		{`{"type":"gte","key":"year","value":2024}`, filter.Yes},
		{`{"type":"lt","key":"year","value":2024}`, filter.No},
		{`{"type":"lte","key":"year","value":2024}`, filter.Yes},
		{`{"type":"gt","key":"year","value":"2023"}`, filter.No},
		{`{"type":"lt","key":"filename","value":"b"}`, filter.Yes},
		{`{"type":"in","key":"filename","value":["b.md","a.md"]}`, filter.Yes},
		{`{"type":"nin","key":"filename","value":["b.md"]}`, filter.Yes},
		{`{"type":"nin","key":"nothing","value":["b.md"]}`, filter.Yes},
		{`{"type":"in","key":"nothing","value":["b.md"]}`, filter.No},
		{`{"type":"eq","key":"draft","value":false}`, filter.Yes},
		{`{"type":"eq","key":"tags","value":"y"}`, filter.Yes},
		{`{"type":"eq","key":"page","value":1}`, filter.Unknown},
		{`{"type":"and","filters":[{"type":"eq","key":"page","value":1},{"type":"eq","key":"draft","value":true}]}`, filter.No},
		{`{"type":"and","filters":[{"type":"eq","key":"page","value":1},{"type":"eq","key":"draft","value":false}]}`, filter.Unknown},
		{`{"type":"or","filters":[{"type":"eq","key":"page","value":1},{"type":"eq","key":"draft","value":false}]}`, filter.Yes},
		{`null`, filter.Yes}, {`{}`, filter.Yes}, {``, filter.Yes},
	} {
		f, err := filter.Parse("filters", json.RawMessage(test.raw))
		if err != nil {
			t.Errorf("%s: %v", test.raw, err)
		} else if got := f.Matches(of); got != test.want {
			t.Errorf("%s: %d, want %d", test.raw, got, test.want)
		}
	}
}

func TestFilterRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"and","filters":[`, 40) + `{"type":"eq","key":"a","value":1}` + strings.Repeat(`]}`, 40)
	wide := `{"type":"or","filters":[` + strings.TrimSuffix(strings.Repeat(`{"type":"eq","key":"a","value":1},`, 400), ",") + `]}`
	for raw, field := range map[string]string{
		`[]`:                                          "filters",
		`"x"`:                                         "filters",
		`{"key":"a","value":1}`:                       "filters.type",
		`{"type":"like","key":"a","value":1}`:         "filters.type",
		`{"type":"eq","value":1}`:                     "filters.key",
		`{"type":"eq","key":"a"}`:                     "filters.value",
		`{"type":"eq","key":"a","value":{}}`:          "filters.value",
		`{"type":"in","key":"a","value":"x"}`:         "filters.value",
		`{"type":"in","key":"a","value":[[]]}`:        "filters.value",
		`{"type":"and"}`:                              "filters.filters",
		`{"type":"and","filters":[1]}`:                "filters.filters",
		`{"type":"and","filters":[{"type":1}]}`:       "filters.filters.type",
		`{"type":"contains","key":"a","value":"–"}`:   "filters.value",
		`{"type":"starts_with","key":"a","value":""}`: "filters.value",
		`{"type":"contains","key":"a","value":1}`:     "filters.value",
		`{"type":"eq","key":"a","value":"` + strings.Repeat("x", 3000) + `"}`:             "filters.value",
		`{"type":"eq","key":"` + strings.Repeat("x", 3000) + `","value":1}`:               "filters.key",
		`{"type":"eq","key":"a","value":1,"filters":[{"type":"eq","key":"a","value":1}]}`: "filters.filters",
		`{"type":"or","filters":[{"type":"eq","key":"a","value":1},null]}`:                "filters.filters[1].type",
		`{"x":1}`: "filters.type", deep: "filters", wide: "filters",
	} {
		_, err := filter.Parse("filters", json.RawMessage(raw))
		if f := fault.Public(err); f == nil || f.Code != fault.InvalidRequest || f.Field != field {
			t.Errorf("%.60s: %v, want an error of %s", raw, err, field)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add(`{"type":"and","filters":[{"type":"eq","key":"a","value":1},{"type":"nin","key":"b","value":["x"]}]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		x, err := filter.Parse("filters", json.RawMessage(raw))
		if err == nil {
			x.Matches(func(string) (any, filter.Truth) { return nil, filter.Unknown })
			_ = x.String()
			x.Matches(func(string) (any, filter.Truth) { return []any{"a", 1.0, nil}, filter.Yes })
		} else if fault.Public(err).Code != fault.InvalidRequest {
			t.Error(err)
		}
	})
}

// TestDocuments checks conditions on the attributes of a document.
func TestDocuments(t *testing.T) {
	t.Parallel()
	d := corpus.Document{ID: "doc_1", Title: "Of Tides", URI: "/home/ada/notes/spring-tides.pdf", Path: "notes/spring-tides.pdf", MediaType: "application/pdf", Bytes: 2000,
		Meta:  corpus.DublinCore{Creator: "Brook, Ada; Ed Mill", Language: "en-GB", Date: "May 2021", Publisher: "Acme Press Ltd.", Subject: "Tides; Moon"},
		Given: corpus.DublinCore{Title: "Tides, revised"}}
	for text, want := range map[string]filter.Truth{
		"creator~=ada brook": filter.Yes, "creator~=Ada Vale": filter.No, "dc_creator~=MILL": filter.Yes, "creator=Ada Brook": filter.No, "creator~=Broo": filter.No,
		"publisher~=acme": filter.Yes, "subject~=moon": filter.Yes, "rights~=x": filter.No, "rights!=x": filter.Yes, "title=Of Tides": filter.Yes, "title~=revised": filter.Yes,
		"type=pdf": filter.Yes, "type=application/pdf": filter.Yes, "type!=pdf": filter.No, "type=html": filter.No, "content_type=application/pdf": filter.Yes,
		"language=en": filter.Yes, "language=en-GB": filter.Yes, "language=de": filter.No, "bytes>1999": filter.Yes, "bytes>2000": filter.No,
		"path^=notes/": filter.Yes, "path^=/home": filter.No, "path^=Notes/": filter.No, "filename=spring-tides.pdf": filter.Yes, "file_id=doc_1": filter.Yes,
		// The date of a document is a month, of which one day is enough.
		"date=2021": filter.Yes, "date=2021-05-06": filter.Yes, "date=2021-06": filter.No, "date!=2021": filter.No, "date>=2021-05-31": filter.Yes, "date>=2021-06-01": filter.No,
		"date<=2021-05-01": filter.Yes, "date<=2021-04": filter.No, "date>2021-05-30": filter.Yes, "date>2021": filter.No, "date<2021-05-02": filter.Yes, "date<2021-05": filter.No,
		"page=1": filter.Unknown, "custom=1": filter.No, "custom!=1": filter.Yes,
		`{"type":"or","filters":[{"type":"in","key":"language","value":["de","en"]},{"type":"eq","key":"type","value":"html"}]}`: filter.Yes,
	} {
		f, err := filter.ParseText("filter", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := f.Matches(filter.OfDocument(d)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	if got := where(t, "date>=2020").Matches(filter.OfDocument(corpus.Document{})); got != filter.No {
		t.Errorf("a document without a date: %d", got)
	}
	if got := where(t, "path^=https://example.org/").Matches(filter.OfDocument(corpus.Document{URI: "https://example.org/a.html"})); got != filter.Yes {
		t.Errorf("a document from a URL: %d", got)
	}
}

func where(t *testing.T, text string) *filter.Filter {
	t.Helper()
	f, err := filter.ParseText("filter", text)
	require.NoError(t, err)
	return f
}

// TestText checks the text form of conditions.
func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]filter.Filter{
		"creator ~= Ada Brook": {Type: filter.Contains, Key: "creator", Value: "Ada Brook"},
		"year>=2020":           {Type: filter.GreaterOrEqual, Key: "year", Value: 2020.0},
		`year="2020"`:          {Type: filter.Equal, Key: "year", Value: "2020"},
		"date>=2020":           {Type: filter.GreaterOrEqual, Key: "date", Value: "2020"},
		"draft!=true":          {Type: filter.NotEqual, Key: "draft", Value: true},
		"title=a=b>c":          {Type: filter.Equal, Key: "title", Value: "a=b>c"},
		"path^=x":              {Type: filter.StartsWith, Key: "path", Value: "x"},
		"a<1":                  {Type: filter.Less, Key: "a", Value: 1.0},
	} {
		got := where(t, text)
		if d := cmp.Diff(&want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
		if d := cmp.Diff(got, where(t, got.String())); d != "" {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
	all := filter.Join(*where(t, "a=1"), filter.Filter{Type: filter.Or, Filters: []filter.Filter{*where(t, "b~=x"), *where(t, `{"type":"in","key":"c","value":["y",2]}`)}})
	if got := all.String(); got != `a=1 and (b~="x" or c in ["y",2])` {
		t.Error(got)
	}
	for text, field := range map[string]string{"creator": "filter", "": "filter", "=x": "filter.key", "creator~=": "filter.value", "{": "filter", `{"type":"eq"}`: "filter.key"} {
		_, err := filter.ParseText("filter", text)
		if f := fault.Public(err); f == nil || f.Code != fault.InvalidRequest || f.Field != field {
			t.Errorf("%q: %v, want an error of %s", text, err, field)
		}
	}
}

// TestDocumentFilterRefused checks what a filter of whole documents cannot have.
func TestDocumentFilterRefused(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
		"page=3": "filter.key", "date>=soon": "filter.value", `{"type":"eq","key":"date","value":2024}`: "filter.value",
		`{"type":"and","filters":[{"type":"eq","key":"title","value":"x"},{"type":"lt","key":"heading","value":"x"}]}`: "filter.filters[1].key",
	} {
		err := where(t, text).ValidateDocuments("filter")
		if f := fault.Public(err); err == nil || f.Code != fault.InvalidRequest || f.Field != field {
			t.Errorf("%s: %v, want an error of %s", text, err, field)
		}
	}
	var none *filter.Filter
	if err := none.ValidateDocuments("filter"); err != nil || none.String() != "" || (&filter.Filter{}).ValidateDocuments("filter") != nil {
		t.Error("no filter:", err)
	}
}
