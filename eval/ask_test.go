package eval_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// outcome returns a run that ranked chunks, one of each document, and cited one of them.
func outcome(ranked, answer, cited string) eval.Outcome {
	out := eval.Outcome{Documents: map[corpus.ChunkID]string{}}
	s := &out.State
	s.Status, s.Stop, s.Text, s.Rerank = event.Finished, "stop", []byte(answer), &event.Reranked{}
	s.Searches = []event.Search{{RetrievalStarted: event.RetrievalStarted{Call: 1, Tool: event.ToolHybridSearch}}}
	s.StartedAt = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.UpdatedAt = s.StartedAt.Add(20 * time.Millisecond)
	for _, r := range ranked {
		id := corpus.ChunkID("chunk " + string(r))
		out.Documents[id] = strings.ToLower(string(r)) // A and a are two chunks of one document
		s.Rerank.Outputs = append(s.Rerank.Outputs, event.Found{Chunk: id})
	}
	if cited != "" {
		id := corpus.ChunkID("chunk " + cited)
		s.Citations = []event.Citation{{Cited: event.Cited{N: 1, Chunk: id}, At: len(answer)}}
		s.Sources = []event.Source{{N: 1, Chunk: id, Document: "d", Text: answer}}
	}
	return out
}

func quiz() *eval.Set {
	return &eval.Set{Name: "quiz",
		Questions: []eval.Question{
			{ID: "q1", Text: "1", Answers: []string{"1932"}, Answerable: true, MultiHop: true, Type: "date"},
			{ID: "q2", Text: "2", Answers: []string{"nothing"}, Answerable: true},
			{ID: "q3", Text: "3", Unanswerable: true},
			{ID: "q4", Text: "4", Unanswerable: true, Type: "date"},
			{ID: "q5", Text: "5"},
		},
		Qrels: map[string]map[string]int{"q1": {"a": 1, "b": 1}, "q2": {"c": 1}}}
}

func fixedAsker(outcomes map[string]eval.Outcome) eval.AskFunc {
	return func(_ context.Context, q event.Question) (eval.Outcome, error) {
		out, ok := outcomes[q.Query]
		if !ok {
			out.State.Status, out.State.Failure = event.Failed, &event.RunFailed{Code: fault.Index, Message: "the index is down"}
		}
		return out, nil
	}
}

func asked(t *testing.T, mode event.Mode, outcomes map[string]eval.Outcome) *eval.ModeReport {
	t.Helper()
	r, err := eval.Ask(t.Context(), quiz(), fixedAsker(outcomes), eval.AskOptions{Mode: mode})
	require.NoError(t, err)
	return r
}

const silent = "The documents do not hold an answer."

func bothModes(t *testing.T) (direct, agentic *eval.ModeReport) {
	t.Helper()
	direct = asked(t, event.Direct, map[string]eval.Outcome{"1": outcome("aAxc", "It was opened in 1932.", "x"), "2": outcome("x", silent, ""),
		"3": outcome("x", "Boats pay the master.", "x"), "4": outcome("", silent, "")})
	agentic = asked(t, event.Agentic, map[string]eval.Outcome{"1": outcome("ab", "It was opened in 1932.", "b"), "2": outcome("c", "They pay nothing.", "c"),
		"3": outcome("x", silent, ""), "4": outcome("", silent, ""), "5": outcome("", "", "")})
	return direct, agentic
}

func TestAsk(t *testing.T) {
	direct, agentic := bothModes(t)
	if got := direct.Results[0].Ranked; cmp.Diff([]string{"a", "x", "c"}, got) != "" {
		t.Errorf("ranked %q", got)
	}
	if direct.Failed != 1 || direct.Results[4].Failed != "the index is down" || agentic.Failed != 0 || direct.P99 != 20*time.Millisecond {
		t.Errorf("failed %d and %d, p99 %v", direct.Failed, agentic.Failed, direct.P99)
	}
	for _, c := range []struct {
		report    *eval.ModeReport
		row       int
		key       string
		mean      float64
		questions int
	}{
		{direct, 0, "recall_5", 0.25, 2}, {direct, 0, "all_8", 0, 2}, {agentic, 0, "all_8", 1, 2}, {agentic, 0, "ndcg_10", 1, 2},
		{direct, 0, "holds", 0.5, 2}, {agentic, 0, "holds", 1, 2},
		{direct, 0, "exact", 0.25, 4}, {agentic, 0, "exact", 0.5, 4}, // with the questions that have no answer, as in SQuAD 2.0
		{direct, 1, "exact", 0, 2}, {agentic, 1, "f1", (2*1/6.0 + 2*1/4.0) / 2, 2},
		{direct, 0, "abstention_recall", 0.5, 2}, {direct, 0, "abstention_precision", 0.5, 2}, {direct, 0, "false_abstention", 0.5, 2},
		{agentic, 0, "abstention_recall", 1, 2}, {agentic, 0, "false_abstention", 0, 2},
		{direct, 0, "citation_gold", 0, 1}, {agentic, 0, "citation_gold", 1, 2}, {agentic, 0, "citation_recall", 1, 2},
		{agentic, 3, "all_8", 1, 1},
	} {
		e := c.report.Rows[c.row].Measures[c.key]
		if e.N != c.questions {
			t.Errorf("%s %s has %d questions, want %d", c.report.Mode, c.key, e.N, c.questions)
		}
		near(t, fmt.Sprint(c.report.Mode, " ", c.key), e.Mean, c.mean)
	}
	var names []string
	for _, r := range agentic.Rows {
		names = append(names, fmt.Sprint(r.Group, r.Questions))
	}
	if got := strings.Join(names, " "); got != "5 answerable2 date2 multi-hop1" {
		t.Errorf("rows %s", got)
	}
	var back eval.ModeReport
	if raw, err := json.Marshal(direct); err != nil || json.Unmarshal(raw, &back) != nil || cmp.Diff(direct, &back) != "" {
		t.Errorf("JSON does not come back: %v %s", err, cmp.Diff(direct, &back))
	}
}

