package forge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// FuzzDecodeRequest checks that decoded requests are within the limits and decode again to the same value, and that errors
// name a field.
func FuzzDecodeRequest(f *testing.F) {
	for _, s := range []string{`{"query":"x"}`, `{"query":"x","mode":"direct","top_k":50,"collection":"c","session_id":"s","no_cache":true}`, `{"query":"x","filter":{"type":"and","filters":[{"type":"in","key":"a","value":["b",1,true]}]}}`, `{"query":1}`, `{"QUERY":"x"}`, `null`, `[]`,
		`{"query":"\u0000"}`, `{"query":"\ud800"}`, "{\"query\":\"\xff\"}", `{"query":"x"}{}`, `{"top_k":1e400}`, `{"query":"x","query":"y"}`} {
		f.Add([]byte(s))
	}
	const most = 64
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := forge.DecodeRequest(body, most)
		if err != nil {
			e, ok := errors.AsType[*fault.Error](err)
			if !ok || e.Code != fault.InvalidRequest || e.Field == "" || !utf8.ValidString(e.Message) || len(e.Message) > 400 {
				t.Fatalf("%#v", err)
			}
			return
		}
		if strings.TrimSpace(r.Query) == "" || len(r.Query) > most || r.TopK < 0 || r.TopK > forge.MaxTopK || r.Mode != event.Agentic && r.Mode != event.Direct {
			t.Fatalf("%+v", r)
		}
		if strings.ContainsAny(r.Query+r.Collection+r.SessionID, "\x00\x1d\x1e\x7f") || !utf8.ValidString(r.Query+r.Collection+r.SessionID) {
			t.Fatalf("%+v", r)
		}
		again, err := json.Marshal(r)
		require.NoError(t, err)
		if back, err := forge.DecodeRequest(again, most); err != nil || !cmp.Equal(back, r) {
			t.Fatalf("%+v came back as %+v, %v", r, back, err)
		}
	})
}

func TestGrammarAccepts(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{
		"query_analysis cache_hit sources done",
		"query_analysis cache_hit token token sources done",
		"query_analysis cache_miss generation_start verification sources done",
		"query_analysis cache_miss retrieval_start retrieval_result generation_start token verification sources done",
		"query_analysis cache_miss tool_call tool_call tool_result retrieval_start tool_result retrieval_result crag_evaluation rerank_result generation_start verification sources done",
		"query_analysis cache_miss tool_call tool_result retrieval_start retrieval_result retrieval_start retrieval_result crag_evaluation rerank_result generation_start token verification sources done",
		"error", "query_analysis error", "query_analysis cache_miss error", "query_analysis cache_miss sources error", "query_analysis cache_miss retrieval_start sources error",
		"query_analysis cache_miss generation_start token sources error", "query_analysis cache_miss generation_start token verification error",
	} {
		var g forge.Grammar
		for name := range strings.FieldsSeq(stream) {
			if err := g.Next(name, "", false); err != nil {
				t.Errorf("%s: %v", stream, err)
			}
		}
		if !g.Ended() {
			t.Errorf("%s: not ended", stream)
		}
	}
}

func TestGrammarTakesResultsBehindTheirStarts(t *testing.T) {
	t.Parallel()
	for stream, ok := range map[string]bool{
		"tool_call:a tool_result:b":                         false,
		"tool_call:a tool_call:b tool_result:b":             true,
		"tool_call:a tool_result:a tool_result:a":           false,
		"tool_call:a retrieval_result:a":                    false,
		"retrieval_start:a retrieval_start:a":               true,
		"retrieval_start:a rerank_result":                   false,
		"retrieval_start:a error! retrieval_result:a":       true,
		"retrieval_start:a retrieval_result:a error! token": false,
	} {
		var g forge.Grammar
		err := errors.Join(g.Next("query_analysis", "", false), g.Next("cache_miss", "", false))
		for step := range strings.FieldsSeq(stream) {
			name, tool, _ := strings.Cut(step, ":")
			err = errors.Join(err, g.Next(strings.TrimSuffix(name, "!"), tool, strings.HasSuffix(name, "!")))
		}
		if (err == nil) != ok {
			t.Errorf("%s: %v", stream, err)
		}
	}
}

