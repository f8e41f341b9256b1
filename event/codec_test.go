package event_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 89_012_000, time.UTC)

// bodies holds one of each kind with every field set.
func bodies() []event.Body {
	return []event.Body{
		event.RunStarted{Run: "r1", Protocol: "forge", Question: event.Question{Query: "why <b> & \"c\"?", Mode: event.Agentic, Collection: "default", TopK: 5, Session: "s"}},
		event.HistorySummarized{Turns: 12, Summary: "- Who built it? \"Ada\" <b>", Tokens: 400, By: "rules"},
		event.QueryAnalyzed{Complexity: event.Complex, Decomposed: true, Mode: event.Direct, By: "rules"},
		event.CacheChecked{Hit: true, Similarity: 0.97, Query: "why?", CachedAt: at.Add(-time.Hour)},
		event.ToolCalled{Call: 1, Tool: event.ToolDecomposeQuery, Input: json.RawMessage(`{"a":"<&>","n":1.0}`), Iteration: 2},
		event.ToolReturned{Call: 1, Tool: event.ToolDecomposeQuery, Result: json.RawMessage(`{"q":["ü","\u2028"]}`), Duration: 12},
		event.RetrievalStarted{Call: 2, Tool: event.ToolHybridSearch, Query: "wing", Iteration: 1},
		event.RetrievalFinished{Call: 2, Tool: event.ToolHybridSearch, Found: []event.Found{{Chunk: "c", Level: corpus.Passage, Score: 0.1}}, Duration: 3, Error: "no"},
		event.Graded{Iteration: 1, Correct: 1, Ambiguous: 2, Incorrect: 3, Expanded: 4, Action: event.Expand, By: "rules",
			Grades: []event.Grade{{Chunk: "c", Score: 0.5, Class: event.Ambiguous, Expanded: true, NewScore: 0.75, Parent: "p"}}},
		event.Reranked{Method: "maxsim", Inputs: 3, Outputs: []event.Found{{Chunk: "c", Level: corpus.Section, Score: 17.5}}, TopScore: 17.5, Duration: 9},
		event.GenerationStarted{Chunks: 3, Tokens: 400, Model: "m"},
		event.Token{Text: " flow\n\"\\\t</b> \u2028👩\u200d👧"},
		event.Cited{N: 1, Chunk: "c"},
		event.GenerationFinished{Reason: "stop"},
		event.Verified{Claims: []event.Claim{{Text: "It flows.", Verdict: event.Supported, Chunks: []corpus.ChunkID{"c"}}}, Confidence: 1, By: "rules"},
		event.Attributed{By: "terms", Confidence: 0.7, Sources: []event.Source{{N: 1, Chunk: "c", Document: "d", Title: "T", Heading: "H", Level: corpus.Passage,
			Pages: []int{1, 2}, Start: 3, End: 9, Text: "flows", Score: 0.9, Weight: 1, Cited: true, Attributes: map[string]any{"team": "docs", "year": 2024.0, "final": true}}}},
		event.Warned{Code: fault.Model, Message: "slow", Step: "grade"},
		event.RunFinished{},
		event.RunFailed{Code: fault.Cancelled, Message: "stopped"},
	}
}

func TestCodecRoundTrip(t *testing.T) {
	seen := map[event.Kind]bool{}
	for i, b := range bodies() {
		e := event.Event{Seq: event.Seq(i + 1), At: at, Body: b}
		line, err := event.AppendJSON([]byte("before"), e)
		require.NoError(t, err)
		text := strings.TrimPrefix(string(line), "before")
		if strings.ContainsAny(text, "\n\r") || !json.Valid([]byte(text)) {
			t.Errorf("not one line of JSON: %q", text)
		}
		back, err := event.ParseJSON([]byte(text))
		require.NoError(t, err)
		if diff := cmp.Diff(e, back); diff != "" {
			t.Errorf("%s (-want +got):\n%s", b.Kind(), diff)
		}
		seen[b.Kind()] = true
	}
	if len(seen) != 19 {
		t.Errorf("%d kinds of 19", len(seen))
	}
}

