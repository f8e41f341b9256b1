package display_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// snapshot is an event of the knowledge protocol with the response so far.
func snapshot(name, status, output string, more ...string) client.Event {
	data := fmt.Sprintf(`{"id":"run_1","object":"response","model":"m","status":%q,"output":[%s]%s}`, status, output, strings.Join(more, ""))
	return client.Event{Run: "run_1", Protocol: "knowledge", Name: "response." + name, Data: json.RawMessage(data)}
}

func forge(name, data string) client.Event {
	return client.Event{Run: "run_1", Protocol: "forge", Name: name, Data: json.RawMessage(data)}
}

var done = client.Event{Run: "run_1", Protocol: "knowledge", Name: "done", Data: json.RawMessage("{}")}

// stream returns a stream of events.
func stream(evs ...client.Event) *client.Stream {
	var all iter.Seq2[client.Event, error] = func(yield func(client.Event, error) bool) {
		for _, ev := range evs {
			if !yield(ev, nil) {
				return
			}
		}
	}
	return client.NewStream("why?", all)
}

// calls is a display that records the calls of its methods.
type calls struct {
	all []string
	err error
}

func (c *calls) add(format string, args ...any) error {
	c.all = append(c.all, fmt.Sprintf(format, args...))
	return c.err
}
func (c *calls) Step(s *client.Snapshot, i int) error {
	return c.add("%s %s: %s", s.Steps[i].Kind, s.Steps[i].Status, s.Steps[i].Detail)
}
func (c *calls) Reasoning(s *client.Snapshot) error { return c.add("thinks %q", s.Reasoning) }
func (c *calls) Answer(s *client.Snapshot) error {
	return c.add("%s %q with %d", s.Answer, s.Text, len(s.Citations))
}
func (c *calls) Warning(s *client.Snapshot, i int) error {
	return c.add("warns %s", s.Warnings[i].Message)
}
func (c *calls) Close(s *client.Snapshot, cause error) error {
	c.all = append(c.all, fmt.Sprintf("%s %v", s.Status, cause))
	return nil
}

// items has an output item of each type, with a placeholder for its status, and the expected calls of a display.
var items = []struct {
	name, item string
	statuses   []string
	want       string // of a call; %s is its status
}{
	{"file search", `{"type":"file_search_call","id":"a","status":%q,"queries":["tides"],"tool":"hybrid_search","result_count":2}`,
		[]string{"in_progress", "searching", "completed", "incomplete", "failed"}, `search %s: Looking for passages about “tides”%s`},
	{"web search", `{"type":"web_search_call","id":"a","status":%q,"queries":["tides"]}`,
		[]string{"in_progress", "searching", "completed", "failed"}, `tool %s: Looking on the web for “tides”`},
	{"list", `{"type":"list_documents_call","id":"a","status":%q,"queries":["all"],"count":10}`,
		[]string{"in_progress", "searching", "completed", "incomplete"}, `tool %s: Listing the documents, at most 10`},
	{"page reader", `{"type":"page_reader_call","id":"a","status":%q,"document_id":"d","start_page":1,"end_page":3}`,
		[]string{"in_progress", "searching", "completed", "incomplete"}, `tool %s: Reading pages 1 to 3 of d`},
	{"file reader", `{"type":"file_reader_call","id":"a","status":%q,"doc_ids":["d"],"query":"q"}`,
		[]string{"in_progress", "completed"}, `tool %s: file_reader`},
	{"function", `{"type":"function_call","id":"a","call_id":"c","name":"f","arguments":"{}","status":%q}`,
		[]string{"in_progress", "completed", "incomplete"}, `tool %s: function`},
	{"unknown", `{"type":"mcp_call","id":"a","status":%q,"strange":{"x":[1]}}`, []string{"in_progress", "completed", "exploded"}, ""},
	{"message", `{"type":"message","id":"a","role":"assistant","status":%q,"content":[{"type":"output_text","text":"High. ⟦⟦1⟧⟧","annotations":[{"type":"file_citation","file_id":"f","index":3,"filename":"t.md"}]}]}`,
		[]string{"in_progress", "completed", "incomplete"}, `%s "High. ⟦⟦1⟧⟧" with 1`},
	{"refusal", `{"type":"message","id":"a","role":"assistant","status":%q,"content":[{"type":"refusal","refusal":"no"}]}`, []string{"completed"}, ""},
	{"reasoning", `{"type":"reasoning","id":"a","status":%q,"summary":[{"type":"summary_text","text":"Hm."}]}`,
		[]string{"in_progress", "completed", "incomplete"}, `thinks "Hm."`},
}