// TestDataFitsIntoChunk checks that events with many sources and claims fit into the chunks that simple clients read.
func TestDataFitsIntoChunk(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain ", "\"\\\" ", "é€😀 ", "\u0085\u2028\u0001 "} {
		for _, n := range []int{0, 1, 5, 20, 50} {
			log := answered()
			for i := range log {
				switch b := log[i].Body.(type) {
				case event.Attributed:
					b.Sources = nil
					for k := range n {
						b.Sources = append(b.Sources, event.Source{N: k + 1, Chunk: "c_0123456789abcdef0123", Document: "d_0123456789abcdef", Text: strings.Repeat(text, 900),
							Heading: strings.Repeat(text, 20), Title: "T", Level: corpus.Section, Pages: []int{1, 2}, Score: 0.1234, Weight: 0.0123})
					}
					log[i].Body = b
				case event.Verified:
					b.Claims = nil
					for range n {
						b.Claims = append(b.Claims, event.Claim{Text: strings.Repeat(text, 100), Verdict: event.PartiallySupported})
					}
					log[i].Body = b
				}
			}
			for _, f := range wiretest.Project(forge.Protocol{}.New(), [][]event.Event{log}) {
				if !json.Valid(f.Data) || len(f.Data) > 16<<10-64 {
					t.Errorf("%q: %s of %d takes %d bytes", text, f.Event, n, len(f.Data))
				}
			}
		}
	}
}

// TestDataIsOneLine: clients that split lines by Unicode rules must not find a line end in the data.
func TestDataIsOneLine(t *testing.T) {
	t.Parallel()
	const ends = "a\vb\fc\x1cd\x1de\x1ef\u0085g\u2028h\u2029i"
	log := answered()
	for i := range log {
		switch b := log[i].Body.(type) {
		case event.RunStarted:
			b.Query = ends
			log[i].Body = b
		case event.Token:
			log[i].Body = event.Token{Text: ends}
		case event.Attributed:
			b.Sources[0].Text, b.Sources[0].Heading = ends, ends
		}
	}
	for _, f := range wiretest.Project(forge.Protocol{}.New(), [][]event.Event{log}) {
		if strings.ContainsAny(string(f.Data), "\v\f\x1c\x1d\x1e\u0085\u2028\u2029") {
			t.Errorf("%s: %.200q", f.Event, f.Data)
		}
		var p struct{ Query string }
		if f.Event == "query_analysis" {
			if err := json.Unmarshal(f.Data, &p); err != nil || p.Query != ends {
				t.Errorf("%q, %v", p.Query, err)
			}
		}
	}
}

// TestReplyEqualsStream compares the reply with the stream of the same log.
func TestReplyEqualsStream(t *testing.T) {
	t.Parallel()
	for name, log := range map[string][]event.Event{"answered": answered(), "cached": cached(), "timeout": timedOut()} {
		a := forge.AnswerOf(log)
		text := ""
		var done forge.Done
		var sources forge.Sources
		for _, f := range wiretest.Project(forge.Protocol{}.New(), [][]event.Event{log}) {
			var token forge.Token
			var err error
			switch f.Event {
			case "token":
				err = json.Unmarshal(f.Data, &token)
				text += token.Content
			case "done":
				err = json.Unmarshal(f.Data, &done)
			case "sources":
				err = json.Unmarshal(f.Data, &sources)
			}
			require.NoError(t, err)
		}
		if a.Answer != text {
			t.Errorf("%s: %q, streamed %q", name, a.Answer, text)
		}
		if diff := cmp.Diff(sources.Sources, a.Sources); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if a.Error == nil && fmt.Sprint(done.Confidence, done.ToolsUsed, done.TokensGenerated, done.TotalTimeMS, done.Cached) !=
			fmt.Sprint(a.Confidence, a.ToolsUsed, a.TokensGenerated, a.TotalTimeMS, a.Cached) {
			t.Errorf("%s: %+v, streamed %+v", name, a, done)
		}
	}
}
