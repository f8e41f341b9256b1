package ragevents_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/ragevents"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// FuzzDecodeRequest checks that decoded requests are valid questions and decode again to the same value, and that errors name a
// field.
func FuzzDecodeRequest(f *testing.F) {
	for _, s := range []string{`{"question":"x"}`, `{"question":"x","method":"SelfQuery","collection":"c","top_k":50,"session_id":"s","model":"m","stream":false,"no_cache":true}`,
		`{"question":"x","history":[{"role":"human","content":"a"},{"role":"ai","content":"b"}]}`, `{"question":1}`, `{"QUESTION":"x"}`, `null`, `[]`, `{"question":"\u0000"}`,
		`{"question":"\ud800"}`, "{\"question\":\"\xff\"}", `{"question":"x"}{}`, `{"top_k":1e400}`, `{"question":"x","question":"y"}`, `{"question":"x","history":[{"role":"system"}]}`} {
		f.Add([]byte(s))
	}
	const most = 64
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := ragevents.DecodeRequest(body, most)
		if err != nil {
			e, ok := errors.AsType[*fault.Error](err)
			if !ok || e.Code != fault.InvalidRequest || e.Field == "" || !utf8.ValidString(e.Message) || len(e.Message) > 400 {
				t.Fatalf("%#v", err)
			}
			return
		}
		q, err := ragevents.API().Decode(body, most)
		if err == nil {
			err = q.Validate()
		}
		if err != nil || len(q.Query) > most || q.Mode != event.Direct || q.Model != "" {
			t.Fatalf("%+v: %v", q, err)
		}
		again, err := json.Marshal(r)
		require.NoError(t, err)
		back, err := ragevents.DecodeRequest(again, most)
		if third, merr := json.Marshal(back); err != nil || merr != nil || string(third) != string(again) {
			t.Fatalf("%s came back as %s, %v", again, third, err)
		}
	})
}

func TestDecode(t *testing.T) {
	t.Parallel()
	body := `{"question":"When?","method":"SelfQuery","collection":"c","history":[{"role":"human","content":"a"},{"role":"assistant","content":"b"}],"top_k":7,` +
		`"session_id":"s","model":"gpt-5","stream":false,"no_cache":true}`
	got, err := ragevents.API().Decode([]byte(body), 100)
	require.NoError(t, err)
	want := event.Question{Query: "When?", Mode: event.Direct, Method: event.SelfQuery, Collection: "c", TopK: 7, Session: "s", NoCache: true,
		History: []event.Message{{Role: event.RoleUser, Text: "a"}, {Role: event.RoleAssistant, Text: "b"}}}
	if diff := cmp.Diff(want, got.Question); diff != "" || !got.NoStream {
		t.Errorf("no stream %v (-want +got):\n%s", got.NoStream, diff)
	}
	got, err = ragevents.API().Decode([]byte(`{"question":"When?"}`), 100)
	if diff := cmp.Diff(event.Question{Query: "When?", Mode: event.Direct, Method: event.SimilaritySearch}, got.Question); diff != "" || got.NoStream || err != nil {
		t.Errorf("%v, no stream %v (-want +got):\n%s", err, got.NoStream, diff)
	}
}

func TestDecodeNamesField(t *testing.T) {
	t.Parallel()
	wiretest.TestRefuses(t, ragevents.API().Decode, 100, map[string]string{
		`{}`: "question", `{"question":" "}`: "question", `{"question":"` + strings.Repeat("x", 101) + `"}`: "question",
		`{"question":"x","method":"similaritysearch"}`: "method", `{"question":"x","top_k":51}`: "top_k", `{"question":"x","top_k":"1"}`: "top_k",
		`{"question":"x","history":[{"role":"user","content":"a"},{"role":"system","content":"b"}]}`: "history[1].role",
		`{"question":"x","history":[{"role":"user"}]}`:                                               "history[0].content",
		`{"question":"x","history":{}}`:                                                              "history", `{"question":"x","collection":"\u0001"}`: "collection", `{"question":"x","stream":1}`: "stream",
		`{"question":"x","model":"` + strings.Repeat("m", 129) + `"}`: "model", `{"question":"x","colection":"c"}`: "colection", `[]`: "body", ``: "body",
		`{"question":"x","history":[` + strings.Repeat(`{"role":"user","content":""},`, 200) + `{"role":"user","content":""}]}`: "history",
	})
}

// TestDecimals checks that amounts are exact decimal numbers in both directions.
func TestDecimals(t *testing.T) {
	t.Parallel()
	for n, want := range map[ragevents.Decimal]string{0: "0", 1: "0.000001", 23_600: "0.0236", 99_976_400: "99.9764", 1_000_000: "1", -1: "-0.000001", -1_500_000: "-1.5",
		1<<63 - 1: "9223372036854.775807", -1 << 63: "-9223372036854.775808"} {
		got, err := json.Marshal(n)
		if err != nil || string(got) != want {
			t.Errorf("%d: got %s, %v, want %s", n, got, err, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		n := ragevents.Decimal(rng.Uint64()) >> rng.IntN(64)
		text, err := json.Marshal(n)
		require.NoError(t, err)
		var back ragevents.Decimal
		if err := json.Unmarshal(text, &back); err != nil || back != n {
			t.Fatalf("%d is %s and came back as %d, %v", n, text, back, err)
		}
	}
	for _, bad := range []string{`"1"`, `0.0000001`, `9223372036854.775808`, `1e3`, `{}`} {
		var d ragevents.Decimal
		if err := json.Unmarshal([]byte(bad), &d); err == nil {
			t.Errorf("%s is %d", bad, d)
		}
	}
}

// TestReply checks that the reply without a stream has what the stream has.
func TestReply(t *testing.T) {
	t.Parallel()
	for name, log := range logs() {
		a := ragevents.AnswerOf(log)
		stream, err := chunks(log)
		require.NoError(t, err)
		if a.Answer != stream.answer || a.Question != "How do tokens arrive?" || a.RunID != "run_1" {
			t.Errorf("%s: %+v", name, a)
		}
		if diff := cmp.Diff(stream.confidence, a.Confidence); diff != "" {
			t.Errorf("%s: confidence (-stream +reply):\n%s", name, diff)
		}
		if diff := cmp.Diff(stream.transaction, &a.Transaction); diff != "" && a.Error == nil {
			t.Errorf("%s: transaction (-stream +reply):\n%s", name, diff)
		}
		if (a.Error == nil) != (stream.errored == "") {
			t.Errorf("%s: error %v", name, a.Error)
		}
	}
}

type stream struct {
	answer, errored string
	confidence      *ragevents.AnswerConfidence
	transaction     *ragevents.Transaction
	attention       ragevents.Attention
}

// chunks decodes the stream of a log.
func chunks(log []event.Event) (s stream, err error) {
	for _, f := range (ragevents.Protocol{}).New().Project(nil, log) {
		var p struct {
			Type    string
			Chunk   json.RawMessage
			Message string
		}
		if err := json.Unmarshal(f.Data, &p); err != nil {
			return s, err
		}
		var text string
		if p.Chunk != nil {
			if err := json.Unmarshal(p.Chunk, &text); err != nil {
				return s, err
			}
		}
		var err error
		switch p.Type {
		case "results":
			s.answer += text
		case "error":
			s.errored = p.Message
		case "events-answer-confidence":
			err = json.Unmarshal([]byte(text), &s.confidence)
		case "transaction-summary":
			err = json.Unmarshal([]byte(text), &s.transaction)
		case "events-sources-attention":
			err = json.Unmarshal([]byte(text), &s.attention)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}