// TestStoredQuestion checks that the JSON of a run's first event stays as it is in existing logs.
func TestStoredQuestion(t *testing.T) {
	line := `{"seq":1,"at":"2026-03-04T05:06:07.089012Z","kind":"run_started","body":{"run":"r1","protocol":"forge","query":"why?","mode":"direct",` +
		`"collection":"a,b","top_k":7,"session":"s","no_cache":true,"history":[{"role":"user","text":"hi"}],"previous":"r0","instructions":"Be brief.",` +
		`"model":"m","temperature":0.5,"max_tokens":9,"tools":["page_reader"],"iterations":2,"unstored":true,"request":{"a":1}}}`
	heat := 0.5
	want := event.Event{Seq: 1, At: at, Body: event.RunStarted{Run: "r1", Protocol: "forge", Question: event.Question{Query: "why?", Mode: event.Direct,
		Collection: "a,b", TopK: 7, Session: "s", NoCache: true, History: []event.Message{{Role: event.RoleUser, Text: "hi"}}, Previous: "r0",
		Instructions: "Be brief.", Model: "m", Temperature: &heat, MaxTokens: 9, Tools: []string{event.ToolReadPages}, Iterations: 2,
		Ephemeral: true, Request: json.RawMessage(`{"a":1}`)}}}
	got, err := event.ParseJSON([]byte(line))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if back, err := event.AppendJSON(nil, want); err != nil || string(back) != line {
		t.Errorf("%v\n%s, want\n%s", err, back, line)
	}
}

func TestCodecZeroBodies(t *testing.T) {
	for _, b := range bodies() {
		line, err := event.AppendJSON(nil, event.Event{Seq: 1, At: at, Body: b})
		require.NoError(t, err)
		head, _, _ := strings.Cut(string(line), `"body":`)
		if back, err := event.ParseJSON([]byte(head + `"body":{"unknown":[1]}}`)); err != nil || back.Body.Kind() != b.Kind() {
			t.Errorf("%s with an unknown field: %v, error %v", b.Kind(), back, err)
		}
		if _, err := event.ParseJSON([]byte(head + `"body":7}`)); err == nil {
			t.Errorf("%s: a number for a body was read", b.Kind())
		}
	}
}

func TestTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	zone := time.FixedZone("east", 3*3600)
	for range 2000 {
		want := time.UnixMicro(rng.Int64N(250_000_000_000_000_000) - 62_000_000_000_000_000)
		line, err := event.AppendJSON(nil, event.Event{Seq: 1, At: want.In(zone), Body: event.RunFinished{}})
		require.NoError(t, err)
		if !strings.Contains(string(line), want.UTC().Format("2006-01-02T15:04:05.000000Z")) {
			t.Fatalf("%v was written as %s", want.UTC(), line)
		}
	}
	late := event.Event{Seq: 1, At: at.Add(999), Body: event.RunFinished{}}
	line, _ := event.AppendJSON(nil, late)
	if back, err := event.ParseJSON(line); err != nil || !back.At.Equal(at) {
		t.Errorf("nanoseconds are not cut off: %v, error %v", back.At, err)
	}
}

func TestAppendJSONRefuses(t *testing.T) {
	ok := event.RunFinished{}
	for name, e := range map[string]event.Event{
		"no body":       {Seq: 1, At: at},
		"no time":       {Seq: 1, Body: ok},
		"year 10000":    {Seq: 1, At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), Body: ok},
		"year -1":       {Seq: 1, At: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), Body: ok},
		"not a number":  {Seq: 1, At: at, Body: event.Verified{Confidence: math.NaN()}},
		"infinite":      {Seq: 1, At: at, Body: event.Reranked{TopScore: math.Inf(1)}},
		"raw is broken": {Seq: 1, At: at, Body: event.ToolCalled{Input: json.RawMessage("{")}},
	} {
		if got, err := event.AppendJSON([]byte("x"), e); err == nil || string(got) != "x" {
			t.Errorf("%s: got %q, error %v", name, got, err)
		}
	}
}

