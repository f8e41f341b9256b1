package openai

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// said decodes a stream and joins its pieces.
func said(body io.Reader) (text, thought string, calls []model.ToolCall, stop model.StopReason, err error) {
	_, err = newStream(body).read(func(p model.Piece) bool {
		text += p.Text
		thought += p.Reasoning
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
		stop = p.Stop
		return true
	})
	return text, thought, calls, stop, err
}

// TestSplitter cuts texts at every two bytes.
func TestSplitter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, thought, said string }{
		{"<think>a</think>b", "a", "b"},
		{" \n<think>\na <b </thinks </think>\n\n b</think>", "\na <b </thinks ", "b</think>"},
		{"<thinking>a", "", "<thinking>a"},
		{"a<think>b</think>", "", "a<think>b</think>"},
		{"<think>a</thi", "a</thi", ""},
		{"<thin", "", "<thin"},
		{"  ", "", "  "},
		{"<think></think>", "", ""},
	} {
		for i := range c.text {
			for k := i; k <= len(c.text); k++ {
				var s thinkSplitter
				var thought, said string
				for _, part := range []string{c.text[:i], c.text[i:k], c.text[k:]} {
					a, b := s.push(part)
					thought, said = thought+a, said+b
				}
				a, b := s.flush()
				if thought+a != c.thought || said+b != c.said {
					t.Errorf("%q cut at %d and %d is %q and %q", c.text, i, k, thought+a, said+b)
				}
			}
		}
	}
}