var words = map[string]client.Status{"in_progress": client.Running, "searching": client.Running, "completed": client.Completed,
	"incomplete": client.Incomplete, "failed": client.Failed}

// TestEachKindOfSnapshot: a processor calls the display for each type of item in each status, and ignores unknown types.
func TestEachKindOfSnapshot(t *testing.T) {
	t.Parallel()
	for _, c := range items {
		for _, status := range c.statuses {
			item := fmt.Sprintf(c.item, status)
			was := words[status]
			var want []string
			switch found := ""; {
			case c.want == "":
			case strings.Count(c.want, "%s") == 2:
				if was.Final() && was != client.Failed {
					found = ": 2 found"
				}
				want = append(want, fmt.Sprintf(c.want, was, found))
			case strings.Contains(c.want, "%s"):
				want = append(want, fmt.Sprintf(c.want, was))
			default:
				want = append(want, c.want)
			}
			var got calls
			h := display.NewHandler(&got)
			var f client.Fold
			require.NoError(t, f.Add(snapshot("in_progress", "in_progress", item)))
			for range 2 { // an unchanged item causes no second call
				require.NoError(t, h.Show(f.Snapshot()))
			}
			if diff := cmp.Diff(want, got.all); diff != "" {
				t.Errorf("%s %s:\n%s", c.name, status, diff)
			}
			for name, show := range displays() {
				out, err := show(stream(snapshot("in_progress", "in_progress", item), snapshot("completed", "completed", item), done))
				if err != nil || !strings.Contains(out, "run_1") {
					t.Errorf("%s %s as %s: %v\n%s", c.name, status, name, err, out)
				}
			}
		}
	}
}

// displays show a stream and return their output.
func displays() map[string]func(*client.Stream) (string, error) {
	show := func(of func(out *bytes.Buffer) display.Display) func(*client.Stream) (string, error) {
		return func(s *client.Stream) (string, error) {
			var out bytes.Buffer
			_, err := display.Run(s, of(&out))
			return out.String(), err
		}
	}
	return map[string]func(*client.Stream) (string, error){
		"plain":       show(func(out *bytes.Buffer) display.Display { return display.NewPlain(out, out, display.PlainOptions{}) }),
		"json":        show(func(out *bytes.Buffer) display.Display { return display.NewJSON(out, false) }),
		"json stream": show(func(out *bytes.Buffer) display.Display { return display.NewJSON(out, true) }),
		"rich": show(func(out *bytes.Buffer) display.Display {
			return display.NewRich(out, display.RichOptions{Env: []string{"TERM=xterm", "NO_COLOR=1"}, Width: 90, Height: 20})
		}),
	}
}

// left returns the final output of a rich display, without the erased frames.
func left(out string) string {
	if i := strings.LastIndex(out, "\x1b[?25h"); i >= 0 {
		return out[i+len("\x1b[?25h"):]
	}
	return out
}

const (
	search   = `{"type":"file_search_call","id":"fs","status":"completed","queries":["tides"],"tool":"hybrid_search","result_count":2,"duration_ms":12}`
	thinking = `{"type":"reasoning","id":"r","status":"completed","summary":[{"type":"summary_text","text":"Hm."}]}`
	message  = `{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"The **moon** draws it. ⟦⟦1⟧⟧\n\n- twice a day","annotations":[{"type":"file_citation","file_id":"f","index":3,"filename":"t.md","snippet":"The moon draws the sea.","page":2,"heading":"Tides","score":0.9}]}]}`
	outcome  = `,"confidence":0.75,"verification":{"claims":2,"supported":1,"partially_supported":1},"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_tokens_details":{"cached_tokens":0},"output_tokens_details":{"reasoning_tokens":0}},"duration_ms":42`
)