func TestParseJSONRefuses(t *testing.T) {
	for _, line := range []string{
		``, `{`, `[]`, `null`, `7`,
		`{"seq":1,"at":"2026-01-01T00:00:00Z","kind":"flew","body":{}}`,
		`{"seq":0,"at":"2026-01-01T00:00:00Z","kind":"token","body":{}}`,
		`{"seq":-1,"at":"2026-01-01T00:00:00Z","kind":"token","body":{}}`,
		`{"seq":1,"kind":"token","body":{}}`,
		`{"seq":1,"at":"noon","kind":"token","body":{}}`,
		`{"seq":1,"at":"2026-01-01T00:00:00Z","kind":"token"}`,
		`{"seq":1,"at":"2026-01-01T00:00:00Z","kind":"token","body":{"text":7}}`,
	} {
		if e, err := event.ParseJSON([]byte(line)); err == nil {
			t.Errorf("%s was read as %v", line, e)
		}
	}
}

func checkString(t *testing.T, s string) {
	got := event.AppendString([]byte("x"), s)[1:]
	var ours, theirs string
	if err := json.Unmarshal(got, &ours); err != nil {
		t.Fatalf("%q is not JSON: %v", got, err)
	}
	std, err := json.Marshal(s)
	require.NoError(t, err)
	if err := json.Unmarshal(std, &theirs); err != nil || ours != theirs {
		t.Fatalf("%q reads back as %q, by encoding/json as %q", s, ours, theirs)
	}
	for _, r := range string(got) {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			t.Fatalf("%q holds %U", got, r)
		}
	}
	if !utf8.Valid(got) {
		t.Fatalf("%q is not UTF-8", got)
	}
}

func TestAppendString(t *testing.T) {
	for r := range rune(0x3000) {
		checkString(t, "a"+string(r)+"b")
	}
	for c := range 256 {
		checkString(t, string([]byte{byte(c)}))
		checkString(t, string([]byte{'a', byte(c), 0x80, 'b'}))
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a\"\\\n\t\r\x00\x7f\u0085", "\xff\xc3", "日本\u2028", "<&>", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(checkString)
}

func FuzzParseJSON(f *testing.F) {
	for i, b := range bodies() {
		line, _ := event.AppendJSON(nil, event.Event{Seq: event.Seq(i + 1), At: at, Body: b})
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := event.ParseJSON(line)
		if err != nil {
			return
		}
		once, err := event.AppendJSON(nil, e)
		if err != nil {
			return // a year that the layout cannot hold
		}
		back, err := event.ParseJSON(once)
		if err != nil {
			t.Fatalf("%s\nbecame\n%s\nand: %v", line, once, err)
		}
		twice, err := event.AppendJSON(nil, back)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("\n%s\nbecame\n%s\nerror %v", once, twice, err)
		}
	})
}

func TestTokenDoesNotAllocate(t *testing.T) {
	e := event.Event{Seq: 12345, At: at, Body: event.Token{Text: " boundary \"layer\"\n"}}
	buf := make([]byte, 0, 512)
	if n := testing.AllocsPerRun(100, func() { buf, _ = event.AppendJSON(buf[:0], e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	e := event.Event{Seq: 12345, At: at, Body: event.Token{Text: " boundary layer"}}
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = event.AppendJSON(buf[:0], e)
	}
}

func BenchmarkParseJSON(b *testing.B) {
	line, _ := event.AppendJSON(nil, event.Event{Seq: 12345, At: at, Body: event.Token{Text: " boundary layer"}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := event.ParseJSON(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFold(b *testing.B) {
	es := eventlogtest.RandomLog(rand.New(rand.NewPCG(2, 2)), 1000)
	b.ReportAllocs()
	for b.Loop() {
		event.Fold(es)
	}
}