// TestMaxAnswer decodes answers that are larger than the limit.
func TestMaxAnswer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 512<<10)
	event := `data: {"choices":[{"delta":{"reasoning":"` + long + `"}}]}` + "\n\n"
	calls := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"` + long + `"}}]}}]}` + "\n\n"
	many := `data: {"choices":[{"delta":{"tool_calls":[` + strings.Repeat(`{"id":"1"},{"id":"2"},`, maxCalls) + `{"id":"1"}]}}]}` + "\n\n"
	for name, body := range map[string]string{
		"answer": strings.Repeat(event, 2*transport.MaxAnswer/len(long)+1), "arguments": strings.Repeat(calls, 2*transport.MaxAnswer/len(long)+1), "calls": many,
		"event": strings.Repeat("data: "+long+"\n", 3) + "\n", "line": "data: " + long + long + long,
		"deep": "data: " + strings.Repeat("[", 100000) + "\n\n",
	} {
		if _, _, _, _, err := said(strings.NewReader(body)); !errors.Is(err, transport.ErrTooLarge) && !errors.Is(err, transport.ErrUnreadable) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestSeveralCalls separates tool calls in the ways in which servers mark them.
func TestSeveralCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, deltas string
		want         []string
	}{
		{"without index", `[{"id":"a","function":{"name":"f","arguments":"{"}},{"function":{"arguments":"}"}},{"id":"b","function":{"name":"g"}}]`,
			[]string{"a f {}", "b g {}"}},
		{"without anything", `[{"function":{"name":"f","arguments":"{\"a\":1}"}},{"function":{"name":"f","arguments":{"a": 2}}}]`,
			[]string{`call_1 f {"a":1}`, `call_2 f {"a": 2}`}},
		{"mixed", `[{"index":0,"id":"a","function":{"name":"f","arguments":"["}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}},` +
			`{"index":0,"id":"a","function":{"name":"f","arguments":"]"}}]`, []string{"a f []", "b g {}"}},
	} {
		body := `data: {"choices":[{"delta":{"tool_calls":` + c.deltas + `},"finish_reason":"stop"}]}` + "\n\n"
		_, _, calls, stop, err := said(iotest.OneByteReader(strings.NewReader(body)))
		var got []string
		for _, call := range calls {
			got = append(got, call.ID+" "+call.Name+" "+string(call.Input))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil || stop != model.StopTools {
			t.Errorf("%s: %v %v\n%s", c.name, stop, err, diff)
		}
	}
}

// FuzzStream checks for arbitrary input that the pieces are valid UTF-8 and valid JSON, and that they do not depend on the sizes of
// reads.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\\ud83d\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"\\ude00\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"length\"}]}",
		"{\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"<think>a</think>b\"}]}}]}",
		"error: {\"message\":\"context size\"}\r\n\r\n", "data:{\"error\":{\"code\":429}}\n\n", ": x\n\ndata: {\"usage\":{\"prompt_tokens\":1e99}}\n\n",
		"data: {\"choices\":[{\"delta\":{\"reasoning\":\"\xf0\x9f\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"reasoning\":\"\x99\x82\"}}]}\n\n",
		"data: {\"object\":\"error\",\"message\":\"x\"}\n\n", "data: {\"choices\":[{\"delta\":{\"tool_calls\":null},\"finish_reason\":7}]}\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		text, thought, calls, stop, err := said(strings.NewReader(body))
		if !utf8.ValidString(text) || !utf8.ValidString(thought) {
			t.Fatalf("not UTF-8: %q %q", text, thought)
		}
		for _, c := range calls {
			if !json.Valid(c.Input) || !utf8.ValidString(c.Name) {
				t.Fatalf("a call of %q with %q", c.Name, c.Input)
			}
		}
		if (err == nil) == (stop == "") {
			t.Fatalf("it ended with %q and %v", stop, err)
		}
		text2, thought2, calls2, stop2, err2 := said(iotest.OneByteReader(strings.NewReader(body)))
		if text != text2 || thought != thought2 || stop != stop2 || len(calls) != len(calls2) || (err == nil) != (err2 == nil) {
			t.Fatalf("cut otherwise it is another answer: %q %q %v, %q %q %v", text, thought, err, text2, thought2, err2)
		}
	})
}

// TestDecodeCommon checks which events decodeCommon decodes, and that decodeAny returns the same.
func TestDecodeCommon(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data  string
		usual bool
	}{
		{event, true},
		{`{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"a\n\u00e9\ud83d"}}],"created":1,"object":"chat.completion.chunk"}`, true},
		{`{"choices": [{"index": 0, "delta": {"role": "assistant", "content": null, "tool_calls": null}}], "usage": null}`, true},
		{`{"choices":[{"delta":{"reasoning_content":"a","reasoning":"a","content":"b","content":"c"}}]}`, true},
		{`{"choices":[{"delta":{"reasoning":"","reasoning_content":"a","refusal":null}}],"timings":null,"error":null}`, true},
		{"{\"choices\":[{\"delta\":{\"content\":\"\xf0\x9f\"}}]}", true},
		{`{}`, true},
		{`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, false},
		{`{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}`, false},
		{`{"choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}`, false},
		{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x"}]}}]}`, false},
		{`{"choices":[{"delta":{"refusal":"no"}}]}`, false},
		{`{"choices":[{"message":{"content":"a"}}]}`, false},
		{`{"choices":[{"delta":{"c\u006fntent":"a"}}]}`, false},
		{`{"choices":[{"delta":{"content":"a"},"error":{}}]}`, false},
		{`{"choices":[],"usage":{"prompt_tokens":1}}`, false},
		{`{"object":"error"}`, false}, {`{"object":"\u0065rror"}`, false}, {`{"error":"x"}`, false}, {`{"error":false}`, false},
		{`{"a":01}`, false}, {`{"a":1.5}`, false}, {`{"a":-1}`, false}, {`{"a":"\x"}`, false}, {"{\"a\":\"\n\"}", false},
		{`{"a":1,}`, false}, {`{"a":1}x`, false}, {`{"a"}`, false}, {`{"a":"`, false}, {`{"a":"\`, false}, {`{"a":`, false}, {``, false},
	} {
		got, ok := decodeCommon([]byte(c.data))
		if ok != c.usual {
			t.Errorf("%s: read in one go: %v", c.data, ok)
		}
		if ok {
			agrees(t, []byte(c.data), got)
		}
	}
}

func agrees(t *testing.T, data []byte, got chunk) {
	t.Helper()
	want, err := decodeAny(data)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(chunk{})); diff != "" || err != nil {
		t.Errorf("%q: %v\n%s", data, err, diff)
	}
}

// FuzzDecodeCommon looks for an event that decodeCommon and decodeAny decode differently.
func FuzzDecodeCommon(f *testing.F) {
	for _, seed := range []string{
		event, `{"choices": [{"index": 0, "delta": {"role": "assistant", "content": null}, "finish_reason": null}]}`,
		`{"choices":[{"delta":{"reasoning":"","reasoning_content":"\ud83d","content":"\u00e9\n","refusal":null,"tool_calls":null}}],"error":null}`,
		`{"choices":[{"delta":{"content":"a"},"error":null,"message":null}],"choices":[{"delta":{"content":"b"}}],"timings":null}`,
		`{"object":"chat","a":0,"b":10,"c":true,"d":false,"e":"\/","usage":null,"choices":[{}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, ok := decodeCommon(data); ok {
			agrees(t, data, c)
		}
	})
}

// event is a chunk in the format of OpenAI.
const event = `{"id":"chatcmpl-BxTvK3Ys","object":"chat.completion.chunk","created":1752571230,"model":"gpt-4o-mini-2024-07-18",` +
	`"service_tier":"default","system_fingerprint":"fp_34a54ae93c","choices":[{"index":0,"delta":{"content":" sluice"},` +
	`"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aBcDeF"}`

// BenchmarkStream measures a chunk of a stream.
func BenchmarkStream(b *testing.B) {
	body := strings.Repeat("data: "+event+"\n\n", b.N) + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	b.ReportAllocs()
	b.ResetTimer()
	s := newStream(strings.NewReader(body))
	s.events.Reset(strings.NewReader(body)) // and size, below: the bound of a stream is less than a benchmark reads
	n := 0
	for range b.N {
		data, err := s.events.Next()
		require.NoError(b, err)
		c, err := decode(data)
		require.NoError(b, err)
		if _, err := s.handle(c, func(model.Piece) bool { n++; s.size = 0; return true }); err != nil {
			b.Fatal(err)
		}
	}
	if n != b.N {
		b.Fatalf("%d pieces of %d chunks", n, b.N)
	}
}

// BenchmarkDecode compares ways of decoding a chunk.
func BenchmarkDecode(b *testing.B) {
	data := []byte(event)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if c, err := decode(data); err != nil || c.text != " sluice" {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var c struct {
				Choices []struct {
					Delta struct {
						Content string `json:"content"`
					} `json:"delta"`
					Finish string `json:"finish_reason"`
				} `json:"choices"`
			}
			if err := json.Unmarshal(data, &c); err != nil || c.Choices[0].Delta.Content != " sluice" {
				b.Fatal(err)
			}
		}
	})
}
