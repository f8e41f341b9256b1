package turns_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/turns"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// variants are the protocols under test by the suffix of their goldens.
var variants = map[string]turns.Protocol{"": {}, "_inline": {Inline: true}}

// parts checks the grammar of frames and returns the parts of the stream.
func parts(frames []wire.Frame) (g turns.Grammar, err error) {
	for _, f := range frames {
		if _, err := g.Write(f.Data); err != nil {
			return g, fmt.Errorf("frame %s: %w", f.ID, err)
		}
	}
	return g, nil
}

func read(frames []wire.Frame) ([]string, error) {
	g, err := parts(frames)
	return append(g.Lines, fmt.Sprint(g.Answering()), "text: "+string(g.Text), "trailer: "+string(g.Trailer)), err
}

func TestLaws(t *testing.T) {
	t.Parallel()
	all := wiretest.WithRandom(logs())
	for suffix, p := range variants {
		t.Run("turns"+suffix, func(t *testing.T) { wiretest.TestProtocol(t, wiretest.Subject{Protocol: p, Read: read}, all) })
	}
}

// TestGoldens also checks that the whole streams are complete, and that each of their citations has a range in the text.
func TestGoldens(t *testing.T) {
	t.Parallel()
	for name, log := range logs() {
		for suffix, p := range variants {
			t.Run(name+suffix, func(t *testing.T) {
				if err := event.CheckLog(log, true); err != nil && name != "marks" {
					t.Fatal(err)
				}
				g, err := parts(wiretest.Project(p.New(), [][]event.Event{log}))
				if err == nil {
					err = g.End()
				}
				require.NoError(t, err)
				checkTrailer(t, g)
				golden.Check(t, filepath.Join("testdata", name+suffix+".txt"), wiretest.Golden(p, [][]event.Event{log}))
			})
		}
	}
}

func checkTrailer(t *testing.T, g turns.Grammar) turns.Trailer {
	t.Helper()
	var trailer turns.Trailer
	require.NoError(t, json.Unmarshal(g.Trailer, &trailer))
	if failed := cmp.Equal(trailer.ToolsUsed, []string{turns.ChatFailed}); failed != (trailer.Error != nil) || failed && len(trailer.Citations) > 0 {
		t.Fatalf("a trailer that is neither of a failed nor of a finished run: %s", g.Trailer)
	}
	for _, c := range trailer.Citations {
		if c.Start < 0 || c.End < c.Start || c.End > utf8.RuneCount(g.Text) {
			t.Fatalf("citation %+v in a text of %d characters", c, utf8.RuneCount(g.Text))
		}
	}
	return trailer
}

// TestExhaustiveResume cuts each golden stream after every byte.
func TestExhaustiveResume(t *testing.T) {
	race.Measure(t)
	t.Parallel()
	for name, log := range logs() {
		for suffix, p := range variants {
			whole := wiretest.Golden(p, [][]event.Event{log})
			for n := range len(whole) + 1 {
				if got := wiretest.Golden(p.From(int64(n)), wiretest.Single(log)); got != whole[n:] {
					t.Fatalf("%s%s: after %d bytes the stream is %q, want %q", name, suffix, n, got, whole[n:])
				}
			}
			if got := wiretest.Golden(p.From(int64(len(whole)+1)), wiretest.Single(log)); got != "" {
				t.Errorf("%s%s: after the end: %q", name, suffix, got)
			}
		}
	}
}

// TestCitedText checks the texts that the citations refer to, in both variants.
func TestCitedText(t *testing.T) {
	t.Parallel()
	for suffix, want := range map[string][]string{
		"":        {"1 Zoë keeps it 🕯.", "2 Zoë keeps it 🕯.", "1 The lamp\u2028 burns oil."},
		"_inline": {"1 Zoë keeps it 🕯.", "2 Zoë keeps it 🕯.", "1 The lamp\u2028 burns oil."},
	} {
		g, err := parts(wiretest.Project(variants[suffix].New(), wiretest.Single(logs()["answered"])))
		require.NoError(t, err)
		var got []string
		for _, c := range checkTrailer(t, g).Citations {
			got = append(got, fmt.Sprint(c.Index, " ", string([]rune(string(g.Text))[c.Start:c.End])))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("variant %q (-want +got):\n%s", suffix, diff)
		}
		if marked := strings.Contains(string(g.Text), "🕯. [1] [2]\n\nThe lamp\u2028 burns oil. [1]"); marked != (suffix == "_inline") {
			t.Errorf("variant %q: %s", suffix, g.Text)
		}
	}
}

