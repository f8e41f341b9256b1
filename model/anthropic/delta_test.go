package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// token is the event of a token as the API sends it.
const token = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" sluice"}           }`

// TestDecodeDelta checks which events decodeDelta decodes, and that the JSON library decodes them alike.
func TestDecodeDelta(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data  string
		usual bool
	}{
		{token, true},
		{`{"type": "content_block_delta", "index": 12, "delta": {"type": "thinking_delta", "thinking": "a\"\ud83d\n"}}`, true},
		{`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}`, true},
		{"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xf0\x9f\"}}", true},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}}`, false},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}`, false},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","text":"b"}}`, false},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","thinking":"a"}}`, false},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`, false},
		{`{"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":"a"}}`, false},
		{`{"type":"content_block_delta","index":01,"delta":{"type":"text_delta","text":"a"}}`, false},
		{`{"type":"content_block_delta","index":1234567890,"delta":{"type":"text_delta","text":"a"}}`, false},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\x"}}`, false},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}x`, false},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}`, false},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a`, false},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}, "usage":{}}`, false},
		{`{"type":"message_stop"}`, false}, {`{}`, false}, {``, false},
	} {
		if usual := agrees(t, []byte(c.data)); usual != c.usual {
			t.Errorf("%s: read in one pass: %v", c.data, usual)
		}
	}
}

// agrees reports whether decodeDelta decodes the event, and checks that the JSON library returns the same.
func agrees(t *testing.T, data []byte) bool {
	t.Helper()
	index, d, ok := decodeDelta(data)
	if !ok {
		return false
	}
	var want event
	err := json.Unmarshal(data, &want)
	got := event{Type: "content_block_delta", Index: index, Delta: d}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(usage{})); diff != "" || err != nil {
		t.Errorf("%q: %v\n%s", data, err, diff)
	}
	return true
}

// FuzzDecodeDelta looks for an event that decodeDelta and the JSON library decode differently.
func FuzzDecodeDelta(f *testing.F) {
	for _, seed := range []string{
		token, `{"type": "content_block_delta", "index": 12, "delta": {"type": "thinking_delta", "thinking": "a\"\ud83d\n"} }`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { agrees(t, data) })
}

// BenchmarkDecode compares ways of decoding the event of a token.
func BenchmarkDecode(b *testing.B) {
	data := []byte(token)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, d, ok := decodeDelta(data); !ok || len(d.Text) != len(`" sluice"`) {
				b.Fatal("not decoded")
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var e event
			if err := json.Unmarshal(data, &e); err != nil || len(e.Delta.Text) != len(`" sluice"`) {
				b.Fatal(err)
			}
		}
	})
}