// TestWholeAnswer checks the final output of each display.
func TestWholeAnswer(t *testing.T) {
	t.Parallel()
	all := strings.Join([]string{search, thinking, message}, ",")
	evs := []client.Event{snapshot("created", "in_progress", ""), snapshot("file_search_call.searching", "in_progress", strings.Replace(search, "completed", "searching", 1)),
		snapshot("file_search_call.completed", "in_progress", search), snapshot("completed", "completed", all, outcome), done}
	for name, want := range map[string]string{
		"plain": `- Looking for passages about “tides”: 2 found  12 ms

The **moon** draws it. [1]

- twice a day

[1] t.md › Tides, p. 2
    “The moon draws the sea.”
confidence 0.75, 1 of 2 statements supported · 10 tokens read, 5 written · 42 ms · run_1
`,
		"rich": `✓ Looking for passages about “tides”: 2 found  12 ms

The moon draws it. [1]

• twice a day

[1] t.md › Tides, p. 2
    “The moon draws the sea.”

████████░░ confidence 0.75, 1 of 2 statements supported · 10 tokens read, 5 written · 42
           ms · run_1
`} {
		got, err := displays()[name](stream(evs...))
		require.NoError(t, err)
		if name == "rich" { // earlier frames are erased
			got = strings.NewReplacer("\x1b[1m", "", "\x1b[2m", "", "\x1b[m", "", "\x1b[0m", "", "\x1b[22m", "").Replace(left(got))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestJSON: the output is one object, or one object per state. Both end with the same object.
func TestJSON(t *testing.T) {
	t.Parallel()
	evs := []client.Event{snapshot("file_search_call.completed", "in_progress", search),
		snapshot("output_text.delta", "in_progress", search+","+strings.Replace(message, "completed", "in_progress", 1)),
		snapshot("completed", "completed", search+","+message, outcome), done}
	one, err := displays()["json"](stream(evs...))
	require.NoError(t, err)
	many, err := displays()["json stream"](stream(evs...))
	require.NoError(t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(many, "\n"), "\n")
	if strings.Count(one, "\n") != 1 || len(lines) != 3 || lines[2]+"\n" != one {
		t.Errorf("one:\n%smany:\n%s", one, many)
	}
	for _, line := range lines {
		var s map[string]any
		if err := json.Unmarshal([]byte(line), &s); err != nil || s["run"] != "run_1" || len(s["steps"].([]any)) != 1 {
			t.Errorf("%s: %v", line, err)
		}
	}
	var last struct {
		Answer     string
		Abstained  *bool
		Confidence *float64
		Citations  []client.Citation
		Sources    []struct {
			File             string
			Pages, Citations []int
		}
	}
	if err := json.Unmarshal([]byte(one), &last); err != nil || last.Answer != "The **moon** draws it. [1]\n\n- twice a day" || last.Abstained == nil ||
		*last.Abstained || last.Confidence == nil || len(last.Citations) != 1 || len(last.Sources) != 1 || last.Sources[0].File != "t.md" ||
		!slices.Equal(last.Sources[0].Pages, []int{2}) || !slices.Equal(last.Sources[0].Citations, []int{1}) {
		t.Errorf("%v: %s", err, one)
	}
}

// TestAbstention: an abstention is shown with the searches and without a confidence.
func TestAbstention(t *testing.T) {
	t.Parallel()
	text := "The documents do not seem to hold an answer to this question."
	answer := `{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + text + `","annotations":[]}]}`
	for name, want := range map[string][]string{
		"plain": {text, "No answer in these documents. Searched for “tides”.", "12 ms"},
		"rich":  {text, "∅ No answer in these documents.", "Searched for “tides”."},
		"json":  {`"answer":"` + text + `"`, `"abstained":true`, `"confidence":null`},
	} {
		got, err := displays()[name](stream(snapshot("completed", "completed", search+","+answer, `,"abstained":true,"confidence":0`), done))
		require.NoError(t, err)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: want %q in\n%s", name, w, got)
			}
		}
		if name != "json" && (strings.Contains(got, "confidence") || strings.Contains(got, "░")) {
			t.Errorf("%s: shows a confidence:\n%s", name, got)
		}
	}
}

// TestLongQuestionOfAbstention: an abstention does not repeat a long question.
func TestLongQuestionOfAbstention(t *testing.T) {
	t.Parallel()
	long := strings.Replace(search, "tides", strings.Repeat("tides and ", 2000), 1)
	answer := `{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"No.","annotations":[]}]}`
	for _, name := range []string{"plain", "rich"} {
		got, err := displays()[name](stream(snapshot("completed", "completed", long+","+answer, `,"abstained":true,"confidence":0`), done))
		if err != nil || !strings.Contains(got, "Searched for “tides and") || !strings.Contains(got, "…”.") || len(got) > 2000 {
			t.Errorf("%s: %v, %d bytes: %.500s", name, err, len(got), got)
		}
	}
}

// TestMissedSnapshots: the final output does not depend on the snapshots that a display misses.
func TestMissedSnapshots(t *testing.T) {
	t.Parallel()
	var evs []client.Event
	text := "The **moon** draws it. ⟦⟦1⟧⟧\n\n- twice a day"
	for i := range len(text) {
		if text[i]&0xC0 == 0x80 {
			continue
		}
		b, err := json.Marshal(text[:i])
		require.NoError(t, err)
		evs = append(evs, snapshot("output_text.delta", "in_progress", `{"type":"message","id":"m","role":"assistant","status":"in_progress","content":[{"type":"output_text","annotations":[],"text":`+string(b)+`}]}`))
	}
	evs = append(evs, snapshot("completed", "completed", message, outcome), done)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"plain", "json", "rich"} {
		want := ""
		for range 10 {
			var kept []client.Event
			for i, ev := range evs {
				if i >= len(evs)-2 || rng.IntN(3) == 0 {
					kept = append(kept, ev)
				}
			}
			got, err := displays()[name](stream(kept...))
			require.NoError(t, err)
			switch name {
			case "rich":
				got = left(got)
			case "plain": // the first line is empty
				got = got[strings.Index(got, "The **moon"):]
			}
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s:\n%s\nand\n%s", name, got, want)
			}
		}
	}
}

