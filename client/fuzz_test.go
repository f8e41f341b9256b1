package client_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// FuzzFold: a fold stays within its limits and does not panic, whatever the server sends, and its earlier snapshots do not
// change.
func FuzzFold(f *testing.F) {
	for _, ev := range frames(knowledge.Protocol{}, story()) {
		f.Add("knowledge", ev.Name, string(ev.Data), ev.Name, string(ev.Data))
	}
	for _, ev := range frames(knowledge.Protocol{Delta: true}, story()) {
		f.Add("knowledge", ev.Name, string(ev.Data), "done", "{}")
	}
	f.Add("forge", "retrieval_start", `{"tool":"a","query":"b","iteration":2,"reason":"c"}`, "retrieval_result", `{"tool":"a","chunks_found":-1,"duration_ms":-5}`)
	f.Add("forge", "sources", `{"sources":[{"cited":true,"page_numbers":[-1]},{}]}`, "token", `{"content":" [1]"}`)
	f.Add("forge", "tool_call", `{"tool":"t"}`, "tool_result", `{"tool":"t","result":{"sub_queries":["a","b"]}}`)
	f.Add("forge", "error", `{"recoverable":true}`, "done", `{"usage":{"models":["m"]}}`)
	f.Add("knowledge", "response.output_text.annotation.added", `{"annotation_index":99999999,"annotation":{}}`, "error", `null`)
	f.Fuzz(func(t *testing.T, protocol, name1, data1, name2, data2 string) {
		if protocol != knowledge.Name {
			protocol = forge.Name
		}
		var fold client.Fold
		var before client.Snapshot
		was := asText(t, before)
		for i := range 6 {
			name, data := name1, data1
			if i%2 == 1 {
				name, data = name2, data2
			}
			ev := client.Event{Run: "r", Protocol: protocol, Name: name, Data: json.RawMessage(data)}
			ev.Last()
			_ = fold.Add(ev) // invalid data is an error
			if now := asText(t, before); was != now {
				t.Fatalf("a snapshot changed:\n%s\n%s", was, now)
			}
			before = fold.Snapshot()
			was = asText(t, before)
			if len(was) > 12*(len(data1)+len(data2)+200)*6 {
				t.Fatalf("%d bytes of %d", len(was), len(data1)+len(data2))
			}
			for _, c := range before.Citations {
				if c.N < 1 {
					t.Fatalf("citation %d", c.N)
				}
			}
		}
	})
}

// asText returns a snapshot as text.
func asText(t *testing.T, s client.Snapshot) string {
	t.Helper()
	b, err := json.Marshal(s)
	require.NoError(t, err)
	if !utf8.Valid(b) {
		t.Fatal("not valid UTF-8")
	}
	return string(b)
}

// TestFoldIsBounded: an endless stream needs limited memory, and time that is linear in its length.
func TestFoldIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	var fold client.Fold
	add := func(protocol, name, data string) {
		t.Helper()
		require.NoError(t, fold.Add(client.Event{Run: "r", Protocol: protocol, Name: name, Data: json.RawMessage(data)}))
	}
	text := strings.Repeat(long, 10)
	token, thought := `{"content":"`+text+`"}`, `{"delta":"`+text+`"}`
	for i := range 17 {
		add("forge", "token", token)
		add("knowledge", "response.reasoning_summary_text.delta", thought)
		if i < 3 {
			add("knowledge", "response.output_text.annotation.added", `{"annotation_index":0,"annotation":{"snippet":"`+long+`"}}`)
		}
	}
	for range 600 {
		add("forge", "retrieval_start", `{"tool":"t","reason":"why","query":"`+long[:500]+`"}`)
		add("forge", "error", `{"recoverable":true,"message":"m"}`)
		add("forge", "tool_result", `{"tool":"t"}`)
	}
	s := fold.Snapshot()
	if len(s.Text) > 16<<20 || len(s.Reasoning) > 16<<20 || len(s.Steps) > 500 || len(s.Warnings) > 100 || len(s.Citations) != 1 || len(s.Citations[0].Snippet) > 4<<10 {
		t.Errorf("%d bytes of text, %d of thoughts, %d steps, %d warnings, %d citations", len(s.Text), len(s.Reasoning), len(s.Steps), len(s.Warnings), len(s.Citations))
	}
	many := strings.Repeat(`{"type":"message","content":[{"type":"output_text","text":"a","annotations":[{"file_id":"f"},{"file_id":"g"}]}]},`, 3000)
	add("knowledge", "response.in_progress", `{"object":"response","output":[`+many+`{"type":"mcp_call"}]}`)
	if s = fold.Snapshot(); len(s.Citations) > 1000 {
		t.Errorf("%d citations", len(s.Citations))
	}
}
