package event_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/fault"
)

func logOf(bodies ...event.Body) []event.Event {
	es := make([]event.Event, len(bodies))
	for i, b := range bodies {
		es[i] = event.Event{Seq: event.Seq(i + 1), At: at.Add(time.Duration(i) * time.Millisecond), Body: b}
	}
	return es
}

// Short names for the logs below.
var (
	start    = event.RunStarted{Run: "r"}
	summary  = event.HistorySummarized{Turns: 2}
	analyzed = event.QueryAnalyzed{}
	miss     = event.CacheChecked{}
	hit      = event.CacheChecked{Hit: true}
	search   = event.RetrievalStarted{Call: 1, Tool: event.ToolHybridSearch}
	found    = event.RetrievalFinished{Call: 1, Tool: event.ToolHybridSearch}
	call     = event.ToolCalled{Call: 2, Tool: event.ToolDecomposeQuery, Input: json.RawMessage(`{}`)}
	result   = event.ToolReturned{Call: 2, Tool: event.ToolDecomposeQuery, Result: json.RawMessage(`{}`)}
	generate = event.GenerationStarted{}
	word     = event.Token{Text: "yes"}
	cite     = event.Cited{N: 1}
	stop     = event.GenerationFinished{Reason: "stop"}
	verified = event.Verified{}
	sources  = event.Attributed{Confidence: 0.7}
	finish   = event.RunFinished{}
	failed   = event.RunFailed{Code: fault.Internal}
)

