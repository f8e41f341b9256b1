package wire_test

import (
	"encoding/json"
	"errors"
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
		`{"zebra":1}`:                            "zebra: unknown field",
		`{"":1}`:                                 ": unknown field",
		`{"inner":{"topK":1}}`:                   "inner.topK: unknown field; did you mean top_k?",
		`{"list":[{"top_k":1},{"nothing":1}]}`:   "list[1].nothing: unknown field",
		`{"Hidden":1}`:                           "Hidden: unknown field",
		`{"query":"x","query":"y"}`:              "query: given twice",
		`{"metadata":{"a":"1","a":"2"}}`:         "metadata.a: given twice",
		`{"raw":[{"a":{"b":1,"c":2,"b":3}}]}`:    "raw[0].a.b: given twice",
		`{"` + long + `":1}`:                     strings.Repeat("é", 64) + "…: unknown field",
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

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
