package turns_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/turns"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// FuzzDecodeRequest checks that decoded requests are valid questions and decode again to the same value, and that errors name a field.
func FuzzDecodeRequest(f *testing.F) {
	for _, s := range []string{`{"content":"x"}`, `{"content":"x","parent":"msg_1","wait":true,"mode":"direct","collection":"c","top_k":50,"method":"hybrid","no_cache":true,"citations":"inline"}`,
		`{"regenerate":"msg_1"}`, `{"content":"x","edit":"ask_1"}`, `{"content":1}`, `{"CONTENT":"x"}`, `null`, `[]`, `{"content":"\u0000"}`, `{"content":"\ud800"}`,
		"{\"content\":\"\xff\"}", `{"content":"x"}{}`, `{"top_k":1e400}`, `{"content":"x","content":"y"}`, `{"content":"\u001d"}`} {
		f.Add([]byte(s))
	}
	const most = 64
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := turns.DecodeRequest(body, most)
		if err != nil {
			e, ok := errors.AsType[*fault.Error](err)
			if !ok || e.Code != fault.InvalidRequest || e.Field == "" || !utf8.ValidString(e.Message) || len(e.Message) > 400 {
				t.Fatalf("%#v", err)
			}
			return
		}
		q, err := turns.API().Decode(body, most)
		if err == nil && q.Turn.Regenerate == "" {
			err = q.Validate()
		}
		if err != nil || len(q.Query) > most || (q.Query == "") != (q.Turn.Regenerate != "") {
			t.Fatalf("%+v: %v", q, err)
		}
		again, err := json.Marshal(r)
		require.NoError(t, err)
		back, err := turns.DecodeRequest(again, most)
		if third, merr := json.Marshal(back); err != nil || merr != nil || string(third) != string(again) {
			t.Fatalf("%s came back as %s, %v", again, third, err)
		}
	})
}

func TestDecode(t *testing.T) {
	t.Parallel()
	wiretest.TestDecode(t, turns.API().Decode, 100, map[string]wire.Request{
		`{"content":"When?"}`: {Question: event.Question{Query: "When?", Mode: event.Agentic}, Variant: turns.Protocol{}},
		`{"content":"When?","parent":"msg_1","wait":true,"mode":"direct","collection":"c","top_k":7,"method":"similarity","no_cache":true,"citations":"inline","filter":{"type":"eq","key":"type","value":"pdf"}}`: {
			Question: event.Question{Query: "When?", Mode: event.Direct, Collection: "c", TopK: 7, Method: event.SimilaritySearch, NoCache: true, Filter: &filter.Filter{Type: filter.Equal, Key: "type", Value: "pdf"}},
			Turn:     wire.Turn{Parent: "msg_1", Wait: true}, Variant: turns.Protocol{Inline: true}},
		`{"content":"Where?","edit":"ask_1","citations":"trailer"}`: {Question: event.Question{Query: "Where?", Mode: event.Agentic}, Turn: wire.Turn{Edit: "ask_1"}, Variant: turns.Protocol{}},
		`{"regenerate":"msg_1"}`:                                    {Question: event.Question{Mode: event.Agentic}, Turn: wire.Turn{Regenerate: "msg_1"}, Variant: turns.Protocol{}},
	})
}

func TestDecodeNamesField(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 129)
	wiretest.TestRefuses(t, turns.API().Decode, 100, map[string]string{
		`{}`: "content", `{"content":" \n"}`: "content", `{"content":"` + long + `"}`: "content", `{"content":"\u001d"}`: "content", `{"content":["x"]}`: "content",
		`{"content":"x","regenerate":"msg_1"}`: "content", `{"regenerate":"msg_1","parent":"msg_0"}`: "regenerate", `{"regenerate":"msg_1","edit":"ask_0"}`: "regenerate",
		`{"content":"x","edit":"a","parent":"b"}`: "edit", `{"content":"x","mode":"fast"}`: "mode", `{"content":"x","method":"words"}`: "method", `{"content":"x","top_k":51}`: "top_k",
		`{"content":"x","top_k":-1}`: "top_k", `{"content":"x","citations":"all"}`: "citations", `{"content":"x","wait":1}`: "wait", `{"content":"x","contents":"y"}`: "contents",
		`{"content":"x","parent":"` + long + `"}`: "parent", `{"content":"x","edit":"\u0000"}`: "edit", `{"regenerate":"` + long + `"}`: "regenerate", `[]`: "body", `{`: "body",
	})
}

func TestVariant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base  wire.Protocol
		value string
		want  wire.Protocol
	}{
		{turns.Protocol{}, "", turns.Protocol{}}, {turns.Protocol{Inline: true}, "", turns.Protocol{Inline: true}}, {turns.Protocol{}, "inline", turns.Protocol{Inline: true}},
		{turns.Protocol{Inline: true}, "trailer", turns.Protocol{}}, {turns.Protocol{}, "both", nil},
	} {
		got, err := turns.API().Variant(c.base, func(name string) string { return map[string]string{"citations": c.value}[name] })
		if c.want == nil && err == nil || c.want != nil && (err != nil || got != c.want) {
			t.Errorf("%+v with citations %q: %+v, %v", c.base, c.value, got, err)
		}
	}
}

func TestFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  *fault.Error
		want turns.Fault
	}{
		{fault.Invalid("top_k", "want 1 to 50"), turns.Fault{Error: "invalid_request", Message: "top_k: want 1 to 50", Field: "top_k"}},
		{fault.New(fault.NotFound, "no such session"), turns.Fault{Error: "not_found", Message: "no such session"}},
		{fault.New(fault.Model, "the model did not answer"), turns.Fault{Error: "chat_failed", Message: "the model did not answer"}},
		{fault.New(fault.Internal, "internal error"), turns.Fault{Error: "chat_failed", Message: "internal error"}},
	} {
		if diff := cmp.Diff(c.want, turns.API().Fault(c.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.err, diff)
		}
	}
}
