package wire_test

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

type fieldsInner struct {
	TopK int `json:"top_k"`
}

type fieldsOuter struct {
	fieldsInner
	Query    string            `json:"query,omitempty"`
	Inner    *fieldsInner      `json:"inner"`
	List     []fieldsInner     `json:"list"`
	Raw      json.RawMessage   `json:"raw"`
	Any      any               `json:"any"`
	Metadata map[string]string `json:"metadata"`
	Hidden   string            `json:"-"`
}

func TestCheckFields(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200)
	for body, want := range map[string]string{
		`{"query":"x","top_k":1,"inner":{"top_k":1},"list":[{"top_k":1},{}],"raw":{"x":[{"y":1}]},"any":{"z":1},"metadata":{"q":"r"}}`: "",
		`{}`: "", `null`: "", `7`: "", `{"inner":null,"list":null}`: "",
		`{"topk":1}`:                             "topk: unknown field; did you mean top_k?",
		`{"QUERY":"x"}`:                          "QUERY: unknown field; did you mean query?",
		`{"zebra":1}`:                            "zebra: unknown field; known are any, inner, list, metadata, query, raw, top_k",
		`{"":1}`:                                 "\"\": unknown field; known are any, inner, list, metadata, query, raw, top_k",
		`{"inner":{"topK":1}}`:                   "inner.topK: unknown field; did you mean top_k?",
		`{"list":[{"top_k":1},{"nothing":1}]}`:   "list[1].nothing: unknown field; known are top_k",
		`{"Hidden":1}`:                           "Hidden: unknown field; known are any, inner, list, metadata, query, raw, top_k",
		`{"query":"x","query":"y"}`:              "query: given twice",
		`{"metadata":{"a":"1","a":"2"}}`:         "metadata.a: given twice",
		`{"raw":[{"a":{"b":1,"c":2,"b":3}}]}`:    "raw[0].a.b: given twice",
		`{"` + long + `":1}`:                     strings.Repeat("é", 64) + "…: unknown field; known are any, inner, list, metadata, query, raw, top_k",
		`{"query":"x","quer\u0079":"y"}`:         "query: given twice",
		`{"inner":[{"anything":{"at":"all"}}]}`:  "",
		`{"query":{"of":"another type","of":1}}`: "query.of: given twice",
	} {
		err := wire.CheckFields([]byte(body), fieldsOuter{})
		if got := message(err); got != want {
			t.Errorf("%.100s: %q, want %q", body, got, want)
		}
		if e, ok := errors.AsType[*fault.Error](err); err != nil && (!ok || e.Code != fault.InvalidRequest) {
			t.Errorf("%.100s: %#v", body, err)
		}
	}
}

func TestDecodeNamesTheFieldOfAHugeNumber(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"query":"x","top_k":1e400}`:             "top_k: want an integer, got number 1e400",
		`{"query":"x","list":[{"top_k":-1e400}]}`: "list[0].top_k: want an integer, got number -1e400",
		`{"query":"x","any":{"z":1e400}}`:         "any.z: want a number, got number 1e400",
	} {
		var into fieldsOuter
		if got := message(wire.Decode([]byte(body), &into)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestCheckFieldsOfNestedValues runs alone because it measures memory: that must not grow with the lengths of all paths.
func TestCheckFieldsOfNestedValues(t *testing.T) {
	object := func(levels int, last string) string {
		return strings.Repeat(`{"abcdefghijklmnopqrst":`, levels) + last + strings.Repeat("}", levels)
	}
	list := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	deep := `any: nested more than 100 levels deep`
	for name, c := range map[string]struct{ body, want string }{
		"objects at the limit":   {`{"any":` + object(98, "{}") + "}", ""},
		"objects over the limit": {`{"any":` + object(99, "{}") + "}", deep},
		"9,990 objects":          {`{"any":` + object(9990, "1") + "}", deep},
		"lists at the limit":     {`{"any":` + list(99) + "}", ""},
		"lists over the limit":   {`{"any":` + list(100) + "}", deep},
		"long names":             {`{"any":` + strings.Repeat(`{"`+strings.Repeat("n", 10_000)+`":`, 98) + "1" + strings.Repeat("}", 99), ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := wire.CheckFields([]byte(c.body), fieldsOuter{})
		runtime.ReadMemStats(&after)
		if got := message(err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Errorf("%s: checking %d bytes took %d bytes of memory", name, len(c.body), took)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestDecodeNamesTypes decodes values of a wrong type, whose errors name the types of JSON and not those of Go.
func TestDecodeNamesTypes(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"stream":"yes"}`: "stream: want true or false, got string", `{"temperature":"hot"}`: "temperature: want a number, got string",
		`{"top_k":[]}`: "top_k: want an integer, got array", `{"names":1}`: "names: want a list, got number", `{"of":true}`: "of: want an object, got bool",
		`{"names":["a", {"b":1}, "c"]}`: "names[1]: want a string, got object", `{ "names" : [ "a", [ ], "c" ] }`: "names[1]: want a string, got array", `{"names":["a",7],"of":1}`: "names[1]: want a string, got number",
		`{"of":{"a":{}}}`: "of.a: want a string, got object", `[]`: "body: want a JSON object, got array", `"a"`: "body: want a JSON object, got string",
		`{"names":["a"`: "body: not valid JSON: it ends too early", `{"stream":true,}`: "body: not valid JSON at byte 16", ` `: "body: empty; want a JSON object",
	} {
		var q struct {
			Stream      bool              `json:"stream"`
			Temperature *float64          `json:"temperature"`
			TopK        int               `json:"top_k"`
			Names       []string          `json:"names"`
			Of          map[string]string `json:"of"`
		}
		if err := wire.Decode([]byte(body), &q); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}