func TestModesAsText(t *testing.T) {
	direct, agentic := bothModes(t)
	var b strings.Builder
	require.NoError(t, eval.WriteModes(&b, direct, agentic))
	b.WriteString("\n")
	require.NoError(t, eval.WriteModeComparisons(&b, eval.CompareModes(direct, agentic, "", "")...))
	golden.Check(t, "testdata/modes.txt", b.String())
	b.Reset()
	require.NoError(t, eval.WriteOverview(&b, direct, agentic, eval.Pool("all", direct, direct)))
	golden.Check(t, "testdata/overview.txt", b.String())
	b.Reset()
	if err := eval.WriteModeComparisons(&b, eval.CompareModes(direct, direct, "earlier direct", "direct")...); err != nil || b.String() != "The compared answers do not differ in any measure.\n" {
		t.Errorf("compared with itself: %s %v", &b, err)
	}
	if got := eval.CompareModes(direct, &eval.ModeReport{}, "", ""); got != nil {
		t.Errorf("compared with nothing: %+v", got)
	}
	other := *direct
	other.Set = "other"
	all := eval.CompareAll("all", []*eval.ModeReport{&other, direct}, []*eval.ModeReport{agentic}, "a", "b")
	if diff := cmp.Diff(all, eval.CompareModes(direct, agentic, "a", "b"), cmpopts.IgnoreFields(eval.ModeComparison{}, "Set")); diff != "" || all[0].Set != "all" {
		t.Errorf("questions of sets that only one list has are compared: %s", diff)
	}
}

func TestPlot(t *testing.T) {
	direct, agentic := bothModes(t)
	direct.Set, agentic.Set = "quiz <a&b>\x1b", "quiz <a&b>\x1b"
	var b strings.Builder
	require.NoError(t, eval.WritePlot(&b, direct, agentic))
	golden.Check(t, "testdata/modes.svg", b.String())
	var many []*eval.ModeReport
	for i := range 200 {
		r := *direct
		r.Set = fmt.Sprint("set ", i)
		many = append(many, &r)
	}
	for name, reports := range map[string][]*eval.ModeReport{"both": {direct, agentic}, "many": many, "none": nil, "empty": {{}}} {
		b.Reset()
		require.NoError(t, eval.WritePlot(&b, reports...))
		d := xml.NewDecoder(strings.NewReader(b.String()))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: no XML: %v", name, err)
			}
		}
		if b.Len() > 300_000 || strings.Contains(b.String(), "NaN") {
			t.Errorf("%s: %d bytes", name, b.Len())
		}
	}
}

func TestAskFails(t *testing.T) {
	bad := errors.New("bad")
	fails := func(context.Context, event.Question) (eval.Outcome, error) { return eval.Outcome{}, bad }
	if _, err := eval.Ask(t.Context(), quiz(), fails, eval.AskOptions{}); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	if _, err := eval.Ask(t.Context(), &eval.Set{Name: "s"}, fails, eval.AskOptions{}); err == nil {
		t.Error("no error without questions")
	}
	gone := errors.New("gone")
	_, err := eval.Ask(t.Context(), quiz(), fixedAsker(map[string]eval.Outcome{"1": outcome("a", "It is so.", "a")}), eval.AskOptions{Verifier: letters{gone}})
	if !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestGroupsAreBounded(t *testing.T) {
	set := &eval.Set{Name: "s"}
	for i := range 100 {
		set.Questions = append(set.Questions, eval.Question{ID: fmt.Sprint(i), Type: fmt.Sprintf("%02d\x1b[31m\t\n%s", i, strings.Repeat("x", 100))})
	}
	r, err := eval.Ask(t.Context(), set, fixedAsker(nil), eval.AskOptions{})
	if err != nil || len(r.Rows) > 41 {
		t.Fatalf("%d rows, %v", len(r.Rows), err)
	}
	for _, row := range r.Rows {
		if len(row.Group) > 40 || strings.ContainsAny(row.Group, "\x1b\t\n") {
			t.Errorf("group %q", row.Group)
		}
	}
}

func TestHalves(t *testing.T) {
	set := &eval.Set{Name: "s"}
	for i := range 1000 {
		set.Questions = append(set.Questions, eval.Question{ID: fmt.Sprint("q", i)})
	}
	a, err := set.Half("a")
	require.NoError(t, err)
	b, err := set.Half("b")
	if err != nil || len(a.Questions)+len(b.Questions) != 1000 || len(a.Questions) < 420 || len(a.Questions) > 580 {
		t.Errorf("halves of %d and %d, %v", len(a.Questions), len(b.Questions), err)
	}
	if _, err := set.Half("c"); err == nil {
		t.Error("no error for a third half")
	}
}
