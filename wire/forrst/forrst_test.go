package forrst_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	calls "github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forrst"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// read joins the contents and checks the grammar.
func read(frames []wire.Frame) ([]string, error) {
	var g forrst.Grammar
	var out []string
	joined := false
	for _, f := range frames {
		if err := g.Add(f.Event, f.Data); err != nil {
			return nil, fmt.Errorf("frame %s: %w", f.ID, err)
		}
		var c struct {
			Content  string
			Citation any
		}
		if err := json.Unmarshal(f.Data, &c); err != nil {
			return nil, err
		}
		if f.Event == forrst.EventData && c.Citation == nil && c.Content != "" {
			if joined {
				out[len(out)-1] += c.Content
			} else {
				out = append(out, "text: "+c.Content)
			}
			joined = true
			continue
		}
		joined = false
		out = append(out, f.ID.String()+" "+f.Event+" "+string(f.Data))
	}
	return out, nil
}

func TestLaws(t *testing.T) {
	t.Parallel()
	all := wiretest.WithRandom(wiretest.Runs())
	for name, p := range map[string]forrst.Protocol{"run": {}, "request": {ID: "req_1"}} {
		t.Run(name, func(t *testing.T) { wiretest.TestProtocol(t, wiretest.Subject{Protocol: p, Read: read}, all) })
	}
}

// TestGoldens also checks that the streams are complete, and that the reply without a stream is the data of done.
func TestGoldens(t *testing.T) {
	t.Parallel()
	for name, log := range wiretest.Runs() {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, event.CheckLog(log, true))
			var g forrst.Grammar
			var done string
			for _, f := range wiretest.Project(forrst.Protocol{}.New(), [][]event.Event{log}) {
				require.NoError(t, g.Add(f.Event, f.Data))
				if f.Event == forrst.EventDone {
					done = string(f.Data)
				}
			}
			require.NoError(t, g.End())
			if done != "" {
				var want, got any
				reply, err := json.Marshal(forrst.API().Reply(log))
				require.NoError(t, errors.Join(err, json.Unmarshal([]byte(done), &want), json.Unmarshal(reply, &got)))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the reply differs from done:\n%s", diff)
				}
			}
			golden.Check(t, filepath.Join("testdata", name+".sse"), wiretest.Golden(forrst.Protocol{}, [][]event.Event{log}))
		})
	}
}