// TestErrorsEndDisplay: errors of the output and of the stream end the display, which is closed once.
func TestErrorsEndDisplay(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	d := &calls{err: full}
	if _, err := display.Run(stream(snapshot("completed", "completed", search), done), d); !errors.Is(err, full) || len(d.all) != 2 {
		t.Errorf("%v: %q", err, d.all)
	}
	cut := errors.New("cut")
	d = &calls{}
	s := client.NewStream("why?", func(yield func(client.Event, error) bool) {
		_ = yield(snapshot("in_progress", "in_progress", search), nil) && yield(client.Event{}, cut)
	})
	if _, err := display.Run(s, d); !errors.Is(err, cut) || d.all[len(d.all)-1] != "running cut" {
		t.Errorf("%v: %q", err, d.all)
	}
	for name, show := range displays() {
		out, err := show(client.NewStream("why?", func(yield func(client.Event, error) bool) {
			_ = yield(snapshot("in_progress", "in_progress", search+","+message), nil) && yield(client.Event{}, cut)
		}))
		if !errors.Is(err, cut) || !strings.Contains(out, "draws it") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestFailures: a failure is shown after the incomplete answer.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, show := range displays() {
		out, err := show(stream(forge("query_analysis", `{"query":"why?"}`), forge("error", `{"code":"LLM_ERROR","message":"one failed","recoverable":true}`),
			forge("token", `{"content":"The moon"}`), forge("error", `{"code":"NO_DOCUMENTS","message":"nothing is there","recoverable":false}`)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range []string{"one failed", "The moon", "nothing is there", "NO_DOCUMENTS"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not say %q:\n%s", name, want, out)
			}
		}
	}
}

// TestHintToAddDocuments: documents must be added if there are none, and not if a question named the wrong ones.
func TestHintToAddDocuments(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		"no documents are in the collections default and files":                   true,
		"no documents are in the collection none; there are documents in default": false,
		"no document in the collection default matches the filter: year=2024":     false,
		"no indexed document has the id 7":                                        false,
	} {
		for name, show := range displays() {
			out, err := show(stream(forge("query_analysis", `{"query":"why?"}`), forge("error", `{"code":"NO_DOCUMENTS","message":"`+message+`","recoverable":false}`)))
			if !strings.HasPrefix(name, "json") && strings.Contains(out, "sluice ingest FOLDER") != want || err != nil {
				t.Errorf("%s: %s: %v\n%s", name, message, err, out)
			}
		}
	}
}

// TestPlainFollowsText: only new text is printed, a marker when it is complete, and nothing twice.
func TestPlainFollowsText(t *testing.T) {
	t.Parallel()
	var out, steps bytes.Buffer
	p := display.NewPlain(&out, &steps, display.PlainOptions{})
	for _, c := range []struct{ text, want string }{
		{"The moon", "The moon"}, {"The moon", "The moon"}, {"The moon draws ⟦", "The moon draws "}, {"The moon draws ⟦⟦1", "The moon draws "},
		{"The moon draws ⟦⟦1⟧", "The moon draws "}, {"The moon draws ⟦⟦1⟧⟧.", "The moon draws [1]."}, {"The moon", "The moon draws [1]."},
		{"The moon draws ⟦⟦1⟧⟧. e\u0301\x1b[31m", "The moon draws [1]. e\u0301[31m"},
	} {
		if err := p.Answer(&client.Snapshot{Text: c.text, Answer: client.Running}); err != nil || out.String() != c.want {
			t.Errorf("%q: %q, want %q, %v", c.text, out.String(), c.want, err)
		}
	}
}