// TestCitedTextAfterFullStop checks that the text of a citation does not begin with the end of the sentence before.
func TestCitedTextAfterFullStop(t *testing.T) {
	t.Parallel()
	cite := event.Cited{N: 1, Chunk: "c_1"}
	log := wiretest.LogOf(append(wiretest.Generating(), event.Token{Text: "One"}, cite, event.Token{Text: ". “Two” is"}, cite, event.Token{Text: "."}, cite,
		event.GenerationFinished{Reason: event.StopEnd}, event.Verified{By: "rules"}, event.Attributed{By: "rules", Sources: wiretest.Sources()}, event.RunFinished{})...)
	g, err := parts(wiretest.Project(turns.Protocol{}.New(), wiretest.Single(log)))
	require.NoError(t, err)
	var got []string
	for _, c := range checkTrailer(t, g).Citations {
		got = append(got, string([]rune(string(g.Text))[c.Start:c.End]))
	}
	if diff := cmp.Diff([]string{"One", "“Two” is", "“Two” is."}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPhasesBeginWithTheirEvents checks after which event each mark is sent.
func TestPhasesBeginWithTheirEvents(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"answered": "generation_started generation_finished", "cached": "token run_finished", "timeout": "generation_started run_failed",
		"failed_searching": "run_failed run_failed", "failed_after_text": "generation_started generation_finished",
	} {
		log := logs()[name]
		var got []string
		for _, f := range wiretest.Project(turns.Protocol{}.New(), wiretest.Single(log)) {
			for _, c := range f.Data {
				if c == turns.AnswerMark || c == turns.TrailerMark {
					got = append(got, string(log[f.ID.Seq-1].Body.Kind()))
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: the marks are sent after %v, want %s", name, got, want)
		}
	}
}

// TestReply checks that the reply without a stream has the text and the trailer of the stream.
func TestReply(t *testing.T) {
	t.Parallel()
	for name, log := range logs() {
		g, err := parts(wiretest.Project(turns.Protocol{}.New(), [][]event.Event{log}))
		require.NoError(t, err)
		trailer, got := checkTrailer(t, g), turns.AnswerOf(log)
		want := turns.Answer{Outcome: trailer.Outcome, Content: string(g.Text)}
		if trailer.Error != nil {
			want.Error, want.Message = turns.ChatFailed, trailer.Error.Message
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-stream +reply):\n%s", name, diff)
		}
	}
}

func TestGrammarRefuses(t *testing.T) {
	t.Parallel()
	const started = `{"type":"search","status":"started","tool":"a","query":"b","iteration":1}` + "\n"
	completed := strings.Replace(started, "started", "completed", 1)
	for _, stream := range []string{
		"", "\x1d", "\x1d\x1e", "\x1d\x1e[]", "\x1d\x1e{} {}", "\x1e{}", "\x1d\x1d\x1e{}", "\x1d\x1e{\x1e}", "\x1d\xff\x1e{}", "{}\x1d\x1e{}", "{}\n\x1d\x1e{}", "\n\x1d\x1e{}",
		completed + "\x1d\x1e{}", started + completed + completed + "\x1d\x1e{}", started + strings.Replace(completed, "b", "c", 1) + "\x1d\x1e{}",
		started + strings.Replace(started, "started", "failed", 1) + "\x1d\x1e{}", `{"type":"review","status":"completed"}` + "\n\x1d\x1e{}",
	} {
		var g turns.Grammar
		if _, err := g.Write([]byte(stream)); err == nil && g.End() == nil {
			t.Errorf("accepted %q", stream)
		}
	}
	for _, stream := range []string{"\x1d\x1e{}", "\x1da\n\x1e{}\n", started + completed + `{"type":"review","status":"completed"}` + "\n\x1d\x1e{}", started + "\x1d\x1e{}"} {
		var g turns.Grammar
		if _, err := g.Write([]byte(stream)); err != nil || g.End() != nil {
			t.Errorf("%q: %v, %v", stream, err, g.End())
		}
	}
}

// FuzzProject makes a log of any events with any texts, in any order. The stream must have at most one of each mark, and keep to the grammar if
// calls and their results match.
func FuzzProject(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijkl"), "a\x1db\x1ec", uint8(3))
	f.Add([]byte("004567b89am"), "\xff\x1d \n", uint8(1))
	f.Add([]byte{5, 7, 8, 12, 14, 17, 23}, "\x1d\x1e", uint8(2))
	f.Add([]byte("0cdl"), "\u0085\u2028 [1]", uint8(9))
	f.Fuzz(func(t *testing.T, kinds []byte, s string, cut uint8) {
		var bodies []event.Body
		for _, k := range kinds[:min(len(kinds), 200)] {
			bodies = append(bodies, body(k, s))
		}
		for _, p := range variants {
			stream := wiretest.Golden(p, [][]event.Event{wiretest.LogOf(bodies...)})
			if strings.Count(stream, "\x1d") > 1 || strings.Count(stream, "\x1e") > 1 {
				t.Fatalf("a mark occurs twice: %q", stream)
			}
		}
		log := wiretest.LogOf(matched(bodies)...)
		for _, p := range variants {
			var batches [][]event.Event
			for rest := log; len(rest) > 0; {
				n := min(int(cut)%7+1, len(rest))
				batches, rest = append(batches, rest[:n]), rest[n:]
			}
			stream := wiretest.Golden(p, batches)
			if whole := wiretest.Golden(p, [][]event.Event{log}); stream != whole {
				t.Fatalf("the bytes depend on the batches: %q and %q", stream, whole)
			}
			if n := int(cut); n <= len(stream) && wiretest.Golden(p.From(int64(n)), batches) != stream[n:] {
				t.Fatalf("after %d bytes the stream is not the rest", n)
			}
			g, err := parts([]wire.Frame{{Data: []byte(stream)}})
			if err != nil {
				t.Fatalf("%v: %q", err, stream)
			}
			if !utf8.ValidString(stream) {
				t.Fatalf("not valid UTF-8: %q", stream)
			}
			if n := len(g.Trailer); n > 0 {
				require.NoError(t, g.End())
				checkTrailer(t, g)
			}
		}
	})
}

// matched keeps a start of the run that is the first event, the first call of each number, the first result of each call, and the reviews after a result.
func matched(bodies []event.Body) (out []event.Body) {
	calls, results := map[event.CallID]event.Kind{}, map[event.CallID]bool{}
	start := func(call event.CallID, kind event.Kind) bool {
		_, known := calls[call]
		if !known {
			calls[call] = kind
		}
		return !known
	}
	finish := func(call event.CallID, kind event.Kind) bool {
		ok := calls[call] == kind && !results[call]
		results[call] = results[call] || ok
		return ok
	}
	for _, b := range bodies {
		ok := true
		switch b := b.(type) {
		case event.RetrievalStarted:
			ok = start(b.Call, b.Kind())
		case event.ToolCalled:
			ok = start(b.Call, b.Kind())
		case event.RetrievalFinished:
			ok = finish(b.Call, event.KindRetrievalStarted)
		case event.ToolReturned:
			ok = finish(b.Call, event.KindToolCalled)
		case event.RunStarted:
			ok = len(out) == 0
		case event.Graded:
			ok = slices.Contains(slices.Collect(maps.Values(results)), true)
		}
		if ok {
			out = append(out, b)
		}
	}
	return out
}

// body returns an event of the kind, with the text in each place.
func body(kind byte, s string) event.Body {
	n := event.CallID(kind/32 + 1)
	src := event.Source{N: int(n), Chunk: "c", Document: "d", Title: s, Name: s, Text: s, QuoteEnd: len(s), Pages: []int{1}}
	all := []event.Body{
		event.RunStarted{Run: "run", Question: event.Question{Query: s, Session: s}}, event.QueryAnalyzed{Standalone: s}, event.CacheChecked{Hit: n > 2},
		event.ToolCalled{Call: n, Tool: s, Input: event.AppendString(nil, s), Iteration: 1}, event.ToolReturned{Call: n, Tool: s, Result: append(event.AppendString([]byte(`{"error":`), s), '}')},
		event.RetrievalStarted{Call: n, Tool: s, Query: s, Iteration: 1}, event.RetrievalFinished{Call: n, Tool: s, Found: []event.Found{{Score: 0.5}}},
		event.RetrievalFinished{Call: n, Tool: s, Error: s}, event.Graded{Iteration: 1, Action: event.Action(s)}, event.Reranked{}, event.GenerationStarted{Model: s},
		event.Reasoned{Text: s}, event.Token{Text: s}, event.Token{Text: " "}, event.Cited{N: int(n), Chunk: "c", Source: &src}, event.Cited{N: int(n), Chunk: "c"},
		event.GenerationFinished{Reason: event.StopEnd}, event.GenerationFinished{Reason: s}, event.Verified{}, event.Attributed{Sources: []event.Source{src}},
		event.Warned{Code: fault.Model, Message: s}, event.ModelUsed{Model: s, Calls: 1}, event.RunFinished{}, event.RunFailed{Code: fault.Code(s), Message: s}}
	return all[int(kind)%len(all)]
}