// TestID: the last document has the id of the request that the stream replies to, or that of the run.
func TestID(t *testing.T) {
	t.Parallel()
	for p, want := range map[forrst.Protocol]string{{}: `"id":"run_1"`, {ID: "req <1>"}: `"id":"req <1>"`} {
		got := wiretest.Golden(p, [][]event.Event{wiretest.Runs()["cached"]})
		if !strings.Contains(got[strings.Index(got, "event: complete"):], want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

// TestCitedText checks the texts that the citations refer to.
func TestCitedText(t *testing.T) {
	t.Parallel()
	a := forrst.AnswerOf(wiretest.Runs()["answered"])
	var got []string
	for _, c := range a.Citations {
		got = append(got, fmt.Sprint(c.Index, " ", string([]rune(a.Content)[c.Start:c.End])))
	}
	if diff := cmp.Diff([]string{"1 Zoë keeps it 🕯.", "2 Zoë keeps it 🕯.", "1 The lamp\u2028 burns oil."}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestProgress: a percentage never decreases, and is that of package forrst.
func TestProgress(t *testing.T) {
	t.Parallel()
	for name, log := range wiretest.WithRandom(wiretest.Runs()) {
		last, whole := forrst.Progress{}, false
		for _, f := range wiretest.Project(forrst.Protocol{}.New(), [][]event.Event{log}) {
			if f.Event != forrst.EventProgress {
				continue
			}
			var p forrst.Progress
			require.NoError(t, json.Unmarshal(f.Data, &p))
			if p.Percent < last.Percent || p.Current < last.Current || p.Percent > 100 || p.Percent != int(float64(100*p.Current)/float64(p.Total)+0.5) {
				t.Errorf("%s: %+v follows %+v", name, p, last)
			}
			last, whole = p, whole || p.Percent == 100
		}
		if finished := name == "answered" || name == "cached"; finished && !whole {
			t.Errorf("%s: it ends at %+v", name, last)
		}
	}
}

// TestGrammar checks that streams of another form are refused.
func TestGrammar(t *testing.T) {
	t.Parallel()
	type frame struct{ event, data string }
	greeting := frame{"data", `{"status":"connected"}`}
	done := frame{"done", `{"content":"a"}`}
	complete := frame{"complete", `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","result":{"streamed":true}}`}
	failed := frame{"complete", `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","result":null,"errors":[{"code":"A","message":"b"}]}`}
	a, step := frame{"data", `{"content":"a"}`}, frame{"progress", `{"current":2,"total":4,"percent":50,"message":"m"}`}
	for name, frames := range map[string][]frame{
		"":                     {greeting, a, step, done, complete},
		"greeting":             {a},
		"content":              {greeting, greeting},
		"text":                 {greeting, done},
		"end":                  {greeting, a, done, complete, a},
		"after done":           {greeting, a, done, a},
		"progress decreases":   {greeting, step, {"progress", `{"current":1,"total":4,"percent":25,"message":"m"}`}},
		"percent decreases":    {greeting, step, {"progress", `{"current":2,"total":5,"percent":40,"message":"m"}`}},
		"complete first":       {greeting, complete},
		"errors after done":    {greeting, a, done, failed},
		"no errors after fail": {greeting, {"error", `{"code":"A","message":"b","details":null}`}, complete},
		"no code":              {greeting, {"error", `{"message":"b"}`}},
		"unknown":              {greeting, {"token", `{}`}},
	} {
		var g forrst.Grammar
		var err error
		for _, f := range frames {
			if err = errors.Join(err, g.Add(f.event, []byte(f.data))); err != nil {
				break
			}
		}
		if (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if new(forrst.Grammar).End() == nil {
		t.Error("an empty stream is complete")
	}
}

// TestCodes: each code of the server has one of the protocol with a status.
func TestCodes(t *testing.T) {
	t.Parallel()
	for _, c := range fault.Codes() {
		code := calls.Code(forrst.CodeOf(c))
		if internal := code == calls.InternalError; internal != (c == fault.Internal) {
			t.Errorf("%s: %s", c, code)
		}
		if code.Status() == 400 && c != fault.InvalidRequest && c != fault.TooLarge && code != forrst.PaymentRequired {
			t.Errorf("%s: %s has no status", c, code)
		}
	}
	e := forrst.ErrorOf(&fault.Error{Code: fault.Model, Message: strings.Repeat("ä", 400) + "\xff", Field: "f\xff"})
	if e.Code != "DEPENDENCY_ERROR" || len(e.Message) > 300 || !utf8.ValidString(e.Message+e.Details.Field) || e.Details.Code != "LLM_ERROR" {
		t.Errorf("%+v", e)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	got, err := forrst.Decode([]byte(`{"query":"why?","mode":"direct","collection":"a, b","top_k":3,"session_id":"s","method":"self_query","no_cache":true,"filter":{"type":"contains","key":"creator","value":"Ada"}}`), 100)
	want := event.Question{Query: "why?", Mode: event.Direct, Collection: "a, b", TopK: 3, Session: "s", Method: event.SelfQuery, NoCache: true, Filter: &filter.Filter{Type: filter.Contains, Key: "creator", Value: "Ada"}}
	if diff := cmp.Diff(want, got.Question); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = forrst.Decode([]byte(`{"query":"why?","previous":"run_01kg0000000000000000000000"}`), 100)
	if err != nil || got.Mode != event.Agentic || got.Previous != "run_01kg0000000000000000000000" {
		t.Errorf("%+v, %v", got, err)
	}
	for body, field := range map[string]string{
		`{}`: "query", `{"query":" \n"}`: "query", `{"query":"` + strings.Repeat("a", 101) + `"}`: "query", `{"query":"a\u0000"}`: "query", `{"query":1}`: "query",
		`{"query":"a","mode":"fast"}`: "mode", `{"query":"a","method":"x"}`: "method", `{"query":"a","top_k":51}`: "top_k", `{"query":"a","top_k":-1}`: "top_k", `{"query":"a","filter":{"kind":"eq"}}`: "filter.kind", `{"query":"a","filter":[]}`: "filter",
		`{"query":"a","collection":"a\u0001"}`: "collection", `{"query":"a","session_id":"a\u0001"}`: "session_id", `{"query":"a","previous":"../x"}`: "previous",
		`{"query":"a","previous":"run_01kg0000000000000000000000","session_id":"s"}`: "previous", `{"query":"a","topk":1}`: "topk", `{"query":"a","query":"b"}`: "query", `[]`: "body",
	} {
		_, err := forrst.Decode([]byte(body), 100)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Field != field || e.Code != fault.InvalidRequest {
			t.Errorf("%.60s: %v, want an error of %s", body, err, field)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"query":"why?","mode":"direct","collection":"a","top_k":3,"session_id":"s","method":"self_query","no_cache":true}`)
	f.Add(`{"query":"a","previous":"run_1"}`)
	f.Fuzz(func(t *testing.T, arguments string) {
		q, err := forrst.Decode([]byte(arguments), 1000)
		if err == nil {
			err = q.Validate()
		}
		if e, coded := errors.AsType[*fault.Error](err); err != nil && (!coded || e.Code != fault.InvalidRequest || e.Field == "") {
			t.Errorf("%q: %v", arguments, err)
		}
	})
}

// TestDamagedOrder: the steps of a log in another order do not lower the progress.
func TestDamagedOrder(t *testing.T) {
	t.Parallel()
	log := wiretest.LogOf(append(wiretest.Opening(""), event.CacheChecked{Hit: true}, event.GenerationStarted{Chunks: 1}, event.RunFinished{})...)
	if _, err := read(wiretest.Project(forrst.Protocol{}.New(), [][]event.Event{log})); err != nil {
		t.Error(err)
	}
}

// TestPieces: tokens that arrive together share an event of at most 512 bytes.
func TestPieces(t *testing.T) {
	t.Parallel()
	bodies := append(wiretest.Opening(""), event.CacheChecked{}, event.GenerationStarted{})
	for range 100 {
		bodies = append(bodies, event.Token{Text: strings.Repeat("a", 30)})
	}
	var sizes []int
	for _, f := range wiretest.Project(forrst.Protocol{}.New(), [][]event.Event{wiretest.LogOf(bodies...)}) {
		var c forrst.Content
		require.NoError(t, json.Unmarshal(f.Data, &c))
		if c.Content != "" {
			sizes = append(sizes, len(c.Content))
		}
	}
	if diff := cmp.Diff([]int{510, 510, 510, 510, 510, 450}, sizes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFreeAnswer: an answer that cost nothing has no cost.
func TestFreeAnswer(t *testing.T) {
	t.Parallel()
	log := wiretest.Runs()["answered"]
	if forrst.AnswerOf(log).Cost == nil {
		t.Error("no cost")
	}
	for i, e := range log {
		if _, ok := e.Body.(event.Settled); ok {
			log[i].Body = event.Settled{Transaction: "t_1", Before: 5, After: 5}
		}
	}
	if cost := forrst.AnswerOf(log).Cost; cost != nil {
		t.Errorf("%+v", cost)
	}
}