func TestCheckAccepts(t *testing.T) {
	for name, es := range map[string][]event.Event{
		"an answer": logOf(start, analyzed, miss, search, call, result, found, event.Graded{}, event.Reranked{}, generate, word, cite, cite,
			stop, verified, sources, event.Warned{}, finish),
		"without searching":         logOf(start, analyzed, event.Warned{}, miss, generate, stop, verified, sources, finish),
		"from the cache":            logOf(start, analyzed, hit, word, cite, sources, finish),
		"after a summary":           logOf(start, summary, event.ModelUsed{}, event.Warned{}, analyzed, hit, word, sources, finish),
		"failed at once":            logOf(start, failed),
		"failed after a summary":    logOf(start, summary, failed),
		"failed with a call":        logOf(start, analyzed, miss, search, failed),
		"failed in generation":      logOf(start, analyzed, miss, generate, word, failed),
		"failed with sources":       logOf(start, analyzed, miss, generate, word, stop, sources, event.Warned{}, failed),
		"failed behind the sources": logOf(start, analyzed, hit, sources, failed),
	} {
		if err := event.CheckLog(es, true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := event.CheckLog(nil, false); err != nil {
		t.Error(err)
	}
}

// TestCheckRefuses breaks each rule once, with the last event.
func TestCheckRefuses(t *testing.T) {
	with := func(es []event.Event, change func(*event.Event)) []event.Event {
		change(&es[len(es)-1])
		return es
	}
	otherTool, otherCall, zeroCall := found, found, search
	otherTool.Tool, otherCall.Call, zeroCall.Call = event.ToolHydeSearch, 9, 0
	for name, c := range map[string]struct {
		es   []event.Event
		says string
	}{
		"a second summary":        {logOf(start, summary, summary), "out of place"},
		"a late summary":          {logOf(start, analyzed, summary), "out of place"},
		"a cache before analysis": {logOf(start, summary, miss), "out of place"},
		"an early warning":        {logOf(start, event.Warned{}), "out of place"},
		"a gap":                   {with(logOf(start, analyzed), func(e *event.Event) { e.Seq = 3 }), "sequence number 2"},
		"a repetition":            {with(logOf(start, analyzed), func(e *event.Event) { e.Seq = 1 }), "sequence number 2"},
		"a step back in time":     {with(logOf(start, analyzed), func(e *event.Event) { e.At = at.Add(-1) }), "time"},
		"no body":                 {with(logOf(start, analyzed), func(e *event.Event) { e.Body = nil }), "no body"},
		"a pointer":               {logOf(start, analyzed, miss, generate, &word), "place"},
		"no start":                {logOf(analyzed), "first event"},
		"a second start":          {logOf(start, start), "first event"},
		"more after the end":      {logOf(start, failed, event.Warned{}), "ended"},
		"a second end":            {logOf(start, failed, failed), "ended"},
		"analysed twice":          {logOf(start, analyzed, analyzed), "place"},
		"analysed late":           {logOf(start, analyzed, miss, analyzed), "place"},
		"cache before analysis":   {logOf(start, miss), "place"},
		"cache twice":             {logOf(start, analyzed, miss, miss), "place"},
		"work before the cache":   {logOf(start, analyzed, search), "place"},
		"a warning too early":     {logOf(start, event.Warned{}), "place"},
		"graded with nothing":     {logOf(start, analyzed, miss, event.Graded{}), "place"},
		"graded twice":            {logOf(start, analyzed, miss, search, found, event.Graded{}, event.Graded{}), "place"},
		"reranked with a call":    {logOf(start, analyzed, miss, search, event.Reranked{}), "place"},
		"reranked twice":          {logOf(start, analyzed, miss, event.Reranked{}, event.Reranked{}), "place"},
		"work behind reranking":   {logOf(start, analyzed, miss, event.Reranked{}, search), "place"},
		"finished unverified":     {logOf(start, analyzed, miss, generate, stop, sources, finish), "place"},
		"generation with a call":  {logOf(start, analyzed, miss, search, generate), "place"},
		"generated again":         {logOf(start, analyzed, miss, generate, stop, generate), "place"},
		"a tool before it":        {logOf(start, analyzed, call), "place"},
		"work after a hit":        {logOf(start, analyzed, hit, search), "place"},
		"a call used again":       {logOf(start, analyzed, miss, search, found, search), "place"},
		"call 0":                  {logOf(start, analyzed, miss, zeroCall), "place"},
		"a result of no call":     {logOf(start, analyzed, miss, result), "place"},
		"a result of another":     {logOf(start, analyzed, miss, search, otherCall), "place"},
		"of another tool":         {logOf(start, analyzed, miss, search, otherTool), "place"},
		"a result twice":          {logOf(start, analyzed, miss, search, found, found), "place"},
		"generated after a hit":   {logOf(start, analyzed, hit, generate), "place"},
		"generated before":        {logOf(start, analyzed, generate), "place"},
		"generation in another":   {logOf(start, analyzed, miss, generate, generate), "place"},
		"a token too early":       {logOf(start, analyzed, miss, word), "place"},
		"a token too late":        {logOf(start, analyzed, miss, generate, stop, word), "place"},
		"a citation too early":    {logOf(start, analyzed, miss, cite), "place"},
		"an end of nothing":       {logOf(start, analyzed, miss, stop), "place"},
		"verified too early":      {logOf(start, analyzed, miss, generate, verified), "place"},
		"verified with nothing":   {logOf(start, analyzed, miss, verified), "place"},
		"verified twice":          {logOf(start, analyzed, miss, generate, stop, verified, verified), "place"},
		"sources too early":       {logOf(start, analyzed, sources), "place"},
		"sources in the answer":   {logOf(start, analyzed, miss, generate, sources), "place"},
		"sources twice":           {logOf(start, analyzed, miss, sources, sources), "place"},
		"finished unanalysed":     {logOf(start, finish), "place"},
		"finished sourceless":     {logOf(start, analyzed, miss, finish), "place"},
		"finished with a call":    {logOf(start, analyzed, miss, search, sources, finish), "place"},
		"finished in generation":  {logOf(start, analyzed, miss, generate, finish), "place"},
	} {
		var check event.Check
		n := len(c.es) - 1
		for _, e := range c.es[:n] {
			if err := check.Next(e); err != nil {
				t.Fatalf("%s: before its end: %v", name, err)
			}
		}
		err := check.Next(c.es[n])
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got error %v, want one that says %q", name, err, c.says)
		}
	}
	if err := event.CheckLog(logOf(start, analyzed), true); err == nil || !strings.Contains(err.Error(), "no terminal event") {
		t.Errorf("a log without an end: %v", err)
	}
}

func TestStateFold(t *testing.T) {
	if s := event.Fold(logOf(bodies()[:2]...)); s.Summarized == nil || s.Summarized.Turns != 12 {
		t.Errorf("summarized: %+v", s.Summarized)
	}
	es := logOf(slices.Delete(bodies(), 1, 2)...)
	s := event.Fold(es[:17])
	want := event.State{
		RunStarted: es[0].Body.(event.RunStarted), Seq: 17, StartedAt: at, UpdatedAt: es[16].At, Status: event.Finished,
		Grades: []event.Graded{es[7].Body.(event.Graded)}, Stop: "stop", Text: []byte(es[10].Body.(event.Token).Text), Tokens: 1,
		Confidence: 0.7, Sources: es[14].Body.(event.Attributed).Sources, Warnings: []event.Warned{es[15].Body.(event.Warned)},
		Tools:      []string{event.ToolDecomposeQuery, event.ToolHybridSearch, event.ToolRerank, event.ToolGenerate},
		Iterations: 2,
	}
	want.Citations = []event.Citation{{Cited: es[11].Body.(event.Cited), At: len(want.Text)}}
	analysis, cache, rerank := es[1].Body.(event.QueryAnalyzed), es[2].Body.(event.CacheChecked), es[8].Body.(event.Reranked)
	gen, ver, ret := es[9].Body.(event.GenerationStarted), es[13].Body.(event.Verified), es[6].Body.(event.RetrievalFinished)
	want.Analysis, want.Cache, want.Rerank, want.Generation, want.Check = &analysis, &cache, &rerank, &gen, &ver
	want.Searches = []event.Search{{RetrievalStarted: es[5].Body.(event.RetrievalStarted), Result: &ret}}
	returned := es[4].Body.(event.ToolReturned)
	want.Calls = []event.Call{{ToolCalled: es[3].Body.(event.ToolCalled), Result: &returned}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if s.ClaimSupport() != 1 || s.Confidence != 0.7 || !s.Cached() || s.Elapsed() != 16*time.Millisecond {
		t.Errorf("claim support %v, confidence %v, cached %v, elapsed %v", s.ClaimSupport(), s.Confidence, s.Cached(), s.Elapsed())
	}
	none := event.Fold(nil)
	if none.ClaimSupport() != 0 || none.Cached() || none.Elapsed() != 0 || none.Status != "" {
		t.Errorf("the zero state is %+v", none)
	}
	for code, status := range map[fault.Code]event.Status{fault.Cancelled: event.Cancelled, fault.Model: event.Failed} {
		if s := event.Fold(logOf(start, event.RunFailed{Code: code})); s.Status != status || s.Failure.Code != code {
			t.Errorf("%s: status %s", code, s.Status)
		}
	}
}

// TestStateOfRandomLogs holds the fold against the log itself.
func TestStateOfRandomLogs(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		es := eventlogtest.RandomLog(rng, 40)
		var s event.State
		var text strings.Builder
		cites := 0
		for i, e := range es {
			s.Apply(e)
			switch b := e.Body.(type) {
			case event.Token:
				text.WriteString(b.Text)
			case event.Cited:
				cites++
			}
			if i < len(es)-1 && s.Status != event.Running {
				t.Fatalf("status %s before the end", s.Status)
			}
		}
		if string(s.Text) != text.String() || len(s.Citations) != cites || s.Seq != es[len(es)-1].Seq || s.Status == event.Running {
			t.Fatalf("state %+v of another log", s)
		}
	}
}

// TestContributing checks on which sources an answer rests: on none if it was flagged, if it cites nothing, or if it is incomplete.
func TestContributing(t *testing.T) {
	t.Parallel()
	cited, read := event.Source{N: 1, Document: "a", Weight: 0.25, Cited: true}, event.Source{N: 2, Document: "b", Weight: 0.75}
	odd, bare := event.Source{N: 3, Document: "c", Weight: math.NaN(), Cited: true}, event.Source{N: 4, Document: "d", Cited: true}
	one := bare
	one.Weight = 1
	for name, c := range map[string]struct {
		check   *event.Verified
		cache   *event.CacheChecked
		sources []event.Source
		want    []event.Source
	}{
		"verified":      {&event.Verified{}, &event.CacheChecked{}, []event.Source{cited, read, odd}, []event.Source{cited, read}},
		"flagged":       {&event.Verified{Flagged: true}, &event.CacheChecked{}, []event.Source{cited, read}, nil},
		"cites nothing": {&event.Verified{}, &event.CacheChecked{}, []event.Source{read}, nil},
		"cached":        {nil, &event.CacheChecked{Hit: true}, []event.Source{cited}, []event.Source{cited}},
		"incomplete":    {nil, &event.CacheChecked{}, []event.Source{cited}, nil},
		"no weights":    {&event.Verified{}, &event.CacheChecked{}, []event.Source{bare, {N: 5}}, []event.Source{one}},
	} {
		s := event.State{Check: c.check, Cache: c.cache, Sources: c.sources}
		if diff := cmp.Diff(c.want, s.Contributing()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRunIDValid(t *testing.T) {
	for id, want := range map[event.RunID]bool{
		"": false, "a": true, "A-z_09": true, "a b": false, "../x": false, "ü": false, event.RunID(strings.Repeat("x", 64)): true,
		event.RunID(strings.Repeat("x", 65)): false, "a\n": false,
	} {
		if id.Valid() != want {
			t.Errorf("%q: valid is %v", id, !want)
		}
	}
}

func TestMillisOf(t *testing.T) {
	for d, want := range map[time.Duration]event.Millis{-time.Second: 0, 0: 0, 1999 * time.Microsecond: 1, time.Minute: 60_000} {
		if got := event.MillisOf(d); got != want {
			t.Errorf("%v is %d ms", d, got)
		}
	}
}
