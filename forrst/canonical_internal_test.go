package forrst

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCanonicalJSON checks the examples of RFC 8785, sections 3.2.2 to 3.2.4.
func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{
			"numbers": [1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
			"literals": [null, true, false]
		}`: `{"literals":[null,true,false],"numbers":[1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{
			"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
			"\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"
		}`: `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		`{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ignore locale"}`: `{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ignore locale"}`,
		`"\b\t\n\u000b\f\r\u001f\u007f\u2028<>&"`: `"\b\t\n\u000b\f\r\u001f` + "\u007f\u2028" + `<>&"`,
		` [ ] `:                    `[]`,
		`{"b":{},"a":[{},[]]}`:     `{"a":[{},[]],"b":{}}`,
		`[-0,-0.0,0e5,1.0,100e-2]`: `[0,0,0,1,1]`,
		// Beyond the RFC: what a double does not hold stays exact, in one form.
		`[333333333.33333329,9007199254740993,9007199254740993.0,-1e400,1e-400,0.1]`: `[33333333333333329e-8,9007199254740993e0,9007199254740993e0,-1e400,1e-400,0.1]`,
		`{"a":1,"a":{"b":2}}`: `{"a":1,"a":{"b":2}}`,
	} {
		got, err := canonicalJSON(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\ngot  %s %v\nwant %s", in, got, err, want)
		}
	}
	for _, in := range []string{``, `{`, `[1`, `{"a":}`, `{"a"`, `nul`} {
		if got, err := canonicalJSON(json.RawMessage(in)); err == nil {
			t.Errorf("%q is %s", in, got)
		}
	}
}

// TestCanonicalNumbers checks the samples of RFC 8785, appendix B.
func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0",
		0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992", 0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325", 0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334", 0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333", 0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		literal := strconv.FormatFloat(math.Float64frombits(bits), 'e', -1, 64)
		if got := canonicalNumber(literal); got != want {
			t.Errorf("%s is %s, want %s", literal, got, want)
		}
	}
}

// FuzzCanonicalJSON checks that the canonical form has the same meaning, and is its own canonical form.
func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{`{"b":[1,2.50,-0],"a":"\ud83d\ude00\u0000"}`, `[1e400,9007199254740993,{"a":1,"a":2}]`, `"\ud800"`, `-1.0E-7`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if syntax(in) != nil {
			return
		}
		once, err := canonicalJSON(in)
		if err != nil {
			return // nested too deep
		}
		if syntax(once) != nil {
			t.Fatalf("%q has the form %q", in, once)
		}
		twice, err := canonicalJSON(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%q has the form %q, and that %q, %v", in, once, twice, err)
		}
		var a, b any
		if err1, err2 := json.Unmarshal(in, &a), json.Unmarshal(once, &b); (err1 == nil) != (err2 == nil) {
			t.Fatalf("%v, %v", err1, err2)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("%s and %s: %s", in, once, diff)
		}
	})
}
